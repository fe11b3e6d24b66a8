/* SQL. The version of the format is SQLite's user_version; application_id says that a file is a
 * store at all, and is 0 in a new one. */
#include "store/schema.h"

#include <stdio.h>

#define APPLICATION 0x6b677374 /* "kgst" */

#define FACT "head = ?2 AND relation = ?3 AND tail = ?4"
#define IS_KEY "name >= 'idempotency:' AND name < 'idempotency;'" /* KG_KEY_PREFIX */

const char *const kg__store_statements[KG_STATEMENTS] = {
    [KG_FIND_CHANGE] = "SELECT operation = 'A' FROM changes WHERE generation = ?1 AND " FACT,
    [KG_FIND_ANY_CHANGE] = "SELECT 1 FROM changes WHERE generation = ?1 LIMIT 1",
    [KG_COUNT_WITHDRAWN] = "SELECT count(*) FROM changes WHERE generation = ?1 AND operation = 'D'",
    [KG_FIND_ADDED] = "SELECT 1 FROM changes WHERE generation = ?1 AND operation = 'A' "
                      "AND (head = ?2 OR tail = ?2) LIMIT 1",
    [KG_LIST_ADDED] = "SELECT operation, head, relation, tail FROM changes WHERE generation = ?1 "
                      "AND operation = 'A' AND (head = ?2 OR tail = ?2)",
    [KG_INSERT_CHANGE] = "INSERT INTO changes (generation, head, relation, tail, operation) "
                         "VALUES (?1, ?2, ?3, ?4, ?5)",
    [KG_DELETE_CHANGE] = "DELETE FROM changes WHERE generation = ?1 AND " FACT,
    [KG_LIST_CHANGES] = "SELECT operation, head, relation, tail FROM changes "
                        "WHERE generation = ?1 ORDER BY head, relation, tail",
    /* A fact that both bases have or lack, in other words one that both generations list or that
     * neither does, was no change; of the others, those of the next generation were the opposite.
     */
    [KG_LIST_FROZEN] =
        "SELECT CASE generation WHEN ?1 THEN operation WHEN ?2 THEN "
        "CASE operation WHEN 'A' THEN 'D' ELSE 'A' END END, head, relation, tail "
        "FROM changes AS one WHERE generation IN (?1, ?2) AND NOT EXISTS ("
        "SELECT 1 FROM changes AS other WHERE other.generation = ?1 + ?2 - one.generation "
        "AND other.head = one.head AND other.relation = one.relation AND other.tail = one.tail) "
        "ORDER BY head, relation, tail",
    [KG_CLEAR_CHANGES] = "DELETE FROM changes WHERE generation = ?1",
    [KG_INSERT_LOG] = "INSERT INTO log (time, operation, head, relation, tail, source, offset) "
                      "VALUES (?1, ?5, ?2, ?3, ?4, ?6, ?7)",
    [KG_LIST_LOG] = "SELECT number, time, operation, head, relation, tail, source, offset "
                    "FROM log WHERE number > ?1 AND (?2 IS NULL OR source = ?2) ORDER BY number",
    [KG_LAST_LOG] = "SELECT seq FROM sqlite_sequence WHERE name = 'log'",
    /* A fact whose last entry withdraws it is withdrawn: only changes are logged. */
    [KG_FORGET_LOG] =
        "DELETE FROM log WHERE (head, relation, tail) IN (SELECT head, relation, tail FROM ("
        "SELECT head, relation, tail, operation, max(number) FROM log "
        "GROUP BY head, relation, tail) WHERE operation = 'D')",
    [KG_FIND_OFFSET] = "SELECT offset FROM sources WHERE name = ?1",
    [KG_SET_OFFSET] =
        "INSERT INTO sources (name, offset, time) VALUES (?1, ?2, ?3) "
        "ON CONFLICT (name) DO UPDATE SET offset = excluded.offset, time = excluded.time",
    [KG_DELETE_KEYS] = "DELETE FROM sources WHERE name IN (SELECT name FROM sources WHERE " IS_KEY
                       " AND time < ?1 ORDER BY time LIMIT 100)",
    [KG_LIST_SOURCES] = "SELECT name, offset FROM sources ORDER BY name",
    [KG_FIND_GENERATION] = "SELECT number FROM generations WHERE state = ?1",
    [KG_FIND_FREEZE] = "SELECT log_number FROM generations WHERE state = ?1",
    [KG_INSERT_GENERATION] = "INSERT INTO generations (number, state, log_number, time) "
                             "VALUES (?1, ?2, ?3, ?4)",
    [KG_SET_STATE] = "UPDATE generations SET state = ?2 WHERE state = ?1",
    [KG_DELETE_GENERATION] = "DELETE FROM generations WHERE state = ?1",
    [KG_READ_APPLICATION] = "PRAGMA application_id",
    [KG_READ_VERSION] = "PRAGMA user_version",
    [KG_COUNT_TABLES] = "SELECT count(*) FROM sqlite_schema",
};

const char *const kg__store_steps[] = {
    "CREATE TABLE generations ("
    "  number INTEGER PRIMARY KEY,"
    "  state TEXT NOT NULL CHECK (state IN ('past', 'current', 'next')),"
    "  log_number INTEGER NOT NULL,"
    "  time INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX one_generation ON generations (state) WHERE state <> 'past';"
    "CREATE TABLE changes ("
    "  generation INTEGER NOT NULL,"
    "  head TEXT NOT NULL,"
    "  relation TEXT NOT NULL,"
    "  tail TEXT NOT NULL,"
    "  operation TEXT NOT NULL CHECK (operation IN ('A', 'D')),"
    "  PRIMARY KEY (generation, head, relation, tail)) WITHOUT ROWID;"
    "CREATE TABLE log ("
    "  number INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  time INTEGER NOT NULL,"
    "  operation TEXT NOT NULL CHECK (operation IN ('A', 'D')),"
    "  head TEXT NOT NULL,"
    "  relation TEXT NOT NULL,"
    "  tail TEXT NOT NULL,"
    "  source TEXT,"
    "  offset INTEGER);"
    "CREATE TABLE sources ("
    "  name TEXT PRIMARY KEY,"
    "  offset INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE VIEW added AS SELECT head, relation, tail FROM changes WHERE operation = 'A'"
    "  AND generation = (SELECT number FROM generations WHERE state = 'current');"
    "CREATE VIEW withdrawn AS SELECT head, relation, tail FROM changes WHERE operation = 'D'"
    "  AND generation = (SELECT number FROM generations WHERE state = 'current');",
    "ALTER TABLE sources ADD COLUMN time INTEGER NOT NULL DEFAULT 0;"
    "UPDATE sources SET time = 1000 * strftime('%s', 'now');"
    "CREATE INDEX keys_by_time ON sources (time) WHERE " IS_KEY ";",
    NULL,
};

/* ---- Versions ---- */

#define READ(out, statement) \
    kg__database_number(database, (out), &found, (statement), NULL, 0, error)

static size_t count_steps(const char *const *steps) {
    size_t count = 0;
    while (steps[count] != NULL)
        count++;
    return count;
}

static kg_status read_version(int64_t *version, kg_database *database, const char *const *steps,
                              const char *path, kg_error *error) {
    size_t last = count_steps(steps);
    int64_t application = 0;
    bool found = false;
    KG_TRY(READ(&application, KG_READ_APPLICATION));
    KG_TRY(READ(version, KG_READ_VERSION));
    if (application != APPLICATION || *version < 1)
        return kg_fail_at(error, path, 0, 0, "expected a store of kgraft, found %s database",
                          application == 0 && *version == 0 ? "an empty or damaged" : "another");
    if (*version > (int64_t)last)
        return kg_fail_at(error, path, 0, 0,
                          "expected a store of version %zu or older, found version %jd (made by a "
                          "newer kgraft)",
                          last, (intmax_t)*version);
    return KG_OK;
}

/* The steps from a version on. */
static kg_status take_steps(kg_database *database, int64_t version, const char *const *steps,
                            kg_error *error) {
    char sql[96];
    size_t last = count_steps(steps);
    kg_status status = KG_OK;
    KG_TRY(kg__database_begin(database, true, error));
    for (; version < (int64_t)last; version++)
        KG_CHECK(kg__database_script(database, steps[version], error));
    snprintf(sql, sizeof sql, "PRAGMA user_version = %zu; PRAGMA application_id = %d;", last,
             APPLICATION);
    KG_CHECK(kg__database_script(database, sql, error));
    KG_CHECK(kg__database_commit(database, error));
    return KG_OK;
done:
    kg__database_rollback(database);
    return status;
}

kg_status kg__schema_make(kg_database *database, const char *const *steps, const char *path,
                          kg_error *error) {
    int64_t tables = 0;
    bool found = false;
    KG_TRY(READ(&tables, KG_COUNT_TABLES));
    if (tables > 0)
        return kg_fail_at(error, path, 0, 0, "expected a new file, found a database with tables");
    return take_steps(database, 0, steps, error);
}

kg_status kg__schema_recognise(kg_database *database, const char *const *steps, const char *path,
                               kg_error *error) {
    int64_t version = 0;
    return read_version(&version, database, steps, path, error);
}

kg_status kg__schema_upgrade(kg_database *database, const char *const *steps, const char *path,
                             kg_error *error) {
    int64_t version = 0;
    KG_TRY(read_version(&version, database, steps, path, error));
    return version == (int64_t)count_steps(steps) ? KG_OK
                                                  : take_steps(database, version, steps, error);
}

kg_status kg__schema_check(kg_database *database, const char *const *steps, const char *path,
                           kg_error *error) {
    int64_t version = 0;
    size_t last = count_steps(steps);
    KG_TRY(read_version(&version, database, steps, path, error));
    if (version < (int64_t)last)
        return kg_fail_at(error, path, 0, 0,
                          "expected a store of version %zu, found version %jd (opening it for "
                          "writing, as by kgraft add, brings it up to date)",
                          last, (intmax_t)version);
    return KG_OK;
}
