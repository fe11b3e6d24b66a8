/* Rows of numbers as text, with as many digits as it takes to read the same numbers back. */
#ifndef KG_EXCHANGE_ROW_TEXT_H
#define KG_EXCHANGE_ROW_TEXT_H

#include "base/output.h"
#include "math/real.h"

/* The numbers with a separator between them, without an end of line. */
KG_MUST_CHECK kg_status kg__row_text_write(kg_output *output, const real *row, size_t count,
                                           char separator, kg_error *error);

#endif
