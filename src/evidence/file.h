/* Rules and vacancies in a file of sections (base/sections.h), so that a model answers without the
 * run that counted them. They are read, not mapped, since everything is looked at before it is
 * believed, and they are small beside the graph. */
#ifndef KG_EVIDENCE_FILE_H
#define KG_EVIDENCE_FILE_H

#include "base/sections.h"
#include "evidence/rules.h"
#include "evidence/vacancy.h"

#define KG_MODEL_EVIDENCE "evidence.bin"

KG_MUST_CHECK kg_status kg_evidence_write(kg_output *output, const kg_rules *rules,
                                          const kg_vacancy *vacancy, kg_error *error);

/* Of a model with so many directed relations. The vacancies are those of `graph`. */
KG_MUST_CHECK kg_status kg_evidence_read(kg_rules *rules, kg_vacancy *vacancy,
                                         const kg_mapping *mapping, const kg_adjacency *graph,
                                         size_t directed_count, kg_error *error);

#endif
