/* Rules and degree priors in a file of sections (base/section_file.h), so that a model answers
 * without the run that counted them. They are read, not mapped, since everything is validated, and
 * small compared with the graph. */
#ifndef KG_TERMS_FEATURES_FILE_H
#define KG_TERMS_FEATURES_FILE_H

#include "base/section_file.h"
#include "terms/features/degree_prior.h"
#include "terms/features/rules.h"

#define KG_MODEL_FEATURES "evidence.bin"

KG_MUST_CHECK kg_status kg__features_write(kg_output *output, const kg_rules *rules,
                                           const kg_degree_prior *prior, kg_error *error);

/* For a model with so many directed relations. The degree priors refer to `graph`. */
KG_MUST_CHECK kg_status kg__features_read(kg_rules *rules, kg_degree_prior *prior,
                                          const kg_mapping *mapping, const kg_adjacency *graph,
                                          size_t directed_count, kg_error *error);

#endif
