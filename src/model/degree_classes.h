/* Classes of degree, of growing width: a degree is how many facts of one directed relation an
 * entity has. */
#ifndef KG_MODEL_DEGREE_CLASSES_H
#define KG_MODEL_DEGREE_CLASSES_H

#include <stddef.h>

#define KG_DEGREE_CLASSES 16

/* The class of a degree: 0, 1, 2, 3, then by powers of two. */
static inline size_t kg__degree_class(size_t facts) {
    if (facts < 4)
        return facts;
    size_t width = (size_t)(63 - __builtin_clzll(facts));
    return width + 2 < KG_DEGREE_CLASSES ? width + 2 : KG_DEGREE_CLASSES - 1;
}

#endif
