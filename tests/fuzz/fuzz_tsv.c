/* Fuzzes the TSV reader: up to eight files behind the byte of options, one for each part; an empty
 * one is left out. The reader cuts its input into blocks that two threads work on. So besides what
 * holds for every reader, its result is compared with that of a simple one, which has the whole
 * text in one piece and goes through it line by line. Where the reader fails, the line that it
 * names has to be there. */
#include <string.h>

#include "../read_all.h"
#include "fuzz.h"

/* A fact of the new graph whose relation train lacks. */
static bool is_unknown(const struct fuzz_trial *trial, kg_part part, struct fuzz_text line) {
    fuzz_cut(&line, '\t');
    struct fuzz_text relation = fuzz_cut(&line, '\t');
    return part >= KG_GRAPH &&
           kg__names_find(&trial->dataset.relations, kg__name_of(relation.bytes, relation.size)) ==
               KG_NO_ID;
}

static bool is_left_out(const struct fuzz_trial *trial, struct fuzz_text line) {
    if (line.size == 0)
        return trial->options & FUZZ_SKIP_BLANK;
    return trial->options & FUZZ_COMMENT && line.bytes[0] == '#';
}

static void check_name(const kg_names *names, kg_id id, struct fuzz_text expected) {
    kg_name name = kg__names_get(names, id);
    fuzz_require(name.length == expected.size);
    fuzz_require(memcmp(name.bytes, expected.bytes, expected.size) == 0);
}

static void check_fact(const kg_dataset *dataset, kg_part part, kg_triple fact,
                       struct fuzz_text line) {
    const kg_names *entities = kg__dataset_names(dataset, part);
    check_name(entities, fact.head, fuzz_cut(&line, '\t'));
    check_name(&dataset->relations, fact.relation, fuzz_cut(&line, '\t'));
    check_name(entities, fact.tail, line);
}

/* Duplicates are still in the part: they are dropped when it ends. */
static void check_facts(const struct fuzz_trial *trial, kg_part part, struct fuzz_text rest) {
    const kg_triples *facts = &trial->dataset.parts[part];
    size_t fact_count = 0;
    uint64_t left_out = 0;
    while (rest.size > 0) {
        struct fuzz_text line = fuzz_cut_line(&rest);
        if (is_left_out(trial, line)) {
            left_out++;
            continue;
        }
        if (is_unknown(trial, part, line))
            continue;
        fuzz_require(fact_count < facts->count);
        check_fact(&trial->dataset, part, facts->items[fact_count++], line);
    }
    fuzz_require(fact_count == facts->count);
    fuzz_require(left_out == trial->reader.counts.comments + trial->reader.counts.blank_lines);
}

static void check_line(uint64_t number, struct fuzz_text rest) {
    uint64_t line_count = 0;
    for (; rest.size > 0; line_count++)
        fuzz_cut_line(&rest);
    fuzz_require(number <= line_count);
}

static void check_part(const struct fuzz_trial *trial, kg_part part, kg_status status) {
    char *bytes = NULL;
    size_t size = 0;
    kg_input *input = fuzz_trial_input(trial, part, kg__part_name(part));
    kg_status taken = read_all(input, &bytes, &size, NULL);
    fuzz_require(taken == KG_OK || status != KG_OK);
    size_t mark = fuzz_mark(bytes, size);
    if (status == KG_OK)
        check_facts(trial, part, (struct fuzz_text){bytes + mark, size - mark});
    else if (taken == KG_OK)
        check_line(trial->error.line, (struct fuzz_text){bytes, size});
    free(bytes);
    kg__input_close(input);
}

static kg_status read_part(struct fuzz_trial *trial, kg_part part) {
    KG_TRY(kg__dataset_enter(&trial->dataset, part, &trial->error));
    trial->reader.counts = (kg_read_counts){0};
    kg_input *input = fuzz_trial_input(trial, part, kg__part_name(part));
    kg_status status = kg__read_tsv(&trial->reader, input, &trial->error);
    kg__input_close(input);
    check_part(trial, part, status);
    return status;
}

_Static_assert(KG_PART_COUNT <= FUZZ_FILES_MAX, "a file for each part");

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct fuzz_trial trial;
    fuzz_trial_open(&trial, bytes, size, KG_PART_COUNT);
    kg_status status = KG_OK;
    for (kg_part part = 0; status == KG_OK && part < KG_PART_COUNT; part++)
        if (part == KG_TRAIN || trial.files[part].size > 0)
            status = read_part(&trial, part);
    fuzz_trial_close(&trial, status);
    return 0;
}
