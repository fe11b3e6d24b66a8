/* Structs of the public interface with a size: those of callers that were compiled with an older or
 * a newer header are read and written as far as both know them; impossible sizes are refused. */
#include "interface_world.h"

#include <stddef.h>
#include <stdlib.h>

/* A caller that was compiled when structs had fewer fields. What stands behind them is not its. */
struct older_workspace_options {
    size_t size;
    const char *aggregate;
};

struct older_new_entities_options {
    size_t size;
};

struct older_left_out_facts {
    size_t size;
    size_t unknown;
    size_t behind;
};

struct older_model_info {
    size_t size;
    const char *model;
    const char *aggregate;
    size_t entities;
    size_t behind;
};

struct older_request {
    size_t size;
    kg_subject subject;
};

struct older_training_options {
    size_t size;
    const char *preset;
    const char *model;
    const char *aggregate;
    const char *optimizer;
    uint64_t dim;
    uint64_t behind;
};

#define BEHIND 0x5a5a5a5a

static void test_older_options(void **state) {
    (void)state;
    struct older_workspace_options working = {sizeof working, "eravg"};
    struct older_new_entities_options adding = {sizeof adding};
    struct older_left_out_facts left = {offsetof(struct older_left_out_facts, behind), 9, BEHIND};
    kg_workspace *other = NULL;
    kg_new_entities *entities = NULL;
    kg_error error = {0};
    assert_ok(kg_workspace_open(&other, model, (const void *)&working, &error), &error);
    kg_workspace_close(other);
    assert_ok(kg_new_entities_open(&entities, model, (const void *)&adding, &error), &error);
    assert_ok(kg_new_entities_add(entities, rex, likes, e1, &error), &error);
    assert_ok(kg_new_entities_finish((void *)&left, entities, &error), &error);
    assert_int_equal(left.size, offsetof(struct older_left_out_facts, behind));
    assert_int_equal(left.unknown, 0);
    assert_int_equal(left.behind, BEHIND);
    kg_new_entities_close(entities);
}

static void test_older_outputs(void **state) {
    (void)state;
    struct older_model_info info = {.size = offsetof(struct older_model_info, behind),
                                    .behind = BEHIND};
    assert_ok(kg_model_describe((void *)&info, model, NULL), NULL);
    assert_string_equal(info.model, "distmult");
    assert_int_equal(info.entities, 30);
    assert_int_equal(info.behind, BEHIND);
}

/* Its requests stand as close as it knows them, and ask for neither heads nor tails. */
static void test_older_requests(void **state) {
    (void)state;
    static const kg_link link = {0, 1};
    struct older_request requests[] = {{sizeof *requests, {KG_NO_ID, &link, 1}},
                                       {sizeof *requests, {99, NULL, 0}}};
    kg_answer answers[4];
    size_t found[2];
    REFUSED("expected to be asked for heads, tails or both",
            kg_workspace_predict(answers, found, workspace, (const void *)requests, 2, 2, error));
    requests[1].size = sizeof(kg_request);
    REFUSED("requests: expected `size` to be 32 in all of them, found 40 in request 1",
            kg_workspace_predict(answers, found, workspace, (const void *)requests, 2, 2, error));
}

/* What it does not know is as usual, so the model has the bytes of one with all settings. */
static void test_older_training(void **state) {
    (void)state;
    struct older_training_options older = {.size = offsetof(struct older_training_options, behind),
                                           .behind = BEHIND};
    kg_training_options all = usual("paper", "distmult");
    kg_error error = {0};
    assert_ok(kg_training_options_init((void *)&older, "paper", "distmult", &error), &error);
    assert_int_equal(older.behind, BEHIND);
    assert_int_equal(older.dim, all.dim);
    older.dim = all.dim = 4;
    assert_ok(kg_model_train("older", "g.tsv", (const void *)&older, &error), &error);
    assert_ok(kg_model_train("all", "g.tsv", &all, &error), &error);
    size_t sizes[2];
    char *bytes[2] = {read_file("older/model.safetensors", &sizes[0]),
                      read_file("all/model.safetensors", &sizes[1])};
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    free(bytes[0]);
    free(bytes[1]);
}

/* A caller that was compiled with more fields. */
struct newer_model_info {
    kg_model_info known;
    size_t added;
};

struct newer_metrics {
    kg_metrics known;
    double added;
};

struct newer_evaluation_options {
    kg_evaluation_options known;
    const char *added;
};

struct newer_request {
    kg_request known;
    double added[3];
};

static void test_newer(void **state) {
    (void)state;
    struct newer_model_info info = {.known.size = sizeof info, .added = BEHIND};
    struct newer_metrics metrics = {.known.size = sizeof metrics, .added = 1};
    struct newer_evaluation_options options = {.known = KG_EVALUATION_OPTIONS_INIT, .added = "x"};
    assert_ok(kg_model_describe(&info.known, model, NULL), NULL);
    assert_int_equal(info.known.size, sizeof info);
    assert_int_equal(info.known.dim, 4);
    assert_int_equal(info.added, 0);
    options.known.size = sizeof options;
    options.known.threads = 0;
    REFUSED("`threads`: expected",
            kg_model_evaluate(&metrics.known, model, "g.tsv", &options.known, error));
}

/* More than are made whole at once, each with answers of its own. */
static void test_newer_requests(void **state) {
    (void)state;
    enum { MANY = 150, MOST = 3 };
    static kg_link links[MANY];
    static kg_request requests[MANY];
    static struct newer_request newer[MANY];
    static kg_answer answers[2][MANY * MOST];
    static size_t found[2][MANY];
    kg_error error = {0};
    for (size_t i = 0; i < MANY; i++) {
        links[i] = (kg_link){(kg_directed)(i % 2), (kg_id)(i % 30)};
        requests[i] = (kg_request)KG_REQUEST_INIT;
        requests[i].subject = (kg_subject){KG_NO_ID, &links[i], 1};
        requests[i].relation = 0;
        requests[i].tails = true;
        newer[i] = (struct newer_request){requests[i], {1, 2, 3}};
        newer[i].known.size = sizeof *newer;
    }
    assert_ok(kg_workspace_predict(answers[0], found[0], workspace, requests, MANY, MOST, &error),
              &error);
    assert_ok(
        kg_workspace_predict(answers[1], found[1], workspace, &newer->known, MANY, MOST, &error),
        &error);
    assert_memory_equal(found[0], found[1], sizeof found[0]);
    for (size_t i = 0; i < MANY * MOST; i++) {
        assert_int_equal(answers[0][i].entity, answers[1][i].entity);
        assert_true(answers[0][i].score == answers[1][i].score);
    }
}

/* Sizes that no struct has. */
static void test_impossible_sizes(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 7, 13, (1U << 16) + 8, SIZE_MAX, SIZE_MAX - 7};
    kg_workspace *other = NULL;
    kg_new_entities *entities = NULL;
    kg_workspace_options working = KG_WORKSPACE_OPTIONS_INIT;
    kg_new_entities_options adding = KG_NEW_ENTITIES_OPTIONS_INIT;
    kg_model_info info = KG_MODEL_INFO_INIT;
    kg_training_options training = KG_TRAINING_OPTIONS_INIT;
    kg_request request = KG_REQUEST_INIT;
    kg_answer answer;
    size_t found = 0;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        working.size = adding.size = info.size = training.size = request.size = sizes[i];
        REFUSED("options: expected `size`", kg_workspace_open(&other, model, &working, error));
        REFUSED("options: expected `size`", kg_new_entities_open(&entities, model, &adding, error));
        REFUSED("out: expected `size`", kg_model_describe(&info, model, error));
        REFUSED("out: expected `size`", kg_training_options_init(&training, NULL, NULL, error));
        REFUSED("options: expected `size`", kg_model_train("m", "g.tsv", &training, error));
        REFUSED("requests: expected `size`",
                kg_workspace_predict(&answer, &found, workspace, &request, 1, 1, error));
    }
}

/* The last field of what is read fills its struct: a field behind it makes the struct longer, so
 * that no padding of an older caller's is taken for it. */
#define ENDS_WITH(type, field) \
    _Static_assert(sizeof(type) == offsetof(type, field) + sizeof(((type *)0)->field), #type)
ENDS_WITH(kg_new_entities_options, payload);
ENDS_WITH(kg_workspace_options, answers);
ENDS_WITH(kg_request, no_echo);
ENDS_WITH(kg_training_options, settings);
ENDS_WITH(kg_evaluation_options, progress);
ENDS_WITH(kg_graph_options, progress);
ENDS_WITH(kg_live_options, unused);

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_older_options),
        cmocka_unit_test(test_older_outputs),
        cmocka_unit_test(test_older_requests),
        cmocka_unit_test(test_older_training),
        cmocka_unit_test(test_newer),
        cmocka_unit_test(test_newer_requests),
        cmocka_unit_test(test_impossible_sizes),
    };
    return cmocka_run_group_tests(tests, open_interface_world, close_interface_world);
}
