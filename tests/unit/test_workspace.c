/* What workspaces promise: vectors are those of the plain twin, they allocate nothing once they are
 * made, threads share a model, and what is wrong is refused. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "counted_memory.h"
#include "workspace_world.h"

/* ---- Vectors ---- */

static void expect_z(double *z, const struct world *world, const char *aggregate,
                     const kg_link *links, size_t count) {
    double rows[LINKS * DIM];
    twin_model twin = world->twin;
    twin.aggregate = aggregate;
    twin_rows(&twin, rows, links, count);
    if (strcmp(aggregate, "ials") != 0) {
        twin_combine(&twin, z, rows, count, TWIN_DUAL);
        return;
    }
    double sum[DIM] = {0};
    for (size_t i = 0; i < count * DIM; i++)
        sum[i % DIM] += rows[i];
    twin_ials ials = {KG_IALS_ALPHA, KG_IALS_LAMBDA, ENTITIES, {0}};
    twin_ials_solve(&twin, &ials, z, sum, links, count);
    twin_ials_free(&ials);
}

static void test_embed(void **state) {
    (void)state;
    static const char *const models[] = {"distmult", "simple", "complex", "quate"};
    static const char *const aggregates[] = {"eavg", "eravg", "ls", "ls-u", "ials"};
    for (size_t i = 0; i < COUNT_OF(models); i++)
        for (size_t k = 0; k < COUNT_OF(aggregates); k++) {
            struct world *world = make_world(models[i]);
            kg_workspace *workspace = open_workspace(world, aggregates[k], 1);
            kg_error error = {0};
            float z[DIM];
            double expected[DIM];
            assert_ok(kg_workspace_embed(z, workspace, new_entity(world), KG_NO_QUERY, &error),
                      &error);
            expect_z(expected, world, aggregates[k], world->links, LINKS);
            for (size_t j = 0; j < DIM; j++)
                assert_true(fabs((double)z[j] - expected[j]) < 1e-5 * (1 + fabs(expected[j])));
            kg_subject seen = {17, NULL, 0};
            assert_ok(kg_workspace_embed(z, workspace, seen, KG_NO_QUERY, &error), &error);
            assert_memory_equal(z, world->entities + 17 * DIM, sizeof z);
            kg_workspace_close(workspace);
            free_world(world);
        }
}

static void test_neighbors(void **state) {
    (void)state;
    struct world *world = make_world("distmult");
    kg_workspace *workspace = open_workspace(world, NULL, 2);
    kg_error error = {0};
    kg_answer answers[ENTITIES];
    size_t found = 0;
    kg_subject subject = {10, NULL, 0};
    assert_ok(kg_workspace_neighbors(answers, &found, workspace, subject, ENTITIES, &error),
              &error);
    assert_int_equal(found, ENTITIES - 2); /* itself and what has no direction */
    assert_int_equal(answers[0].entity, 20);
    assert_true(fabs((double)answers[0].score - 1) < 1e-6);
    for (size_t i = 1; i < found; i++)
        assert_true(answers[i - 1].score >= answers[i].score);
    kg_workspace_close(workspace);
    free_world(world);
}

/* ---- Memory and threads ---- */

static void test_allocates_nothing(void **state) {
    (void)state;
    static const char *const aggregates[] = {"eavg", "eravg", "ls"};
    struct world *world = make_world("distmult");
    for (size_t i = 0; i < COUNT_OF(aggregates); i++) {
        kg_workspace *workspace = open_workspace(world, aggregates[i], 1);
        kg_error error = {0};
        kg_answer answers[100];
        size_t found = 0;
        float z[DIM];
        kg_share shares[LINKS];
        kg_explanation explanation;
        kg_request request = {
            sizeof(kg_request), new_entity(world), KG_NO_ID, true, true, false, false};
        long before = atomic_load(&allocations);
        assert_ok(kg_workspace_embed(z, workspace, new_entity(world), KG_NO_QUERY, &error), &error);
        assert_ok(kg_workspace_predict(answers, &found, workspace, &request, 1, 100, &error),
                  &error);
        assert_ok(
            explain(&explanation, shares, workspace, new_entity(world), (kg_link){1, 2}, &error),
            &error);
        assert_ok(
            kg_workspace_neighbors(answers, &found, workspace, new_entity(world), 100, &error),
            &error);
        assert_int_equal(atomic_load(&allocations), before);
        kg_workspace_close(workspace);
    }
    free_world(world);
}

static void test_threads_share_a_model(void **state) {
    (void)state;
    struct world *world = make_world("quate");
    enum { MOST = 10, TEAM = 4 };
    kg_answer answers[TEAM][MOST];
    bool good[TEAM] = {false};
    memset(answers, 0, sizeof answers);
#pragma omp parallel num_threads(TEAM)
    {
        int me = omp_get_thread_num();
        kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
        kg_workspace *workspace = NULL;
        size_t found = 0;
        kg_request request = {
            sizeof(kg_request), new_entity(world), KG_NO_ID, true, true, false, false};
        good[me] = kg_workspace_open(&workspace, &world->model, &options, NULL) == KG_OK;
        for (int i = 0; i < 5 && good[me]; i++)
            good[me] = kg_workspace_predict(answers[me], &found, workspace, &request, 1, MOST,
                                            NULL) == KG_OK;
        kg_workspace_close(workspace);
    }
    for (size_t i = 0; i < TEAM; i++) {
        assert_true(good[i]);
        assert_memory_equal(answers[i], answers[0], sizeof answers[0]);
    }
    free_world(world);
}

/* Memory that terms took once is used again. */
static void test_terms_allocate_once(void **state) {
    (void)state;
    struct grafted *grafted = make_grafted(true);
    kg_workspace *workspace = open_workspace(grafted->world, "graft", 1);
    long before = 0;
    for (size_t i = 0; i < 2; i++) {
        kg_answer answers[10];
        kg_share shares[LINKS];
        kg_explanation why;
        size_t found = 0;
        kg_subject subject = new_entity(grafted->world);
        kg_request request = {sizeof(kg_request), subject, KG_NO_ID, true, true, false, false};
        before = atomic_load(&allocations);
        assert_ok(kg_workspace_predict(answers, &found, workspace, &request, 1, 10, NULL), NULL);
        assert_ok(explain(&why, shares, workspace, subject, (kg_link){1, 2}, NULL), NULL);
    }
    assert_int_equal(atomic_load(&allocations), before);
    kg_workspace_close(workspace);
    free_grafted(grafted);
}

static void test_threads_share_terms(void **state) {
    (void)state;
    enum { MOST = 10, TEAM = 4 };
    struct grafted *grafted = make_grafted(true);
    kg_answer answers[TEAM][MOST];
    kg_explanation why[TEAM];
    bool good[TEAM] = {false};
    memset(answers, 0, sizeof answers);
    memset(why, 0, sizeof why);
#pragma omp parallel num_threads(TEAM)
    {
        int me = omp_get_thread_num();
        kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
        kg_workspace *workspace = NULL;
        kg_share shares[LINKS];
        size_t found = 0;
        kg_subject subject = new_entity(grafted->world);
        kg_request request = {sizeof(kg_request), subject, KG_NO_ID, true, true, false, false};
        options.aggregate = "graft";
        good[me] = kg_workspace_open(&workspace, &grafted->world->model, &options, NULL) == KG_OK &&
                   kg_workspace_predict(answers[me], &found, workspace, &request, 1, MOST, NULL) ==
                       KG_OK &&
                   explain(&why[me], shares, workspace, subject, (kg_link){1, 2}, NULL) == KG_OK;
        kg_workspace_close(workspace);
    }
    for (size_t i = 0; i < TEAM; i++) {
        assert_true(good[i]);
        assert_memory_equal(answers[i], answers[0], sizeof answers[0]);
        assert_true(why[i].score == why[0].score && why[i].rank == why[0].rank);
    }
    free_grafted(grafted);
}

/* ---- What is refused ---- */

static void refuse_request(kg_workspace *workspace, kg_request request, size_t most,
                           const char *expected) {
    kg_answer answers[10];
    size_t found = 0;
    kg_error error = {0};
    assert_status(kg_workspace_predict(answers, &found, workspace, &request, 1, most, &error),
                  KG_BAD_INPUT, &error);
    assert_non_null(strstr(error.message, expected));
    assert_int_equal(found, 0);
}

/* A number that is not finite is told, wherever it is met; few and many lists are searched in
 * different ways. */
static void test_damaged(void **state) {
    (void)state;
    static const real values[] = {(real)NAN, (real)INFINITY};
    enum { MANY = 8, MOST = 3 };
    struct world *world = make_world("distmult");
    kg_subject subject = new_entity(world);
    kg_id other = 77; /* of no fact of the new entity */
    for (size_t place = 0; place < 2; place++)
        for (size_t k = 0; k < COUNT_OF(values); k++) {
            kg_id damaged = place == 0 ? other : subject.links[0].other;
            real *number = &world->entities[damaged * DIM + 1];
            real whole = *number;
            kg_workspace *workspace = open_workspace(world, "eravg", 2);
            kg_request requests[MANY];
            kg_answer answers[MANY * MOST];
            size_t found[MANY];
            kg_explanation explanation;
            kg_share shares[LINKS];
            float z[DIM];
            for (size_t i = 0; i < MANY; i++)
                requests[i] = (kg_request){
                    sizeof(kg_request), subject, (kg_id)(i % RELATIONS), false, true, true, false};
            for (size_t count = 1; count <= MANY; count += MANY - 1)
                assert_ok(
                    kg_workspace_predict(answers, found, workspace, requests, count, MOST, NULL),
                    NULL);
            *number = values[k];
            for (size_t count = 1; count <= MANY; count += MANY - 1)
                assert_status(
                    kg_workspace_predict(answers, found, workspace, requests, count, MOST, NULL),
                    KG_BAD_INPUT, NULL);
            assert_status(explain(&explanation, shares, workspace, subject,
                                  (kg_link){kg_direct(1, KG_HEAD), place == 0 ? other : 5}, NULL),
                          KG_BAD_INPUT, NULL);
            assert_status(kg_workspace_neighbors(answers, found, workspace, subject, MOST, NULL),
                          KG_BAD_INPUT, NULL);
            assert_status(kg_workspace_embed(z, workspace, subject, KG_NO_QUERY, NULL),
                          place == 0 ? KG_OK : KG_BAD_INPUT, NULL);
            *number = whole;
            kg_workspace_close(workspace);
        }
    free_world(world);
}

static void test_refused(void **state) {
    (void)state;
    struct world *world = make_world("distmult");
    kg_workspace *workspace = open_workspace(world, NULL, 1);
    kg_request good = {sizeof(kg_request), new_entity(world), 1, false, true, false, false};
    kg_request bad = good;
    bad.relation = RELATIONS;
    refuse_request(workspace, bad, 10, "6 relations, found 6");
    bad = good;
    bad.tails = false;
    refuse_request(workspace, bad, 10, "heads, tails or both");
    refuse_request(workspace, good, 0, "at least one answer");
    bad = good;
    bad.subject.count = 0;
    refuse_request(workspace, bad, 10, "at least one fact");
    bad.subject = (kg_subject){ENTITIES, NULL, 0};
    refuse_request(workspace, bad, 10, "900 entities, found 900");
    kg_link links[] = {{4, 4}, {4, 4}};
    bad.subject = (kg_subject){KG_NO_ID, links, 2};
    refuse_request(workspace, bad, 10, "fact 1 out of order or repeated");
    links[1] = (kg_link){2 * RELATIONS, 0};
    refuse_request(workspace, bad, 10, "relation 6");
    links[1] = (kg_link){5, ENTITIES};
    refuse_request(workspace, bad, 10, "entity 900");
    world->model.calibration = NULL;
    bad = good;
    bad.heads = true;
    refuse_request(workspace, bad, 10, "no calibration");
    bad.relation = KG_NO_ID;
    refuse_request(workspace, bad, 10, "no calibration");

    kg_error error = {0};
    kg_share shares[LINKS];
    kg_explanation explanation;
    kg_subject seen = {3, NULL, 0};
    assert_status(explain(&explanation, shares, workspace, seen, (kg_link){0, 1}, &error),
                  KG_BAD_INPUT, &error);
    assert_status(
        explain(&explanation, shares, workspace, new_entity(world), (kg_link){0, ENTITIES}, &error),
        KG_BAD_INPUT, &error);
    kg_workspace_close(workspace);

    kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
    options.aggregate = "mean";
    assert_status(kg_workspace_open(&workspace, &world->model, &options, &error), KG_BAD_INPUT,
                  &error);
    options = (kg_workspace_options)KG_WORKSPACE_OPTIONS_INIT;
    options.threads = 0;
    assert_status(kg_workspace_open(&workspace, &world->model, &options, &error), KG_BAD_INPUT,
                  &error);
    options.threads = 1;
    options.ls_lambda = -1;
    assert_status(kg_workspace_open(&workspace, &world->model, &options, &error), KG_BAD_INPUT,
                  &error);
    free_world(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embed),
        cmocka_unit_test(test_neighbors),
        cmocka_unit_test(test_allocates_nothing),
        cmocka_unit_test(test_threads_share_a_model),
        cmocka_unit_test(test_terms_allocate_once),
        cmocka_unit_test(test_threads_share_terms),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
