/* The most memory that the process has had at a time, as the system counts it: pages of mapped
 * files that were in use are among it. */
#ifndef KG_BASE_PEAK_H
#define KG_BASE_PEAK_H

#include <stdint.h>

/* In bytes; 0 if the system does not tell. */
uint64_t kg__peak_memory(void);

/* From now on, for the whole process; where the system cannot do that, it stays as it is. */
void kg__peak_memory_reset(void);

#endif
