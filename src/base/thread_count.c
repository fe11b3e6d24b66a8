/* Threads are created as a test before OpenMP creates them; its pool is released before a fork. */
#include "base/thread_count.h"

#include <omp.h>
#include <pthread.h>
#include <stdbool.h>

/* BLAS has a fixed number of buffers, one for each call at a time: OpenBLAS of Debian has 640. */
#define MOST_IN_TEAM 256

/* All must exist at once to count, so each waits until the last one has been created. */
static void *wait_for_all(void *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* How many of `count` threads can be created beside this one. */
static int count_creatable(int count) {
    pthread_t made[MOST_IN_TEAM];
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    int good = 0;
    pthread_mutex_lock(&gate);
    while (good < count && pthread_create(&made[good], NULL, wait_for_all, &gate) == 0)
        good++;
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < good; i++)
        pthread_join(made[i], NULL);
    return good;
}

int kg__threads(uint64_t wanted) {
    if (wanted == 0)
        wanted = (uint64_t)omp_get_max_threads();
    if (wanted > MOST_IN_TEAM)
        wanted = MOST_IN_TEAM;
    return 1 + count_creatable((int)wanted - 1);
}

/* The threads of a pool do not exist in a forked child, which would wait for them for ever. Without
 * a pool, both processes create a new one when they need it. clang's OpenMP does that by itself. */
#ifndef __clang__
static void release_pool(void) {
    omp_pause_resource_all(omp_pause_hard);
}

__attribute__((constructor)) static void prepare_forks(void) {
    pthread_atfork(release_pool, NULL, NULL);
}
#endif
