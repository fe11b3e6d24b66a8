/* Fuzzes the reader of the names of rows: an input is a byte, the number of rows, and a file.
 *
 *  - A failure is KG_BAD_INPUT with a message and a place.
 *  - A success is a name for each row, all different, which could be written as TSV; and written
 *    one on a line and read again, they are the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/row_names.h"
#include "fuzz.h"

static kg_status read_names(kg_names *names, const void *bytes, size_t size, size_t rows,
                            kg_error *error) {
    kg_input *input = fuzz_input(bytes, size, "names", KG_ANY_CODING);
    kg_status status = kg__row_names_read(names, input, rows, error);
    kg__input_close(input);
    return status;
}

static void check_names(const kg_names *names, size_t rows) {
    fuzz_require(names->count == rows);
    for (kg_id i = 0; i < rows; i++) {
        kg_name name = kg__names_get(names, i);
        fuzz_require(name.length > 0 && memchr(name.bytes, '\0', name.length) == NULL &&
                     memchr(name.bytes, '\t', name.length) == NULL &&
                     memchr(name.bytes, '\n', name.length) == NULL);
        fuzz_require(kg__names_find(names, kg__name_of(name.bytes, name.length)) == i);
    }
}

static void check_again(const kg_names *names) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fuzz_require(out != NULL);
    for (kg_id i = 0; i < names->count; i++) {
        kg_name name = kg__names_get(names, i);
        fwrite(name.bytes, 1, name.length, out);
        fputs(name.bytes[name.length - 1] == '\r' ? "\r\n" : "\n", out);
    }
    fclose(out);
    kg_names again = {0};
    bool is_gzip = size > 1 && memcmp(text, "\x1f\x8b", 2) == 0;
    if (!is_gzip) {
        fuzz_require(read_names(&again, text, size, names->count, NULL) == KG_OK);
        check_names(&again, names->count);
        fuzz_require(memcmp(again.bytes, names->bytes, (size_t)names->starts[names->count]) == 0);
    }
    kg__names_free(&again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    kg_error error = {0};
    kg_names names = {0};
    size_t rows = size > 0 && input[0] > 0 ? input[0] : 1;
    size_t rest = size > 0 ? size - 1 : 0;
    kg_status status =
        read_names(&names, rest == 0 ? "" : (const char *)input + 1, rest, rows, &error);
    if (status == KG_OK) {
        check_names(&names, rows);
        check_again(&names);
    } else {
        fuzz_check_error(status, &error);
    }
    kg__names_free(&names);
    return 0;
}
