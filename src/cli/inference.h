/* What the commands about new entities have in common: a model, the entities that a command is
 * about (all new entities of a file of facts, one of them, or one that the model knows), and how
 * they are embedded. */
#ifndef KG_CLI_INFERENCE_H
#define KG_CLI_INFERENCE_H

#include "cli/aggregate_overrides.h"
#include "cli/prefixes.h"
#include "report/answer_json.h"
#include "report/text_flow.h"

/* Part of these commands' settings, called `inference` there. */
typedef struct cli_inference_options {
    const char *entity; /* NULL: all new ones */
    const char *graph;  /* that the model was not trained on; NULL: its own */
    kg_aggregate_overrides overrides;
    bool skip_unknown;
    const char *on_error; /* "stop", or "skip": report facts that are wrong, and leave them out */
    bool known_by_facts;  /* entities of the model are embedded from their facts, too */
    cli_texts prefixes;
    uint64_t threads;
} cli_inference_options;

#define CLI_INFERENCE_DEFAULTS \
    { .on_error = "stop" }

/* One of several entities. */
#define CLI_ENTITY(at)                                                             \
    {                                                                              \
        .name = "entity", .argument = "NAME", .kind = CLI_TEXT, .offset = (at),    \
        .help = "one of the new entities; without FACTS, one that the model knows" \
    }

/* Rows of those that answer on other graphs, and of all, given the type of their settings. */
#define CLI_GRAPH(settings)                                                                \
    {                                                                                      \
        .name = "graph", .argument = "SOURCE", .kind = CLI_TEXT,                           \
        .offset = offsetof(settings, inference.graph),                                     \
        .help = "on this graph, which the model was not trained on: its entities are the " \
                "known ones; anything that import takes"                                   \
    }
#define CLI_SKIP_UNKNOWN(settings)                                                  \
    {                                                                               \
        "skip-unknown", NULL, CLI_FLAG, offsetof(settings, inference.skip_unknown), \
            "leave out facts with unknown relations or without a known end", NULL   \
    }

typedef struct cli_inference {
    kg_model *model;           /* on the graph that is asked about */
    kg_model *trained;         /* what it was moved from; NULL: nothing */
    kg_new_entities *entities; /* NULL: about an entity of the model */
    kg_workspace *workspace;
    cli_prefixes prefixes; /* of names in output */
    size_t wrong;          /* facts that were left out */
    kg_id entity;          /* the one of the model */
    size_t first;          /* new entity that it is about */
    size_t count;          /* of entities that it is about */
} cli_inference;

/* Opens the model at the first argument, and reads the facts at the second, if it is there: facts
 * that are wrong are reported on stderr if they are left out. `answers` are those that room is made
 * for. */
KG_MUST_CHECK kg_status cli_inference_open(cli_inference *out,
                                           const cli_inference_options *settings, size_t answers,
                                           const cli_context *context, kg_error *error);
void cli_inference_close(cli_inference *inference);

/* Warns if the model's calibration was made for another way to embed new entities, by which the
 * command's probabilities do not hold, be it about new entities or a known one. */
void cli_inference_check_calibration(const cli_inference *inference, const cli_context *context);

/* An entity that the command is about. */
typedef struct cli_subject {
    kg_text name;
    kg_subject subject;
    size_t links; /* that are known of it, */
    size_t facts; /* and of how many facts: one of the entity with itself is two links */
} cli_subject;

KG_MUST_CHECK kg_status cli_inference_subject(const cli_inference *inference, size_t i,
                                              cli_subject *out, kg_error *error);

/* After all answers: an error if facts were wrong. */
KG_MUST_CHECK kg_status cli_inference_end(const cli_inference *inference, kg_error *error);

/* Names of the model, as given by an option, whole or with a prefix; those that are not known are
 * refused with the nearest ones. */
KG_MUST_CHECK kg_status cli_inference_find_entity(const cli_inference *inference, kg_id *out,
                                                  const char *option, const char *name,
                                                  kg_error *error);
KG_MUST_CHECK kg_status cli_inference_find_relation(const cli_inference *inference, kg_id *out,
                                                    const char *option, const char *name,
                                                    kg_error *error);

/* -k: 1 to CLI_MOST_ANSWERS. */
#define CLI_MOST_ANSWERS 1000000
KG_MUST_CHECK kg_status cli_check_answers(uint64_t k, kg_error *error);

/* Names as they are shown, to be kg_freed, NULL if memory is short: of an entity, with a text
 * behind it; and of a directed relation, as an arrow from where it is seen: -r-> or <-r-. */
char *cli_inference_show(const cli_inference *inference, kg_text name, const char *behind);
char *cli_inference_arrow(const cli_inference *inference, kg_directed directed);

#endif
