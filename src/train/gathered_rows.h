/* Whole tables of sharded parameters, which the first rank gets from all. They may be more than
 * fits into its memory, so they are in a file without a name, which is mapped. */
#ifndef KG_TRAIN_GATHERED_ROWS_H
#define KG_TRAIN_GATHERED_ROWS_H

#include "train/param.h"

/* Numbers of the rows of a parameter: of all, or of those that this process owns. */
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

/* All zeroes: nothing was gathered, or this is not the first rank. */
typedef struct kg_gathered_rows {
    kg_output *file;
    kg_mapping mapping; /* the tables, one behind the other: all rows, in their order */
} kg_gathered_rows;

/* Of several ranks, gets the tables of sharded parameters among these, and passes over others. The
 * file is in the file system of the path `beside`. To be closed also when this failed. */
KG_MUST_CHECK kg_status kg__gathered_rows_make(kg_gathered_rows *out, kg_ranks *ranks,
                                               const kg_row_table *tables, size_t count,
                                               const char *beside, kg_error *error);
void kg__gathered_rows_close(kg_gathered_rows *gathered);

#endif
