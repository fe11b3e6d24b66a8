/* The public interface, with arguments that nobody should pass: each NULL, each number that is
 * none, ids that are not there. Nothing crashes; what can fail says which argument is wrong, and
 * what cannot gives something empty. */
#include "support.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kgraft.h"

static kg_model *model;
static kg_workspace *workspace;

static const kg_text rex = {"rex", 3}, likes = {"likes", 5}, e1 = {"e1", 2};

static kg_training_options usual(const char *preset, const char *of) {
    kg_training_options out = KG_TRAINING_OPTIONS_INIT;
    assert_ok(kg_training_options_init(&out, preset, of, NULL), NULL);
    return out;
}

/* A ring of friends, and a model of it. */
static int set_up(void **state) {
    if (enter_temporary_folder(state) != 0)
        return -1;
    FILE *file = fopen("g.tsv", "w");
    for (int i = 0; i < 30; i++)
        fprintf(file, "e%d\tlikes\te%d\n", i, (i + 1) % 30);
    fclose(file);
    kg_error error = {0};
    kg_training_options training = usual("paper", "distmult");
    training.dim = 4;
    training.epochs = 1;
    assert_ok(kg_model_train("model", "g.tsv", &training, &error), &error);
    kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
    assert_ok(kg_model_open(&model, "model", &error), &error);
    assert_ok(kg_workspace_open(&workspace, model, &options, &error), &error);
    return 0;
}

static int tear_down(void **state) {
    kg_workspace_close(workspace);
    kg_model_close(model);
    return leave_temporary_folder(state);
}

/* A call that is refused, with a message that starts like this, and without anyone to tell. */
#define REFUSED(start, call)                                             \
    do {                                                                 \
        kg_error refusal = {0};                                          \
        kg_error *error = &refusal;                                      \
        assert_status((call), KG_BAD_INPUT, error);                      \
        if (strncmp(refusal.message, (start), strlen(start)) != 0)       \
            fail_msg("expected %s, found %s", (start), refusal.message); \
        error = NULL;                                                    \
        assert_status((call), KG_BAD_INPUT, error);                      \
    } while (0)

static void test_errors(void **state) {
    (void)state;
    char out[4] = "???";
    kg_error error = {.message = "message"};
    assert_null(kg_error_text(NULL, 10, &error));
    assert_ptr_equal(kg_error_text(out, 0, &error), out);
    assert_string_equal(out, "???");
    assert_string_equal(kg_error_text(out, sizeof out, &error), "mes");
    assert_string_equal(kg_error_text(out, sizeof out, NULL), "");
    assert_int_equal(kg_links_sort(NULL, 0), 0);
    assert_int_equal(kg_links_sort(NULL, 3), 0);
}

static void test_models(void **state) {
    (void)state;
    kg_model *other = NULL;
    const kg_link *links = NULL;
    size_t count = 7;
    REFUSED("out: expected one, found NULL", kg_model_open(NULL, "model", error));
    REFUSED("path: expected one, found NULL", kg_model_open(&other, NULL, error));
    kg_model_close(NULL);
    kg_model_info info = KG_MODEL_INFO_INIT;
    REFUSED("out: expected", kg_model_describe(NULL, model, error));
    REFUSED("model: expected", kg_model_describe(&info, NULL, error));
    assert_int_equal(kg_model_find_entity(NULL, e1), KG_NO_ID);
    assert_int_equal(kg_model_find_entity(model, (kg_text){NULL, 0}), KG_NO_ID);
    assert_int_equal(kg_model_find_entity(model, (kg_text){NULL, 3}), KG_NO_ID);
    assert_int_equal(kg_model_find_relation(NULL, likes), KG_NO_ID);
    assert_int_equal(kg_model_find_relation(model, (kg_text){NULL, 3}), KG_NO_ID);
    assert_int_equal(kg_model_entity_name(NULL, 0).length, 0);
    assert_int_equal(kg_model_entity_name(model, 30).length, 0);
    assert_int_equal(kg_model_entity_name(model, KG_NO_ID).length, 0);
    assert_int_equal(kg_model_relation_name(model, 1).length, 0);
    assert_null(kg_model_entity_vectors(NULL));
    assert_null(kg_model_relation_vectors(NULL));
    REFUSED("model: expected", kg_model_links(&links, &count, NULL, 0, error));
    REFUSED("out: expected", kg_model_links(NULL, &count, model, 0, error));
    REFUSED("count: expected", kg_model_links(&links, NULL, model, 0, error));
    assert_ok(kg_model_links(&links, &count, model, KG_NO_ID, NULL), NULL);
    assert_int_equal(count, 0);
}

static void test_newcomers(void **state) {
    (void)state;
    kg_new_entities *new_entities = NULL;
    kg_new_entities_options options = KG_NEW_ENTITIES_OPTIONS_INIT;
    size_t count = 7;
    REFUSED("out: expected", kg_new_entities_open(NULL, model, &options, error));
    REFUSED("model: expected", kg_new_entities_open(&new_entities, NULL, &options, error));
    REFUSED("options: expected", kg_new_entities_open(&new_entities, model, NULL, error));
    assert_ok(kg_new_entities_open(&new_entities, model, &options, NULL), NULL);
    REFUSED("entities: expected", kg_new_entities_add(NULL, rex, likes, e1, error));
    REFUSED("expected a name",
            kg_new_entities_add(new_entities, (kg_text){NULL, 3}, likes, e1, error));
    REFUSED("expected a name",
            kg_new_entities_add(new_entities, rex, (kg_text){NULL, 0}, e1, error));
    REFUSED("entities: expected", kg_new_entities_read(NULL, "g.tsv", error));
    REFUSED("path: expected", kg_new_entities_read(new_entities, NULL, error));
    REFUSED("entities: expected", kg_new_entities_finish(NULL, NULL, error));
    assert_null(kg_new_entities_links(&count, new_entities, 0)); /* not finished */
    assert_int_equal(count, 0);
    assert_ok(kg_new_entities_add(new_entities, rex, likes, e1, NULL), NULL);
    assert_ok(kg_new_entities_finish(NULL, new_entities, NULL), NULL);
    assert_int_equal(kg_new_entities_count(NULL), 0);
    assert_int_equal(kg_new_entities_name(new_entities, 1).length, 0);
    assert_int_equal(kg_new_entities_name(NULL, 0).length, 0);
    assert_null(kg_new_entities_links(&count, new_entities, 1));
    assert_non_null(kg_new_entities_links(NULL, new_entities, 0));
    assert_int_equal(kg_new_entities_find(new_entities, (kg_text){NULL, 3}), 1);
    assert_int_equal(kg_new_entities_find(NULL, rex), 0);
    kg_new_entities_close(new_entities);
    kg_new_entities_close(NULL);
}

static void test_workspaces(void **state) {
    (void)state;
    kg_workspace *other = NULL;
    kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
    REFUSED("out: expected", kg_workspace_open(NULL, model, &options, error));
    REFUSED("model: expected", kg_workspace_open(&other, NULL, &options, error));
    REFUSED("options: expected", kg_workspace_open(&other, model, NULL, error));
    double *const numbers[] = {&options.ls_lambda, &options.ials_alpha, &options.ials_lambda};
    const char *const names[] = {"`ls_lambda`", "`ials_alpha`", "`ials_lambda`"};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        *numbers[i] = (double)NAN;
        REFUSED(names[i], kg_workspace_open(&other, model, &options, error));
        *numbers[i] = -1;
        REFUSED("", kg_workspace_open(&other, model, &options, error));
        *numbers[i] = (double)INFINITY;
        REFUSED("", kg_workspace_open(&other, model, &options, error));
        *numbers[i] = 0;
    }
    options.threads = 0;
    REFUSED("`threads`: expected", kg_workspace_open(&other, model, &options, error));
    options.threads = 1;
    options.answers = SIZE_MAX;
    assert_status(kg_workspace_open(&other, model, &options, NULL), KG_NO_MEMORY, NULL);
    options.answers = 0;
    options.facts = SIZE_MAX;
    assert_status(kg_workspace_open(&other, model, &options, NULL), KG_NO_MEMORY, NULL);
    options.facts = 0;
    assert_ok(kg_workspace_open(&other, model, &options, NULL), NULL);
    kg_workspace_close(other);
    kg_workspace_close(NULL);
    assert_false(kg_workspace_is_calibrated(NULL));
}

static void test_queries(void **state) {
    (void)state;
    static const kg_link link = {0, 1};
    kg_subject subject = {KG_NO_ID, &link, 1};
    static const kg_subject wrong[] = {{KG_NO_ID, NULL, 0}, {KG_NO_ID, NULL, 3}, {30, NULL, 0}};
    kg_request request = {.size = sizeof request, .subject = subject, .tails = true};
    kg_answer answers[2];
    size_t found = 0;
    float vector[4];
    kg_share shares[1];
    kg_score_term terms[2];
    kg_explanation explanation = {.size = sizeof explanation,
                                  .shares = shares,
                                  .share_capacity = 1,
                                  .terms = terms,
                                  .term_capacity = 2};
    kg_link asked = {0, 2};
    REFUSED("workspace: expected", kg_workspace_embed(vector, NULL, subject, KG_NO_QUERY, error));
    REFUSED("out: expected", kg_workspace_embed(NULL, workspace, subject, KG_NO_QUERY, error));
    REFUSED("workspace: expected",
            kg_workspace_predict(answers, &found, NULL, &request, 1, 2, error));
    REFUSED("out: expected", kg_workspace_predict(NULL, &found, workspace, &request, 1, 2, error));
    REFUSED("found: expected",
            kg_workspace_predict(answers, NULL, workspace, &request, 1, 2, error));
    REFUSED("requests: expected",
            kg_workspace_predict(answers, &found, workspace, NULL, 1, 2, error));
    REFUSED("expected at least one",
            kg_workspace_predict(answers, &found, workspace, &request, 1, 0, error));
    assert_ok(kg_workspace_predict(NULL, NULL, workspace, NULL, 0, 2, NULL),
              NULL); /* nothing is asked */
    REFUSED("workspace: expected",
            kg_workspace_neighbors(answers, &found, NULL, subject, 2, error));
    REFUSED("out: expected", kg_workspace_neighbors(NULL, &found, workspace, subject, 2, error));
    REFUSED("found: expected", kg_workspace_neighbors(answers, NULL, workspace, subject, 2, error));
    REFUSED("out: expected", kg_workspace_explain(NULL, workspace, subject, asked, error));
    REFUSED("workspace: expected", kg_workspace_explain(&explanation, NULL, subject, asked, error));
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        request.subject = wrong[i];
        REFUSED("", kg_workspace_embed(vector, workspace, wrong[i], KG_NO_QUERY, error));
        REFUSED("", kg_workspace_predict(answers, &found, workspace, &request, 1, 2, error));
        REFUSED("", kg_workspace_neighbors(answers, &found, workspace, wrong[i], 2, error));
        REFUSED("", kg_workspace_explain(&explanation, workspace, wrong[i], asked, error));
    }
    REFUSED("", kg_workspace_embed(vector, workspace, subject, 2, error));
    REFUSED("", kg_workspace_explain(&explanation, workspace, subject, (kg_link){2, 2}, error));
    REFUSED("", kg_workspace_explain(&explanation, workspace, subject, (kg_link){0, 30}, error));
}

/* An array that is too short, or not there. Parts and reasons need not be. */
static void test_explanations(void **state) {
    (void)state;
    static const kg_link link = {0, 1};
    kg_subject subject = {KG_NO_ID, &link, 1};
    kg_link asked = {0, 2};
    kg_share shares[1];
    kg_score_term terms[2];
    double parts[2];
    const kg_explanation good = {.size = sizeof good,
                                 .shares = shares,
                                 .share_capacity = 1,
                                 .terms = terms,
                                 .term_capacity = 2};
    kg_explanation out = good;
    out.shares = NULL;
    REFUSED("shares: expected an array of 1, found 0",
            kg_workspace_explain(&out, workspace, subject, asked, error));
    out = good;
    out.term_capacity = 1;
    REFUSED("terms: expected an array of 2, found 1",
            kg_workspace_explain(&out, workspace, subject, asked, error));
    out = good;
    out.parts = parts;
    REFUSED("parts: expected an array of 2, found 0",
            kg_workspace_explain(&out, workspace, subject, asked, error));
    out = good;
    assert_ok(kg_workspace_explain(&out, workspace, subject, asked, NULL), NULL);
    assert_true(out.share_count == 1 && out.term_count == 2 && out.reason_count == 0);
    assert_null(shares[0].parts);
    assert_string_equal(terms[0].name, "vector");
    assert_string_equal(terms[1].name, "echo");
    out.parts = parts;
    out.part_capacity = 2;
    assert_ok(kg_workspace_explain(&out, workspace, subject, asked, NULL), NULL);
    assert_ptr_equal(shares[0].parts, parts);
    assert_true(parts[0] == terms[0].part && parts[0] == out.score && parts[1] == 0);
}

static void test_training(void **state) {
    (void)state;
    const kg_training_options defaults = usual(NULL, NULL);
    kg_training_options training = defaults;
    REFUSED("path: expected", kg_model_train(NULL, "g.tsv", &training, error));
    REFUSED("expected the path of a model", kg_model_train("", "g.tsv", &training, error));
    REFUSED("dataset: expected", kg_model_train("m", NULL, &training, error));
    REFUSED("options: expected", kg_model_train("m", "g.tsv", NULL, error));
    const char **const words[] = {&training.model, &training.aggregate, &training.optimizer};
    const char *const names[] = {"`model`: ", "`aggregate`: ", "`optimizer`: "};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        training = defaults;
        *words[i] = NULL;
        REFUSED(names[i], kg_model_train("m", "g.tsv", &training, error));
    }
    double *const numbers[] = {&training.psi, &training.rate, &training.l2, &training.dropout,
                               &training.hold_out};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        training = defaults;
        *numbers[i] = (double)NAN;
        REFUSED("", kg_model_train("m", "g.tsv", &training, error));
        *numbers[i] = (double)INFINITY;
        REFUSED("", kg_model_train("m", "g.tsv", &training, error));
    }
    uint64_t *const counts[] = {&training.dim, &training.batch, &training.negatives,
                                &training.threads};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        training = defaults;
        *counts[i] = 0;
        REFUSED("", kg_model_train("m", "g.tsv", &training, error));
    }
    memset(&training, 0, sizeof training);
    REFUSED("options: expected `size`", kg_model_train("m", "g.tsv", &training, error));
    training.size = sizeof training;
    REFUSED("`model`: ", kg_model_train("m", "g.tsv", &training, error));
    assert_false(file_exists("m"));
}

static void test_evaluation(void **state) {
    (void)state;
    kg_metrics metrics = KG_METRICS_INIT;
    kg_evaluation_options evaluation = KG_EVALUATION_OPTIONS_INIT;
    REFUSED("out: expected", kg_model_evaluate(NULL, model, "g.tsv", &evaluation, error));
    REFUSED("model: expected", kg_model_evaluate(&metrics, NULL, "g.tsv", &evaluation, error));
    REFUSED("dataset: expected", kg_model_evaluate(&metrics, model, NULL, &evaluation, error));
    REFUSED("options: expected", kg_model_evaluate(&metrics, model, "g.tsv", NULL, error));
    evaluation.ls_lambda = (double)NAN;
    REFUSED("`ls_lambda`: expected",
            kg_model_evaluate(&metrics, model, "g.tsv", &evaluation, error));
    evaluation.ls_lambda = 0;
    evaluation.threads = 0;
    REFUSED("`threads`: expected", kg_model_evaluate(&metrics, model, "g.tsv", &evaluation, error));
}

static void test_graphs(void **state) {
    (void)state;
    kg_model *moved = NULL;
    kg_left_out_facts left = KG_LEFT_OUT_FACTS_INIT;
    kg_graph_options options = KG_GRAPH_OPTIONS_INIT;
    REFUSED("out: expected", kg_model_open_on_graph(NULL, &left, model, "g.tsv", &options, error));
    REFUSED("model: expected",
            kg_model_open_on_graph(&moved, &left, NULL, "g.tsv", &options, error));
    REFUSED("graph: expected", kg_model_open_on_graph(&moved, &left, model, NULL, &options, error));
    REFUSED("options: expected",
            kg_model_open_on_graph(&moved, &left, model, "g.tsv", NULL, error));
    REFUSED("expected a model with a term that needs no vectors of entities",
            kg_model_open_on_graph(&moved, NULL, model, "g.tsv", &options, error));
    left.size = 0;
    REFUSED("left: expected `size`",
            kg_model_open_on_graph(&moved, &left, model, "g.tsv", &options, error));
    assert_null(moved);
}

static void test_live(void **state) {
    (void)state;
    kg_live *live = NULL;
    kg_model *snapshot = NULL;
    kg_changes *changes = NULL;
    kg_live_options options = KG_LIVE_OPTIONS_INIT;
    kg_commit counts = KG_COMMIT_INIT;
    kg_text nothing = {NULL, 0};
    REFUSED("out: expected", kg_live_open(NULL, model, &options, error));
    REFUSED("model: expected", kg_live_open(&live, NULL, &options, error));
    REFUSED("options: expected", kg_live_open(&live, model, NULL, error));
    assert_null(live);
    assert_ok(kg_live_open(&live, model, &options, NULL), NULL);
    REFUSED("out: expected", kg_live_snapshot(NULL, live, error));
    REFUSED("live: expected", kg_live_snapshot(&snapshot, NULL, error));
    REFUSED("out: expected", kg_changes_open(NULL, live, error));
    REFUSED("live: expected", kg_changes_open(&changes, NULL, error));
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    REFUSED("changes: expected", kg_changes_add(NULL, rex, likes, e1, error));
    REFUSED("head.bytes: expected", kg_changes_add(changes, nothing, likes, e1, error));
    REFUSED("relation.bytes: expected", kg_changes_add(changes, rex, nothing, e1, error));
    REFUSED("tail.bytes: expected", kg_changes_remove(changes, rex, likes, nothing, error));
    REFUSED("changes: expected", kg_changes_commit(&counts, NULL, error));
    counts.size = 0;
    REFUSED("out: expected `size`", kg_changes_commit(&counts, changes, error));
    assert_ok(kg_changes_add(changes, rex, likes, e1, NULL), NULL);
    assert_ok(kg_changes_commit(NULL, changes, NULL), NULL);
    assert_ok(kg_live_snapshot(&snapshot, live, NULL), NULL);
    REFUSED("workspace: expected", kg_workspace_move(NULL, snapshot, error));
    kg_model_info info = KG_MODEL_INFO_INIT;
    assert_ok(kg_model_describe(&info, snapshot, NULL), NULL);
    assert_int_equal(info.entities, info.entity_rows + 1);
    kg_model_close(snapshot);
    kg_changes_close(changes);
    kg_changes_close(NULL);
    kg_live_close(live);
    kg_live_close(NULL);
}

static void test_check(void **state) {
    (void)state;
    REFUSED("path: expected", kg_files_check(NULL, NULL, NULL, NULL, error));
    assert_ok(kg_files_check("model", NULL, NULL, NULL, NULL), NULL);
}

/* ---- Structs of other versions ---- */

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
ENDS_WITH(kg_training_options, propagation_epochs);
ENDS_WITH(kg_evaluation_options, progress);
ENDS_WITH(kg_graph_options, progress);
ENDS_WITH(kg_live_options, unused);

/* A callback that is not there is none. */
static void test_progress(void **state) {
    (void)state;
    kg_progress progress = {0};
    kg_training_options training = usual("paper", "distmult");
    kg_error error = {0};
    training.dim = 4;
    training.epochs = 1;
    training.progress = &progress;
    assert_ok(kg_model_train("other", "g.tsv", &training, &error), &error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_newcomers),
        cmocka_unit_test(test_workspaces),
        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_training),
        cmocka_unit_test(test_evaluation),
        cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_live),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_older_options),
        cmocka_unit_test(test_explanations),
        cmocka_unit_test(test_older_outputs),
        cmocka_unit_test(test_older_requests),
        cmocka_unit_test(test_older_training),
        cmocka_unit_test(test_newer),
        cmocka_unit_test(test_newer_requests),
        cmocka_unit_test(test_impossible_sizes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
