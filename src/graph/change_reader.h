/* Facts to be added and removed, from an input. TSV, N-Triples, N-Quads (whose graph names are
 * ignored), Turtle and TriG hold facts, all of which are to be added or all removed; RDF Patch
 * (https://jena.apache.org/documentation/rdf-patch) has an operation in each row:
 *
 *     A, D      add or remove a triple or a quad (whose graph is ignored)
 *     TX, TC, TA  a transaction begins, is committed, is given up
 *     H, PA, PD   headers and prefixes, which mean nothing here; terms are never abbreviated
 *
 * A blank node of a patch, _:label or <_:label>, has the name _:label in all files, as the format
 * has it; one of another file is local to that file. */
#ifndef KG_GRAPH_CHANGE_READER_H
#define KG_GRAPH_CHANGE_READER_H

#include "graph/reader.h"

/* Operations, as RDF Patch writes them. */
typedef enum kg_operation { KG_ADD = 'A', KG_REMOVE = 'D' } kg_operation;

/* What becomes of the changes since a transaction began. */
typedef enum kg_patch_mark { KG_PATCH_BEGIN, KG_PATCH_COMMIT, KG_PATCH_ABORT } kg_patch_mark;

typedef struct kg_change_reader {
    const char *format;     /* one of kg__change_formats; NULL: by the extension of the path */
    kg_operation operation; /* of facts without one */
    bool keep_literals;     /* RDF: literals are entities too */
    bool skip_bad;     /* bad lines are reported and left out; if not, the first one is an error.
                        * Turtle and TriG, whose statements are not lines, are refused then, and
                        * bad rows of a patch's transactions are errors in any case */
    const char *scope; /* blank nodes are named _:label#scope; NULL: they are mistakes */
    const kg_progress *progress; /* may be NULL */

    /* Receives each change; a failure ends reading, except that KG_BAD_INPUT makes a bad line. */
    kg_status (*on_change)(void *payload, kg_operation operation, const kg_text fact[3],
                           kg_error *error);
    void (*on_mark)(void *payload, kg_patch_mark mark);
    void (*on_bad)(void *payload, const kg_error *problem);
    void *payload;

    /* Counts. */
    uint64_t changes;
    uint64_t bad_lines;
    uint64_t literals; /* facts with one, left out */
    uint64_t aborted;  /* transactions that were given up */
} kg_change_reader;

/* The names of the formats, ended by NULL. */
extern const char *const kg__change_formats[];

/* Reads the changes of a file ("-": standard input), or of an input of a format that is set. */
KG_MUST_CHECK kg_status kg__changes_read(kg_change_reader *reader, const char *path,
                                         kg_error *error);
KG_MUST_CHECK kg_status kg__changes_read_input(kg_change_reader *reader, kg_input *input,
                                               kg_error *error);

#endif
