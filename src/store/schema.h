/* The tables of graph.db (docs/store.md describes them for users), the statements that use them,
 * and the steps from each version of the format to the next. */
#ifndef KG_STORE_SCHEMA_H
#define KG_STORE_SCHEMA_H

#include "store/database.h"

/* Statements, by what they do. */
typedef enum kg_statement {
    KG_FIND_CHANGE,     /* generation, fact -> 1 if it was added, 0 if it was withdrawn */
    KG_FIND_ANY_CHANGE, /* generation -> 1, or no row */
    KG_COUNT_WITHDRAWN, /* generation -> how many facts of its base are not live */
    KG_FIND_ADDED,      /* generation, name -> 1 if it is an end of a fact that was added */
    KG_LIST_ADDED,      /* generation, name -> operation, fact; those with it at an end */
    KG_INSERT_CHANGE,   /* generation, fact, operation */
    KG_DELETE_CHANGE,   /* generation, fact */
    KG_LIST_CHANGES,    /* generation -> operation, fact; in the order of names */
    KG_LIST_FROZEN,     /* two generations -> operation, fact; in the order of names */
    KG_CLEAR_CHANGES,   /* generation */
    KG_INSERT_LOG,      /* time, operation, fact, source, offset */
    KG_LIST_LOG, /* number, source or NULL -> number, time, operation, fact, source, offset */
    KG_LAST_LOG, /* -> the number of the last entry that was ever made */
    KG_FORGET_LOG,
    KG_FIND_OFFSET,       /* source -> its last offset */
    KG_SET_OFFSET,        /* source, offset, time */
    KG_DELETE_KEYS,       /* time: some of those that are older */
    KG_LIST_SOURCES,      /* -> name, offset, by name */
    KG_FIND_GENERATION,   /* state -> number */
    KG_FIND_FREEZE,       /* state -> number of the last log entry in its base */
    KG_INSERT_GENERATION, /* number, state, log number, time */
    KG_SET_STATE,         /* old state, new state */
    KG_DELETE_GENERATION, /* state */
    KG_READ_APPLICATION,
    KG_READ_VERSION,
    KG_COUNT_TABLES,
    KG_STATEMENTS
} kg_statement;

extern const char *const kg__store_statements[KG_STATEMENTS];

/* SQL that makes version i + 1 of version i, from an empty file on; ended by NULL. */
extern const char *const kg__store_steps[];

/* Takes all steps in a new file, in one transaction. `path` is for messages, here and below. */
KG_MUST_CHECK kg_status kg__schema_make(kg_database *database, const char *const *steps,
                                        const char *path, kg_error *error);

/* Refuses (KG_BAD_INPUT) a file that is not a store, be it empty, or of a version beyond `steps`.
 * Nothing is written. */
KG_MUST_CHECK kg_status kg__schema_recognise(kg_database *database, const char *const *steps,
                                             const char *path, kg_error *error);

/* Takes the missing steps in one transaction: the file is of the old version or of the last one.
 * Refuses what kg__schema_recognise does. */
KG_MUST_CHECK kg_status kg__schema_upgrade(kg_database *database, const char *const *steps,
                                           const char *path, kg_error *error);

/* Refuses a file that is not of the last version. */
KG_MUST_CHECK kg_status kg__schema_check(kg_database *database, const char *const *steps,
                                         const char *path, kg_error *error);

#endif
