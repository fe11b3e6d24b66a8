/* Synthetic graphs of any size: facts without structure, to test scalability, or with types and
 * planted rules, so that accuracy can be tested, too. The degrees of entities and the use of
 * relations follow Zipf's law. */
#ifndef KG_GRAPH_GENERATE_H
#define KG_GRAPH_GENERATE_H

#include "base/output.h"
#include "base/output_folder.h"
#include "base/progress.h"
#include "graph/triples.h"

typedef struct kg_generate_options {
    uint64_t facts;
    uint64_t entities;
    uint64_t relations;
    double
        exponent; /* of Zipf's law: the k-th most frequent is drawn in proportion to k^-exponent */
    uint64_t seed;
} kg_generate_options;

/* Writes exactly that many different facts as TSV, in which every entity and relation occurs. The
 * bytes are a function of the options. */
KG_MUST_CHECK kg_status kg__generate(kg_output *output, const kg_generate_options *options,
                                     const kg_progress *progress, kg_error *error);

/* The same with types and rules (graph/planted_plan.h), as a data set: a share of what follows from
 * rules, and of what contradicts them, is held out as the in-sample parts valid and test. Their
 * facts are in groups, by the steps of the rule, and dataset.json has the rules and the sizes of
 * these groups. Memory grows with the relations and with the facts held out. */
KG_MUST_CHECK kg_status kg__generate_planted(kg_folder *folder, const kg_generate_options *options,
                                             const kg_progress *progress, kg_error *error);

/* Shared by both: one fact as a line, the check of the exponent, and the reports. */
KG_MUST_CHECK kg_status kg__generate_write(kg_output *output, kg_triple fact, kg_error *error);
KG_MUST_CHECK kg_status kg__generate_check_exponent(const kg_generate_options *options,
                                                    kg_error *error);
KG_MUST_CHECK kg_status kg__generate_tick(const kg_progress *progress, const char *stage,
                                          size_t done, size_t total, kg_error *error);

#endif
