/* Known names that are similar to an unknown one: those at a small edit distance or with other
 * case, and those that have it as a prefix or suffix, as "dog.n.01" has "dog". One pass over all
 * names, which takes a fraction of a second for millions. */
#ifndef KG_INFER_NAME_SUGGESTIONS_H
#define KG_INFER_NAME_SUGGESTIONS_H

#include "base/names.h"

#define KG_MOST_SUGGESTIONS 3

/* The most similar first. */
typedef struct kg_suggestions {
    kg_id ids[KG_MOST_SUGGESTIONS];
    size_t count;
} kg_suggestions;

kg_suggestions kg__suggestions_find(const kg_names *names, kg_text word);

/* ", did you mean 'a', 'b' or 'c'?" with the most similar names; empty if there are none. */
typedef struct kg_suggestion {
    char text[384];
} kg_suggestion;

kg_suggestion kg__suggest(const kg_names *names, kg_text word);

/* The same of names that were found already. */
kg_suggestion kg__suggestions_text(const kg_names *names, const kg_suggestions *nearest);

#endif
