/* The explanation of a link, made and as JSON: what its score is a sum of, by fact and by term. */
#ifndef KG_REPORT_EXPLANATION_JSON_H
#define KG_REPORT_EXPLANATION_JSON_H

#include "report/answer_json.h"

/* What is explained, set by the caller, and the result. */
typedef struct report_explanation {
    kg_workspace *workspace;
    kg_text name; /* of the subject */
    kg_subject subject;
    size_t facts; /* that are known of it, */
    size_t links; /* and as many shares: a fact with itself has two */
    bool is_new;
    kg_link asked;

    kg_explanation numbers; /* shares by size, the largest first */
    double magnitudes;      /* of all that the parts are made of, summed */
    double least;           /* of these, for bars: 0 where all are positive */
    double most;            /* likewise */
} report_explanation;

KG_MUST_CHECK kg_status report_explanation_make(report_explanation *explanation, kg_error *error);

/* Also where it could not be made. */
void report_explanation_free(report_explanation *explanation);

/* Whether the link is one of the entity's facts: then the library leaves it out. */
bool report_explanation_is_given(const report_explanation *explanation);

/* A part as a share of the summed magnitudes, so that a score near 0 does not blow it up. */
double report_explanation_share(const report_explanation *explanation, double part);

/* Whether a term is learned propagation, whose reasons are paths. */
bool report_term_has_paths(const kg_score_term *term);

/* All of it; NULL if memory is short. */
json_t *report_explanation_json(const report_explanation *explanation);

#endif
