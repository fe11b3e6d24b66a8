/* The version, as the build knows it, the number of the binary interface, errors as text, and the
 * matrix kernels. */
#include "kgraft.h"

#include "base/status.h"
#include "math/linalg.h"

const char *kg_version(void) {
    return KG_VERSION;
}

int kg_abi(void) {
    return KG_ABI;
}

char *kg_error_text(char *out, size_t size, const kg_error *error) {
    return kg__error_text(out, size, error);
}

const char *kg_kernels_used(void) {
    return kg__linear_kernels();
}

const char *kg_kernels_better(void) {
    return kg__linear_better_kernels();
}
