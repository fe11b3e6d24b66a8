/* Teams are as large as the system lets them be, and processes may fork between two of them. This
 * program makes threads by its own pthread_create, which can refuse. */
#define _GNU_SOURCE
#include "support.h"

#include <dlfcn.h>
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread_count.h"

typedef int creator(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                    void *payload);

static int left = -1; /* threads that may still be made; below 0: any number */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *payload) {
    creator *real = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    if (left == 0)
        return EAGAIN;
    if (left > 0)
        left--;
    return real(thread, attributes, start, payload);
}

static void test_as_many_as_wanted(void **state) {
    (void)state;
    assert_int_equal(kg__threads(1), 1);
    assert_int_equal(kg__threads(5), 5);
    assert_int_equal(kg__threads(0), omp_get_max_threads());
    omp_set_num_threads(3);
    assert_int_equal(kg__threads(0), 3);
    assert_in_range(kg__threads(UINT64_MAX), 2, 1024);
}

static void test_fewer_if_refused(void **state) {
    (void)state;
    for (int most = 0; most < 5; most++) {
        left = most;
        assert_int_equal(kg__threads(8), 1 + most);
    }
    left = 0;
    assert_int_equal(kg__threads(0), 1);
    left = -1;
}

static int count_team(void) {
    int members = 0;
#pragma omp parallel num_threads(3) reduction(+ : members)
    members++;
    return members;
}

/* A child that waits for threads that it does not have is ended by the alarm. */
static void test_fork_after_a_team(void **state) {
    (void)state;
    assert_int_equal(count_team(), 3);
    pid_t child = fork();
    if (child == 0) {
        alarm(30);
        _exit(count_team() == 3 ? 0 : 1);
    }
    int status = -1;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
    assert_int_equal(count_team(), 3); /* so does the parent */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_many_as_wanted),
        cmocka_unit_test(test_fewer_if_refused),
        cmocka_unit_test(test_fork_after_a_team),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
