/* CBLAS in the precision of `real`; CBLAS and LAPACKE in double precision. */
#include "math/linalg.h"

#include <cblas.h>
#include <lapacke.h>
#include <pthread.h>
#include <strings.h>
#include <sys/mman.h>

#ifdef KG_DOUBLE
#define BLAS(name) cblas_d##name
#else
#define BLAS(name) cblas_s##name
#endif

/* OpenBLAS' own allocator: weak, since no header declares it. */
extern void *blas_memory_alloc(int where) __attribute__((weak));
extern void blas_memory_free(void *buffer) __attribute__((weak));

static bool has_room(size_t bytes) {
    void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return room != MAP_FAILED && munmap(room, bytes) == 0;
}

/* Buffers belong to the process and are never freed, so their number is kept per process. */
static pthread_mutex_t buffer_lock = PTHREAD_MUTEX_INITIALIZER;
static int buffer_count;

/* Allocates all buffers before it frees the first, so that each is a different one. */
static bool reserve(int wanted) {
    if (wanted == 0)
        return true;
    if (!has_room(KG_LINEAR_BUFFER))
        return false;
    void *buffer = blas_memory_alloc(0);
    bool good = buffer != NULL && reserve(wanted - 1);
    if (buffer != NULL)
        blas_memory_free(buffer);
    return good;
}

kg_status kg__linear_set_up(int threads, kg_error *error) {
    bool good = true;
    pthread_mutex_lock(&buffer_lock);
    if (buffer_count < threads) {
        openblas_set_num_threads(1);
        good = blas_memory_alloc == NULL ? has_room((size_t)threads * KG_LINEAR_BUFFER)
                                         : reserve(threads);
        if (good)
            buffer_count = threads;
    }
    pthread_mutex_unlock(&buffer_lock);
    if (good)
        return KG_OK;
    return kg_fail(error, KG_NO_MEMORY,
                   "out of memory: matrix products of %d threads want %zu MB of address space",
                   threads, (size_t)threads * (KG_LINEAR_BUFFER >> 20));
}

/* An OpenBLAS that was built without threads hands out its buffers without a lock: two threads that
 * call it at the same time may get the same one, and wrong products (Debian's libopenblas0-serial
 * 0.3.21). There, one call has to wait for the other. */
static pthread_mutex_t call_lock = PTHREAD_MUTEX_INITIALIZER;

static void start_call(void) {
    if (openblas_get_parallel() == OPENBLAS_SEQUENTIAL)
        pthread_mutex_lock(&call_lock);
}

static void end_call(void) {
    if (openblas_get_parallel() == OPENBLAS_SEQUENTIAL)
        pthread_mutex_unlock(&call_lock);
}

const char *kg__linear_blas(void) {
    return openblas_get_config();
}

const char *kg__linear_kernels(void) {
    return openblas_get_corename();
}

/* Names of kernels for the same instructions, the one to choose first. */
static const char *const avx512[] = {"SkylakeX", "Cooperlake", "Sapphirerapids", NULL};
static const char *const avx2[] = {"Haswell", "Zen", NULL};

static const char *const *find_best(void) {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return avx2;
#endif
    return NULL; /* OpenBLAS has kernels for all earlier ones */
}

const char *kg__linear_better_kernels(void) {
    const char *const *best = find_best();
    if (best == NULL)
        return NULL;
    for (size_t i = 0; best[i] != NULL; i++)
        if (strcasecmp(best[i], kg__linear_kernels()) == 0)
            return NULL;
    return best[0];
}

static CBLAS_TRANSPOSE as_blas(kg_transpose transpose) {
    return transpose == KG_TRANSPOSED ? CblasTrans : CblasNoTrans;
}

void kg__multiply(real *c, size_t m, size_t n, size_t k, real alpha, const real *a,
                  kg_transpose a_is, const real *b, kg_transpose b_is, real beta) {
    size_t a_columns = a_is == KG_AS_IS ? k : m;
    size_t b_columns = b_is == KG_AS_IS ? n : k;
    start_call();
    BLAS(gemm)
    (CblasRowMajor, as_blas(a_is), as_blas(b_is), (int)m, (int)n, (int)k, alpha, a, (int)a_columns,
     b, (int)b_columns, beta, c, (int)n);
    end_call();
}

void kg__multiply_vector(real *y, const real *a, size_t rows, size_t columns, kg_transpose a_is,
                         const real *x, real alpha, real beta) {
    start_call();
    BLAS(gemv)
    (CblasRowMajor, as_blas(a_is), (int)rows, (int)columns, alpha, a, (int)columns, x, 1, beta, y,
     1);
    end_call();
}

/* What is the lower half by rows is the upper half by columns, as LAPACK stores matrices. */
void kg__gram_wide(double *c, const double *rows, size_t count, size_t dim, bool of_rows) {
    int n = (int)(of_rows ? count : dim);
    int k = (int)(of_rows ? dim : count);
    start_call();
    cblas_dsyrk(CblasRowMajor, CblasLower, of_rows ? CblasNoTrans : CblasTrans, n, k, 1, rows,
                (int)dim, 0, c, n);
    end_call();
}

bool kg__invert_wide(double *a, size_t n) {
    int size = (int)n;
    if (!kg__factor_wide(a, n))
        return false;
    start_call();
    bool good = LAPACKE_dpotri(LAPACK_COL_MAJOR, 'U', size, a, size) == 0;
    end_call();
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            a[i * n + j] = a[j * n + i];
    return good;
}

bool kg__factor_wide(double *a, size_t n) {
    int size = (int)n;
    start_call();
    bool good = LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', size, a, size) == 0;
    end_call();
    return good;
}

void kg__solve_wide(const double *factor, double *b, size_t n) {
    int size = (int)n;
    start_call();
    LAPACKE_dpotrs(LAPACK_COL_MAJOR, 'U', size, 1, factor, size, b, size);
    end_call();
}
