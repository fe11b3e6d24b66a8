/* Fuzzes the reader of facts about rows, by names or ids: an input is a file. Some names are
 * numbers, and not those of their own rows.
 *
 *  - A failure is KG_BAD_INPUT with a message and a place.
 *  - A success is at least one fact, all of entities and relations that have a row; and written by
 *    name, unless the names are numbers, they are read again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/triples_file.h"
#include "fuzz.h"

static const char *const entities[] = {"a", "b", "3", "2", "head", "tail", "0"};
static const char *const relations[] = {"r", "1", "relation"};

static void name(kg_names *names, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        kg_id id = KG_NO_ID;
        fuzz_require(kg__names_intern(names, &id, kg__name_of(list[i], strlen(list[i])), NULL) ==
                         KG_OK &&
                     id == i);
    }
}

static kg_status read_facts(kg_dataset *dataset, const void *bytes, size_t size, kg_error *error) {
    kg_names rows[2] = {{0}};
    kg_reader reader = {.dataset = dataset};
    name(&rows[0], entities, sizeof entities / sizeof *entities);
    name(&rows[1], relations, sizeof relations / sizeof *relations);
    fuzz_require(kg__dataset_open_named(dataset, &rows[0], &rows[1], NULL) == KG_OK);
    kg_input *input = fuzz_input(bytes, size, "facts", KG_ANY_CODING);
    kg_status status = kg__triples_file_read(&reader, input, error);
    kg__input_close(input);
    if (status == KG_OK)
        fuzz_require(kg__dataset_finish(dataset, NULL) == KG_OK);
    return status;
}

static void check_facts(const kg_dataset *dataset) {
    const kg_triples *facts = &dataset->parts[KG_TRAIN];
    fuzz_require(facts->count > 0);
    for (size_t i = 0; i < facts->count; i++) {
        kg_triple fact = facts->items[i];
        fuzz_require(fact.head < sizeof entities / sizeof *entities);
        fuzz_require(fact.relation < sizeof relations / sizeof *relations);
        fuzz_require(fact.tail < sizeof entities / sizeof *entities);
    }
}

/* A first fact that cannot be ids leaves no doubt. */
static void check_again(const kg_dataset *dataset) {
    const kg_triples *facts = &dataset->parts[KG_TRAIN];
    kg_dataset again = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fuzz_require(out != NULL);
    fputs("a\tr\tb\n", out);
    for (size_t i = 0; i < facts->count; i++) {
        kg_triple fact = facts->items[i];
        fprintf(out, "%s\t%s\t%s\n", entities[fact.head], relations[fact.relation],
                entities[fact.tail]);
    }
    fclose(out);
    fuzz_require(read_facts(&again, text, size, NULL) == KG_OK);
    const kg_triples *found = &again.parts[KG_TRAIN];
    for (size_t i = 0; i < facts->count; i++) {
        bool is_there = false;
        for (size_t k = 0; k < found->count && !is_there; k++)
            is_there = memcmp(&found->items[k], &facts->items[i], sizeof *found->items) == 0;
        fuzz_require(is_there);
    }
    kg__dataset_close(&again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    kg_error error = {0};
    kg_dataset dataset = {0};
    kg_status status = read_facts(&dataset, size == 0 ? "" : (const char *)input, size, &error);
    if (status == KG_OK) {
        check_facts(&dataset);
        check_again(&dataset);
    } else {
        fuzz_check_error(status, &error);
    }
    kg__dataset_close(&dataset);
    return 0;
}
