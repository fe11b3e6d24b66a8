/* Kinds of queries, and a row for each. */
#include "train/negative_priors.h"

#include "base/memory.h"

kg_status kg__negative_priors_open(kg_negative_priors *priors, const kg_params *params,
                                   size_t most_queries, kg_error *error) {
    const kg_term_view *view = kg__feature_view(params);
    *priors = (kg_negative_priors){0};
    if (kg__feature_view_prior(view) == NULL)
        return KG_OK;
    size_t directed_count = kg__feature_view_counted(view)->rules.directed_count;
    priors->view = view;
    priors->asked = kg__alloc(directed_count, sizeof *priors->asked);
    priors->kind_of = kg__alloc(directed_count, sizeof *priors->kind_of);
    priors->kinds = kg__alloc(most_queries, sizeof *priors->kinds);
    priors->weights = kg__alloc(most_queries, sizeof *priors->weights);
    priors->gradients = kg__alloc(most_queries, sizeof *priors->gradients);
    if (priors->asked == NULL || priors->kind_of == NULL || priors->kinds == NULL ||
        priors->weights == NULL || priors->gradients == NULL) {
        kg__negative_priors_close(priors);
        return kg__fail_memory(error);
    }
    for (size_t i = 0; i < directed_count; i++)
        priors->kind_of[i] = KG_NO_ID;
    return KG_OK;
}

void kg__negative_priors_close(kg_negative_priors *priors) {
    kg__free(priors->asked);
    kg__free(priors->kind_of);
    kg__free(priors->kinds);
    kg__free(priors->weights);
    kg__free(priors->gradients);
    *priors = (kg_negative_priors){0};
}

static void forget_kinds(kg_negative_priors *priors) {
    for (size_t kind = 0; kind < priors->asked_count; kind++)
        priors->kind_of[priors->asked[kind]] = KG_NO_ID;
    priors->asked_count = 0;
}

void kg__negative_priors_take(kg_negative_priors *priors, const kg_directed *queries,
                              size_t query_count, const kg_id *negatives) {
    if (priors->view == NULL)
        return;
    forget_kinds(priors);
    priors->negatives = negatives;
    for (size_t i = 0; i < query_count; i++) {
        uint32_t *kind = &priors->kind_of[queries[i]];
        if (*kind == KG_NO_ID) {
            *kind = (uint32_t)priors->asked_count;
            priors->asked[priors->asked_count++] = queries[i];
        }
        priors->kinds[i] = *kind;
        priors->weights[i] = kg__feature_weights(priors->view, queries[i])[KG_DEGREE_PRIOR];
    }
}

void kg__negative_priors_fill(const void *payload, real *out, size_t from, size_t some) {
    const kg_negative_priors *priors = payload;
    kg__degree_prior_fill(kg__feature_view_prior(priors->view), out, priors->asked,
                          priors->asked_count, priors->kind_of, priors->negatives + from, some);
}
