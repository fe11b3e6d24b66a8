/* The propagation term's account of a score: its part of the score, the paths that the answer's
 * vector came about along (propagation/propagation_paths.h), and for each fact what the part has
 * with it that it does not have without it.
 *
 * The latter takes a pass for each fact, as of a query without that fact, to the bit. Facts need
 * not sum to the part: two that lead to the same entity may be worth nothing each. What is left is
 * the part's rest. An entity with very many facts is not tested for all of them. */
#include <math.h>

#include "terms/propagation/propagation_paths.h"
#include "terms/propagation_term.h"
#include "terms/scorer.h"

_Static_assert(KG_REASON_STEPS >= KG_PROPAGATION_MOST_LAYERS, "a path is a reason");

#define MOST_PATHS 64
#define LEAST_SHARE 1e-4

/* Passes without a fact go along at most so many edges together, which takes some seconds, but
 * there are always some. */
#define MOST_EDGES ((size_t)10 * 1000 * 1000)
#define FEWEST_PASSES 16

static size_t most_passes(const kg_propagation_pass *pass) {
    size_t affordable = MOST_EDGES / (pass->edge_count + 1);
    return affordable < FEWEST_PASSES ? FEWEST_PASSES : affordable;
}

/* As many of the paths as there is space for. */
static void list_reasons(kg_explanation *out, size_t part, const kg_path *paths, size_t count) {
    size_t most = out->reasons == NULL ? 0 : out->reason_capacity / out->term_count;
    for (size_t i = 0; i < count && i < most; i++) {
        kg_reason *reason = &out->reasons[out->reason_count++];
        *reason = (kg_reason){.term = part,
                              .steps = paths[i].steps,
                              .fact = paths[i].links[0],
                              .share = paths[i].share};
        for (size_t k = 0; k < paths[i].steps; k++)
            reason->path[k] = paths[i].links[k];
    }
}

/* Facts that are not tested have no rank without them, either. */
static bool is_tested(const kg_explanation *out, size_t fact) {
    return !isnan(out->shares[fact].rank_without);
}

static kg_status test_fact(const kg_explain_use *use, size_t number, size_t fact, kg_error *error) {
    const kg_term_view *view = &use->scorer->embedder.params.terms[number];
    kg_score_term *term = &use->out->terms[use->first];
    kg_propagation_pass without;
    KG_TRY(kg__propagation_query(&without, use->scorer, number, fact, error));
    double value = term->part - kg__propagation_part(&without, view, use->target.other);
    kg__explanation_add(use->out, use->first, fact, value);
    use->out->shares[fact].rank_without = 0;
    term->rest -= value;
    return KG_OK;
}

/* Those that paths begin with come first. */
static kg_status test_facts(const kg_explain_use *use, size_t number, const kg_path *paths,
                            size_t path_count, size_t most, kg_error *error) {
    const kg_embedder *embedder = &use->scorer->embedder;
    kg_explanation *out = use->out;
    size_t tested = 0;
    for (size_t i = 0; i < embedder->count; i++)
        out->shares[i].rank_without = NAN;
    for (size_t i = 0; i < path_count + embedder->count && tested < most; i++) {
        size_t fact = i < path_count ? kg__adjacency_find(embedder->params.graph, embedder->links,
                                                          embedder->count, paths[i].links[0])
                                     : i - path_count;
        if (is_tested(out, fact))
            continue;
        KG_TRY(test_fact(use, number, fact, error));
        tested++;
    }
    out->untested_facts = (uint32_t)(embedder->count - tested);
    return KG_OK;
}

kg_status kg__propagation_explain(kg_explain_use *use, size_t number, kg_error *error) {
    const kg_term_view *view = &use->scorer->embedder.params.terms[number];
    kg_score_term *term = &use->out->terms[use->first];
    kg_propagation_pass pass;
    kg_path paths[MOST_PATHS];
    size_t count = 0;
    KG_TRY(kg__propagation_query(&pass, use->scorer, number, SIZE_MAX, error));
    size_t place = kg__propagation_place(&pass, use->target.other);
    if (place < pass.count)
        KG_TRY(kg__paths_find(paths, &count, &pass, place, MOST_PATHS, LEAST_SHARE, error));
    term->part = term->rest = kg__propagation_part(&pass, view, use->target.other);
    term->reason_count = count;
    use->out->unexpanded = pass.most_cut;
    list_reasons(use->out, use->first, paths, count);
    return test_facts(use, number, paths, count, most_passes(&pass), error);
}
