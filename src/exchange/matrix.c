/* Conversion of numbers. Every type is converted to double first, which holds all of them exactly.
 */
#include "exchange/matrix.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/names.h"
#include "math/half.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "little-endian files are mapped");

static size_t type_size(kg_number_type type) {
    static const size_t sizes[] = {[KG_F16] = 2, [KG_BF16] = 2, [KG_F32] = 4, [KG_F64] = 8};
    return sizes[type];
}

static size_t numbers_in_entry(const kg_matrix *matrix) {
    return matrix->is_complex ? 2 : 1;
}

size_t kg__matrix_width(const kg_matrix *matrix) {
    return matrix->columns * numbers_in_entry(matrix);
}

kg_status kg__matrix_check(const kg_matrix *matrix, size_t size, const char *path,
                           kg_error *error) {
    size_t needed = numbers_in_entry(matrix) * type_size(matrix->type);
    if (matrix->rows == 0 || matrix->columns == 0)
        return kg_fail_at(error, path, 0, 0, "expected rows of numbers, found %zu x %zu",
                          matrix->rows, matrix->columns);
    if (matrix->rows >= KG_NO_ID)
        return kg_fail_at(error, path, 0, 0, "expected at most %u rows, found %zu", KG_NO_ID - 1,
                          matrix->rows);
    if (__builtin_mul_overflow(needed, matrix->rows, &needed) ||
        __builtin_mul_overflow(needed, matrix->columns, &needed) || needed != size)
        return kg_fail_at(error, path, 0, 0,
                          "expected the numbers of %zu x %zu entries, found %zu bytes (is the file "
                          "cut off?)",
                          matrix->rows, matrix->columns, size);
    return KG_OK;
}

static uint64_t load_bits(const char *at, size_t size, bool is_big_endian) {
    uint64_t bits = 0;
    memcpy(&bits, at, size);
    return is_big_endian ? __builtin_bswap64(bits) >> (64 - 8 * size) : bits;
}

static double from_f32(uint32_t bits) {
    float x = 0;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double from_f64(uint64_t bits) {
    double x = 0;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double from_f16(uint16_t half) {
    real x = 0;
    kg__halves_widen(&x, &half, 1);
    return (double)x;
}

static double load_number(const char *at, kg_number_type type, bool is_big_endian) {
    uint64_t bits = load_bits(at, type_size(type), is_big_endian);
    switch (type) {
    case KG_F16:
        return from_f16((uint16_t)bits);
    case KG_BF16: /* the upper half of an F32 */
        return from_f32((uint32_t)bits << 16);
    case KG_F32:
        return from_f32((uint32_t)bits);
    case KG_F64:
        return from_f64(bits);
    }
    return 0;
}

/* Number `i` of a row; the two of a complex entry lie side by side. */
static double number_at(const kg_matrix *matrix, size_t row, size_t i) {
    size_t together = numbers_in_entry(matrix);
    size_t column = i / together;
    size_t entry =
        matrix->by_columns ? column * matrix->rows + row : row * matrix->columns + column;
    size_t size = type_size(matrix->type);
    return load_number(matrix->bytes + (entry * together + i % together) * size, matrix->type,
                       matrix->is_big_endian);
}

kg_status kg__matrix_row(const kg_matrix *matrix, real *out, size_t row, size_t parts,
                         kg_layout layout, const char *path, kg_error *error) {
    size_t width = kg__matrix_width(matrix);
    size_t length = width / parts; /* of a part */
    for (size_t i = 0; i < width; i++) {
        double x = number_at(matrix, row, i);
        if (!isfinite(x) || fabs(x) > (double)KG_REAL_MAX)
            return kg_fail_at(error, path, 0, 0,
                              "expected finite numbers that a %zu-byte float can hold, found %g in "
                              "row %zu, column %zu (from 0)",
                              sizeof *out, x, row, i / numbers_in_entry(matrix));
        size_t place = layout == KG_HALVES ? i : i % parts * length + i / parts;
        out[place] = (real)x;
    }
    return KG_OK;
}

const real *kg__matrix_values(const kg_matrix *matrix) {
    bool is_ours = type_size(matrix->type) == sizeof(real) && !matrix->is_big_endian &&
                   !matrix->is_complex && !matrix->by_columns &&
                   (uintptr_t)matrix->bytes % sizeof(real) == 0;
    return is_ours ? (const real *)(const void *)matrix->bytes : NULL;
}
