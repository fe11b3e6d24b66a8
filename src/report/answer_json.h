/* What a model answers, as JSON: members of the same names in the tool's output and in the
 * server's. Functions return a new reference, NULL if memory is short. */
#ifndef KG_REPORT_ANSWER_JSON_H
#define KG_REPORT_ANSWER_JSON_H

#include "base/json.h"

/* A fact by its names, in the order in which it reads: head, relation, tail. */
typedef struct report_fact {
    kg_text names[3];
} report_fact;

/* The fact that a link of the entity with that name is. */
report_fact report_fact_of(const kg_model *model, kg_text name, kg_link link);

/* As members "head", "relation" and "tail" of an object. */
json_t *report_fact_json(const report_fact *fact);

/* A number, or null where it is none; one of single precision with as many digits as it takes to
 * read the same number back. */
json_t *report_number_json(double number);
json_t *report_float_json(float number);

/* An answer about the entity with that name; ranks count from 1. */
json_t *report_answer_json(const kg_model *model, kg_text name, const kg_answer *answer,
                           size_t rank);

/* The aggregate that a model's calibration was made for. */
const char *report_calibrated_for(const kg_model *model);

/* The same, and whether it `holds` for a workspace: an object, null if there is none. */
json_t *report_calibration_json(const kg_workspace *workspace);

#endif
