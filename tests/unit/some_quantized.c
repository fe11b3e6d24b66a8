/* A file that is written and mapped. */
#include "some_quantized.h"

#include "support.h"

#define PATH "quantized"

void quantize_rows(struct some_quantized *out, const real *rows, size_t count, size_t dim) {
    kg_error error;
    kg_output *output = NULL;
    assert_ok(kg__output_open(&output, PATH, PATH, &error), &error);
    assert_ok(kg__quantized_rows_write(output, rows, count, dim, "of the test", &error), &error);
    assert_ok(kg__output_commit(output, &error), &error);
    kg__output_close(output);
    assert_ok(kg__mapping_open(&out->mapping, PATH, &error), &error);
    assert_ok(kg__quantized_rows_view(&out->rows, &out->mapping, count, dim, "of the test", &error),
              &error);
}

void free_quantized(struct some_quantized *quantized) {
    kg__mapping_close(&quantized->mapping);
}
