/* Fuzzes the readers of matrices: an input is a byte of options and a file, .npy or safetensors.
 *
 *  - A failure is KG_BAD_INPUT with a message and a place.
 *  - Of a matrix that opens, each row can be read, or is refused for a number that is not finite;
 *    what is read is finite, and all of it was written.
 *  - Numbers that are ours as they lie in the file are what is read. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "exchange/matrix_file.h"
#include "fuzz.h"

enum { FUZZ_TWO_PARTS = 1, FUZZ_FOUR_PARTS = 2, FUZZ_INTERLEAVED = 4 };

static void check_row(const kg_matrix_file *file, real *row, size_t i, size_t parts,
                      kg_layout layout) {
    const kg_matrix *matrix = &file->matrix;
    const real *values = kg__matrix_values(matrix);
    size_t width = kg__matrix_width(matrix);
    kg_error error = {0};
    for (size_t k = 0; k < width; k++)
        row[k] = (real)NAN;
    kg_status status = kg__matrix_row(matrix, row, i, parts, layout, file->path, &error);
    if (status != KG_OK) {
        fuzz_check_error(status, &error);
        return;
    }
    for (size_t k = 0; k < width; k++)
        fuzz_require(isfinite(row[k]));
    if (values != NULL && layout == KG_HALVES)
        fuzz_require(memcmp(values + i * width, row, width * sizeof *row) == 0);
}

static void use(const kg_matrix_file *file, unsigned options) {
    size_t width = kg__matrix_width(&file->matrix);
    size_t parts = options & FUZZ_FOUR_PARTS ? 4 : options & FUZZ_TWO_PARTS ? 2 : 1;
    real *row = malloc(width * sizeof *row);
    fuzz_require(row != NULL);
    for (size_t i = 0; i < file->matrix.rows; i++)
        check_row(file, row, i, width % parts == 0 ? parts : 1,
                  options & FUZZ_INTERLEAVED ? KG_INTERLEAVED : KG_HALVES);
    free(row);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    kg_error error = {0};
    kg_matrix_file file;
    int fd = memfd_create("matrix", MFD_CLOEXEC);
    ssize_t length = size == 0 ? 0 : (ssize_t)(size - 1);
    fuzz_require(fd >= 0 && write(fd, input + 1, (size_t)length) == length);
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    kg_status status = kg__matrix_file_open(&file, path, "entities", &error);
    if (status == KG_OK) {
        use(&file, input[0]);
        kg__matrix_file_close(&file);
    } else {
        fuzz_check_error(status, &error);
    }
    close(fd);
    return 0;
}
