/* Numbers as people read them. */
#include <stdio.h>

#include "cli/cli.h"

cli_counted_thing cli_counted(uint64_t number, const char *one, const char *many) {
    cli_counted_thing out;
    snprintf(out.text, sizeof out.text, "%s %s", cli_grouped(number).text,
             number == 1 ? one : many);
    return out;
}

cli_number cli_grouped(uint64_t number) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%ju", (uintmax_t)number);
    cli_number out;
    size_t used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out.text[used++] = ',';
        out.text[used++] = digits[i];
    }
    out.text[used] = '\0';
    return out;
}
