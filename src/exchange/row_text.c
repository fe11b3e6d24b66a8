/* The fewest digits that are exact for short decimal numbers, or else the number that always
 * suffices. */
#include "exchange/row_text.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef KG_DOUBLE
#define FEW_DIGITS DBL_DIG
#define ALL_DIGITS DBL_DECIMAL_DIG
#define from_text strtod
#else
#define FEW_DIGITS FLT_DIG
#define ALL_DIGITS FLT_DECIMAL_DIG
#define from_text strtof
#endif

#define LONGEST 32 /* a separator, a sign, a point, an exponent and all digits */

/* Readers that convert through double round twice and must get the same number. */
static bool is_same(const char *text, real x) {
    return from_text(text, NULL) == x && (real)strtod(text, NULL) == x;
}

static int format(char text[LONGEST], real x) {
    int length = snprintf(text, LONGEST, "%.*g", FEW_DIGITS, (double)x);
    return is_same(text, x) ? length : snprintf(text, LONGEST, "%.*g", ALL_DIGITS, (double)x);
}

kg_status kg__row_text_write(kg_output *output, const real *row, size_t count, char separator,
                             kg_error *error) {
    char text[1 + LONGEST];
    text[0] = separator;
    for (size_t i = 0; i < count; i++) {
        size_t length = 1 + (size_t)format(text + 1, row[i]);
        size_t start = i == 0; /* there is none before the first */
        KG_TRY(kg__output_write(output, text + start, length - start, error));
    }
    return KG_OK;
}
