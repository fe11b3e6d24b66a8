/* The version, as the build knows it, the number of the binary interface, and the matrix kernels.
 */
#include "kgraft.h"

#include "math/linear.h"

const char *kg_version(void) {
    return KG_VERSION;
}

int kg_abi(void) {
    return KG_ABI;
}

const char *kg_kernels(void) {
    return kg__linear_kernels();
}

const char *kg_better_kernels(void) {
    return kg__linear_better_kernels();
}
