/* Embedding, predicting and explaining against the plain way: vectors by the twin of the design's
 * formulas, every candidate of every relation scored and sorted. And what workspaces promise: they
 * allocate nothing once they are made, and threads share a model. */
#include "support.h"
#include "terms/echo.h"

#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "give_term.h"
#include "infer/workspace.h"
#include "some_propagation.h"
#include "twin.h"

#define ENTITIES 900
#define RELATIONS 6
#define DIM 16
#define LINKS 9
#define ZEROS 4 /* an entity whose row has no direction */

/* ---- Allocations are counted ---- */

static atomic_long allocations;

void *kg__backend_resize(void *block, size_t bytes) {
    atomic_fetch_add(&allocations, 1);
    return realloc(block, bytes);
}

void kg__backend_free(void *block) {
    free(block);
}

/* ---- A model that nobody trained ---- */

struct world {
    kg_model model;
    real entities[ENTITIES * DIM];
    real relations[RELATIONS * DIM];
    real calibration[4 * RELATIONS];
    double wide_entities[ENTITIES * DIM];
    double wide_relations[RELATIONS * DIM];
    kg_link links[LINKS];
    twin_model twin;
};

static void fill(real *values, double *wide, size_t count, uint64_t seed) {
    for (size_t i = 0; i < count; i++) {
        values[i] = (real)(2 * kg__random_unit(seed, KG_STREAM_GENERATE_TAIL, i) - 1);
        wide[i] = (double)values[i];
    }
}

static struct world *make_world(const char *model) {
    struct world *world = must_allocate(1, sizeof *world);
    fill(world->entities, world->wide_entities, ENTITIES * DIM, 1);
    fill(world->relations, world->wide_relations, RELATIONS * DIM, 2);
    for (size_t i = 0; i < DIM; i++)
        world->entities[ZEROS * DIM + i] = 0;
    memset(world->wide_entities + ZEROS * DIM, 0, DIM * sizeof(double));
    memcpy(world->entities + 20 * DIM, world->entities + 10 * DIM, DIM * sizeof(real)); /* a tie */
    memcpy(world->wide_entities + 20 * DIM, world->wide_entities + 10 * DIM, DIM * sizeof(double));
    for (size_t i = 0; i < 2 * RELATIONS; i++) {
        world->calibration[2 * i] = (real)(0.5 + 0.3 * (double)(i % 3));
        world->calibration[2 * i + 1] = (real)(-1 - 0.7 * (double)(i % 4));
    }
    static const kg_link links[LINKS] = {{0, 3},  {0, 10}, {1, 7},  {3, 10}, {4, 88},
                                         {4, 90}, {7, 5},  {8, 11}, {9, 500}};
    memcpy(world->links, links, sizeof links);
    kg_error error = {0};
    for (size_t i = 0; i < ENTITIES + RELATIONS; i++) {
        char name[16];
        kg_id id = 0;
        kg_names *names = i < ENTITIES ? &world->model.entities : &world->model.relations;
        int length = snprintf(name, sizeof name, "%zu", i);
        assert_ok(kg__names_intern(names, &id, kg__name_of(name, (size_t)length), &error), &error);
    }
    world->model.config = json_pack("{s{ss}}", "settings", "aggregate", "eravg");
    world->model.params = (kg_params){.scoring = kg__scoring_find(model),
                                      .entities = world->entities,
                                      .relations = world->relations,
                                      .dim = DIM};
    world->model.calibration = world->calibration;
    world->twin = (twin_model){.model = model,
                               .aggregate = "eravg",
                               .lambda = 0.1,
                               .dim = DIM,
                               .entities = world->wide_entities,
                               .relations = world->wide_relations};
    return world;
}

static void free_world(struct world *world) {
    kg__names_free(&world->model.entities);
    kg__names_free(&world->model.relations);
    json_decref(world->model.config);
    free(world);
}

static kg_workspace *open_workspace(const struct world *world, const char *aggregate, int threads) {
    kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
    kg_workspace *workspace = NULL;
    kg_error error = {0};
    options.aggregate = aggregate;
    options.threads = threads;
    assert_ok(kg_workspace_open(&workspace, &world->model, &options, &error), &error);
    return workspace;
}

static kg_subject newcomer(const struct world *world) {
    return (kg_subject){KG_NO_ID, world->links, LINKS};
}

/* ---- The plain way ---- */

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
    twin_ials_solve(&twin, &(twin_ials){KG_IALS_ALPHA, KG_IALS_LAMBDA, ENTITIES}, z, sum, links,
                    count);
}

static bool is_known(const kg_link *links, size_t count, kg_directed directed, kg_id entity) {
    for (size_t i = 0; i < count; i++)
        if (links[i].directed == directed && links[i].other == entity)
            return true;
    return false;
}

static int compare(const void *one, const void *other) {
    const kg_candidate *a = one;
    const kg_candidate *b = other;
    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    if (a->directed != b->directed)
        return a->directed < b->directed ? -1 : 1;
    return a->entity < b->entity ? -1 : 1;
}

static size_t keep_others(kg_link *kept, const kg_link *links, size_t count, kg_link missing) {
    size_t kept_count = 0;
    for (size_t i = 0; i < count; i++)
        if (links[i].directed != missing.directed || links[i].other != missing.other)
            kept[kept_count++] = links[i];
    return kept_count;
}

/* The vector of a question about someone new with these facts, of whom nothing is known if there
 * are none. */
static void ask_plainly(real vector[DIM], kg_workspace *workspace, const kg_link *links,
                        size_t count, kg_directed asked) {
    float z[DIM] = {0};
    kg_error error = {0};
    kg_subject subject = {KG_NO_ID, links, count};
    if (count > 0)
        assert_ok(kg_workspace_embed(z, workspace, subject, asked, &error), &error);
    kg__query_vector_adjoint(&workspace->model->params, vector, asked, z);
}

/* All links of the request, the best first. `z` is as the library has it: this is about order. */
static size_t expect_links(kg_candidate *out, const struct world *world, kg_workspace *workspace,
                           const float *z, const kg_request *request, const kg_link *known,
                           size_t known_count) {
    size_t count = 0;
    bool is_single = request->relation != KG_NO_ID && request->heads != request->tails;
    for (kg_directed d = 0; d < 2 * RELATIONS; d++) {
        real vector[DIM];
        bool is_wanted = (request->relation == KG_NO_ID || request->relation == d / 2) &&
                         (kg_directed_end(d) == KG_HEAD ? request->tails : request->heads);
        kg__query_vector_adjoint(&world->model.params, vector, d, z);
        for (kg_id u = 0; u < ENTITIES && is_wanted; u++) {
            real score = kg__dot(world->entities + u * DIM, vector, DIM);
            if (is_known(known, known_count, d, u)) {
                kg_link kept[LINKS];
                real without[DIM];
                size_t kept_count = keep_others(kept, known, known_count, (kg_link){d, u});
                ask_plainly(without, workspace, kept, kept_count, d);
                score = kg__dot(world->entities + u * DIM, without, DIM);
            }
            real odds = world->calibration[2 * d] * score + world->calibration[2 * d + 1];
            bool is_echo = false;
            for (size_t i = 0; i < known_count; i++)
                is_echo = is_echo || (known[i].other == u && known[i].directed != d);
            if (isnan((double)score) == 0 && u != request->subject.entity &&
                !(is_echo && request->no_echo) &&
                (request->keep_known || !is_known(known, known_count, d, u)))
                out[count++] = (kg_candidate){d, u, score, is_single ? score : odds};
        }
    }
    qsort(out, count, sizeof *out, compare);
    return count;
}

/* ---- Tests ---- */

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
            assert_ok(kg_workspace_embed(z, workspace, newcomer(world), KG_NO_QUERY, &error),
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
                    sizeof(kg_request), newcomer(world),   relation,        (sides & 1) != 0,
                    (sides & 2) != 0,   relation % 2 == 0, (sides & 4) != 0};
    for (int sides = 1; sides < 4; sides++)
        requests[count++] =
            (kg_request){sizeof(kg_request), newcomer(world), KG_NO_ID, (sides & 1) != 0,
                         (sides & 2) != 0,   false,           false};
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
        size_t all = expect_links(expected, world, workspace, z, &requests[i],
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

/* Longer lists are made in smaller tiles, which may take less room than those of shorter lists:
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
        requests[i] = (kg_request){
            sizeof(kg_request), newcomer(world), (kg_id)(i % RELATIONS), false, true, true, false};
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

/* The answer's realistic rank in the plain list. */
static double plain_rank(const kg_candidate *list, size_t count, kg_id answer) {
    size_t higher = 0;
    size_t equal = 0;
    real score = (real)NAN;
    for (size_t i = 0; i < count; i++)
        if (list[i].entity == answer)
            score = list[i].score;
    for (size_t i = 0; i < count; i++) {
        higher += list[i].score > score;
        equal += list[i].score == score;
    }
    return (double)(higher + 1) + (double)(equal - 1) / 2;
}

/* With the largest arrays that a test needs, but for those of shares; what is in them lasts until
 * the thread's next call. */
static kg_status explain(kg_explanation *out, kg_share *shares, kg_workspace *workspace,
                         kg_subject subject, kg_link asked, kg_error *error) {
    enum { FACTS = 2000, TERMS = 9 };
    static _Thread_local kg_score_term terms[TERMS];
    static _Thread_local double parts[FACTS * TERMS];
    static _Thread_local kg_reason reasons[8 * TERMS];
    *out = (kg_explanation){.size = sizeof *out,
                            .shares = shares,
                            .share_capacity = FACTS,
                            .terms = terms,
                            .term_capacity = TERMS,
                            .parts = parts,
                            .part_capacity = COUNT_OF(parts),
                            .reasons = reasons,
                            .reason_capacity = COUNT_OF(reasons)};
    return kg_workspace_explain(out, workspace, subject, asked, error);
}

static void check_explain(const struct world *world, const char *aggregate, kg_link asked) {
    kg_workspace *workspace = open_workspace(world, aggregate, 1);
    kg_error error = {0};
    kg_explanation explanation;
    kg_share shares[LINKS];
    kg_candidate *list = must_allocate(ENTITIES, sizeof *list);
    float z[DIM];
    assert_ok(explain(&explanation, shares, workspace, newcomer(world), asked, &error), &error);
    double sum = 0;
    double magnitude = 0;
    for (size_t i = 0; i < LINKS; i++) {
        sum += shares[i].part;
        magnitude += fabs(shares[i].part);
        assert_int_equal(shares[i].link.directed, world->links[i].directed);
        assert_int_equal(shares[i].link.other, world->links[i].other);
    }
    assert_true(fabs(sum - explanation.score) <= 1e-9 * magnitude);

    /* Without each fact, and with all of them: as a fresh embedding ranks it, which never has the
     * fact that is asked for. */
    for (size_t left_out = 0; left_out <= LINKS; left_out++) {
        kg_link kept[LINKS];
        size_t count = 0;
        for (size_t i = 0; i < LINKS; i++)
            if (i != left_out &&
                !is_known(&asked, 1, world->links[i].directed, world->links[i].other))
                kept[count++] = world->links[i];
        kg_subject subject = {KG_NO_ID, kept, count};
        kg_end end = kg_directed_end(asked.directed);
        kg_request request = {sizeof(kg_request),
                              subject,
                              asked.directed / 2,
                              end == KG_TAIL,
                              end == KG_HEAD,
                              false,
                              false};
        assert_ok(kg_workspace_embed(z, workspace, subject, KG_NO_QUERY, &error), &error);
        size_t all = expect_links(list, world, workspace, z, &request, kept, count);
        double expected = plain_rank(list, all, asked.other);
        double rank = left_out == LINKS ? explanation.rank : shares[left_out].rank_without;
        assert_true(rank == expected);
        real vector[DIM];
        kg__query_vector_adjoint(&world->model.params, vector, asked.directed, z);
        if (left_out == LINKS)
            assert_true(fabs((double)kg__dot(world->entities + asked.other * DIM, vector, DIM) -
                             explanation.score) < 1e-5);
    }
    free(list);
    kg_workspace_close(workspace);
}

static void test_explain(void **state) {
    (void)state;
    static const char *const models[] = {"distmult", "simple", "complex", "quate"};
    static const char *const aggregates[] = {"eavg", "eravg", "ls", "ls-u", "ials"};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        struct world *world = make_world(models[i]);
        for (size_t k = 0; k < COUNT_OF(aggregates); k++) {
            check_explain(world, aggregates[k], (kg_link){5, 42});
            check_explain(world, aggregates[k], (kg_link){0, 20}); /* ties with a known answer */
            check_explain(world, aggregates[k], (kg_link){8, 600});
            check_explain(world, aggregates[k], (kg_link){4, 88}); /* which is given */
        }
        free_world(world);
    }
}

static void test_single_fact(void **state) {
    (void)state;
    struct world *world = make_world("distmult");
    kg_workspace *workspace = open_workspace(world, "ls", 1);
    kg_error error = {0};
    kg_explanation explanation;
    kg_share share;
    kg_subject subject = {KG_NO_ID, world->links, 1};
    assert_ok(explain(&explanation, &share, workspace, subject, (kg_link){5, 42}, &error), &error);
    assert_true(isnan(share.rank_without) != 0);
    assert_true(fabs(share.part - explanation.score) <= 1e-12 * fabs(share.part));
    /* If that one is asked for, nothing is known. */
    assert_ok(explain(&explanation, &share, workspace, subject, world->links[0], &error), &error);
    assert_true(explanation.score == 0 && share.part == 0);
    assert_true(share.rank_without == explanation.rank);
    kg_workspace_close(workspace);
    free_world(world);
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
            sizeof(kg_request), newcomer(world), KG_NO_ID, true, true, false, false};
        long before = atomic_load(&allocations);
        assert_ok(kg_workspace_embed(z, workspace, newcomer(world), KG_NO_QUERY, &error), &error);
        assert_ok(kg_workspace_predict(answers, &found, workspace, &request, 1, 100, &error),
                  &error);
        assert_ok(
            explain(&explanation, shares, workspace, newcomer(world), (kg_link){1, 2}, &error),
            &error);
        assert_ok(kg_workspace_neighbors(answers, &found, workspace, newcomer(world), 100, &error),
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
            sizeof(kg_request), newcomer(world), KG_NO_ID, true, true, false, false};
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

/* ---- Terms ---- */

/* A model of graft, whose training facts are those that propagation goes over. */
struct grafted {
    struct world *world;
    struct some_propagation some; /* which the model need not have */
    bool has_propagation;
    kg_graft graft;
    kg_echo echo;
    real values[4 * RELATIONS * RELATIONS];
};

static struct grafted *make_grafted(bool has_propagation) {
    struct grafted *out = must_allocate(1, sizeof *out);
    kg_model *model = NULL;
    out->world = make_world("complex");
    model = &out->world->model;
    make_propagation(&out->some, ENTITIES, RELATIONS, 2000);
    out->has_propagation = has_propagation;
    for (size_t i = 0; i < COUNT_OF(out->values); i++)
        out->values[i] = (real)(i % 7) / 8;
    out->graft = (kg_graft){.power = 0.5, .weights = out->values};
    assert_ok(kg__pairs_make(&out->graft.weighted, &out->some.graph, 2 * RELATIONS, NULL), NULL);
    assert_ok(kg__pairs_make_echoes(&out->echo.pairs, &out->some.graph, 2 * RELATIONS, 1, 0, NULL),
              NULL);
    json_object_set_new(json_object_get(model->config, "settings"), "psi", json_real(1));
    model->params.graft = &out->graft;
    if (has_propagation)
        give_propagation(&model->params, &out->some);
    give_term(&model->params, &kg__term_echo, &out->echo, out->values, 0);
    model->known = (kg_known_facts){out->some.graph.links,
                                    out->some.graph.starts,
                                    (size_t)out->some.graph.starts[ENTITIES],
                                    ENTITIES,
                                    RELATIONS,
                                    "known"};
    return out;
}

static void free_grafted(struct grafted *grafted) {
    kg__pairs_free(&grafted->graft.weighted);
    kg__pairs_free(&grafted->echo.pairs);
    free_propagation(&grafted->some);
    free_world(grafted->world);
    free(grafted);
}

/* What facts of an entity but one give the answers to a question on top of the product. */
static void expect_bonuses(double bonuses[ENTITIES], const struct grafted *grafted, kg_id self,
                           const kg_link *links, size_t count, size_t left_out, kg_directed asked) {
    memset(bonuses, 0, ENTITIES * sizeof *bonuses);
    if (grafted->has_propagation)
        propagate_plainly(bonuses, &grafted->some, self, links, count, left_out, asked);
    for (size_t i = 0; i < count; i++) {
        uint32_t pair = kg__pairs_find(&grafted->echo.pairs, asked, links[i].directed);
        if (pair != KG_NO_PAIR && i != left_out)
            bonuses[links[i].other] += (double)grafted->values[pair];
    }
}

/* What is asked, and what it is asked by. */
struct asked {
    const struct grafted *grafted;
    kg_id self;
    kg_directed directed;
    real vector[DIM];
    double bonuses[ENTITIES];
};

static void take_facts(struct asked *asked, kg_workspace *workspace, const kg_link *links,
                       size_t count, size_t left_out) {
    kg_link *kept = must_allocate(count + 1, sizeof *kept);
    size_t kept_count = 0;
    for (size_t i = 0; i < count; i++)
        if (i != left_out)
            kept[kept_count++] = links[i];
    ask_plainly(asked->vector, workspace, kept, kept_count, asked->directed);
    expect_bonuses(asked->bonuses, asked->grafted, asked->self, links, count, left_out,
                   asked->directed);
    free(kept);
}

static real expect_score(const struct asked *asked, kg_id u) {
    const struct grafted *grafted = asked->grafted;
    real score = kg__dot(kg__entity_row(&grafted->world->model.params, u), asked->vector, DIM);
    if (grafted->has_propagation)
        score += propagation_prior(&grafted->some, asked->directed, u);
    return score + (real)asked->bonuses[u];
}

/* All scores of one question, and those of known answers as if they were not known: of echoes to
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
            check_scores(grafted, workspace, newcomer(world), world->links, LINKS, asked);
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

/* Parts come to the score, those of a fact to its part, and those of a term to that of the term. */
static void check_parts(const kg_explanation *why) {
    double sum = 0;
    for (size_t i = 0; i < why->share_count; i++) {
        double own = 0;
        for (size_t k = 0; k < why->term_count; k++)
            own += why->shares[i].parts[k];
        assert_true(fabs(own - why->shares[i].part) < 1e-12);
        sum += why->shares[i].part;
    }
    for (size_t k = 0; k < why->term_count; k++) {
        const kg_score_term *term = &why->terms[k];
        double through = term->rest;
        for (size_t i = 0; i < why->share_count; i++)
            through += why->shares[i].parts[k];
        assert_true(fabs(through - term->part) < 1e-12);
        sum += term->rest;
    }
    assert_true(fabs(sum - why->score) < 1e-12);
}

/* Parts of an answer; and its rank without each fact, as if that had never been. */
static void check_answer(const struct grafted *grafted, kg_workspace *workspace, kg_link asked) {
    const struct world *world = grafted->world;
    kg_explanation why;
    kg_share shares[LINKS];
    kg_error error = {0};
    assert_ok(explain(&why, shares, workspace, newcomer(world), asked, &error), &error);
    check_parts(&why);

    double bonuses[ENTITIES];
    double echoes = 0;
    expect_bonuses(bonuses, grafted, KG_NO_ID, world->links, LINKS,
                   kg__links_find(world->links, LINKS, asked), asked.directed);
    for (size_t i = 0; i < LINKS; i++)
        echoes += shares[i].parts[1];
    assert_true(fabs(bonuses[asked.other] - echoes) < 1e-5);

    for (size_t left_out = 0; left_out < LINKS; left_out++) {
        kg_link kept[LINKS];
        kg_share others[LINKS];
        kg_explanation fresh;
        size_t count = 0;
        for (size_t i = 0; i < LINKS; i++)
            if (i != left_out)
                kept[count++] = world->links[i];
        kg_subject subject = {KG_NO_ID, kept, count};
        assert_ok(explain(&fresh, others, workspace, subject, asked, &error), &error);
        assert_true(fresh.rank == shares[left_out].rank_without);
        if (is_known(&world->links[left_out], 1, asked.directed, asked.other)) {
            assert_true(fresh.score == why.score && fresh.rank == why.rank);
            assert_true(shares[left_out].part == 0);
        }
    }
}

/* An entity of the model: what it is explained by is what it is predicted by, its facts; and a fact
 * as if it were not one. */
static void check_known(const struct grafted *grafted, kg_workspace *workspace, kg_id v,
                        kg_link asked) {
    size_t degree = kg__adjacency_degree(&grafted->some.graph, v);
    const kg_link *links = kg__adjacency_links(&grafted->some.graph, v);
    bool is_fact = is_known(links, degree, asked.directed, asked.other);
    kg_share *shares = must_allocate(degree, sizeof *shares);
    kg_answer *answers = must_allocate(ENTITIES, sizeof *answers);
    size_t found = 0;
    kg_explanation why;
    kg_error error = {0};
    kg_subject subject = {v, NULL, 0};
    assert_ok(explain(&why, shares, workspace, subject, asked, &error), &error);
    check_parts(&why);
    kg_end end = kg_directed_end(asked.directed);
    kg_request request = {sizeof(kg_request),
                          subject,
                          asked.directed / 2,
                          end == KG_TAIL,
                          end == KG_HEAD,
                          is_fact,
                          false};
    assert_ok(kg_workspace_predict(answers, &found, workspace, &request, 1, ENTITIES, &error),
              &error);
    double above = 0;
    double equal = 0;
    float score = NAN;
    for (size_t i = 0; i < found; i++)
        if (answers[i].entity == asked.other)
            score = answers[i].score;
    assert_true(fabs((double)score - why.score) < 1e-5);
    for (size_t i = 0; i < found; i++) {
        bool is_other = is_known(links, degree, asked.directed, answers[i].entity) ||
                        answers[i].entity == v || answers[i].entity == asked.other;
        above += !is_other && answers[i].score > score;
        equal += !is_other && answers[i].score == score;
    }
    /* Of a fact, others were scored with it; one that is not a number is not listed. */
    double rank = above + equal / 2 + 1;
    assert_true(is_fact || why.rank == rank || why.rank == rank + 1);
    for (size_t i = 0; i < degree; i++) {
        bool is_asked = is_known(&asked, 1, links[i].directed, links[i].other);
        assert_int_equal(shares[i].link.other, links[i].other);
        assert_true(!is_asked || (shares[i].part == 0 && shares[i].rank_without == why.rank));
    }
    free(answers);
    free(shares);
}

static void test_known_entities_are_explained(void **state) {
    (void)state;
    struct grafted *grafted = make_grafted(true);
    kg_workspace *workspace = open_workspace(grafted->world, "graft", 1);
    size_t facts = 0;
    for (kg_id v = 1; v < ENTITIES; v += 90) {
        const kg_link *links = kg__adjacency_links(&grafted->some.graph, v);
        size_t degree = kg__adjacency_degree(&grafted->some.graph, v);
        for (size_t i = 0; i < degree && i < 4; i++) {
            check_known(grafted, workspace, v, links[i]);
            kg_link other = {links[i].directed, (links[i].other + 7) % ENTITIES};
            if (other.other != v && !is_known(links, degree, other.directed, other.other))
                check_known(grafted, workspace, v, other);
            facts++;
        }
    }
    assert_true(facts > 10);
    kg_workspace_close(workspace);
    free_grafted(grafted);
}

static void test_echo_is_explained(void **state) {
    (void)state;
    struct grafted *grafted = make_grafted(false);
    kg_workspace *workspace = open_workspace(grafted->world, "graft", 1);
    size_t echoed = 0;
    for (kg_directed asked = 0; asked < 2 * RELATIONS; asked++) {
        double bonuses[ENTITIES];
        expect_bonuses(bonuses, grafted, KG_NO_ID, grafted->world->links, LINKS, KG_NOTHING, asked);
        for (kg_id u = 5; u < ENTITIES; u += 41) {
            echoed += bonuses[u] != 0;
            check_answer(grafted, workspace, (kg_link){asked, u});
        }
        for (kg_id u = 0; u < 12; u += 5) /* some of whom many facts lead to */
            check_answer(grafted, workspace, (kg_link){asked, u});
    }
    for (size_t i = 0; i < LINKS; i++) /* as if they were not given */
        check_answer(grafted, workspace, grafted->world->links[i]);
    assert_true(echoed > 0);
    kg_workspace_close(workspace);
    free_grafted(grafted);
}

/* Room that terms took once is used again. */
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
        kg_subject subject = newcomer(grafted->world);
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
        kg_subject subject = newcomer(grafted->world);
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
    kg_subject subject = newcomer(world);
    kg_id other = 77; /* of no fact of the newcomer */
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
    kg_request good = {sizeof(kg_request), newcomer(world), 1, false, true, false, false};
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
        explain(&explanation, shares, workspace, newcomer(world), (kg_link){0, ENTITIES}, &error),
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
        cmocka_unit_test(test_predict),
        cmocka_unit_test(test_many_requests),
        cmocka_unit_test(test_shorter_lists_after_longer),
        cmocka_unit_test(test_explain),
        cmocka_unit_test(test_single_fact),
        cmocka_unit_test(test_neighbors),
        cmocka_unit_test(test_allocates_nothing),
        cmocka_unit_test(test_threads_share_a_model),
        cmocka_unit_test(test_echo_predicts),
        cmocka_unit_test(test_propagation_predicts),
        cmocka_unit_test(test_echo_is_explained),
        cmocka_unit_test(test_known_entities_are_explained),
        cmocka_unit_test(test_terms_allocate_once),
        cmocka_unit_test(test_threads_share_terms),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
