/* Makes a program believe that its OpenBLAS does not know the processor: without OPENBLAS_CORETYPE
 * it reports the oldest kernels. To be loaded with LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

char *openblas_get_corename(void);

char *openblas_get_corename(void) {
    static char oldest[] = "Prescott";
    char *(*real)(void) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "openblas_get_corename");
    return getenv("OPENBLAS_CORETYPE") == NULL ? oldest : real();
}
