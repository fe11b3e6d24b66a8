/* BLAS' memory is asked for before BLAS waits for it, and its kernels are known. */
#include "support.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "math/linalg.h"

/* Address space for a few buffers, but not for sixteen. What went wrong is the exit status. */
static int try_with_little_memory(void) {
    struct rlimit limit = {(rlim_t)6 * KG_LINEAR_BUFFER, (rlim_t)6 * KG_LINEAR_BUFFER};
    kg_error error = {0};
    alarm(30); /* as it would wait for ever */
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return 1;
    if (kg__linear_set_up(2, &error) != KG_OK)
        return 2;
    if (kg__linear_set_up(16, &error) != KG_NO_MEMORY)
        return 3;
    if (strstr(error.message, "16 threads want 2048 MB") == NULL)
        return 4;
    /* The two that it has still serve. */
    return kg__linear_set_up(2, &error) == KG_OK ? 0 : 5;
}

static void test_short_memory(void **state) {
    (void)state;
    int status = -1;
    if (IS_SANITIZED)
        skip();
    pid_t child = fork();
    if (child == 0)
        _exit(try_with_little_memory());
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
}

static void test_products(void **state) {
    (void)state;
    const real a[] = {1, 2, 3, 4, 5, 6};
    real c[4] = {0};
    assert_int_equal(kg__linear_set_up(3, NULL), KG_OK);
    kg__multiply(c, 2, 2, 3, 1, a, KG_AS_IS, a, KG_TRANSPOSED, 0);
    assert_true(c[0] == 14 && c[1] == 32 && c[2] == 32 && c[3] == 77);
}

/* What is in use is never worse than itself. */
static void test_kernels(void **state) {
    (void)state;
    const char *better = kg__linear_better_kernels();
    assert_true(strlen(kg__linear_kernels()) > 0);
    assert_true(better == NULL || strcmp(better, kg__linear_kernels()) != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_memory),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
