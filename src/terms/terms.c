/* The table of terms. */
#include "model/term.h"

/* Each from the file that has its functions. */
#define TERMS(ROW) ROW(embedding) ROW(echo) ROW(features)

#define DECLARED(name) extern const kg_term kg__term_##name;
#define LISTED(name) &kg__term_##name,

TERMS(DECLARED)
const kg_term *const kg__terms[] = {TERMS(LISTED) NULL};

bool kg__term_is_on(const kg_params *params, size_t number) {
    const kg_term *term = kg__terms[number];
    return term->is_on == NULL ? params->terms[number].counted != NULL : term->is_on(params);
}

size_t kg__term_number(const kg_term *term) {
    size_t number = 0;
    while (kg__terms[number] != term)
        number++;
    return number;
}

size_t kg__term_parts(kg_score_term *out, const kg_params *params) {
    size_t count = 0;
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (kg__terms[i]->parts != NULL)
            count += kg__terms[i]->parts(out == NULL ? NULL : out + count, &params->terms[i]);
    return count;
}
