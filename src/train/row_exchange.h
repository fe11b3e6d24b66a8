/* Rows of sharded parameters between ranks. A row has an owner, which alone knows the optimiser's
 * state of it and lets it take steps; others have what the owner told them last. Before a step each
 * rank asks owners for the rows that it will read, so that only these and gradients travel. */
#ifndef KG_TRAIN_ROW_EXCHANGE_H
#define KG_TRAIN_ROW_EXCHANGE_H

#include "base/ranks.h"
#include "train/param.h"

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

/* Gives all ranks the values of all rows, which have caught up. */
KG_MUST_CHECK kg_status kg__row_exchange_values(kg_row_exchange *exchange, kg_error *error);

/* Numbers of the rows of a sharded parameter: of all, or of those that this process owns. */
typedef struct kg_row_table {
    const kg_param *param;
    const real *numbers;
    size_t columns;
    bool is_owned;
} kg_row_table;

/* Those of a row that it has. */
static inline const real *kg__row_table_at(const kg_row_table *t, size_t row) {
    return t->numbers + (t->is_owned ? kg__param_place(t->param, row) : row) * t->columns;
}

/* Writes those of all rows, in their order, to the file of the first rank; others have none. */
KG_MUST_CHECK kg_status kg__row_exchange_gather(kg_row_exchange *exchange, kg_output *file,
                                                const kg_row_table *table, kg_error *error);

#endif
