/* Writing data set folders, and dataset.json. */
#include "graph/dataset_folder.h"

#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "base/thread_count.h"

#define FORMAT_VERSION 1
#define TILE_FACTS ((size_t)1 << 14)
#define TILES 16
#define FAR 24 /* facts ahead: the start of a name is prefetched, then the name itself */
#define NEAR 12

const char *const kg__dataset_files[] = {"train.tsv",        "valid.tsv",       "test.tsv",
                                         "unseen-valid.tsv", "unseen-test.tsv", "between-valid.tsv",
                                         "between-test.tsv", "graph.tsv",       "graph-valid.tsv",
                                         "graph-test.tsv",   KG_DATASET_JSON,   NULL};

/* What the facts of a part consist of. */
struct vocabulary {
    const kg_names *entities;
    const kg_names *relations;
};

/* Lines of text made from a range of facts. */
struct tile {
    char *text;
    size_t size;
    size_t capacity;
};

static void prefetch_starts(const kg_names *entities, kg_triple fact) {
    __builtin_prefetch(&entities->starts[fact.head]);
    __builtin_prefetch(&entities->starts[fact.tail]);
}

static void prefetch_names(const kg_names *entities, kg_triple fact) {
    __builtin_prefetch(kg__names_get(entities, fact.head).bytes);
    __builtin_prefetch(kg__names_get(entities, fact.tail).bytes);
}

static char *put_name(char *at, kg_name name, char end) {
    memcpy(at, name.bytes, name.length);
    at[name.length] = end;
    return at + name.length + 1;
}

/* Readers treat one carriage return before the newline as part of the line's end. So where the last
 * name itself ends in one, the line gets another. */
static bool format_fact(struct tile *tile, struct vocabulary words, kg_triple fact) {
    kg_name head = kg__names_get(words.entities, fact.head);
    kg_name relation = kg__names_get(words.relations, fact.relation);
    kg_name tail = kg__names_get(words.entities, fact.tail);
    size_t needed = tile->size + head.length + (size_t)relation.length + tail.length + 4;
    char *text = kg__grow(tile->text, &tile->capacity, needed, 1);
    if (text == NULL)
        return false;
    tile->text = text;
    bool ends_in_return = tail.length > 0 && tail.bytes[tail.length - 1] == '\r';
    char *at = put_name(text + tile->size, head, '\t');
    at = put_name(at, relation, '\t');
    at = put_name(at, tail, ends_in_return ? '\r' : '\n');
    if (ends_in_return)
        *at++ = '\n';
    tile->size = (size_t)(at - text);
    return true;
}

static bool format_tile(struct tile *tile, struct vocabulary words, const kg_triple *facts,
                        size_t count) {
    tile->size = 0;
    for (size_t i = 0; i < count; i++) {
        if (i + FAR < count)
            prefetch_starts(words.entities, facts[i + FAR]);
        if (i + NEAR < count)
            prefetch_names(words.entities, facts[i + NEAR]);
        if (!format_fact(tile, words, facts[i]))
            return false;
    }
    return true;
}

/* Tiles are formatted by all threads and written in order by one. */
static kg_status write_tiles(struct tile *tiles, const kg_dataset *dataset, kg_part part,
                             kg_output *output, const kg_progress *progress, kg_error *error) {
    const kg_triples *facts = &dataset->parts[part];
    struct vocabulary words = {kg__dataset_names(dataset, part), &dataset->relations};
    char stage[64];
    snprintf(stage, sizeof stage, "writing %s", kg__dataset_files[part]);
    for (size_t from = 0; from < facts->count; from += TILES * TILE_FACTS) {
        kg_progress_report report = {
            .stage = stage, .unit = "facts", .done = from, .total = facts->count};
        KG_TRY(kg__progress_tick(progress, &report, error));
        size_t left = facts->count - from;
        size_t tile_count = left >= TILES * TILE_FACTS ? TILES : (left - 1) / TILE_FACTS + 1;
        bool good = true;
#pragma omp parallel for schedule(dynamic) reduction(&& : good) num_threads(kg__threads(0))
        for (size_t i = 0; i < tile_count; i++) {
            size_t start = i * TILE_FACTS;
            size_t count = left - start < TILE_FACTS ? left - start : TILE_FACTS;
            good = format_tile(&tiles[i], words, facts->items + from + start, count) && good;
        }
        if (!good)
            return kg__fail_memory(error);
        for (size_t i = 0; i < tile_count; i++)
            KG_TRY(kg__output_write(output, tiles[i].text, tiles[i].size, error));
    }
    return KG_OK;
}

/* Likewise they skip a byte order mark at the start of a file: a first name that starts with one
 * gets another. */
static kg_status write_mark(const kg_dataset *dataset, kg_part part, kg_output *output,
                            kg_error *error) {
    const kg_triples *facts = &dataset->parts[part];
    if (facts->count == 0)
        return KG_OK;
    kg_name first = kg__names_get(kg__dataset_names(dataset, part), facts->items[0].head);
    if (!kg__starts_with(first.bytes, first.length, KG_UTF8_MARK))
        return KG_OK;
    return kg__output_write(output, KG_UTF8_MARK, strlen(KG_UTF8_MARK), error);
}

kg_status kg__dataset_record(json_t *files, kg_part part, size_t facts, const kg_output *output,
                             kg_error *error) {
    json_t *about =
        json_pack("{sI sI ss}", "facts", (json_int_t)facts, "bytes",
                  (json_int_t)kg__output_size(output), "xxh3", kg__output_checksum(output).text);
    if (json_object_set_new(files, kg__dataset_files[part], about) != 0)
        return kg__fail_memory(error);
    return KG_OK;
}

static kg_status write_part(const kg_dataset *dataset, kg_part part, kg_folder *folder,
                            json_t *files, const kg_progress *progress, kg_error *error) {
    kg_output *output = NULL;
    KG_TRY(kg__folder_add(folder, &output, kg__dataset_files[part], error));
    KG_TRY(write_mark(dataset, part, output, error));
    struct tile tiles[TILES] = {0};
    kg_status status = write_tiles(tiles, dataset, part, output, progress, error);
    for (size_t i = 0; i < TILES; i++)
        kg__free(tiles[i].text);
    KG_TRY(status);
    return kg__dataset_record(files, part, dataset->parts[part].count, output, error);
}

/* Adds further counts, and takes ownership of both; NULL if memory is short. */
static json_t *add_counts(json_t *counts, json_t *more) {
    bool is_added = json_object_update(counts, more) == 0;
    json_decref(more);
    if (is_added)
        return counts;
    json_decref(counts);
    return NULL;
}

/* Of parts that few data sets have; there are none without them. */
static json_t *add_rare_counts(json_t *counts, const kg_dataset *dataset) {
    const kg_triples *parts = dataset->parts;
    if (kg__dataset_has_between(dataset))
        counts = add_counts(
            counts, json_pack("{sI sI}", "between_valid", (json_int_t)parts[KG_BETWEEN_VALID].count,
                              "between_test", (json_int_t)parts[KG_BETWEEN_TEST].count));
    if (kg__dataset_has_graph(dataset))
        counts = add_counts(counts, json_pack("{sI sI sI sI}", "graph_entities",
                                              (json_int_t)dataset->graph_entities.count, "graph",
                                              (json_int_t)parts[KG_GRAPH].count, "graph_valid",
                                              (json_int_t)parts[KG_GRAPH_VALID].count, "graph_test",
                                              (json_int_t)parts[KG_GRAPH_TEST].count));
    return counts;
}

json_t *kg__dataset_counts(const kg_dataset *dataset) {
    const kg_triples *parts = dataset->parts;
    json_t *counts = json_pack(
        "{sI sI sI sI sI sI sI sI sI}", "entities", (json_int_t)kg__dataset_in_sample(dataset),
        "relations", (json_int_t)dataset->relations.count, "train",
        (json_int_t)parts[KG_TRAIN].count, "valid", (json_int_t)parts[KG_VALID].count, "test",
        (json_int_t)parts[KG_TEST].count, "unseen_valid",
        (json_int_t)kg__dataset_unseen(dataset, KG_UNSEEN_VALID), "unseen_test",
        (json_int_t)kg__dataset_unseen(dataset, KG_UNSEEN_TEST), "queries_valid",
        (json_int_t)parts[KG_UNSEEN_VALID].count, "queries_test",
        (json_int_t)parts[KG_UNSEEN_TEST].count);
    return add_rare_counts(counts, dataset);
}

static void hash_names(kg_hasher *hasher, const kg_names *names) {
    kg__hasher_add(hasher, &names->count, sizeof names->count);
    if (names->count > 0) {
        kg__hasher_add(hasher, names->starts, (names->count + 1) * sizeof *names->starts);
        kg__hasher_add(hasher, names->bytes, (size_t)names->starts[names->count]);
    }
}

static void hash_facts(kg_hasher *hasher, const kg_triples *facts) {
    kg__hasher_add(hasher, &facts->count, sizeof facts->count);
    if (facts->count > 0)
        kg__hasher_add(hasher, facts->items, facts->count * sizeof *facts->items);
}

/* Parts that few data sets have come last, so that those without them have the checksums that they
 * always had. */
kg_checksum kg__dataset_checksum(const kg_dataset *dataset) {
    kg_hasher *hasher = kg__hasher_new();
    if (hasher == NULL)
        return (kg_checksum){""};
    hash_names(hasher, &dataset->entities);
    hash_names(hasher, &dataset->relations);
    for (kg_part part = 0; part < KG_BETWEEN_VALID; part++)
        hash_facts(hasher, &dataset->parts[part]);
    if (kg__dataset_has_graph(dataset)) {
        hash_names(hasher, &dataset->graph_entities);
        for (kg_part part = KG_GRAPH; part < KG_PART_COUNT; part++)
            hash_facts(hasher, &dataset->parts[part]);
    }
    for (kg_part part = KG_BETWEEN_VALID; part < KG_GRAPH && kg__dataset_has_between(dataset);
         part++)
        hash_facts(hasher, &dataset->parts[part]);
    kg_checksum out = kg__hasher_checksum(hasher);
    kg__hasher_free(hasher);
    return out;
}

/* {"kgraft_dataset": 1, the history, "counts", "files"} */
static json_t *make_about(const kg_dataset *dataset, json_t *files) {
    json_t *about = json_pack("{si}", "kgraft_dataset", FORMAT_VERSION);
    if (about == NULL)
        return NULL;
    if (json_object_update(about, dataset->history) == 0 &&
        json_object_set_new(about, "counts", kg__dataset_counts(dataset)) == 0 &&
        json_object_set(about, "files", files) == 0)
        return about;
    json_decref(about);
    return NULL;
}

kg_status kg__dataset_write_about(const kg_dataset *dataset, kg_folder *folder, json_t *files,
                                  kg_error *error) {
    kg_output *output = NULL;
    KG_TRY(kg__folder_add(folder, &output, KG_DATASET_JSON, error));
    json_t *about = make_about(dataset, files);
    if (about == NULL)
        return kg__fail_memory(error);
    kg_status status = kg__json_seal(about, error);
    if (status == KG_OK)
        status = kg__json_write(about, output, error);
    json_decref(about);
    return status;
}

kg_status kg__dataset_write(const kg_dataset *dataset, kg_folder *folder,
                            const kg_progress *progress, kg_error *error) {
    json_t *files = json_object();
    if (files == NULL)
        return kg__fail_memory(error);
    kg_status status = KG_OK;
    for (kg_part part = 0; part < KG_PART_COUNT && status == KG_OK; part++)
        if (dataset->parts[part].count > 0)
            status = write_part(dataset, part, folder, files, progress, error);
    if (status == KG_OK)
        status = kg__dataset_write_about(dataset, folder, files, error);
    json_decref(files);
    return status;
}

static kg_status check_about(const json_t *about, const char *source, kg_error *error) {
    const json_t *version = json_object_get(about, "kgraft_dataset");
    if (!json_is_integer(version))
        return kg_fail_at(
            error, source, 0, 0, "expected an object with \"kgraft_dataset\": %d, found %s",
            FORMAT_VERSION, json_is_object(about) ? "one without" : kg__json_kind(about));
    if (json_integer_value(version) != FORMAT_VERSION)
        return kg_fail_at(error, source, 0, 0, "expected \"kgraft_dataset\": %d, found %jd",
                          FORMAT_VERSION, (intmax_t)json_integer_value(version));
    if (!json_is_object(json_object_get(about, "files")))
        return kg_fail_at(error, source, 0, 0, "expected an object \"files\", found none");
    return KG_OK;
}

kg_status kg__dataset_json_read(json_t **out, const char *path, kg_error *error) {
    *out = NULL;
    char *file = kg__path_join(path, KG_DATASET_JSON);
    if (file == NULL)
        return kg__fail_memory(error);
    kg_status status = KG_OK;
    kg_input *input = NULL;
    json_t *about = NULL;
    if (access(file, F_OK) != 0)
        goto done;
    KG_CHECK(kg__input_open(&input, file, KG_PLAIN, error));
    KG_CHECK(kg__json_read(&about, input, error));
    KG_CHECK(check_about(about, file, error));
    *out = json_incref(about);
done:
    json_decref(about);
    kg__input_close(input);
    kg__free(file);
    return status;
}

kg_status kg__dataset_json_check(const json_t *about, kg_part part, const kg_input *input,
                                 kg_error *error) {
    const json_t *file = json_object_get(json_object_get(about, "files"), kg__dataset_files[part]);
    const char *recorded = json_string_value(json_object_get(file, "xxh3"));
    kg_checksum found = kg__input_checksum(input);
    if (recorded != NULL && strcmp(recorded, found.text) == 0)
        return KG_OK;
    return kg_fail_at(error, kg__input_name(input), 0, 0,
                      "expected the checksum that %s records (%s), found %s: the file was changed "
                      "since; if that was on purpose, delete %s beside it",
                      KG_DATASET_JSON,
                      recorded == NULL ? "none" : kg__quote(recorded, strlen(recorded)).text,
                      found.text, KG_DATASET_JSON);
}
