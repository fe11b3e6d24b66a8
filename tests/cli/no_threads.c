/* Refuses to make threads, as a system does that allows no more of them; with NO_THREADS_WANTED in
 * the environment, ends the program that asks for one. To be loaded with LD_PRELOAD. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *payload) {
    (void)thread;
    (void)attributes;
    (void)start;
    (void)payload;
    if (getenv("NO_THREADS_WANTED") != NULL)
        abort();
    return EAGAIN;
}
