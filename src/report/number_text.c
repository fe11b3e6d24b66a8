/* Numbers as text, with digits in groups of three. */
#include "report/number_text.h"

#include <stdio.h>

report_counted_thing report_counted(uint64_t number, const char *one, const char *many) {
    report_counted_thing out;
    snprintf(out.text, sizeof out.text, "%s %s", report_grouped(number).text,
             number == 1 ? one : many);
    return out;
}

report_number report_grouped(uint64_t number) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%ju", (uintmax_t)number);
    report_number out;
    size_t used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out.text[used++] = ',';
        out.text[used++] = digits[i];
    }
    out.text[used] = '\0';
    return out;
}
