/* The process's memory as the system counts it, which includes pages of mapped files in use. */
#ifndef KG_BASE_PEAK_MEMORY_H
#define KG_BASE_PEAK_MEMORY_H

#include <stdint.h>

/* The peak in bytes; 0 if the system does not report it. */
uint64_t kg__peak_memory(void);

/* Returns to the system what was freed; no effect where the C library cannot do that. */
void kg__return_memory(void);

/* Resets the peak of the whole process; no effect where the system cannot do that. */
void kg__peak_memory_reset(void);

#endif
