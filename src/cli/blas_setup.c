/* OpenBLAS configures itself while it is loaded, before main: it chooses kernels by the model of
 * the processor (an unknown one gets those of 2004), and starts a thread for each processor, each
 * of which waits for ever if it gets no memory. Environment variables override both, so the program
 * sets them and executes itself again: a few milliseconds, and only where it is needed. Variables
 * that the user has set are kept. */
#include "cli/blas_setup.h"

#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "math/linalg.h"

/* Returns whether the variable is new. */
static bool set_new(const char *name, const char *value) {
    return value != NULL && getenv(name) == NULL && setenv(name, value, 0) == 0;
}

/* Whether there is address space for the buffers of BLAS' threads and of this program's. */
static bool has_room_for_threads(void) {
    size_t bytes = 2 * (size_t)omp_get_num_procs() * KG_LINEAR_BUFFER;
    void *room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return room != MAP_FAILED && munmap(room, bytes) == 0;
}

void cli_choose_kernels(char **words) {
    bool is_new = set_new("OPENBLAS_CORETYPE", kg__linear_better_kernels());
    if (!has_room_for_threads() && set_new("OPENBLAS_NUM_THREADS", "1"))
        is_new = true;
    if (is_new)
        execv("/proc/self/exe", words);
}
