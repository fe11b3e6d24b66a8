/* The version, as the build knows it. */
#include "kgraft.h"

const char *kg_version(void) {
    return KG_VERSION;
}
