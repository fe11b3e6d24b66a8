/* The interface of all readers: they read an input and add its facts to the current part of a data
 * set. Readers define names; the data set checks facts. */
#ifndef KG_GRAPH_READER_H
#define KG_GRAPH_READER_H

#include "base/lines.h"
#include "base/progress.h"
#include "graph/dataset.h"

typedef struct kg_read_options {
    const char *format;  /* one of kg__formats; NULL: recognised from the source */
    bool folder_first;   /* a folder called "wordnet" has priority over WordNet itself */
    const char *comment; /* TSV: lines that start so are left out; NULL: none are */
    bool is_recorded;    /* TSV: kgraft wrote it, so a fact that looks like a header is a fact */
    bool skip_blank;     /* TSV: empty lines are left out */
    bool keep_literals;  /* RDF: literals are entities too */
    bool keep_inverses;  /* WordNet: both relations of an inverse pair */
    bool skip_unknown;   /* facts of a new graph with relations that train lacks are left out */
} kg_read_options;

/* Counts of what was left out, for messages. */
typedef struct kg_read_counts {
    uint64_t comments;
    uint64_t blank_lines;
    uint64_t literals;
    uint64_t inverses;
    uint64_t unused_names; /* OpenKE: listed, but in no fact */
} kg_read_counts;

typedef struct kg_reader {
    kg_dataset *dataset;
    kg_read_options options;
    kg_read_counts counts;
    const kg_progress *progress; /* may be NULL */
    uint64_t file_number;        /* of several sources, from 1: keeps their blank nodes apart */

    /* RDF: receives the facts in place of the data set, unless NULL. `line` is that of the input.
     */
    kg_status (*take)(void *payload, const kg_name names[3], uint64_t line, kg_error *error);
    void *payload;
    const char *blank_suffix; /* RDF: behind the label of blank nodes; NULL: as rdf.c has it */
} kg_reader;

/* Reports the position in the input; KG_CANCELLED to stop. */
KG_MUST_CHECK kg_status kg__reader_tick(const kg_reader *reader, const kg_input *input,
                                        kg_error *error);

/* The head, relation and tail of a line of TSV: exactly three names, none of them empty. They
 * borrow from the line. A byte order mark at the start of the file is skipped. */
KG_MUST_CHECK kg_status kg__tsv_cut(kg_name fields[3], const char *source, kg_line line,
                                    kg_error *error);

/* Refuses the first line of a file if its names look like a header. */
KG_MUST_CHECK kg_status kg__tsv_check_header(const kg_name fields[3], const char *source,
                                             kg_error *error);

/* Each adds the facts of one input to the current part. */
KG_MUST_CHECK kg_status kg__read_tsv(kg_reader *reader, kg_input *input, kg_error *error);
KG_MUST_CHECK kg_status kg__read_unseen_json(kg_reader *reader, kg_input *input, kg_error *error);

typedef enum kg_rdf_syntax { KG_NTRIPLES, KG_TURTLE, KG_NQUADS, KG_TRIG } kg_rdf_syntax;
KG_MUST_CHECK kg_status kg__read_rdf(kg_reader *reader, kg_input *input, kg_rdf_syntax syntax,
                                     kg_error *error);

/* The same for a syntax of lines, a line at a time, so that reading can go on behind a mistake.
 * Each line is passed with its number; `*count` is the number of its statements, none in an empty
 * line or a comment. */
typedef struct kg_rdf_lines kg_rdf_lines;
KG_MUST_CHECK kg_status kg__rdf_lines_open(kg_rdf_lines **out, kg_reader *reader, kg_input *input,
                                           kg_rdf_syntax syntax, kg_error *error);
KG_MUST_CHECK kg_status kg__rdf_lines_parse(kg_rdf_lines *lines, kg_line line, size_t *count,
                                            kg_error *error);
void kg__rdf_lines_close(kg_rdf_lines *lines);

/* OpenKE keeps names and facts apart: the names are read once, then each part. */
typedef struct kg_openke kg_openke;
KG_MUST_CHECK kg_status kg__openke_open(kg_openke **out, kg_input *entities, kg_input *relations,
                                        kg_error *error);
KG_MUST_CHECK kg_status kg__openke_read(const kg_openke *openke, kg_reader *reader, kg_input *input,
                                        kg_error *error);
void kg__openke_close(kg_openke *openke);

/* How many names the two lists hold. */
uint64_t kg__openke_names(const kg_openke *openke);

/* The WordNet database: for each part of speech its index and its data, in the order of
 * kg__wordnet_files, which is ended by NULL. */
extern const char *const kg__wordnet_files[];
#define KG_WORDNET_FILES 8
KG_MUST_CHECK kg_status kg__read_wordnet(kg_reader *reader,
                                         kg_input *const inputs[KG_WORDNET_FILES], kg_error *error);

#endif
