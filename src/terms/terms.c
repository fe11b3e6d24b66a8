/* The table of terms. */
#include "model/term.h"

#include <string.h>

/* Each from the file that has its functions. */
#define TERMS(ROW) ROW(embedding) ROW(echo) ROW(propagation)

#define DECLARED(name) extern const kg_term kg__term_##name;
#define LISTED(name) &kg__term_##name,
#define NAMED(name) #name,
#define NUMBERED(name) NUMBER_##name,

TERMS(DECLARED)
const char *const kg__term_names[] = {TERMS(NAMED) NULL};
const kg_term *const kg__terms[] = {TERMS(LISTED) NULL};
enum { TERMS(NUMBERED) };
_Static_assert(NUMBER_embedding == KG_TERM_EMBEDDING, "others know its number");
_Static_assert(sizeof kg__terms / sizeof(void *) <= KG_MOST_TERMS + 1, "a view for each term");

bool kg__term_is_on(const kg_params *params, size_t number) {
    const kg_term *term = kg__terms[number];
    return term->is_on == NULL ? params->terms[number].counted != NULL : term->is_on(params);
}

size_t kg__term_params(kg_term_param *out, const kg_term_view *view) {
    return view->counted == NULL || view->learned->params == NULL
               ? 0
               : view->learned->params(out, view);
}

void kg__terms_close(kg_params *params) {
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (params->terms[i].counted != NULL)
            params->terms[i].learned->close(&params->terms[i]);
}

double kg__term_cost(const kg_params *params) {
    double sum = 0;
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        sum += kg__term_is_on(params, i) ? kg__terms[i]->cost : 0;
    return sum;
}

kg_status kg__params_on_graph(kg_params *out, const kg_params *params, const kg_adjacency *graph,
                              kg_error *error) {
    bool has_any = false;
    *out = (kg_params){.scoring = params->scoring,
                       .entities = kg__no_rows,
                       .relations = kg__no_rows,
                       .is_directed = params->is_directed,
                       .graph = graph};
    for (size_t i = 0; kg__terms[i] != NULL; i++) {
        if (!kg__term_is_on(params, i) || kg__terms[i]->move == NULL)
            continue;
        has_any = true;
        kg_status status = kg__terms[i]->move(&out->terms[i], &params->terms[i], graph, error);
        if (status != KG_OK) {
            kg__params_close_moved(out);
            return status;
        }
    }
    return has_any ? KG_OK
                   : kg_fail(error, KG_BAD_INPUT,
                             "expected a model with a term that needs no vectors of entities, such "
                             "as propagation, found none");
}

bool kg__params_all_move(const kg_params *params) {
    bool is_whole = true;
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        is_whole = is_whole && (!kg__term_is_on(params, i) || kg__terms[i]->move != NULL);
    return is_whole;
}

void kg__params_close_moved(kg_params *moved) {
    kg__terms_close(moved);
    *moved = (kg_params){0};
}

size_t kg__term_number(const kg_term *term) {
    size_t number = 0;
    while (kg__terms[number] != term)
        number++;
    return number;
}

const kg_term *kg__term_find(const char *name) {
    for (const kg_term *const *row = kg__terms; *row != NULL; row++)
        if (strcmp((*row)->name, name) == 0)
            return *row;
    return NULL;
}

size_t kg__term_parts(kg_score_term *out, const kg_params *params) {
    size_t count = 0;
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (kg__terms[i]->parts != NULL)
            count += kg__terms[i]->parts(out == NULL ? NULL : out + count, &params->terms[i]);
    return count;
}
