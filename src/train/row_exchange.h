/* Rows of sharded parameters between ranks. A row has an owner, which alone knows the optimiser's
 * state of it and lets it take steps; others have what the owner told them last. Before a step each
 * rank asks owners for the rows that it will read, so that only these and gradients travel. It
 * forgets them when they take much memory. */
#ifndef KG_TRAIN_ROW_EXCHANGE_H
#define KG_TRAIN_ROW_EXCHANGE_H

#include "base/ranks.h"
#include "train/param.h"

/* Memory that rows of others may take: so many bytes, or a share of what own rows take, or what a
 * step reads. */
#define KG_FETCHED ((size_t)32 << 20)
#define KG_FETCHED_SHARE 16

typedef struct kg_row_exchange {
    kg_ranks *ranks;
    kg_param_list *list;
    kg_arena arena;
} kg_row_exchange;

void kg__row_exchange_close(kg_row_exchange *exchange);

/* Gets the values of touched rows of other owners, who let them take the steps up to `step` before.
 */
KG_MUST_CHECK kg_status kg__row_exchange_fetch(kg_row_exchange *exchange, uint64_t step,
                                               kg_error *error);

/* Gets the values of these rows, all different, of a sharded parameter; they have caught up. */
KG_MUST_CHECK kg_status kg__row_exchange_fetch_rows(kg_row_exchange *exchange, size_t param,
                                                    const uint32_t *rows, size_t count,
                                                    kg_error *error);

#endif
