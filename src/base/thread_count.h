/* The number of threads to use. OpenMP ends the process if it cannot create a thread, and a forked
 * child would wait for threads that only its parent has. A number of threads from here can be
 * created, and a process may fork between two parallel regions. */
#ifndef KG_BASE_THREAD_COUNT_H
#define KG_BASE_THREAD_COUNT_H

#include <stdint.h>

/* The number of threads for a team of `wanted`; 0: as many as OpenMP gives a team of the calling
 * thread, which is one per processor unless OMP_NUM_THREADS or omp_set_num_threads say otherwise.
 * At least 1, and fewer than wanted where the system limits them. Results never depend on it.
 * Creates and ends the threads to find out: some 20 us each. */
int kg__threads(uint64_t wanted);

#endif
