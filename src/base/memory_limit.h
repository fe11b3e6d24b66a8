/* How much memory a process can have here. */
#ifndef KG_BASE_MEMORY_LIMIT_H
#define KG_BASE_MEMORY_LIMIT_H

#include <stdint.h>

/* The least of what the machine has, of what the control groups that the process is in allow, and
 * of its own limit of addresses; UINT64_MAX if the system tells none of them. */
uint64_t kg__memory_limit(void);

#endif
