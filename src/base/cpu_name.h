/* The processor's name, as results are reported with: "Intel(R) Xeon(R) Platinum 8481C". */
#ifndef KG_BASE_CPU_NAME_H
#define KG_BASE_CPU_NAME_H

#include <stddef.h>

#define KG_PROCESSOR_MAX 128

/* Writes it to `out`, which holds KG_PROCESSOR_MAX bytes; "unknown" if the system does not report
 * it. Returns `out`. */
char *kg__processor_name(char *out);

#endif
