/* BLAS' memory is asked for before BLAS waits for it, threads that call it at once get what one
 * does, and its kernels are known. */
#include "support.h"

#include <pthread.h>
#include <stdint.h>
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

/* ---- Threads ---- */

enum { ROWS = 64, COLUMNS = 96, LENGTH = 200, CALLERS = 7, ROUNDS = 3000 };

struct operands {
    real a[ROWS * LENGTH];
    real b[LENGTH * COLUMNS];
    real product[ROWS * COLUMNS];
    double rows[ROWS * LENGTH];
    double inverse[ROWS * ROWS];
};

static bool invert(double *out, const double *rows) {
    kg__gram_wide(out, rows, ROWS, LENGTH, true);
    for (size_t i = 0; i < ROWS; i++)
        out[i * ROWS + i] += 1;
    return kg__invert_wide(out, ROWS);
}

/* Returns how many results were not those of one thread alone. */
static void *call_again(void *payload) {
    const struct operands *o = payload;
    real product[ROWS * COLUMNS];
    double inverse[ROWS * ROWS];
    uintptr_t wrong = 0;
    for (size_t i = 0; i < ROUNDS; i++) {
        kg__multiply(product, ROWS, COLUMNS, LENGTH, 1, o->a, KG_AS_IS, o->b, KG_AS_IS, 0);
        wrong += memcmp(product, o->product, sizeof product) != 0;
        if (i % 8 == 0)
            wrong += !invert(inverse, o->rows) || memcmp(inverse, o->inverse, sizeof inverse) != 0;
    }
    return (void *)wrong;
}

/* More callers than processors: an OpenBLAS whose buffers are not guarded is found out when one of
 * them is interrupted. */
static void test_callers(void **state) {
    (void)state;
    static struct operands o;
    pthread_t callers[CALLERS];
    for (size_t i = 0; i < ROWS * LENGTH; i++) {
        o.a[i] = (real)(i % 17) / 7 - 1;
        o.rows[i] = (double)o.a[i];
    }
    for (size_t i = 0; i < LENGTH * COLUMNS; i++)
        o.b[i] = (real)(i % 23) / 9 - 1;
    assert_int_equal(kg__linear_set_up(CALLERS, NULL), KG_OK);
    kg__multiply(o.product, ROWS, COLUMNS, LENGTH, 1, o.a, KG_AS_IS, o.b, KG_AS_IS, 0);
    assert_true(invert(o.inverse, o.rows));
    for (size_t i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&callers[i], NULL, call_again, &o), 0);
    uintptr_t wrong = 0;
    for (size_t i = 0; i < CALLERS; i++) {
        void *of_one = NULL;
        assert_int_equal(pthread_join(callers[i], &of_one), 0);
        wrong += (uintptr_t)of_one;
    }
    assert_int_equal(wrong, 0);
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
        cmocka_unit_test(test_callers),
        cmocka_unit_test(test_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
