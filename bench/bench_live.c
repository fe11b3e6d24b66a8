/* How fast a store takes facts: batches, one entity with 5 facts at a time, each durable, beside a
 * bare SQLite commit of the same rows to a copy of the same file in the same run; group commit of
 * several threads; and how long it takes to open a store with all of them. */
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "base/random.h"
#include "model/model_folder.h"
#include "store/store.h"

#define BASE_ENTITIES 1000
#define BATCH 10000
#define FACTS 5 /* of an entity */
#define ROUNDS 200
#define THREADS 8
#define DIM 2

#define STORE "store"
#define BARE "bare.db"

static void check(kg_status status, const kg_error *error) {
    char text[KG_ERROR_TEXT_MAX];
    if (status == KG_OK)
        return;
    fprintf(stderr, "%s\n", kg__error_text(text, sizeof text, error));
    exit(1);
}

static void check_sqlite(int code, sqlite3 *sqlite) {
    if (code == SQLITE_OK || code == SQLITE_DONE)
        return;
    fprintf(stderr, "%s\n", sqlite3_errmsg(sqlite));
    exit(1);
}

/* ---- Facts ---- */

struct fact {
    char names[3][24];
};

/* Fact k of the entity with this number: names as a hash gives them, so in no order. */
static struct fact make_fact(uint64_t entity, size_t k) {
    struct fact fact;
    uint64_t random = (entity * FACTS + k) * 0x9e3779b97f4a7c15;
    snprintf(fact.names[0], sizeof fact.names[0], "Q%ju",
             (uintmax_t)(entity * 0x9e3779b97f4a7c15 >> 24));
    snprintf(fact.names[1], sizeof fact.names[1], "P%zu", k);
    snprintf(fact.names[2], sizeof fact.names[2], "e%ju",
             (uintmax_t)(random >> 32) % BASE_ENTITIES);
    return fact;
}

static void write_model(void) {
    static const real values[BASE_ENTITIES * DIM];
    kg_dataset dataset;
    kg_folder *folder = NULL;
    kg_error error = {0};
    check(kg__dataset_open(&dataset, &error), &error);
    for (size_t i = 0; i < BASE_ENTITIES; i++) {
        char one[24];
        char other[24];
        snprintf(one, sizeof one, "e%zu", i);
        snprintf(other, sizeof other, "e%zu", (i + 1) % BASE_ENTITIES);
        check(kg__dataset_add_one(&dataset, kg__name_of(one, strlen(one)), kg__name_of("P0", 2),
                                  kg__name_of(other, strlen(other)), &error),
              &error);
    }
    check(kg__dataset_finish(&dataset, &error), &error);
    kg_params params = {.scoring = kg__scoring_find("distmult"),
                        .entities = values,
                        .relations = values,
                        .dim = DIM};
    json_t *config = json_pack("{si si s{ss si}}", "entities", BASE_ENTITIES, "relations", 1,
                               "settings", "model", "distmult", "dim", DIM);
    kg_model_parts parts = {&params, &dataset, NULL, config};
    check(kg__folder_start(&folder, "model", false, kg__model_files, &error), &error);
    check(kg__model_folder_fill(folder, &parts, &error), &error);
    check(kg__folder_commit(folder, &error), &error);
    kg__folder_close(folder);
    json_decref(config);
    kg__dataset_close(&dataset);
}

/* ---- The store ---- */

static void add_entities(kg_store *store, uint64_t from, uint64_t to) {
    kg_transaction *transaction = NULL;
    kg_commit_counts counts = {0};
    kg_error error = {0};
    check(kg__store_begin(&transaction, store, NULL, 0, &error), &error);
    for (uint64_t entity = from; entity < to; entity++)
        for (size_t k = 0; k < FACTS; k++) {
            struct fact fact = make_fact(entity, k);
            kg_text names[3];
            for (int i = 0; i < 3; i++)
                names[i] = (kg_text){fact.names[i], strlen(fact.names[i])};
            check(kg__store_change(transaction, KG_ADD, names, &error), &error);
        }
    check(kg__store_commit(transaction, &counts, &error), &error);
    if (counts.added != (to - from) * FACTS) {
        fprintf(stderr, "expected only new facts\n");
        exit(1);
    }
}

static void measure_batches(uint64_t entities) {
    kg_store *store = NULL;
    kg_error error = {0};
    check(kg__store_create(STORE, "model", &error), &error);
    check(kg__store_open(&store, STORE, KG_STORE_WRITE, &error), &error);
    double started = kg__seconds();
    double slowest = 0;
    for (uint64_t at = 0; at < entities; at += BATCH / FACTS) {
        uint64_t end = at + BATCH / FACTS < entities ? at + BATCH / FACTS : entities;
        double before = kg__seconds();
        add_entities(store, at, end);
        double rate = (double)(end - at) * FACTS / (kg__seconds() - before);
        slowest = slowest == 0 || rate < slowest ? rate : slowest;
    }
    printf("batches      %8.0f facts a second, %.0f in the slowest batch of %d\n",
           (double)entities * FACTS / (kg__seconds() - started), slowest, BATCH);
    kg__store_close(store);
}

static kg_status count(void *payload, kg_operation operation, const kg_text fact[3],
                       kg_error *error) {
    (void)operation;
    (void)error;
    *(uint64_t *)payload += fact[0].length > 0;
    return KG_OK;
}

static void measure_opening(uint64_t entities) {
    kg_store *store = NULL;
    uint64_t found = 0;
    kg_error error = {0};
    double started = kg__seconds();
    check(kg__store_open(&store, STORE, KG_STORE_WRITE, &error), &error);
    double opened = kg__seconds();
    check(kg__store_read_changes(store, NULL, count, &found, &error), &error);
    printf("opening      %8.3f s, %.3f of them to read %ju changes\n", kg__seconds() - started,
           kg__seconds() - opened, (uintmax_t)found);
    if (found != entities * FACTS)
        exit(1);
    kg__store_close(store);
}

/* ---- Beside bare SQLite ---- */

struct bare {
    sqlite3 *sqlite;
    sqlite3_stmt *change;
    sqlite3_stmt *log;
};

static void open_bare(struct bare *bare) {
    if (system("cp " STORE "/graph.db " BARE) != 0)
        exit(1);
    check_sqlite(sqlite3_open(BARE, &bare->sqlite), bare->sqlite);
    check_sqlite(sqlite3_exec(bare->sqlite,
                              "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                              "PRAGMA cache_size = -65536",
                              NULL, NULL, NULL),
                 bare->sqlite);
    check_sqlite(sqlite3_prepare_v2(bare->sqlite,
                                    "INSERT INTO changes (generation, head, relation, tail, "
                                    "operation) VALUES (1, ?1, ?2, ?3, 'A')",
                                    -1, &bare->change, NULL),
                 bare->sqlite);
    check_sqlite(sqlite3_prepare_v2(bare->sqlite,
                                    "INSERT INTO log (time, operation, head, relation, tail) "
                                    "VALUES (0, 'A', ?1, ?2, ?3)",
                                    -1, &bare->log, NULL),
                 bare->sqlite);
}

static void insert(sqlite3 *sqlite, sqlite3_stmt *statement, const struct fact *fact) {
    for (int i = 0; i < 3; i++)
        sqlite3_bind_text(statement, i + 1, fact->names[i], -1, SQLITE_STATIC);
    check_sqlite(sqlite3_step(statement), sqlite);
    sqlite3_reset(statement);
}

static void add_bare(struct bare *bare, uint64_t entity) {
    check_sqlite(sqlite3_exec(bare->sqlite, "BEGIN IMMEDIATE", NULL, NULL, NULL), bare->sqlite);
    for (size_t k = 0; k < FACTS; k++) {
        struct fact fact = make_fact(entity, k);
        insert(bare->sqlite, bare->change, &fact);
        insert(bare->sqlite, bare->log, &fact);
    }
    check_sqlite(sqlite3_exec(bare->sqlite, "COMMIT", NULL, NULL, NULL), bare->sqlite);
}

static int compare(const void *one, const void *other) {
    double a = *(const double *)one;
    double b = *(const double *)other;
    return (a > b) - (a < b);
}

static void measure_commits(uint64_t entities) {
    kg_store *store = NULL;
    struct bare bare = {0};
    double ours[ROUNDS];
    double theirs[ROUNDS];
    kg_error error = {0};
    open_bare(&bare);
    check(kg__store_open(&store, STORE, KG_STORE_WRITE, &error), &error);
    for (size_t i = 0; i < ROUNDS; i++) {
        double started = kg__seconds();
        add_entities(store, entities + i, entities + i + 1);
        double between = kg__seconds();
        add_bare(&bare, entities + i);
        ours[i] = between - started;
        theirs[i] = kg__seconds() - between;
    }
    qsort(ours, ROUNDS, sizeof *ours, compare);
    qsort(theirs, ROUNDS, sizeof *theirs, compare);
    printf("commit       %8.3f ms at the median of one entity with %d facts, %.3f at the 99th "
           "percentile; bare SQLite %.3f and %.3f: %.2f times\n",
           1e3 * ours[ROUNDS / 2], FACTS, 1e3 * ours[ROUNDS * 99 / 100], 1e3 * theirs[ROUNDS / 2],
           1e3 * theirs[ROUNDS * 99 / 100], ours[ROUNDS / 2] / theirs[ROUNDS / 2]);
    sqlite3_finalize(bare.change);
    sqlite3_finalize(bare.log);
    sqlite3_close(bare.sqlite);
    kg__store_close(store);
}

/* ---- Threads ---- */

struct writer {
    kg_store *store;
    uint64_t from;
    pthread_t thread;
};

static void *write_entities(void *payload) {
    const struct writer *writer = payload;
    for (uint64_t i = 0; i < ROUNDS; i++)
        add_entities(writer->store, writer->from + i, writer->from + i + 1);
    return NULL;
}

static void measure_threads(uint64_t entities) {
    kg_store *store = NULL;
    struct writer writers[THREADS];
    kg_error error = {0};
    check(kg__store_open(&store, STORE, KG_STORE_WRITE, &error), &error);
    double started = kg__seconds();
    for (uint64_t i = 0; i < THREADS; i++) {
        writers[i] = (struct writer){.store = store, .from = entities + (i + 1) * ROUNDS};
        if (pthread_create(&writers[i].thread, NULL, write_entities, &writers[i]) != 0)
            exit(1);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(writers[i].thread, NULL);
    printf("threads      %8.0f commits a second by %d threads\n",
           THREADS * ROUNDS / (kg__seconds() - started), THREADS);
    kg__store_close(store);
}

int main(int argument_count, char **words) {
    uint64_t facts = argument_count > 1 ? strtoull(words[1], NULL, 10) : 1000000;
    uint64_t entities = facts / FACTS;
    write_model();
    measure_batches(entities);
    measure_opening(entities);
    measure_commits(entities);
    measure_threads(entities);
    return 0;
}
