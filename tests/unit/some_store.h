/* A store over few names, and its plain twin: arrays of which facts the base has and which are
 * live. Fact i of FACTS has head, relation and tail by the digits of i. */
#ifndef KG_TESTS_SOME_STORE_H
#define KG_TESTS_SOME_STORE_H

#include <stdbool.h>

#include "store/store.h"

#define STORE "store"
#define STORE_ENTITIES 6
#define STORE_RELATIONS 2
#define FACTS (STORE_ENTITIES * STORE_RELATIONS * STORE_ENTITIES)

typedef struct twin_store {
    bool base[FACTS];
    bool live[FACTS];
} twin_store;

/* The names of fact i; valid until the next call in the same thread. */
const kg_text *fact_names(size_t i);

/* Which fact these names are. */
size_t fact_number(const kg_text fact[3]);

/* Writes a model that was trained on the facts of `base`. */
void write_base_model(const char *path, const bool base[FACTS]);

/* Makes the store STORE over a base of some facts. */
void make_store(twin_store *twin);

kg_store *open_store(kg_store_mode mode);

/* One change in a transaction of its own, with a source unless that is NULL. */
kg_commit_counts commit_one(kg_store *store, kg_operation operation, size_t fact,
                            const char *source, int64_t offset);

/* The changes that are read are those of the twin, each once, in the order of names. */
void assert_changes(kg_store *store, const twin_store *twin);

#endif
