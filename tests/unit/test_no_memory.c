/* Running out of memory: this program brings its own allocation back end, which jansson uses as
 * well, and runs each piece of work once for every allocation it makes, with that one failing. Each
 * time the work says KG_NO_MEMORY (or finds a way around, to the same result), every block is given
 * back, and no file is left behind. What xxHash, zlib and serd allocate by themselves does not fail
 * here. */
#include "support.h"
#include "terms/propagation_term.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "exchange/matrix_file.h"
#include "exchange/npy.h"
#include "exchange/row_names.h"
#include "give_term.h"
#include "graph/dataset_folder.h"
#include "graph/dataset_source.h"
#include "graph/generate.h"
#include "graph/new_graph.h"
#include "graph/split.h"
#include "graph/stats.h"
#include "infer/workspace.h"
#include "model/model.h"
#include "model/model_folder.h"

/* Readers allocate in two threads at a time. */
static atomic_long allocations; /* so far */
static atomic_long failing;     /* the one that fails, from 1; 0: none */
static atomic_long blocks;      /* not yet freed */

static bool is_refused(void) {
    if (atomic_fetch_add(&allocations, 1) + 1 != atomic_load(&failing))
        return false;
    errno = ENOMEM;
    return true;
}

void *kg__backend_resize(void *block, size_t bytes) {
    if (is_refused())
        return NULL;
    void *moved = realloc(block, bytes);
    if (moved != NULL && block == NULL)
        atomic_fetch_add(&blocks, 1);
    return moved;
}

void kg__backend_free(void *block) {
    if (block != NULL)
        atomic_fetch_sub(&blocks, 1);
    free(block);
}

/* When memory runs out while it reads a word of more than 15 bytes, jansson 2.14 goes on beyond the
 * end of its buffer. Where there are such words, its allocations do not fail. */
static bool spare_jansson;

/* And where it notices, it may still say that what it read was no JSON. */
static bool jansson_was_refused;

static void *allocate_for_jansson(size_t bytes) {
    if (!spare_jansson) {
        void *given = kg__backend_resize(NULL, bytes);
        jansson_was_refused = jansson_was_refused || given == NULL;
        return given;
    }
    void *block = malloc(bytes);
    if (block != NULL)
        atomic_fetch_add(&blocks, 1);
    return block;
}

/* Nothing here is worth waiting for a disk. */
int fsync(int fd) {
    (void)fd;
    return 0;
}

/* A piece of work: reads what was prepared, and may write "out". What it comes to goes into
 * `outcome`, a checksum. */
typedef kg_status work(const void *setting, kg_error *error);

static uint64_t outcome;

static void note(const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        outcome = (outcome ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3U; /* FNV-1a */
}

/* Showing it allocates, which is not part of the work. */
static void note_json(const json_t *value) {
    long before[2] = {atomic_load(&allocations), atomic_load(&failing)};
    atomic_store(&failing, 0);
    char *shown = json_dumps(value, 0);
    note(shown, strlen(shown));
    kg__backend_free(shown);
    atomic_store(&allocations, before[0]);
    atomic_store(&failing, before[1]);
}

static void note_dataset(const kg_dataset *dataset) {
    note_json(dataset->history);
    if (dataset->entities.count > 0)
        note(dataset->entities.bytes, dataset->entities.starts[dataset->entities.count]);
    note(dataset->relations.bytes, dataset->relations.starts[dataset->relations.count]);
    if (kg__dataset_has_graph(dataset))
        note(dataset->graph_entities.bytes,
             dataset->graph_entities.starts[dataset->graph_entities.count]);
    for (kg_part part = 0; part < KG_PART_COUNT; part++)
        note(dataset->parts[part].items, dataset->parts[part].count * sizeof(kg_triple));
    note(dataset->duplicates, sizeof dataset->duplicates);
}

static void note_file(const char *path) {
    size_t size = 0;
    char *bytes = file_exists(path) ? read_file(path, &size) : NULL;
    note(bytes, size);
    free(bytes);
}

static void note_out(void) {
    for (const char *const *name = kg__dataset_files; *name != NULL; name++) {
        char path[64];
        snprintf(path, sizeof path, "out/%s", *name);
        note_file(path);
    }
}

static kg_status read_and(kg_dataset *dataset, const char *const *sources, size_t count,
                          kg_error *error) {
    kg_reader reader = {.options = {.keep_literals = true, .skip_unknown = true}};
    KG_TRY(kg__dataset_open(dataset, error));
    KG_TRY(kg__source_read(dataset, &reader, sources, count, error));
    note_dataset(dataset);
    note(&reader.counts, sizeof reader.counts);
    return KG_OK;
}

static kg_status read_source(const void *setting, kg_error *error) {
    const char *source = setting;
    kg_dataset dataset = {0};
    kg_status status = read_and(&dataset, &source, 1, error);
    kg__dataset_close(&dataset);
    return status;
}

static kg_status read_several(const void *setting, kg_error *error) {
    (void)setting;
    static const char *const sources[] = {"in.ttl", "in.tsv.gz"};
    kg_dataset dataset = {0};
    kg_status status = read_and(&dataset, sources, COUNT_OF(sources), error);
    kg__dataset_close(&dataset);
    return status;
}

/* With two relations that are known, and others. */
static kg_status read_graph(const void *setting, kg_error *error) {
    static const char *const known[] = {"s", "r"};
    kg_names relations = {0};
    kg_dataset graph = {0};
    kg_reader reader = {.options.skip_unknown = true};
    kg_status status = KG_OK;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        kg_id id = 0;
        KG_CHECK(kg__names_intern(&relations, &id, kg__name_of(known[i], 1), error));
    }
    KG_CHECK(kg__new_graph_read(&graph, &reader, setting, &relations, error));
    note_dataset(&graph);
done:
    kg__dataset_close(&graph);
    kg__names_free(&relations);
    return status;
}

static kg_status write_folder(const kg_dataset *dataset, kg_error *error) {
    kg_folder *folder = NULL;
    KG_TRY(kg__folder_start(&folder, "out", true, kg__dataset_files, error));
    kg_status status = kg__dataset_write(dataset, folder, NULL, error);
    if (status == KG_OK)
        status = kg__folder_commit(folder, error);
    kg__folder_close(folder);
    return status;
}

static kg_status split_and_write(const void *setting, kg_error *error) {
    const char *source = setting;
    kg_dataset from = {0};
    kg_dataset to = {0};
    kg_stats stats = {0};
    kg_split_report report;
    static const kg_split_options options = {0.4, 0.5, 2, 1, 0, false};
    kg_status status = KG_OK;
    KG_CHECK(read_and(&from, &source, 1, error));
    KG_CHECK(kg__dataset_open(&to, error));
    KG_CHECK(kg__split(&to, &report, &from, &options, error));
    KG_CHECK(kg__stats_make(&stats, &to, error));
    note(&report, sizeof report);
    note(stats.degrees.counts, stats.degrees.size * sizeof(uint64_t));
    KG_CHECK(write_folder(&to, error));
    note_out();
done:
    kg__stats_free(&stats);
    kg__dataset_close(&from);
    kg__dataset_close(&to);
    return status;
}

static kg_status generate_file(const void *setting, kg_error *error) {
    static const kg_generate_options options = {100, 20, 3, 1, 1};
    const char *path = setting;
    kg_output *output = NULL;
    KG_TRY(kg__output_open(&output, path, path, error));
    kg_status status = kg__generate(output, &options, NULL, error);
    if (status == KG_OK)
        status = kg__output_commit(output, error);
    kg__output_close(output);
    if (status == KG_OK)
        note_file(path);
    return status;
}

/* Facts about newcomers: those of a file, and one more. */
static kg_status add_newcomers(kg_new_entities *newcomers, const char *path, kg_error *error) {
    kg_left_out_facts left = KG_LEFT_OUT_FACTS_INIT;
    KG_TRY(kg_new_entities_read(newcomers, path, error));
    KG_TRY(kg_new_entities_add(newcomers, (kg_text){"y", 1}, (kg_text){"s", 1}, (kg_text){"a", 1},
                               error));
    KG_TRY(kg_new_entities_finish(&left, newcomers, error));
    note(&left, sizeof left);
    for (size_t i = 0; i < kg_new_entities_count(newcomers); i++) {
        size_t count = 0;
        const kg_link *links = kg_new_entities_links(&count, newcomers, i);
        note(links, count * sizeof *links);
        note(kg_new_entities_name(newcomers, i).bytes, kg_new_entities_name(newcomers, i).length);
    }
    return KG_OK;
}

static kg_status meet_newcomers(const void *setting, kg_error *error) {
    static const kg_new_entities_options options = {
        .size = sizeof options, .skip_unknown = true, .entity = "y"};
    static const char *const known[] = {"a", "b", "r", "s"};
    kg_model model = {0};
    kg_new_entities *newcomers = NULL;
    kg_status status = KG_OK;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        kg_id id = 0;
        KG_CHECK(kg__names_intern(i < 2 ? &model.entities : &model.relations, &id,
                                  kg__name_of(known[i], 1), error));
    }
    KG_CHECK(kg_new_entities_open(&newcomers, &model, &options, error));
    KG_CHECK(add_newcomers(newcomers, setting, error));
done:
    kg_new_entities_close(newcomers);
    kg__names_free(&model.entities);
    kg__names_free(&model.relations);
    return status;
}

/* More than one buffer of it. */
static kg_status read_whole(const void *setting, kg_error *error) {
    kg_input *input = NULL;
    char *bytes = NULL;
    size_t size = 0;
    kg_status status = KG_OK;
    KG_CHECK(kg__input_open(&input, setting, KG_ANY_CODING, error));
    KG_CHECK(kg__input_read_all(input, &bytes, &size, SIZE_MAX, error));
    note(bytes, size);
done:
    kg__free(bytes);
    kg__input_close(input);
    return status;
}

/* A model that knows its facts and is calibrated. */
static void write_model(void) {
    kg_dataset dataset = {0};
    static const real rows[5 * 2] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    kg_params params = {
        .scoring = kg__scoring_find("distmult"), .entities = rows, .relations = rows, .dim = 2};
    json_t *config = json_pack("{si si s{ss si}}", "entities", 5, "relations", 2, "settings",
                               "model", "distmult", "dim", 2);
    make_dataset(&dataset, "a r b\nc s d\ne r a\n");
    kg_model_parts parts = {&params, &dataset, rows, config};
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
    kg_model_parts parts = {&params, dataset, NULL, config};
    KG_CHECK(kg__folder_start(&folder, path, false, kg__model_files, error));
    KG_CHECK(kg__model_folder_fill(folder, &parts, error));
    status = kg__folder_commit(folder, error);
done:
    kg__folder_close(folder);
    if (view->counted != NULL)
        kg__term_propagation.close(view);
    kg__adjacency_free(&graph);
    json_decref(config);
    return status;
}

static kg_status write_propagation(const void *setting, kg_error *error) {
    KG_TRY(write_propagated(setting, "out", error));
    note_file("out/" KG_MODEL_TENSORS);
    return KG_OK;
}

static kg_status ask_propagated(const kg_model *model, kg_error *error) {
    static const kg_link links[] = {{0, 1}, {2, 2}, {3, 0}};
    const kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
    kg_workspace *workspace = NULL;
    kg_request request = {sizeof request, {KG_NO_ID, links, COUNT_OF(links)}, 0, false, true, true,
                          false};
    kg_answer answers[PROPAGATED];
    kg_share shares[COUNT_OF(links)];
    kg_score_term terms[3];
    kg_explanation why = {.size = sizeof why,
                          .shares = shares,
                          .share_capacity = COUNT_OF(shares),
                          .terms = terms,
                          .term_capacity = COUNT_OF(terms)};
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
    for (size_t i = 0; i < why.term_count; i++)
        note(&terms[i].reason_count, sizeof terms[i].reason_count);
done:
    kg_workspace_close(workspace);
    return status;
}

static kg_status use_propagation(const void *setting, kg_error *error) {
    kg_model model;
    KG_TRY(kg__model_open(&model, setting, error));
    kg_status status = ask_propagated(&model, error);
    kg__model_close(&model);
    return status;
}

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
    kg_model_parts parts = {&params, dataset, NULL, config};
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
    kg_matrix_file foreign = {0};
    kg_names names[2] = {{0}};
    kg_dataset dataset = {0};
    kg_status status = KG_OK;
    KG_CHECK(kg__matrix_file_open(&foreign, setting, "entities", error));
    KG_CHECK(read_row_names(&names[0], "rows.names", foreign.matrix.rows, error));
    KG_CHECK(read_row_names(&names[1], "openke.names", 2, error));
    KG_CHECK(kg__dataset_open_named(&dataset, &names[0], &names[1], error));
    KG_CHECK(kg__dataset_add_one(&dataset, kg__name_of("a", 1), kg__name_of("r", 1),
                                 kg__name_of("c", 1), error));
    KG_CHECK(kg__dataset_finish(&dataset, error));
    KG_CHECK(write_adopted(&dataset, kg__matrix_values(&foreign.matrix), error));
    note_file("out/" KG_MODEL_TENSORS);
    note_file("out/" KG_MODEL_NAMES);
    note_file("out/" KG_MODEL_KNOWN);
done:
    kg__dataset_close(&dataset);
    kg__names_free(&names[0]);
    kg__names_free(&names[1]);
    kg__matrix_file_close(&foreign);
    return status;
}

/* The current folder as a list of names with sizes, so that any change shows. */
static void look_around(char *out, size_t room) {
    FILE *listing =
        popen("find . -printf '%p %s %y\\n' | sed '/^\\. /d; / d$/s/ [0-9]* / /' | sort", "r");
    assert_non_null(listing);
    size_t length = fread(out, 1, room - 1, listing);
    out[length] = '\0';
    assert_int_equal(pclose(listing), 0);
    assert_true(length < room - 1);
}

static void remove_files(const char *const *names) {
    for (const char *const *name = names; *name != NULL; name++) {
        char path[64];
        snprintf(path, sizeof path, "out/%s", *name);
        unlink(path);
    }
}

static void remove_out(void) {
    static const char *const model_files[] = {KG_MODEL_CONFIG,
                                              KG_MODEL_TENSORS,
                                              KG_MODEL_ENTITIES,
                                              KG_MODEL_RELATIONS,
                                              KG_MODEL_NAMES,
                                              KG_MODEL_KNOWN,
                                              NULL};
    remove_files(kg__dataset_files);
    remove_files(model_files);
    if (rmdir("out") != 0)
        unlink("out");
}

/* `least`: allocations that there must be, or the work was not done. */
static void fail_each(work *run, const void *setting, long least) {
    size_t entries = count_entries(".");
    char before[2048];
    char after[2048];
    look_around(before, sizeof before);
    uint64_t expected = 0;
    for (long n = 0;; n++) { /* none fails the first time */
        kg_error error = {0};
        outcome = 0;
        jansson_was_refused = false;
        atomic_store(&allocations, 0);
        atomic_store(&failing, n);
        kg_status status = run(setting, &error);
        atomic_store(&failing, 0);
        bool last = n > 0 && atomic_load(&allocations) < n;
        if (n == 0 || last)
            assert_status(status, KG_OK, &error);
        if (status == KG_BAD_INPUT && jansson_was_refused) {
            assert_non_null(strstr(error.message, "expected JSON"));
        } else if (status != KG_OK) {
            if (status != KG_NO_MEMORY)
                print_error("allocation %ld fails\n", n);
            assert_status(status, KG_NO_MEMORY, &error);
            assert_int_equal(error.status, KG_NO_MEMORY);
            assert_error_text(&error, "out of memory");
        }
        if (atomic_load(&blocks) != 0)
            fail_msg("allocation %ld fails: %ld blocks are left", n, atomic_load(&blocks));
        if (n == 0)
            expected = outcome;
        if (status == KG_OK && outcome != expected)
            fail_msg("allocation %ld fails, and something else comes out", n);
        if (status == KG_OK)
            remove_out();
        if (count_entries(".") != entries) {
            look_around(after, sizeof after);
            fail_msg("allocation %ld fails, status %d, and this is here:\n%s", n, (int)status,
                     after);
        }
        if (last) {
            assert_true(n > least);
            break;
        }
    }
    look_around(after, sizeof after);
    assert_string_equal(after, before);
}

static const struct {
    const char *path, *content;
} inputs[] = {
    {"tsv/train.tsv", "a\tr\tb\nb\ts\tc\na\tr\tb\nc\tr\ta\nd\ts\ta\n"},
    {"tsv/valid.tsv", "c\tr\tb\n"},
    {"tsv/unseen-test.tsv", "x\tr\ta\nx\ts\tc\n"},
    {"tsv/graph.tsv", "n\tr\to\na\ts\to\n"},
    {"tsv/graph-test.tsv", "o\tr\tn\n"},
    {"oos/train.txt", "a\tr\tb\nb\ts\tc\n"},
    {"oos/valid.json", "{\"x\": [[\"x\", \"r\", \"a\"], [\"b\", \"s\", \"x\"]]}"},
    {"oos/test.json", "{\"y\": [[\"y\", \"r\", \"a\"], [\"b\", \"s\", \"y\"]]}"},
    {"pair/train.txt", "a\tr\tb\nb\ts\tc\n"},
    {"pair_ind/train.txt", "n\tr\to\no\ts\tn\nn\tq\to\n"},
    {"pair_ind/test.txt", "n\tr\tp\n"},
    {"openke/entity2id.txt", "3\na 0\nb 1\nc 2\n"},
    {"openke/relation2id.txt", "1\nr 0\n"},
    {"openke/train2id.txt", "2\n0 1 0\n1 2 0\n"},
    {"openke/test2id.txt", "1\n2 1 0\n"},
    {"wordnet/index.noun", "dog n 1 1 @ 1 1 00000002  \ncanine n 1 1 ~ 1 0 00000001  \n"},
    {"wordnet/data.noun", "00000001 05 n 01 canine 0 001 ~ 00000002 n 0000 | x\n"
                          "00000002 05 n 01 dog 0 001 @ 00000001 n 0000 | y\n"},
    {"wordnet/index.verb", ""},
    {"wordnet/data.verb", ""},
    {"wordnet/index.adj", ""},
    {"wordnet/data.adj", ""},
    {"wordnet/index.adv", ""},
    {"wordnet/data.adv", ""},
    {"in.tsv", "a\tr\tb\nb\tr\tc\nc\tr\ta\na\ts\tc\nb\ts\ta\nc\ts\tb\nd\tr\ta\nd\tr\tb\nd\tr\tc\n"
               "e\tr\ta\ne\tr\tb\ne\tr\tc\nd\ts\te\nf\tr\ta\nf\ts\tb\ng\tr\ta\ng\ts\tb\n"},
    {"newcomers.tsv", "x\tr\ta\nb\ts\tx\nx\tr\tz\nx\tr\tx\nz\tq\tx\nx\tr\ta\n"},
    {"rows.names", "2\tc\n0\ta\n1\tb\n"},
    {"openke.names", "2\nr\t0\ns\t1\n"},
    {"in.ttl", "@prefix x: <http://x/> . x:a x:r x:b , [ x:s \"5\"^^x:int ] ."},
};

static int set_up(void **state) {
    static const char *const folders[] = {"tsv", "oos", "pair", "pair_ind", "openke", "wordnet"};
    if (enter_temporary_folder(state) != 0)
        return -1;
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        if (mkdir(folders[i], 0777) != 0)
            return -1;
    for (size_t i = 0; i < COUNT_OF(inputs); i++)
        write_file(inputs[i].path, text_of(inputs[i].content));
    text packed = compress_text(TEXT("a\tr\tb\n"));
    write_file("in.tsv.gz", packed);
    free((void *)packed.bytes);
    json_set_alloc_funcs(allocate_for_jansson, kg__backend_free);
    return 0;
}

static void test_tsv_folder(void **state) {
    (void)state;
    fail_each(read_source, "tsv", 30);
}

/* With a dataset.json, which is made here, so that its checksums are right. */
static void test_own_folder(void **state) {
    (void)state;
    const char *source = "tsv";
    kg_dataset dataset = {0};
    kg_error error = {0};
    assert_ok(read_and(&dataset, &source, 1, &error), &error);
    assert_ok(write_folder(&dataset, &error), &error);
    kg__dataset_close(&dataset);
    assert_int_equal(rename("out", "own"), 0);
    spare_jansson = true;
    fail_each(read_source, "own", 30);
    spare_jansson = false;
}

static void test_oos_json(void **state) {
    (void)state;
    fail_each(read_source, "oos", 50);
}

static void test_pair(void **state) {
    (void)state;
    fail_each(read_source, "pair", 40);
}

static void test_new_graph(void **state) {
    (void)state;
    fail_each(read_graph, "tsv", 30);
    fail_each(read_graph, "newcomers.tsv", 30);
}

static void test_openke(void **state) {
    (void)state;
    fail_each(read_source, "openke", 40);
}

static void test_wordnet(void **state) {
    (void)state;
    fail_each(read_source, "wordnet:wordnet", 40);
}

static void test_several_files(void **state) {
    (void)state;
    fail_each(read_several, NULL, 30);
}

static void test_split(void **state) {
    (void)state;
    fail_each(split_and_write, "in.tsv", 150);
}

/* In place of an older one: that stays where the new one fails. */
static void test_split_over_another(void **state) {
    (void)state;
    kg_error error = {0};
    long total = 0;
    for (long n = 1; n == 1 || n <= total; n++) {
        atomic_store(&failing, 0);
        assert_ok(split_and_write("in.tsv", &error), &error);
        write_file("out/valid.tsv", TEXT("the old one has this file"));
        jansson_was_refused = false;
        atomic_store(&allocations, 0);
        atomic_store(&failing, n);
        kg_status status = split_and_write("in.tsv", &error);
        atomic_store(&failing, 0);
        total = atomic_load(&allocations) > total ? atomic_load(&allocations) : total;
        assert_int_equal(file_exists("out/valid.tsv"), status != KG_OK);
        assert_true(file_exists("out/train.tsv") && file_exists("out/dataset.json"));
        assert_int_equal(atomic_load(&blocks), 0);
        remove_out();
    }
}

static void test_read_whole(void **state) {
    (void)state;
    enum { SIZE = 600000 };
    char *bytes = must_allocate(SIZE, 1);
    write_file("long", (text){bytes, SIZE});
    free(bytes);
    fail_each(read_whole, "long", 3);
}

static void test_newcomers(void **state) {
    (void)state;
    fail_each(meet_newcomers, "newcomers.tsv", 20);
}

static void test_generate(void **state) {
    (void)state;
    fail_each(generate_file, "out", 5);
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

static void test_propagation(void **state) {
    (void)state;
    kg_error error = {0};
    kg_dataset dataset = {0};
    make_dataset(&dataset, propagated);
    long before = atomic_exchange(&blocks, 0);
    spare_jansson = true;
    fail_each(write_propagation, &dataset, 40);
    assert_ok(write_propagated(&dataset, "propagated", &error), &error);
    fail_each(use_propagation, "propagated", 40);
    spare_jansson = false;
    atomic_store(&blocks, before);
    kg__dataset_close(&dataset);
}

static void write_matrices(void) {
    static const real rows[3 * 2] = {1, 2, 3, 4, 5, 6};
    const kg_tensor tensor = {"entities", rows, 3, 2};
    kg_error error = {0};
    kg_output *outputs[2] = {NULL};
    assert_ok(kg__output_open(&outputs[0], "in.npy", "in.npy", &error), &error);
    assert_ok(kg__npy_write(outputs[0], rows, 3, 2, &error), &error);
    assert_ok(kg__output_open(&outputs[1], "in.st", "in.st", &error), &error);
    assert_ok(kg__safetensors_write(outputs[1], &tensor, 1, NULL, &error), &error);
    for (size_t i = 0; i < COUNT_OF(outputs); i++) {
        assert_ok(kg__output_commit(outputs[i], &error), &error);
        kg__output_close(outputs[i]);
    }
}

static void test_adopt(void **state) {
    (void)state;
    write_matrices();
    spare_jansson = true;
    fail_each(adopt, "in.npy", 50);
    fail_each(adopt, "in.st", 50);
    spare_jansson = false;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tsv_folder), cmocka_unit_test(test_own_folder),
        cmocka_unit_test(test_oos_json),   cmocka_unit_test(test_pair),
        cmocka_unit_test(test_new_graph),  cmocka_unit_test(test_openke),
        cmocka_unit_test(test_wordnet),    cmocka_unit_test(test_several_files),
        cmocka_unit_test(test_split),      cmocka_unit_test(test_split_over_another),
        cmocka_unit_test(test_generate),   cmocka_unit_test(test_read_whole),
        cmocka_unit_test(test_model),      cmocka_unit_test(test_newcomers),
        cmocka_unit_test(test_adopt),      cmocka_unit_test(test_propagation),
    };
    return cmocka_run_group_tests(tests, set_up, leave_temporary_folder);
}
