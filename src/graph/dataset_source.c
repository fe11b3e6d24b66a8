/* Recognising sources and opening their files. */
#include "graph/dataset_source.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "graph/dataset_folder.h"

#define WORDNET_PATH "/usr/share/wordnet"

#define PAIR_FORMAT "grail"
#define PAIR_ENDING "_ind"

const char *const kg__formats[] = {"tsv",    "nt",       "ttl",  "nq",        "trig",
                                   "openke", "oos-json", "ilpc", PAIR_FORMAT, NULL};

/* Layouts of a directory with a data set: which file has which part. Each row but OpenKE's is read
 * by the extension of its files. */
struct layout {
    const char *format;
    const char *files[KG_PART_COUNT];
    kg_part needs;        /* one of the files from this part on */
    const char *expected; /* in messages, when the format was asked for */
};

static const struct layout layouts[] = {
    {.format = "tsv",
     .files = {"train.tsv", "valid.tsv", "test.tsv", "unseen-valid.tsv", "unseen-test.tsv",
               "between-valid.tsv", "between-test.tsv", "graph.tsv", "graph-valid.tsv",
               "graph-test.tsv"},
     .expected = "train.tsv or train.txt"},
    {.format = "tsv",
     .files = {"train.txt", "valid.txt", "test.txt"},
     .expected = "train.tsv or train.txt"},
    {.format = "oos-json",
     .files = {"train.txt", NULL, NULL, "valid.json", "test.json"},
     .needs = KG_UNSEEN_VALID,
     .expected = "train.txt and valid.json or test.json"},
    {.format = "ilpc",
     .files = {[KG_TRAIN] = "train.txt",
               [KG_VALID] = "valid.txt",
               [KG_TEST] = "test.txt",
               [KG_GRAPH] = "inference.txt",
               [KG_GRAPH_VALID] = "inference_validation.txt",
               [KG_GRAPH_TEST] = "inference_test.txt"},
     .needs = KG_GRAPH,
     .expected = "train.txt and inference.txt"},
    {.format = "openke",
     .files = {"train2id.txt", "valid2id.txt", "test2id.txt"},
     .expected = "train2id.txt"},
};

static const size_t layout_count = sizeof layouts / sizeof *layouts;

/* Of a pair of directories X and X_ind, the training graph and the new one. */
static const struct layout pair[2] = {
    {.files = {[KG_TRAIN] = "train.txt", [KG_VALID] = "valid.txt", [KG_TEST] = "test.txt"}},
    {.files =
         {[KG_GRAPH] = "train.txt", [KG_GRAPH_VALID] = "valid.txt", [KG_GRAPH_TEST] = "test.txt"}},
};

static const struct syntax {
    const char *format;
    kg_rdf_syntax syntax;
} syntaxes[] = {
    {.format = "nt", .syntax = KG_NTRIPLES},
    {.format = "ttl", .syntax = KG_TURTLE},
    {.format = "nq", .syntax = KG_NQUADS},
    {.format = "trig", .syntax = KG_TRIG},
};

static const size_t syntax_count = sizeof syntaxes / sizeof *syntaxes;

static bool ends_with(const char *text, size_t length, const char *end) {
    size_t end_length = strlen(end);
    return length >= end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

/* The index of a file's syntax, by its extension without ".gz"; `syntax_count` if it is not RDF. */
static size_t find_syntax(const char *path) {
    size_t length = strlen(path);
    size_t i = 0;
    if (ends_with(path, length, ".gz"))
        length -= strlen(".gz");
    for (; i < syntax_count; i++) {
        size_t dot = strlen(syntaxes[i].format) + 1;
        if (length > dot && path[length - dot] == '.' &&
            ends_with(path, length, syntaxes[i].format))
            break;
    }
    return i;
}

/* By extension: RDF's syntaxes; everything else is TSV. */
static const char *format_of(const char *path) {
    size_t i = find_syntax(path);
    return i < syntax_count ? syntaxes[i].format : "tsv";
}

bool kg__source_is_rdf(kg_rdf_syntax *out, const char *path) {
    size_t i = find_syntax(path);
    if (i < syntax_count)
        *out = syntaxes[i].syntax;
    return i < syntax_count;
}

static kg_status read_facts(kg_reader *reader, kg_input *input, const char *format,
                            kg_error *error) {
    for (size_t i = 0; i < syntax_count; i++)
        if (strcmp(syntaxes[i].format, format) == 0)
            return kg__read_rdf(reader, input, syntaxes[i].syntax, error);
    if (strcmp(format, "tsv") == 0)
        return kg__read_tsv(reader, input, error);
    return kg_fail_at(error, kg__input_name(input), 0, 0,
                      "expected a directory for format %s, found a file", format);
}

/* "-" is standard input, even if there is a file of that name. */
static bool is_folder(const char *path) {
    struct stat info;
    return strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The file's path, or that of its gzipped form; NULL in `*out` where neither exists. */
static kg_status find_file(char **out, const char *folder, const char *name, kg_error *error) {
    static const char *const endings[] = {"", ".gz"};
    *out = NULL;
    for (size_t i = 0; i < 2 && *out == NULL; i++) {
        char full[64];
        snprintf(full, sizeof full, "%s%s", name, endings[i]);
        char *path = kg__path_join(folder, full);
        if (path == NULL)
            return kg__fail_memory(error);
        if (access(path, F_OK) == 0) {
            *out = path;
            continue;
        }
        kg_status status = errno == ENOENT ? KG_OK : kg__fail_errno(error, path, "look at it");
        kg__free(path);
        KG_TRY(status);
    }
    return KG_OK;
}

static kg_status open_in(kg_input **out, const char *folder, const char *name, kg_coding coding,
                         kg_error *error) {
    char *path = NULL;
    KG_TRY(find_file(&path, folder, name, error));
    if (path == NULL)
        return kg_fail_at(error, folder, 0, 0, "expected a file %s, found none", name);
    kg_status status = kg__input_open(out, path, coding, error);
    kg__free(path);
    return status;
}

/* How many of a layout's files exist; 0 unless there are facts to train on and one of the files
 * that the layout needs. */
static kg_status count_files(size_t *out, const struct layout *layout, const char *folder,
                             kg_error *error) {
    size_t found = 0;
    bool has_train = false;
    bool has_needed = false;
    for (kg_part part = 0; part < KG_PART_COUNT; part++) {
        if (layout->files[part] == NULL)
            continue;
        char *path = NULL;
        KG_TRY(find_file(&path, folder, layout->files[part], error));
        found += path != NULL;
        has_train = has_train || (part == KG_TRAIN && path != NULL);
        has_needed = has_needed || (part >= layout->needs && path != NULL);
        kg__free(path);
    }
    *out = has_train && has_needed ? found : 0;
    return KG_OK;
}

/* Whether the folder has files of `other` that `chosen` would leave unread. */
static kg_status check_rest(const struct layout *chosen, const struct layout *other,
                            const char *folder, kg_error *error) {
    for (kg_part part = 0; part < KG_PART_COUNT; part++) {
        const char *file = other->files[part];
        if (file == NULL || (chosen->files[part] != NULL && strcmp(chosen->files[part], file) == 0))
            continue;
        char *path = NULL;
        KG_TRY(find_file(&path, folder, file, error));
        bool present = path != NULL;
        kg__free(path);
        if (present)
            return kg_fail_at(
                error, folder, 0, 0,
                "expected one data set, found files of several forms: %s and %s (kgraft "
                "import takes that of `format`, if it tells them apart)",
                chosen->files[KG_TRAIN], file);
    }
    return KG_OK;
}

static kg_status no_layout(const char *folder, const char *format, kg_error *error) {
    const char *expected = format == NULL ? "train.tsv, train.txt or train2id.txt" : NULL;
    for (size_t i = 0; i < layout_count && expected == NULL; i++)
        if (strcmp(format, layouts[i].format) == 0)
            expected = layouts[i].expected;
    if (expected == NULL)
        return kg_fail_at(error, folder, 0, 0, "expected a file for format %s, found a directory",
                          format);
    return kg_fail_at(error, folder, 0, 0, "expected a directory with %s%s%s, found none", expected,
                      format == NULL ? "" : ", as for format ", format == NULL ? "" : format);
}

/* The layout with the most files; the others must have no further files. */
static kg_status find_layout(const struct layout **out, const char *folder, const char *format,
                             kg_error *error) {
    size_t found[sizeof layouts / sizeof *layouts] = {0};
    size_t best = 0;
    for (size_t i = 0; i < layout_count; i++) {
        if (format == NULL || strcmp(format, layouts[i].format) == 0)
            KG_TRY(count_files(&found[i], &layouts[i], folder, error));
        if (found[i] > found[best])
            best = i;
    }
    if (found[best] == 0)
        return no_layout(folder, format, error);
    for (size_t i = 0; i < layout_count; i++)
        if (found[i] > 0)
            KG_TRY(check_rest(&layouts[best], &layouts[i], folder, error));
    *out = &layouts[best];
    return KG_OK;
}

static kg_status read_part(kg_reader *reader, kg_input *input, const char *file,
                           const kg_openke *openke, kg_error *error) {
    if (openke != NULL)
        return kg__openke_read(openke, reader, input, error);
    if (ends_with(file, strlen(file), ".json"))
        return kg__read_unseen_json(reader, input, error);
    return kg__read_tsv(reader, input, error);
}

/* `about` is the folder's dataset.json, or NULL: then there are no checksums to compare. What
 * kgraft wrote is read unchanged, unless the file name says that it was gzipped later: its first
 * name may look like gzip. */
static kg_status read_parts(kg_reader *reader, const struct layout *layout, const char *folder,
                            const kg_openke *openke, const json_t *about, kg_error *error) {
    for (kg_part part = 0; part < KG_PART_COUNT; part++) {
        const char *file = layout->files[part];
        if (file == NULL)
            continue;
        char *path = NULL;
        KG_TRY(find_file(&path, folder, file, error));
        bool recorded = json_object_get(json_object_get(about, "files"), file) != NULL;
        bool present = path != NULL;
        bool zipped = present && ends_with(path, strlen(path), ".gz");
        kg__free(path);
        if (!present && !recorded)
            continue;
        kg_coding coding = about == NULL || zipped ? KG_ANY_CODING : KG_PLAIN;
        kg_input *input = NULL;
        reader->options.is_recorded = about != NULL;
        KG_TRY(open_in(&input, folder, file, coding, error));
        kg_status status = kg__dataset_enter(reader->dataset, part, error);
        if (status == KG_OK)
            status = read_part(reader, input, file, openke, error);
        if (status == KG_OK && about != NULL)
            status = kg__dataset_json_check(about, part, input, error);
        kg__input_close(input);
        KG_TRY(status);
    }
    return KG_OK;
}

static kg_status open_openke(kg_openke **out, const char *folder, kg_error *error) {
    kg_input *entities = NULL;
    kg_input *relations = NULL;
    kg_status status = KG_OK;
    KG_CHECK(open_in(&entities, folder, "entity2id.txt", KG_ANY_CODING, error));
    KG_CHECK(open_in(&relations, folder, "relation2id.txt", KG_ANY_CODING, error));
    KG_CHECK(kg__openke_open(out, entities, relations, error));
done:
    kg__input_close(entities);
    kg__input_close(relations);
    return status;
}

/* The length of a path without slashes at its end. */
static size_t trimmed_length(const char *path) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length;
}

/* The last part of a path, as JSON. */
static json_t *base_name(const char *path) {
    size_t end = trimmed_length(path);
    size_t start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    return kg__json_text(path + start, end - start);
}

/* Adds {"format", "name"} to the list of sources in the history. */
static kg_status record(kg_dataset *dataset, const char *format, const char *name,
                        kg_error *error) {
    json_t *sources = json_object_get(dataset->history, "sources");
    if (sources == NULL) {
        sources = json_array();
        if (json_object_set_new(dataset->history, "sources", sources) != 0)
            return kg__fail_memory(error);
    }
    json_t *source = json_pack("{ss so}", "format", format, "name", base_name(name));
    return json_array_append_new(sources, source) == 0 ? KG_OK : kg__fail_memory(error);
}

/* A folder that kgraft wrote has its history in dataset.json. */
static kg_status take_history(kg_dataset *dataset, const json_t *about, kg_error *error) {
    if (json_object_update(dataset->history, (json_t *)about) != 0)
        return kg__fail_memory(error);
    json_object_del(dataset->history, "kgraft_dataset");
    json_object_del(dataset->history, "counts");
    json_object_del(dataset->history, "files");
    json_object_del(dataset->history, "checksum");
    return KG_OK;
}

/* The path that the new graph of X has, if it is one of a pair. */
static char *partner_of(const char *folder) {
    size_t length = trimmed_length(folder);
    char *path = kg__resize(NULL, length + sizeof PAIR_ENDING, 1);
    if (path != NULL)
        snprintf(path, length + sizeof PAIR_ENDING, "%.*s" PAIR_ENDING, (int)length, folder);
    return path;
}

static kg_status has_train(bool *out, const char *folder, kg_error *error) {
    char *path = NULL;
    KG_TRY(find_file(&path, folder, pair[0].files[KG_TRAIN], error));
    *out = path != NULL;
    kg__free(path);
    return KG_OK;
}

static kg_status read_pair(kg_reader *reader, const char *const folders[2], kg_error *error) {
    for (size_t i = 0; i < 2; i++) {
        bool is_there = false;
        KG_TRY(has_train(&is_there, folders[i], error));
        if (!is_there)
            return kg_fail_at(error, folders[i], 0, 0,
                              "expected a directory with %s, as for format " PAIR_FORMAT
                              ", found none",
                              pair[0].files[KG_TRAIN]);
        KG_TRY(read_parts(reader, &pair[i], folders[i], NULL, NULL, error));
        KG_TRY(record(reader->dataset, PAIR_FORMAT, folders[i], error));
    }
    return KG_OK;
}

static kg_status read_layout(kg_reader *reader, const struct layout *layout, const char *folder,
                             kg_error *error) {
    json_t *about = NULL;
    kg_openke *openke = NULL;
    kg_status status = KG_OK;
    if (strcmp(layout->files[KG_TRAIN], kg__dataset_files[KG_TRAIN]) == 0)
        KG_CHECK(kg__dataset_json_read(&about, folder, error));
    if (strcmp(layout->format, "openke") == 0)
        KG_CHECK(open_openke(&openke, folder, error));
    KG_CHECK(read_parts(reader, layout, folder, openke, about, error));
    if (openke != NULL)
        reader->counts.unused_names = kg__openke_names(openke) - reader->dataset->entities.count -
                                      reader->dataset->relations.count;
    if (about != NULL)
        KG_CHECK(take_history(reader->dataset, about, error));
    else
        KG_CHECK(record(reader->dataset, layout->format, folder, error));
done:
    kg__openke_close(openke);
    json_decref(about);
    return status;
}

/* A directory X with train.txt is one of a pair if there is X_ind with another. */
static kg_status read_folder(kg_reader *reader, const char *folder, kg_error *error) {
    const char *format = reader->options.format;
    bool is_pair = format != NULL && strcmp(format, PAIR_FORMAT) == 0;
    const struct layout *layout = NULL;
    char *partner = partner_of(folder);
    kg_status status = partner == NULL ? kg__fail_memory(error) : KG_OK;
    if (status == KG_OK && !is_pair)
        status = find_layout(&layout, folder, format, error);
    if (status == KG_OK && format == NULL && layout->needs == KG_TRAIN &&
        strcmp(layout->files[KG_TRAIN], pair[0].files[KG_TRAIN]) == 0 && is_folder(partner))
        status = has_train(&is_pair, partner, error);
    if (status == KG_OK)
        status = is_pair ? read_pair(reader, (const char *const[]){folder, partner}, error)
                         : read_layout(reader, layout, folder, error);
    kg__free(partner);
    return status;
}

static kg_status read_wordnet(kg_reader *reader, const char *folder, kg_error *error) {
    kg_input *inputs[KG_WORDNET_FILES] = {0};
    kg_status status = KG_OK;
    if (folder[0] == '\0')
        return kg_fail_at(error, "wordnet:", 0, 0, "expected a path behind the colon, found none");
    for (size_t i = 0; i < KG_WORDNET_FILES; i++)
        KG_CHECK(open_in(&inputs[i], folder, kg__wordnet_files[i], KG_ANY_CODING, error));
    KG_CHECK(kg__read_wordnet(reader, inputs, error));
    KG_CHECK(record(reader->dataset, "wordnet", "wordnet", error));
done:
    for (size_t i = 0; i < KG_WORDNET_FILES; i++)
        kg__input_close(inputs[i]);
    return status;
}

static kg_status read_file(kg_reader *reader, const char *path, kg_error *error) {
    const char *format = reader->options.format;
    if (format == NULL)
        format = format_of(path);
    kg_input *input = NULL;
    KG_TRY(kg__input_open(&input, path, KG_ANY_CODING, error));
    kg_status status = read_facts(reader, input, format, error);
    kg__input_close(input);
    KG_TRY(status);
    return record(reader->dataset, format, path, error);
}

/* One of several sources: a file of facts, not a whole data set. */
static kg_status read_files(kg_reader *reader, const char *const *sources, size_t count,
                            kg_error *error) {
    for (size_t i = 0; i < count; i++) {
        if (is_folder(sources[i]))
            return kg_fail_at(error, sources[i], 0, 0,
                              "expected a file, as one of several sources, found a directory");
        reader->file_number = i + 1;
        KG_TRY(read_file(reader, sources[i], error));
    }
    return KG_OK;
}

/* The path of the WordNet that a source denotes; NULL if the source is a path. */
static const char *wordnet_path(const kg_read_options *options, const char *source) {
    static const char prefix[] = "wordnet:";
    if (options->format != NULL || (options->folder_first && is_folder(source)))
        return NULL;
    if (strcmp(source, "wordnet") == 0)
        return WORDNET_PATH;
    return strncmp(source, prefix, sizeof prefix - 1) == 0 ? source + sizeof prefix - 1 : NULL;
}

kg_status kg__source_read(kg_dataset *dataset, kg_reader *reader, const char *const *sources,
                          size_t count, kg_error *error) {
    const char *format = reader->options.format;
    const char *wordnet = count == 1 ? wordnet_path(&reader->options, sources[0]) : NULL;
    bool is_pair = count == 2 && is_folder(sources[0]) && is_folder(sources[1]) &&
                   (format == NULL || strcmp(format, PAIR_FORMAT) == 0);
    reader->dataset = dataset;
    dataset->skip_unknown = reader->options.skip_unknown;
    if (wordnet != NULL)
        KG_TRY(read_wordnet(reader, wordnet, error));
    else if (count == 1 && is_folder(sources[0]))
        KG_TRY(read_folder(reader, sources[0], error));
    else if (is_pair)
        KG_TRY(read_pair(reader, sources, error));
    else
        KG_TRY(read_files(reader, sources, count, error));
    if (reader->counts.literals > 0 && dataset->parts[KG_TRAIN].count == 0)
        return kg_fail_at(error, kg__input_title(sources[0]), 0, 0,
                          "expected facts to train on, found only some about literals, which are "
                          "left out (kgraft import takes them with `literals` keep)");
    kg_status status = kg__dataset_finish(dataset, error);
    if (status == KG_BAD_INPUT)
        kg__error_locate(error, kg__input_title(sources[0]), 0, 0);
    return status;
}
