/* How fast a live graph takes facts, and answers.
 *
 *     bench_live [FACTS]       a store: batches; time and memory to open it with all of them; a
 * live graph on it, one entity with 5 facts at a time, each durable, beside a bare SQLite commit of
 * the same rows to a copy of the same file in the same run; group commit of several threads
 *     bench_live ask MODEL...  a question right after a fact was added, beside the same question
 *                              without any, in the same run */
#include <malloc.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/progress.h"
#include "base/random.h"
#include "live/live_store.h"
#include "model/model_folder.h"

#define BASE_ENTITIES 1000000
#define BATCH 10000
#define FACTS 5 /* of an entity */
#define ROUNDS 200
#define THREADS 8
#define DIM 200

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

static void list_names(kg_text names[3], const struct fact *fact) {
    for (int i = 0; i < 3; i++)
        names[i] = (kg_text){fact->names[i], strlen(fact->names[i])};
}

static void write_model(void) {
    real *values = malloc((size_t)BASE_ENTITIES * DIM * sizeof *values);
    kg_dataset dataset;
    kg_folder *folder = NULL;
    kg_error error = {0};
    if (values == NULL)
        abort();
    for (size_t i = 0; i < (size_t)BASE_ENTITIES * DIM; i++)
        values[i] = (real)(kg__random_unit(1, KG_STREAM_LATER_ROWS, i) - 0.5);
    check(kg__dataset_open(&dataset, &error), &error);
    for (size_t i = 0; i < BASE_ENTITIES; i++) {
        char one[24];
        char relation[24];
        char other[24];
        snprintf(one, sizeof one, "e%zu", i);
        snprintf(relation, sizeof relation, "P%zu", i % FACTS);
        snprintf(other, sizeof other, "e%zu", (i + 1) % BASE_ENTITIES);
        check(kg__dataset_add_one(&dataset, kg__name_of(one, strlen(one)),
                                  kg__name_of(relation, strlen(relation)),
                                  kg__name_of(other, strlen(other)), &error),
              &error);
    }
    check(kg__dataset_finish(&dataset, &error), &error);
    kg_params params = {.scoring = kg__scoring_find("distmult"),
                        .entities = values,
                        .relations = values,
                        .dim = DIM};
    json_t *config =
        json_pack("{si si s{ss si ss sf}}", "entities", BASE_ENTITIES, "relations", FACTS,
                  "settings", "model", "distmult", "dim", DIM, "aggregate", "eravg", "psi", 1.0);
    kg_model_parts parts = {&params, &dataset, NULL, config, NULL};
    check(kg__folder_start(&folder, "model", false, kg__model_files, &error), &error);
    check(kg__model_folder_fill(folder, &parts, &error), &error);
    check(kg__folder_commit(folder, &error), &error);
    kg__folder_close(folder);
    json_decref(config);
    kg__dataset_close(&dataset);
    free(values);
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
            list_names(names, &fact);
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

static double megabytes_in_use(void) {
    struct mallinfo2 info = mallinfo2();
    return (double)(info.uordblks + info.hblkhd) / (1 << 20);
}

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Until it can be asked. The processor's time is what it takes on a machine with nothing else to
 * do. */
static void measure_opening(uint64_t entities) {
    const kg_live_options options = KG_LIVE_OPTIONS_INIT;
    kg_live *live = NULL;
    kg_error error = {0};
    double before = megabytes_in_use();
    double started = kg__seconds();
    double processor = processor_seconds();
    check(kg__live_open_store(&live, STORE, &options, &error), &error);
    printf("opening      %8.3f s, %.3f of the processor, and %.1f MB of memory, with %ju added "
           "facts\n",
           kg__seconds() - started, processor_seconds() - processor, megabytes_in_use() - before,
           (uintmax_t)(entities * FACTS));
    kg_model *snapshot = kg__live_snapshot(live);
    if (snapshot->entities.count != BASE_ENTITIES + entities) {
        fprintf(stderr, "expected %ju entities\n", (uintmax_t)(BASE_ENTITIES + entities));
        exit(1);
    }
    kg__live_release(snapshot);
    kg__live_close(live);
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

/* In the store and in the snapshots of the live graph on it. */
static void add_live(kg_changes *changes, uint64_t entity) {
    kg_commit commit;
    kg_error error = {0};
    for (size_t k = 0; k < FACTS; k++) {
        struct fact fact = make_fact(entity, k);
        kg_text names[3];
        list_names(names, &fact);
        check(kg__changes_add(changes, names[0], names[1], names[2], &error), &error);
    }
    check(kg__changes_commit(&commit, changes, &error), &error);
}

static void measure_commits(uint64_t entities) {
    const kg_live_options options = KG_LIVE_OPTIONS_INIT;
    kg_live *live = NULL;
    kg_changes *changes = NULL;
    struct bare bare = {0};
    double ours[ROUNDS];
    double theirs[ROUNDS];
    kg_error error = {0};
    open_bare(&bare);
    check(kg__live_open_store(&live, STORE, &options, &error), &error);
    check(kg__changes_open(&changes, live, &error), &error);
    for (size_t i = 0; i < ROUNDS; i++) {
        double started = kg__seconds();
        add_live(changes, entities + i);
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
    kg__changes_close(changes);
    kg__live_close(live);
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

/* ---- Questions ---- */

/* A live graph and a workspace on its newest snapshot. */
struct asked {
    kg_live *live;
    kg_changes *changes;
    kg_model *snapshot;
    kg_workspace *workspace;
};

static void open_asked(struct asked *asked, const kg_model *model) {
    const kg_live_options live = KG_LIVE_OPTIONS_INIT;
    kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
    kg_error error = {0};
    check(kg_live_open(&asked->live, model, &live, &error), &error);
    check(kg_changes_open(&asked->changes, asked->live, &error), &error);
    check(kg_live_snapshot(&asked->snapshot, asked->live, &error), &error);
    check(kg_workspace_open(&asked->workspace, asked->snapshot, &options, &error), &error);
}

static void close_asked(struct asked *asked) {
    kg_workspace_close(asked->workspace);
    kg_model_close(asked->snapshot);
    kg_changes_close(asked->changes);
    kg_live_close(asked->live);
}

/* An entity with FACTS facts of the model's entities, at random by its number, comes or goes. */
static void change_one(struct asked *asked, uint64_t number, bool comes) {
    char name[24];
    uint64_t random = number;
    kg_error error = {0};
    kg_model_info info = KG_MODEL_INFO_INIT;
    check(kg_model_describe(&info, asked->snapshot, &error), &error);
    snprintf(name, sizeof name, "new %ju", (uintmax_t)number);
    for (size_t k = 0; k < FACTS; k++) {
        random = random * 6364136223846793005 + 1442695040888963407;
        kg_text relation =
            kg_model_relation_name(asked->snapshot, (kg_id)((random >> 33) % info.relations));
        kg_text other =
            kg_model_entity_name(asked->snapshot, (kg_id)((random >> 20) % info.entity_rows));
        check((comes ? kg_changes_add : kg_changes_remove)(
                  asked->changes, (kg_text){name, strlen(name)}, relation, other, &error),
              &error);
    }
    check(kg_changes_commit(NULL, asked->changes, &error), &error);
}

/* The seconds of a question to the graph as it is now. */
static double ask(struct asked *asked, kg_id entity, kg_id relation) {
    kg_answer answers[10];
    size_t found = 0;
    kg_model *snapshot = NULL;
    kg_error error = {0};
    kg_request request = KG_REQUEST_INIT;
    request.subject.entity = entity;
    request.relation = relation;
    request.tails = true;
    double started = kg__seconds();
    check(kg_live_snapshot(&snapshot, asked->live, &error), &error);
    check(kg_workspace_move(asked->workspace, snapshot, &error), &error);
    kg_model_close(asked->snapshot);
    asked->snapshot = snapshot;
    check(kg_workspace_predict(answers, &found, asked->workspace, &request, 1, 10, &error), &error);
    return kg__seconds() - started;
}

static void measure_questions(const char *path) {
    kg_model *model = NULL;
    struct asked still = {0};
    struct asked changed = {0};
    double without[ROUNDS];
    double after[ROUNDS];
    kg_error error = {0};
    kg_model_info info = KG_MODEL_INFO_INIT;
    check(kg_model_open(&model, path, &error), &error);
    check(kg_model_describe(&info, model, &error), &error);
    open_asked(&still, model);
    open_asked(&changed, model);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        kg_id entity = (kg_id)(i * 7919 % info.entities);
        kg_id relation = (kg_id)(i % info.relations);
        change_one(&changed, i, true);
        bool is_first = i % 2 == 0; /* who goes first finds caches cold */
        if (is_first)
            without[i] = ask(&still, entity, relation);
        after[i] = ask(&changed, entity, relation);
        if (!is_first)
            without[i] = ask(&still, entity, relation);
        change_one(&changed, i, false); /* the graph does not grow from one question to the next */
    }
    qsort(without, ROUNDS, sizeof *without, compare);
    qsort(after, ROUNDS, sizeof *after, compare);
    printf("question     %8.3f ms at the median right after an addition, %.3f without any: %.2f "
           "times (%s)\n",
           1e3 * after[ROUNDS / 2], 1e3 * without[ROUNDS / 2],
           after[ROUNDS / 2] / without[ROUNDS / 2], path);
    close_asked(&still);
    close_asked(&changed);
    kg_model_close(model);
}

int main(int argument_count, char **words) {
    if (argument_count > 1 && strcmp(words[1], "ask") == 0) {
        for (int i = 2; i < argument_count; i++)
            measure_questions(words[i]);
        return 0;
    }
    uint64_t facts = argument_count > 1 ? strtoull(words[1], NULL, 10) : 1000000;
    uint64_t entities = facts / FACTS;
    kg_error error = {0};
    write_model();
    check(kg__store_create(STORE, "model", &error), &error);
    printf("a store of %d entities\n", BASE_ENTITIES);
    measure_opening(0);
    measure_batches(entities);
    measure_opening(entities);
    measure_commits(entities);
    measure_threads(entities);
    return 0;
}
