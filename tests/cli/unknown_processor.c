/* Makes a program believe that its OpenBLAS does not know the processor: without OPENBLAS_CORETYPE
 * it reports the oldest kernels. Like OpenBLAS, it looks at the variable when it is loaded, and not
 * again. To be loaded with LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

static bool is_chosen;

__attribute__((constructor)) static void look(void) {
    is_chosen = getenv("OPENBLAS_CORETYPE") != NULL;
}

char *openblas_get_corename(void);

char *openblas_get_corename(void) {
    static char oldest[] = "Prescott";
    char *(*real)(void) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "openblas_get_corename");
    return is_chosen ? real() : oldest;
}
