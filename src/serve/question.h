/* Questions about an entity, as requests ask them: an entity of the live graph by its name, or a
 * new one by its facts; a relation and a side; how many answers. First the members of JSON are
 * read, then names are looked up in a snapshot. */
#ifndef KG_SERVE_QUESTION_H
#define KG_SERVE_QUESTION_H

#include "serve/call.h"
#include "serve/request_json.h"

/* Members as they are read; each route has a table of those that it takes. */
typedef struct serve_question {
    const char *entity;
    const json_t *facts;
    const char *relation;
    const char *answer;
    serve_side side;
    uint64_t k;
    double min_probability;
    bool keep_known;
    bool no_echo;
    const json_t *requests; /* of a batch: then there is nothing else */
} serve_question;

extern const serve_question serve_question_defaults;

#define SERVE_ASKED(name) offsetof(serve_question, name)
#define SERVE_SUBJECT_FIELDS                                                  \
    {"entity", SERVE_TEXT, SERVE_ASKED(entity), 0, 0}, {                      \
        "facts", SERVE_FACTS, SERVE_ASKED(facts), 0, SERVE_MOST_SUBJECT_FACTS \
    }
#define SERVE_RELATION_FIELDS                                \
    {"relation", SERVE_TEXT, SERVE_ASKED(relation), 0, 0}, { \
        "side", SERVE_SIDE, SERVE_ASKED(side), 0, 0          \
    }
#define SERVE_K_FIELD \
    { "k", SERVE_COUNT, SERVE_ASKED(k), 1, SERVE_MOST_K }
#define SERVE_BATCH_FIELD \
    { "requests", SERVE_LIST, SERVE_ASKED(requests), 1, SERVE_MOST_BATCH }

/* The subject of a question, looked up. */
typedef struct serve_subject {
    kg_text name;
    kg_subject subject;
    size_t facts;              /* that are known of it, */
    size_t links;              /* of which one with itself has two */
    bool is_new;               /* by facts of the request */
    kg_new_entities *entities; /* which own these; NULL otherwise */
} serve_subject;

/* Similar names go to the problem. The question and the model must outlive it. */
KG_MUST_CHECK kg_status serve_subject_open(serve_subject *out, serve_problem *problem,
                                           const serve_question *question, const kg_model *model,
                                           kg_error *error);
void serve_subject_close(serve_subject *subject);

/* Names of the question, looked up in the same way. */
KG_MUST_CHECK kg_status serve_find_relation(kg_id *out, serve_problem *problem, const char *name,
                                            const kg_model *model, kg_error *error);
KG_MUST_CHECK kg_status serve_find_entity(kg_id *out, serve_problem *problem, const char *member,
                                          const char *name, const kg_model *model, kg_error *error);

/* The end at which the subject is, if the answer is on that side: not both. */
kg_end serve_subject_end(serve_side side);

/* A name as JSON. */
json_t *serve_name_json(kg_text name);

/* A list of the links of an entity as facts, each a list of names: `count` from `from` on. */
json_t *serve_links_json(const kg_model *model, kg_text name, const kg_link *links, size_t from,
                         size_t count);

#endif
