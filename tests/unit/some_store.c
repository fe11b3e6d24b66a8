#include "some_store.h"

#include <stdio.h>
#include <string.h>

#include "model/model_folder.h"
#include "support.h"

#define DIM 2

const kg_text *fact_names(size_t i) {
    static _Thread_local char bytes[3][24];
    static _Thread_local kg_text fact[3];
    snprintf(bytes[0], sizeof bytes[0], "e%zu", i / (STORE_RELATIONS * STORE_ENTITIES));
    snprintf(bytes[1], sizeof bytes[1], "r%zu", i / STORE_ENTITIES % STORE_RELATIONS);
    snprintf(bytes[2], sizeof bytes[2], "e%zu", i % STORE_ENTITIES);
    for (int k = 0; k < 3; k++)
        fact[k] = (kg_text){bytes[k], strlen(bytes[k])};
    return fact;
}

size_t fact_number(const kg_text fact[3]) {
    size_t digits[3];
    for (int k = 0; k < 3; k++) {
        assert_int_equal(fact[k].length, 2);
        assert_int_equal(fact[k].bytes[0], k == 1 ? 'r' : 'e');
        digits[k] = (size_t)(fact[k].bytes[1] - '0');
    }
    assert_true(digits[0] < STORE_ENTITIES && digits[1] < STORE_RELATIONS &&
                digits[2] < STORE_ENTITIES);
    return (digits[0] * STORE_RELATIONS + digits[1]) * STORE_ENTITIES + digits[2];
}

void write_base_model(const char *path, const bool base[FACTS]) {
    static const real values[FACTS * DIM];
    kg_dataset dataset;
    kg_error error = {0};
    assert_ok(kg__dataset_open(&dataset, &error), &error);
    for (size_t i = 0; i < FACTS; i++) {
        const kg_text *fact = fact_names(i);
        if (base[i])
            assert_ok(kg__dataset_add_one(&dataset, kg__name_of(fact[0].bytes, fact[0].length),
                                          kg__name_of(fact[1].bytes, fact[1].length),
                                          kg__name_of(fact[2].bytes, fact[2].length), &error),
                      &error);
    }
    assert_ok(kg__dataset_finish(&dataset, &error), &error);
    size_t entities = dataset.entities.count;
    size_t relations = dataset.relations.count;
    kg_params params = {.scoring = kg__scoring_find("distmult"),
                        .entities = values,
                        .relations = values,
                        .dim = DIM};
    json_t *config = json_pack("{si si s{ss si}}", "entities", (int)entities, "relations",
                               (int)relations, "settings", "model", "distmult", "dim", DIM);
    kg_model_parts parts = {&params, &dataset, NULL, config, NULL};
    write_model_folder(path, &parts);
    json_decref(config);
    kg__dataset_close(&dataset);
}

void make_store(twin_store *twin) {
    kg_error error = {0};
    for (size_t i = 0; i < FACTS; i++)
        twin->live[i] = twin->base[i] = i % 3 == 0 && i < FACTS / 2; /* some names are new */
    write_base_model("model", twin->base);
    assert_ok(kg__store_create(STORE, "model", &error), &error);
}

kg_store *open_store(kg_store_mode mode) {
    kg_store *store = NULL;
    kg_error error = {0};
    assert_ok(kg__store_open(&store, STORE, mode, &error), &error);
    return store;
}

kg_commit_counts commit_one(kg_store *store, kg_operation operation, size_t fact,
                            const char *source, int64_t offset) {
    kg_transaction *transaction = NULL;
    kg_commit_counts counts = {0};
    kg_error error = {0};
    assert_ok(kg__store_begin(&transaction, store, source, offset, &error), &error);
    assert_ok(kg__store_change(transaction, operation, fact_names(fact), &error), &error);
    assert_ok(kg__store_commit(transaction, &counts, &error), &error);
    return counts;
}

struct found {
    const twin_store *twin;
    size_t next; /* the first fact that has not been passed */
};

static kg_status check_change(void *payload, kg_operation operation, const kg_text fact[3],
                              kg_error *error) {
    (void)error;
    struct found *found = payload;
    size_t i = fact_number(fact);
    assert_true(i >= found->next);
    for (; found->next < i; found->next++)
        assert_int_equal(found->twin->live[found->next], found->twin->base[found->next]);
    assert_int_not_equal(found->twin->live[i], found->twin->base[i]);
    assert_int_equal(operation, found->twin->live[i] ? KG_ADD : KG_REMOVE);
    found->next = i + 1;
    return KG_OK;
}

void assert_changes(kg_store *store, const twin_store *twin) {
    struct found found = {twin, 0};
    kg_error error = {0};
    assert_ok(kg__store_read_changes(store, NULL, check_change, &found, &error), &error);
    for (; found.next < FACTS; found.next++)
        assert_int_equal(twin->live[found.next], twin->base[found.next]);
}
