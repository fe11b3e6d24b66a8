/* Numbers as text. */
#ifndef KG_REPORT_NUMBER_TEXT_H
#define KG_REPORT_NUMBER_TEXT_H

#include <stdint.h>

/* 1234567 as "1,234,567". */
typedef struct report_number {
    char text[32];
} report_number;
report_number report_grouped(uint64_t number);

/* "1 fact", "2 facts". */
typedef struct report_counted_thing {
    char text[96];
} report_counted_thing;
report_counted_thing report_counted(uint64_t number, const char *one, const char *many);

#endif
