/* Known names that may have been meant by one that is not known: those that a few slips or the case
 * of letters tell apart from it, and those that only have more in front or behind, as "dog.n.01"
 * has for "dog". One pass over all names, which takes a fraction of a second for millions. */
#ifndef KG_INFER_SUGGEST_H
#define KG_INFER_SUGGEST_H

#include "base/names.h"

#define KG_MOST_SUGGESTIONS 3

/* The nearest first. */
typedef struct kg_suggestions {
    kg_id ids[KG_MOST_SUGGESTIONS];
    size_t count;
} kg_suggestions;

kg_suggestions kg__suggestions_find(const kg_names *names, kg_text word);

/* ", did you mean 'a', 'b' or 'c'?" with the nearest names; empty if none is near. */
typedef struct kg_suggestion {
    char text[384];
} kg_suggestion;

kg_suggestion kg__suggest(const kg_names *names, kg_text word);

#endif
