/* Fuzzes facts about new entities: an input is a byte of options and a TSV file. A small model,
 * which has names and nothing else, knows some of the names that the dictionary suggests.
 *
 *  - A failure is KG_BAD_INPUT, in one line of printable text, at a line that is there.
 *  - A success is what a plain reading of the text finds: for each unknown end of a fact whose
 *    other end is known, exactly the links that stand there; all other facts are accounted for. */
#include <stdlib.h>
#include <string.h>

#include "../read_all.h"
#include "fuzz.h"
#include "infer/new_entities.h"
#include "model/model.h"

enum { FUZZ_SKIP_FACTS = 2, FUZZ_ENTITY = 4 };

static const char *const entities[] = {"a", "b", "dog.n.01", "canine.n.02", "New York", "\xff"};
static const char *const relations[] = {"r", "hypernym"};

static void intern_all(kg_names *names, const char *const *list, size_t count) {
    kg_id id = 0;
    for (size_t i = 0; i < count; i++)
        fuzz_require(kg__names_intern(names, &id, kg__name_of(list[i], strlen(list[i])), NULL) ==
                     KG_OK);
}

static const kg_model *get_model(void) {
    static kg_model model;
    if (model.entities.count == 0) {
        intern_all(&model.entities, entities, sizeof entities / sizeof *entities);
        intern_all(&model.relations, relations, sizeof relations / sizeof *relations);
    }
    return &model;
}

/* ---- A plain reading ---- */

static size_t count_lines(struct fuzz_text rest) {
    size_t count = 0;
    for (; rest.size > 0; count++)
        fuzz_cut_line(&rest);
    return count;
}

static kg_id find(const kg_names *names, struct fuzz_text name) {
    return kg__names_find(names, kg__name_of(name.bytes, name.size));
}

/* The new entities have the fact of the line, if it is one of theirs; `*used` if it is. */
static void check_line(const kg_new_entities *found, struct fuzz_text line, bool *used) {
    const kg_model *model = get_model();
    struct fuzz_text head = fuzz_cut(&line, '\t');
    kg_id relation = find(&model->relations, fuzz_cut(&line, '\t'));
    kg_id ends[2] = {find(&model->entities, head), find(&model->entities, line)};
    *used = relation != KG_NO_ID && (ends[KG_HEAD] == KG_NO_ID) != (ends[KG_TAIL] == KG_NO_ID);
    if (!*used)
        return;
    kg_end end = ends[KG_HEAD] == KG_NO_ID ? KG_HEAD : KG_TAIL;
    struct fuzz_text name = end == KG_HEAD ? head : line;
    size_t place = kg_new_entities_find(found, (kg_text){name.bytes, name.size});
    fuzz_require(place < kg_new_entities_count(found));
    size_t count = 0;
    const kg_link *links = kg_new_entities_links(&count, found, place);
    kg_link link = {kg_direct(relation, end), ends[end == KG_HEAD ? KG_TAIL : KG_HEAD]};
    fuzz_require(kg__links_find(links, count, link) < count);
}

static size_t count_links(const kg_new_entities *found) {
    const kg_model *model = get_model();
    size_t total = 0;
    for (size_t i = 0; i < kg_new_entities_count(found); i++) {
        kg_text name = kg_new_entities_name(found, i);
        size_t count = 0;
        const kg_link *links = kg_new_entities_links(&count, found, i);
        fuzz_require(count > 0 && kg_new_entities_find(found, name) == i);
        fuzz_require(find(&model->entities, (struct fuzz_text){name.bytes, name.length}) ==
                     KG_NO_ID);
        for (size_t k = 0; k < count; k++)
            fuzz_require(kg__links_find(links, count, links[k]) == k); /* sorted, each once */
        total += count;
    }
    return total;
}

static void check_entities(const kg_new_entities *found, const kg_left_out_facts *left,
                           struct fuzz_text rest) {
    size_t used_lines = 0;
    size_t lines = 0;
    for (; rest.size > 0; lines++) {
        bool used = false;
        check_line(found, fuzz_cut_line(&rest), &used);
        used_lines += used;
    }
    /* Links are not more than lines, and each line has its link: so they are the lines' links. */
    fuzz_require(count_links(found) + left->repeated == used_lines);
    fuzz_require(used_lines + left->unknown + left->reflexive == lines);
}

/* ---- A trial ---- */

static struct fuzz_text read_text(const uint8_t *bytes, size_t size, kg_coding coding, char **out) {
    struct fuzz_text text = {"", 0};
    kg_input *input = fuzz_input(bytes, size, "facts", coding);
    if (read_all(input, out, &text.size, NULL) == KG_OK)
        text.bytes = *out;
    kg__input_close(input);
    return text;
}

static kg_status read_facts(kg_new_entities *found, kg_left_out_facts *left, const uint8_t *bytes,
                            size_t size, kg_coding coding, kg_error *error) {
    kg_input *input = fuzz_input(bytes, size, "facts", coding);
    kg_status status = kg__new_entities_read_input(found, input, error);
    kg__input_close(input);
    return status == KG_OK ? kg_new_entities_finish(left, found, error) : status;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    unsigned options = size > 0 ? input[0] : 0;
    const uint8_t *bytes = size > 0 ? input + 1 : (const uint8_t *)"";
    size -= size > 0;
    kg_coding coding = options & FUZZ_PLAIN ? KG_PLAIN : KG_ANY_CODING;
    kg_new_entities_options wanted = {.size = sizeof wanted,
                                      .skip_unknown = options & FUZZ_SKIP_FACTS,
                                      .entity = options & FUZZ_ENTITY ? "x" : NULL};
    kg_new_entities *found = NULL;
    kg_left_out_facts left = KG_LEFT_OUT_FACTS_INIT;
    kg_error error = {0};
    fuzz_require(kg_new_entities_open(&found, get_model(), &wanted, &error) == KG_OK);
    kg_status status = read_facts(found, &left, bytes, size, coding, &error);
    char *copy = NULL;
    struct fuzz_text text = read_text(bytes, size, coding, &copy);
    if (status == KG_OK) {
        fuzz_require(copy != NULL);
        size_t mark = fuzz_mark(text.bytes, text.size);
        check_entities(found, &left, (struct fuzz_text){text.bytes + mark, text.size - mark});
    } else {
        kg__error_locate(&error, "facts", 0, 0); /* as the tool does */
        fuzz_check_error(status, &error);
        fuzz_require(copy == NULL || error.line <= count_lines(text));
    }
    free(copy);
    kg_new_entities_close(found);
    return 0;
}
