/* Top-k by several processes, each of which searches the blocks of candidates that it owns. */
#ifndef KG_RANK_SHARED_TOP_H
#define KG_RANK_SHARED_TOP_H

#include "base/ranks.h"
#include "rank/top_k.h"

/* Lets it search the blocks of this process alone. */
static inline void kg__top_share(kg_top *top, const kg_ranks *ranks) {
    top->first = kg__ranks_number(ranks);
    top->every = kg__ranks_count(ranks);
}

/* kg__top_find over the candidates of all ranks, which all look for the same, and find it. */
KG_MUST_CHECK kg_status kg__shared_top_find(kg_top *top, kg_ranks *ranks, kg_candidate *out,
                                            size_t *found, const real *vectors,
                                            const kg_search *searches, size_t count, size_t most,
                                            kg_error *error);

#endif
