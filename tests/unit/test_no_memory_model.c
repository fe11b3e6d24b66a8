/* Running out of memory in what trains, writes, opens, adopts and queries models. */
#include "fail_each.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exchange/matrix_file.h"
#include "exchange/npy.h"
#include "exchange/row_names.h"
#include "infer/workspace.h"
#include "model/model.h"
#include "model/model_folder.h"
#include "people_graph.h"
#include "terms/propagation_term.h"

/* ---- Opening ---- */

/* A model that knows its facts and is calibrated. */
static void write_model(void) {
    kg_dataset dataset = {0};
    static const real rows[5 * 2] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    kg_params params = {
        .scoring = kg__scoring_find("distmult"), .entities = rows, .relations = rows, .dim = 2};
    json_t *config = json_pack("{si si s{ss si}}", "entities", 5, "relations", 2, "settings",
                               "model", "distmult", "dim", 2);
    make_dataset(&dataset, "a r b\nc s d\ne r a\n");
    kg_model_parts parts = {&params, &dataset, rows, config, NULL};
    write_model_folder("model", &parts);
    json_decref(config);
    kg__dataset_close(&dataset);
}

static kg_status open_model(const void *setting, kg_error *error) {
    kg_model model;
    KG_TRY(kg__model_open(&model, setting, error));
    note(model.params.entities, 10 * sizeof(real));
    note(model.calibration, 8 * sizeof(real));
    note(&model.entities.count, sizeof model.entities.count);
    note_json(model.config);
    kg__model_close(&model);
    return KG_OK;
}

/* With names that are mapped, and with names that are read. */
static void test_model(void **state) {
    (void)state;
    kg_error error = {0};
    write_model();
    spare_jansson = true;
    fail_each(open_model, "model", 15);
    json_t *config = NULL;
    assert_ok(kg__config_read(&config, "model", &error), &error);
    json_t *files = json_object_get(config, "files");
    json_object_del(files, KG_MODEL_NAMES);
    assert_ok(kg__config_seal(config, files, &error), &error);
    assert_int_equal(json_dump_file(config, "model/config.json", 0), 0);
    json_decref(config);
    fail_each(open_model, "model", 25);
    spare_jansson = false;
}

/* ---- Numbers and names of others ---- */

static kg_status read_row_names(kg_names *names, const char *path, size_t rows, kg_error *error) {
    kg_input *input = NULL;
    KG_TRY(kg__input_open(&input, path, KG_ANY_CODING, error));
    kg_status status = kg__row_names_read(names, input, rows, error);
    kg__input_close(input);
    return status;
}

static kg_status write_adopted(const kg_dataset *dataset, const real *rows, kg_error *error) {
    kg_params params = {
        .scoring = kg__scoring_find("distmult"), .entities = rows, .relations = rows, .dim = 2};
    json_t *config = json_pack("{si si s{ss si}}", "entities", 3, "relations", 2, "settings",
                               "model", "distmult", "dim", 2);
    kg_model_parts parts = {&params, dataset, NULL, config, NULL};
    kg_folder *folder = NULL;
    kg_status status = config == NULL ? kg__fail_memory(error) : KG_OK;
    KG_CHECK(status);
    KG_CHECK(kg__folder_start(&folder, "out", false, kg__model_files, error));
    KG_CHECK(kg__model_folder_fill(folder, &parts, error));
    status = kg__folder_commit(folder, error);
done:
    kg__folder_close(folder);
    json_decref(config);
    return status;
}

/* Numbers and names of others become a model. */
static kg_status adopt(const void *setting, kg_error *error) {
    kg_matrix_file file = {0};
    kg_names names[2] = {{0}};
    kg_dataset dataset = {0};
    kg_status status = KG_OK;
    KG_CHECK(kg__matrix_file_open(&file, setting, "entities", error));
    KG_CHECK(read_row_names(&names[0], "rows.names", file.matrix.rows, error));
    KG_CHECK(read_row_names(&names[1], "openke.names", 2, error));
    KG_CHECK(kg__dataset_open_named(&dataset, &names[0], &names[1], error));
    KG_CHECK(kg__dataset_add_one(&dataset, kg__name_of("a", 1), kg__name_of("r", 1),
                                 kg__name_of("c", 1), error));
    KG_CHECK(kg__dataset_finish(&dataset, error));
    KG_CHECK(write_adopted(&dataset, kg__matrix_values(&file.matrix), error));
    note_file("out/" KG_MODEL_TENSORS);
    note_file("out/" KG_MODEL_NAMES);
    note_file("out/" KG_MODEL_KNOWN);
done:
    kg__dataset_close(&dataset);
    kg__names_free(&names[0]);
    kg__names_free(&names[1]);
    kg__matrix_file_close(&file);
    return status;
}

static void write_matrices(void) {
    static const real rows[3 * 2] = {1, 2, 3, 4, 5, 6};
    const kg_tensor tensor = {.name = "entities", .values = rows, .rows = 3, .columns = 2};
    kg_error error = {0};
    kg_output *outputs[2] = {NULL};
    assert_ok(kg__output_open(&outputs[0], "in.npy", "in.npy", &error), &error);
    assert_ok(kg__npy_write(outputs[0], rows, 3, 2, &error), &error);
    assert_ok(kg__output_open(&outputs[1], "in.st", "in.st", &error), &error);
    assert_ok(kg__safetensors_write(outputs[1], &tensor, 1, NULL, NULL, &error), &error);
    for (size_t i = 0; i < COUNT_OF(outputs); i++) {
        assert_ok(kg__output_commit(outputs[i], &error), &error);
        kg__output_close(outputs[i]);
    }
}

static void test_adopt(void **state) {
    (void)state;
    write_matrices();
    write_file("rows.names", TEXT("2\tc\n0\ta\n1\tb\n"));
    write_file("openke.names", TEXT("2\nr\t0\ns\t1\n"));
    spare_jansson = true;
    fail_each(adopt, "in.npy", 50);
    fail_each(adopt, "in.st", 50);
    spare_jansson = false;
}

/* ---- Propagation ---- */

static const char propagated[] = "a r b\nb s c\na s c\nd r b\nd s c\ne r b\ne s a\nb r e\nc s e\n";
#define PROPAGATED ((size_t)5) /* entities */

/* Opens propagation over these facts and writes a model with it. */
static kg_status write_propagated(const kg_dataset *dataset, const char *path, kg_error *error) {
    static const kg_propagation_options options = {.layers = 1, .width = 16, .weight = 1};
    static const real rows[10000] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    kg_params params = {
        .scoring = kg__scoring_find("distmult"), .entities = rows, .relations = rows, .dim = 2};
    kg_term_view *view = &params.terms[kg__term_number(&kg__term_propagation)];
    kg_adjacency graph = {0};
    kg_term_source source = {.graph = &graph, .directed_count = 4, .propagation = &options};
    kg_folder *folder = NULL;
    kg_status status = KG_OK;
    json_t *config = json_pack("{si si s{ss si ss}}", "entities", 5, "relations", 2, "settings",
                               "model", "distmult", "dim", 2, "aggregate", "eravg");
    KG_CHECK(kg__adjacency_make(&graph, &dataset->parts[KG_TRAIN], PROPAGATED, KG_WITHOUT_REFLEXIVE,
                                error));
    KG_CHECK(kg__term_propagation.count(view, &source, error));
    for (size_t i = 0; i < KG_MOST_TERM_PARAMS; i++)
        view->values[i] = rows;
    kg_model_parts parts = {&params, dataset, NULL, config, NULL};
    KG_CHECK(kg__folder_start(&folder, path, false, kg__model_files, error));
    KG_CHECK(kg__model_folder_fill(folder, &parts, error));
    status = kg__folder_commit(folder, error);
done:
    kg__folder_close(folder);
    if (view->counted != NULL)
        view->learned->close(view);
    kg__adjacency_free(&graph);
    json_decref(config);
    return status;
}

static kg_status write_propagation(const void *setting, kg_error *error) {
    KG_TRY(write_propagated(setting, "out", error));
    note_file("out/" KG_MODEL_TENSORS);
    return KG_OK;
}

static kg_status query_propagated(const kg_model *model, kg_error *error) {
    static const kg_link links[] = {{0, 1}, {2, 2}, {3, 0}};
    const kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
    kg_workspace *workspace = NULL;
    kg_request request = {sizeof request, {KG_NO_ID, links, COUNT_OF(links)}, 0, false, true, true,
                          false};
    kg_answer answers[PROPAGATED];
    kg_share shares[COUNT_OF(links)];
    kg_score_term terms[3];
    double parts[COUNT_OF(shares) * COUNT_OF(terms)];
    kg_reason reasons[9];
    kg_explanation why = {.size = sizeof why,
                          .shares = shares,
                          .share_capacity = COUNT_OF(shares),
                          .terms = terms,
                          .term_capacity = COUNT_OF(terms),
                          .parts = parts,
                          .part_capacity = COUNT_OF(parts),
                          .reasons = reasons,
                          .reason_capacity = COUNT_OF(reasons)};
    size_t found = 0;
    kg_status status = KG_OK;
    KG_CHECK(kg_workspace_open(&workspace, model, &options, error));
    KG_CHECK(kg_workspace_predict(answers, &found, workspace, &request, 1, PROPAGATED, error));
    KG_CHECK(kg_workspace_explain(&why, workspace, request.subject, links[0], error));
    note(&why.score, sizeof why.score);
    KG_CHECK(kg_workspace_explain(&why, workspace, request.subject, (kg_link){0, 2}, error));
    for (size_t i = 0; i < found; i++)
        note(&answers[i].score, sizeof answers[i].score);
    note(&why.score, sizeof why.score);
    for (size_t i = 0; i < why.reason_count; i++)
        note(&reasons[i].share, sizeof reasons[i].share);
done:
    kg_workspace_close(workspace);
    return status;
}

static kg_status use_propagation(const void *setting, kg_error *error) {
    kg_model model;
    KG_TRY(kg__model_open(&model, setting, error));
    kg_status status = query_propagated(&model, error);
    kg__model_close(&model);
    return status;
}

static void test_propagation(void **state) {
    (void)state;
    kg_error error = {0};
    kg_dataset dataset = {0};
    make_dataset(&dataset, propagated);
    spare_jansson = true;
    fail_each(write_propagation, &dataset, 40);
    assert_ok(write_propagated(&dataset, "propagated", &error), &error);
    fail_each(use_propagation, "propagated", 40);
    spare_jansson = false;
    kg__dataset_close(&dataset);
}

/* ---- Training, and what was trained ---- */

static kg_status train(const char *path, const char *terms, kg_error *error) {
    kg_training_options options = KG_TRAINING_OPTIONS_INIT;
    KG_TRY(kg_training_options_init(&options, NULL, NULL, error));
    options.terms = terms;
    options.dim = 4;
    options.negatives = 4;
    options.epochs = 1;
    options.propagation_epochs = 1;
    return kg_model_train(path, "data", &options, error);
}

/* Checkpoints stay where it fails, so that a run can go on from them. */
static kg_status train_terms(const void *setting, kg_error *error) {
    kg_status status = train("out", setting, error);
    unlink("out.training/" KG_CHECKPOINT);
    unlink("out.training/" KG_APART_CHECKPOINT);
    rmdir("out.training");
    note_file("out/" KG_MODEL_TENSORS);
    return status;
}

static void test_training(void **state) {
    (void)state;
    spare_jansson = true;
    fail_each(train_terms, "propagation", 100);
    fail_each(train_terms, "embedding+echo+propagation", 100);
    spare_jansson = false;
}

static kg_status open_on_graph(const void *setting, kg_error *error) {
    const kg_graph_options options = KG_GRAPH_OPTIONS_INIT;
    kg_model *on_graph = NULL;
    KG_TRY(kg_model_open_on_graph(&on_graph, NULL, setting, "data", &options, error));
    kg_status status = query_propagated(on_graph, error);
    kg_model_close(on_graph);
    return status;
}

static void test_on_graph(void **state) {
    (void)state;
    kg_error error = {0};
    kg_model *model = NULL;
    assert_ok(train("trained", "propagation", &error), &error);
    assert_ok(kg_model_open(&model, "trained", &error), &error);
    spare_jansson = true;
    fail_each(open_on_graph, model, 40);
    spare_jansson = false;
    kg_model_close(model);
}

static int set_up(void **state) {
    if (enter_failing_folder(state) != 0 || mkdir("data", 0777) != 0)
        return -1;
    write_people_data(4, 1); /* all of it happens again for each allocation */
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),       cmocka_unit_test(test_adopt),
        cmocka_unit_test(test_propagation), cmocka_unit_test(test_training),
        cmocka_unit_test(test_on_graph),
    };
    return cmocka_run_group_tests(tests, set_up, leave_temporary_folder);
}
