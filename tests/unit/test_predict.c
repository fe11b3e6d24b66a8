/* Predicting against the plain way: every candidate of every relation scored and sorted. */
#include <math.h>
#include <stdlib.h>

#include "workspace_world.h"

/* Requests of all kinds at once, against each for itself the plain way. */
static void check_predict(struct world *world, int threads, size_t most) {
    kg_workspace *workspace = open_workspace(world, "ls", threads);
    kg_error error = {0};
    kg_request requests[64];
    size_t count = 0;
    for (kg_id relation = 0; relation < RELATIONS; relation++)
        for (int sides = 1; sides < 8; sides++)
            if (sides % 4 != 0)
                requests[count++] = (kg_request){
                    sizeof(kg_request), new_entity(world), relation,        (sides & 1) != 0,
                    (sides & 2) != 0,   relation % 2 == 0, (sides & 4) != 0};
    for (int sides = 1; sides < 4; sides++)
        requests[count++] = (kg_request){sizeof(kg_request),
                                         new_entity(world),
                                         KG_NO_ID,
                                         (sides & 1) != 0,
                                         (sides & 2) != 0,
                                         false,
                                         false};
    requests[count++] =
        (kg_request){sizeof(kg_request), {55, NULL, 0}, KG_NO_ID, true, true, false, false};

    kg_answer *answers = must_allocate(count * most, sizeof *answers);
    kg_candidate *expected = must_allocate((size_t)2 * RELATIONS * ENTITIES, sizeof *expected);
    size_t found[64];
    assert_ok(kg_workspace_predict(answers, found, workspace, requests, count, most, &error),
              &error);
    for (size_t i = 0; i < count; i++) {
        float z[DIM];
        assert_ok(kg_workspace_embed(z, workspace, requests[i].subject, KG_NO_QUERY, &error),
                  &error);
        size_t all = expect_answers(expected, world, workspace, z, &requests[i],
                                    requests[i].subject.links, requests[i].subject.count);
        assert_int_equal(found[i], all < most ? all : most);
        for (size_t k = 0; k < found[i]; k++) {
            kg_answer answer = answers[i * most + k];
            double odds = (double)(world->calibration[2 * answer.directed] * answer.score +
                                   world->calibration[2 * answer.directed + 1]);
            assert_int_equal(answer.directed, expected[k].directed);
            assert_int_equal(answer.entity, expected[k].entity);
            assert_memory_equal(&answer.score, &expected[k].score, sizeof(float));
            assert_true(fabs((double)answer.probability - 1 / (1 + exp(-odds))) < 1e-6);
        }
    }
    free(answers);
    free(expected);
    kg_workspace_close(workspace);
}

static void test_predict(void **state) {
    (void)state;
    struct world *world = make_world("complex");
    check_predict(world, 1, 10);
    check_predict(world, 3, 1);
    check_predict(world, 2, 2000);
    free_world(world);
}

/* Many requests make several tiles: each must be as it is alone. */
static void test_many_requests(void **state) {
    (void)state;
    enum { MANY = 1200, MOST = 5 };
    struct world *world = make_world("distmult");
    kg_workspace *workspace = open_workspace(world, "eravg", 2);
    kg_error error = {0};
    kg_request *requests = must_allocate(MANY, sizeof *requests);
    kg_answer *answers = must_allocate((size_t)MANY * MOST, sizeof *answers);
    size_t *found = must_allocate(MANY, sizeof *found);
    for (size_t i = 0; i < MANY; i++) {
        kg_subject subject = {KG_NO_ID, world->links + i % 4, 1 + i % (LINKS - 4)};
        bool is_any = i % 50 == 7;
        requests[i] = (kg_request){sizeof(kg_request),
                                   subject,
                                   is_any ? KG_NO_ID : (kg_id)(i % RELATIONS),
                                   is_any || i % 2 == 0,
                                   is_any || i % 2 != 0,
                                   false,
                                   i % 3 == 0};
    }
    assert_ok(kg_workspace_predict(answers, found, workspace, requests, MANY, MOST, &error),
              &error);
    for (size_t i = 0; i < MANY; i += 7) {
        kg_answer alone[MOST];
        size_t count = 0;
        assert_ok(kg_workspace_predict(alone, &count, workspace, &requests[i], 1, MOST, &error),
                  &error);
        assert_int_equal(count, found[i]);
        assert_memory_equal(alone, answers + i * MOST, count * sizeof *alone);
    }
    free(requests);
    free(answers);
    free(found);
    kg_workspace_close(workspace);
    free_world(world);
}

/* Longer lists are made in smaller tiles, which may take less memory than those of shorter lists:
 * after a long list, many shorter ones still fit. */
static void test_shorter_lists_after_longer(void **state) {
    (void)state;
    enum { MANY = 512, MOST = 512 };
    struct world *world = make_world("distmult");
    kg_workspace *workspace = open_workspace(world, "eravg", 1);
    kg_error error = {0};
    kg_request requests[MANY];
    kg_answer *answers = must_allocate((size_t)MANY * MOST, sizeof *answers);
    size_t found[MANY];
    for (size_t i = 0; i < MANY; i++)
        requests[i] = (kg_request){sizeof(kg_request),
                                   new_entity(world),
                                   (kg_id)(i % RELATIONS),
                                   false,
                                   true,
                                   true,
                                   false};
    assert_ok(kg_workspace_predict(answers, found, workspace, requests, 1, ENTITIES, &error),
              &error);
    assert_int_equal(found[0], ENTITIES);
    assert_ok(kg_workspace_predict(answers, found, workspace, requests, MANY, MOST, &error),
              &error);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(found[i], MOST);
        assert_memory_equal(answers + i * MOST, answers + i % RELATIONS * MOST,
                            MOST * sizeof *answers);
    }
    free(answers);
    kg_workspace_close(workspace);
    free_world(world);
}

/* ---- Terms ---- */

/* What is asked, and what it is asked by. */
struct asked {
    const struct grafted *grafted;
    kg_id self;
    kg_directed directed;
    real vector[DIM];
    double offsets[ENTITIES];
};

static void take_facts(struct asked *asked, kg_workspace *workspace, const kg_link *links,
                       size_t count, size_t left_out) {
    kg_link *kept = must_allocate(count + 1, sizeof *kept);
    size_t kept_count = 0;
    for (size_t i = 0; i < count; i++)
        if (i != left_out)
            kept[kept_count++] = links[i];
    query_plainly(asked->vector, workspace, kept, kept_count, asked->directed);
    expect_offsets(asked->offsets, asked->grafted, asked->self, links, count, left_out,
                   asked->directed);
    free(kept);
}

static real expect_score(const struct asked *asked, kg_id u) {
    const struct grafted *grafted = asked->grafted;
    real score = kg__dot(kg__entity_row(&grafted->world->model.params, u), asked->vector, DIM);
    if (grafted->has_propagation)
        score += propagation_prior(&grafted->some, asked->directed, u);
    return score + (real)asked->offsets[u];
}

/* All scores of one query, and those of known answers as if they were not known: of echoes to
 * the bit. */
static void check_scores(const struct grafted *grafted, kg_workspace *workspace, kg_subject subject,
                         const kg_link *links, size_t count, kg_directed directed) {
    kg_end end = kg_directed_end(directed);
    kg_request request = {sizeof(kg_request), subject, directed / 2, end == KG_TAIL,
                          end == KG_HEAD,     true,    false};
    kg_answer *answers = must_allocate(ENTITIES, sizeof *answers);
    struct asked asked = {grafted, subject.entity, directed, {0}, {0}};
    struct asked without = asked;
    size_t found = 0;
    size_t known = 0;
    size_t expected_known = 0;
    kg_error error = {0};
    assert_ok(kg_workspace_predict(answers, &found, workspace, &request, 1, ENTITIES, &error),
              &error);
    assert_int_equal(found, ENTITIES);
    take_facts(&asked, workspace, links, count, KG_NOTHING);
    for (size_t i = 0; i < found; i++) {
        kg_id u = answers[i].entity;
        real score = expect_score(&asked, u);
        if (is_known(links, count, directed, u)) {
            take_facts(&without, workspace, links, count,
                       kg__links_find(links, count, (kg_link){directed, u}));
            score = expect_score(&without, u);
            known++;
        }
        assert_true(i == 0 || answers[i - 1].score >= answers[i].score);
        if (subject.entity == KG_NO_ID && !grafted->has_propagation)
            assert_true(answers[i].score == score);
        else
            assert_true(fabs((double)(answers[i].score - score)) < 1e-4);
    }
    kg__links_run(links, count, directed, &expected_known);
    assert_int_equal(known, expected_known);
    free(answers);
}

static void check_predictions(bool has_propagation) {
    struct grafted *grafted = make_grafted(has_propagation);
    const struct world *world = grafted->world;
    for (int threads = 1; threads <= 3; threads += 2) {
        kg_workspace *workspace = open_workspace(world, "graft", threads);
        for (kg_directed asked = 0; asked < 2 * RELATIONS; asked++) {
            check_scores(grafted, workspace, new_entity(world), world->links, LINKS, asked);
            for (kg_id v = 3; v < ENTITIES; v += 299) {
                kg_subject known = {v, NULL, 0};
                check_scores(grafted, workspace, known,
                             kg__adjacency_links(&grafted->some.graph, v),
                             kg__adjacency_degree(&grafted->some.graph, v), asked);
            }
        }
        kg_workspace_close(workspace);
    }
    free_grafted(grafted);
}

static void test_echo_predicts(void **state) {
    (void)state;
    check_predictions(false);
}

static void test_propagation_predicts(void **state) {
    (void)state;
    check_predictions(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_predict),
        cmocka_unit_test(test_many_requests),
        cmocka_unit_test(test_shorter_lists_after_longer),
        cmocka_unit_test(test_echo_predicts),
        cmocka_unit_test(test_propagation_predicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
