/* Trials, and the properties that every reader has to keep. */
#define _GNU_SOURCE
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"

#define SEPARATOR 0xff

/* Called by the sanitizer: readers take blocks of a megabyte, of which it would else keep hundreds
 * after they are freed. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "quarantine_size_mb=16";
}

/* Called by libFuzzer, before the OpenMP runtime starts: threads that wait for each other by
 * spinning are slow where several fuzzers share the processors. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    setenv("OMP_WAIT_POLICY", "passive", 0);
    return 0;
}

kg_input *fuzz_input(const void *bytes, size_t size, const char *name, kg_coding coding) {
    int fd = memfd_create(name, MFD_CLOEXEC);
    fuzz_require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    kg_input *input = NULL;
    fuzz_require(kg__input_from_fd(&input, fd, name, coding, NULL) == KG_OK);
    return input;
}

kg_input *fuzz_trial_input(const struct fuzz_trial *trial, size_t file, const char *name) {
    struct fuzz_file at = trial->files[file];
    return fuzz_input(at.bytes, at.size, name,
                      trial->options & FUZZ_PLAIN ? KG_PLAIN : KG_ANY_CODING);
}

/* The last file takes the rest, separators included. */
static void cut_files(struct fuzz_trial *trial, const uint8_t *at, size_t size, size_t limit) {
    const uint8_t *end = at + size;
    for (;;) {
        bool is_last = trial->file_count + 1 == limit;
        const uint8_t *stop =
            is_last || at == end ? NULL : memchr(at, SEPARATOR, (size_t)(end - at));
        size_t length = (size_t)((stop == NULL ? end : stop) - at);
        trial->files[trial->file_count++] = (struct fuzz_file){at, length};
        if (stop == NULL)
            return;
        at = stop + 1;
    }
}

static bool on_progress(void *payload, const kg_progress_report *report) {
    struct fuzz_trial *trial = payload;
    fuzz_require(report->stage[0] != '\0');
    return ++trial->reports < 2 || !(trial->options & FUZZ_CANCEL);
}

void fuzz_trial_open(struct fuzz_trial *trial, const uint8_t *input, size_t size,
                     size_t file_limit) {
    *trial = (struct fuzz_trial){.options = size > 0 ? input[0] : 0};
    for (size_t i = 0; i < FUZZ_FILES_MAX; i++)
        trial->files[i].bytes = (const uint8_t *)"";
    if (size > 1)
        cut_files(trial, input + 1, size - 1, file_limit);
    fuzz_require(kg__dataset_open(&trial->dataset, &trial->error) == KG_OK);
    trial->dataset.skip_unknown = trial->options & FUZZ_SKIP_UNKNOWN;
    trial->progress = (kg_progress){on_progress, trial};
    trial->reader = (kg_reader){
        .dataset = &trial->dataset,
        .options = {.comment = trial->options & FUZZ_COMMENT ? "#" : NULL,
                    .skip_blank = trial->options & FUZZ_SKIP_BLANK,
                    .keep_literals = trial->options & FUZZ_LITERALS,
                    .keep_inverses = trial->options & FUZZ_INVERSES},
        .progress = &trial->progress,
        .file_number = 1,
    };
}

static bool is_printable(const char *text) {
    size_t length = strlen(text);
    for (size_t i = 0; i < length;) {
        size_t step = kg__utf8_length(text + i, length - i);
        unsigned char c = (unsigned char)text[i];
        if (step == 0 || c < 0x20 || c == 0x7f)
            return false;
        i += step;
    }
    return true;
}

void fuzz_check_error(kg_status status, const kg_error *error) {
    fuzz_require(status == KG_BAD_INPUT || status == KG_CANCELLED);
    fuzz_require(error->status == status);
    fuzz_require(error->message[0] != '\0');
    fuzz_require(is_printable(error->message) && is_printable(error->source));
    fuzz_require(status != KG_BAD_INPUT || error->source[0] != '\0');
    fuzz_require(error->column == 0 || error->line != 0);
}

static void check_names(const kg_names *names) {
    for (size_t i = 0; i < names->count; i++) {
        kg_name name = kg__names_get(names, (kg_id)i);
        fuzz_require(name.length > 0);
        fuzz_require(memchr(name.bytes, '\0', name.length) == NULL);
        fuzz_require(memchr(name.bytes, '\t', name.length) == NULL);
        fuzz_require(memchr(name.bytes, '\n', name.length) == NULL);
        fuzz_require(kg__names_find(names, kg__name_of(name.bytes, name.length)) == i);
    }
}

/* In an unseen part, one end is an entity that is new in that part. */
static void check_unseen(const kg_dataset *dataset, kg_part part, kg_triple fact) {
    size_t in_sample = kg__dataset_in_sample(dataset);
    fuzz_require((fact.head >= in_sample) != (fact.tail >= in_sample));
    size_t unseen = fact.head >= in_sample ? fact.head : fact.tail;
    fuzz_require(unseen >= dataset->entities_before[part]);
    fuzz_require(fact.relation < dataset->in_sample_relations);
}

static void check_ids(const kg_dataset *dataset, kg_part part) {
    const kg_triples *facts = &dataset->parts[part];
    for (size_t i = 0; i < facts->count; i++) {
        kg_triple fact = facts->items[i];
        size_t entities =
            part < KG_GRAPH ? dataset->entities_before[part + 1] : dataset->graph_entities.count;
        fuzz_require(fact.head < entities && fact.tail < entities);
        fuzz_require(fact.relation < dataset->relations.count);
        fuzz_require(part < KG_GRAPH || fact.relation < dataset->in_sample_relations);
        if (part == KG_UNSEEN_VALID || part == KG_UNSEEN_TEST)
            check_unseen(dataset, part, fact);
    }
}

static int compare(const void *one, const void *other) {
    return memcmp(one, other, sizeof(kg_triple));
}

static void check_unique(const kg_triples *facts) {
    if (facts->count == 0)
        return;
    kg_triple *sorted = malloc(facts->count * sizeof *sorted);
    fuzz_require(sorted != NULL);
    memcpy(sorted, facts->items, facts->count * sizeof *sorted);
    qsort(sorted, facts->count, sizeof *sorted, compare);
    for (size_t i = 1; i < facts->count; i++)
        fuzz_require(compare(&sorted[i - 1], &sorted[i]) != 0);
    free(sorted);
}

static void put_name(FILE *out, const kg_names *names, kg_id id, char end) {
    kg_name name = kg__names_get(names, id);
    fwrite(name.bytes, 1, name.length, out);
    if (end == '\n' && name.bytes[name.length - 1] == '\r')
        fputc('\r', out); /* or a reader would take the name's own for a part of the line's end */
    fputc(end, out);
}

/* A part as a file of a data set folder. */
static kg_input *write_part(const kg_dataset *dataset, kg_part part) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fuzz_require(out != NULL);
    fputs("\xef\xbb\xbf", out); /* so that a mark that belongs to the first name stays */
    const kg_names *entities = kg__dataset_names(dataset, part);
    for (size_t i = 0; i < dataset->parts[part].count; i++) {
        kg_triple fact = dataset->parts[part].items[i];
        put_name(out, entities, fact.head, '\t');
        put_name(out, &dataset->relations, fact.relation, '\t');
        put_name(out, entities, fact.tail, '\n');
    }
    fclose(out);
    kg_input *input = fuzz_input(text, size, kg__part_name(part), KG_PLAIN);
    free(text);
    return input;
}

struct fuzz_text fuzz_cut(struct fuzz_text *rest, char end) {
    const char *stop = rest->size == 0 ? NULL : memchr(rest->bytes, end, rest->size);
    size_t size = stop == NULL ? rest->size : (size_t)(stop - rest->bytes);
    struct fuzz_text piece = {rest->bytes, size};
    size_t taken = size + (stop != NULL);
    *rest = (struct fuzz_text){rest->bytes + taken, rest->size - taken};
    return piece;
}

struct fuzz_text fuzz_cut_line(struct fuzz_text *rest) {
    struct fuzz_text line = fuzz_cut(rest, '\n');
    line.size -= line.size > 0 && line.bytes[line.size - 1] == '\r';
    return line;
}

size_t fuzz_mark(const char *bytes, size_t size) {
    return size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static void check_same_names(const kg_names *one, const kg_names *other) {
    fuzz_require(one->count == other->count);
    for (size_t i = 0; i < one->count; i++) {
        kg_name a = kg__names_get(one, (kg_id)i);
        kg_name b = kg__names_get(other, (kg_id)i);
        fuzz_require(a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0);
    }
}

static void check_same_facts(const kg_triples *one, const kg_triples *other) {
    fuzz_require(one->count == other->count);
    for (size_t i = 0; i < one->count; i++)
        fuzz_require(compare(&one->items[i], &other->items[i]) == 0);
}

static void check_same(const kg_dataset *one, const kg_dataset *other) {
    check_same_names(&one->entities, &other->entities);
    check_same_names(&one->relations, &other->relations);
    check_same_names(&one->graph_entities, &other->graph_entities);
    for (kg_part part = 0; part < KG_PART_COUNT; part++)
        check_same_facts(&one->parts[part], &other->parts[part]);
    fuzz_require(
        memcmp(one->entities_before, other->entities_before, sizeof one->entities_before) == 0);
}

static void check_round_trip(const kg_dataset *dataset) {
    kg_dataset again;
    fuzz_require(kg__dataset_open(&again, NULL) == KG_OK);
    kg_reader reader = {.dataset = &again};
    for (kg_part part = 0; part < KG_PART_COUNT; part++) {
        if (dataset->parts[part].count == 0)
            continue;
        kg_input *input = write_part(dataset, part);
        fuzz_require(kg__dataset_enter(&again, part, NULL) == KG_OK);
        fuzz_require(kg__read_tsv(&reader, input, NULL) == KG_OK);
        kg__input_close(input);
    }
    fuzz_require(kg__dataset_finish(&again, NULL) == KG_OK);
    check_same(dataset, &again);
    kg__dataset_close(&again);
}

static void check_dataset(const kg_dataset *dataset) {
    check_names(&dataset->entities);
    check_names(&dataset->relations);
    check_names(&dataset->graph_entities);
    check_names(&dataset->unknown_relations);
    for (kg_part part = 0; part < KG_PART_COUNT; part++) {
        check_ids(dataset, part);
        check_unique(&dataset->parts[part]);
    }
    check_round_trip(dataset);
}

void fuzz_trial_close(struct fuzz_trial *trial, kg_status status) {
    if (status == KG_OK) {
        status = kg__dataset_finish(&trial->dataset, &trial->error);
        if (status == KG_BAD_INPUT)
            kg__error_locate(&trial->error, "fuzz", 0, 0); /* as kg__source_read does */
    }
    if (status == KG_OK)
        check_dataset(&trial->dataset);
    else
        fuzz_check_error(status, &trial->error);
    kg__dataset_close(&trial->dataset);
}
