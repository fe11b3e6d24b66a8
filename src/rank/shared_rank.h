/* Ranking by several processes. Candidates are shared: a process counts those in its blocks of
 * them, every so manieth, whose rows it owns. Queries are shared, too: a process embeds its own,
 * and gets the rows for that from their owners. What a query needs to be counted goes to all
 * processes, and counts come back. They are whole numbers, whose sums do not depend on their order,
 * so ranks are those of one process. */
#ifndef KG_RANK_SHARED_RANK_H
#define KG_RANK_SHARED_RANK_H

#include "rank/rank_worker.h"

/* Of options with several ranks; blocks of this process must be measured. */
KG_MUST_CHECK kg_status kg__shared_rank(const kg_ranking *ranking, kg_error *error);

#endif
