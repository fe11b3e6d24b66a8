/* The version, as the build knows it, and the matrix kernels. */
#include "kgraft.h"

#include "math/linear.h"

const char *kg_version(void) {
    return KG_VERSION;
}

const char *kg_kernels(void) {
    return kg_linear_kernels();
}

const char *kg_better_kernels(void) {
    return kg_linear_better_kernels();
}
