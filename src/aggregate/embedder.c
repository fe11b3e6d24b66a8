/* One loaded entity at a time, in an arena of its own. */
#include "aggregate/embedder.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static bool has_features(const kg_embedder *e) {
    return e->params.features != NULL;
}

/* Echoes were learned together with what graft aggregates. */
static bool has_echo(const kg_embedder *e) {
    return e->options.aggregator->ask != NULL;
}

void kg__embedder_open(kg_embedder *e, kg_aggregate_options options, kg_params params) {
    *e = (kg_embedder){.options = options, .params = params, .asked = KG_NO_QUERY};
    e->options.is_exact = true;
    kg__extractor_open(&e->extractor, params.features);
}

void kg__embedder_close(kg_embedder *e) {
    kg__arena_free(&e->arena);
    kg__extractor_close(&e->extractor);
}

static kg_status load(kg_embedder *e, const kg_link *links, size_t count, kg_error *error) {
    kg_aggregate_use use = {
        .links = links, .count = count, .asked = &e->asked, .asked_count = 1, .most_left_out = 1};
    e->links = links;
    e->count = count;
    e->left_out = KG_NOTHING;
    kg__arena_reset(&e->arena);
    return kg__aggregate_load(&e->aggregate, &e->options, &e->params, &e->arena, &use, error);
}

/* Loads entities that take as much memory as any with up to so many links: of many relations, and
 * as many as are still solved afresh for each use. */
kg_status kg__embedder_reserve(kg_embedder *e, size_t count, size_t relation_count,
                               kg_error *error) {
    size_t few = count < KG_RIDGE_FEW ? count : KG_RIDGE_FEW;
    kg_link *links = kg__alloc(count, sizeof *links);
    if (links == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < count; i++)
        links[i].directed = (kg_directed)(i % (2 * relation_count));
    kg_status status = load(e, links, count, error);
    if (status == KG_OK)
        status = load(e, links, few, error);
    kg__free(links);
    KG_TRY(status);
    return load(e, NULL, 0, error);
}

kg_status kg__embedder_load(kg_embedder *e, kg_id self, const kg_link *links, size_t count,
                            kg_error *error) {
    if (has_features(e))
        KG_TRY(kg__extractor_load(&e->extractor, self, links, count, error));
    return load(e, links, count, error);
}

void kg__embedder_ask(kg_embedder *e, kg_directed asked) {
    e->asked = asked;
    kg__aggregate_ask_another(&e->aggregate, asked);
    /* What it has extracted serves the next query with the same relation. */
    if (has_features(e) && e->extractor.query != asked)
        kg__extractor_set_query(&e->extractor, asked);
}

void kg__embedder_embed(kg_embedder *e, real *z, size_t left_out) {
    e->left_out = left_out;
    kg__aggregate_forward(&e->aggregate, z,
                          (kg_left_out){&e->left_out, left_out == KG_NOTHING ? 0 : 1});
}

double kg__embedder_part(kg_embedder *e, size_t i, const real *vector) {
    return i == e->left_out ? 0 : e->options.aggregator->part(&e->aggregate, i, vector);
}

double kg__embedder_weight(const kg_embedder *e, size_t i) {
    return i == e->left_out ? 0 : e->options.aggregator->weight(&e->aggregate, i);
}

/* ---- What else speaks for answers ---- */

static int compare_offsets(const void *a, const void *b) {
    const kg_score_offset *x = a;
    const kg_score_offset *y = b;
    if (x->entity != y->entity)
        return x->entity < y->entity ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* Those of one entity add up, from the least: the same sum whatever the order of the links. */
static size_t merge_offsets(kg_score_offset *offsets, size_t count) {
    size_t merged = 0;
    qsort(offsets, count, sizeof *offsets, compare_offsets);
    for (size_t i = 0; i < count; i++) {
        if (merged > 0 && offsets[merged - 1].entity == offsets[i].entity)
            offsets[merged - 1].value += offsets[i].value;
        else
            offsets[merged++] = offsets[i];
    }
    return merged;
}

void kg__score_offsets_free(kg_score_offsets *offsets) {
    kg__free(offsets->items);
    *offsets = (kg_score_offsets){0};
}

kg_status kg__score_offsets_reserve(kg_score_offsets *offsets, size_t more, kg_error *error) {
    if (more <= offsets->capacity - offsets->count)
        return KG_OK;
    kg_score_offset *items =
        kg__grow(offsets->items, &offsets->capacity, offsets->count + more, sizeof *items);
    if (items == NULL)
        return kg__fail_memory(error);
    offsets->items = items;
    return KG_OK;
}

double kg__embedder_echo(const kg_embedder *e, size_t i) {
    const kg_graft *graft = e->params.graft;
    if (!has_echo(e) || e->asked == KG_NO_QUERY)
        return 0;
    uint32_t pair = kg__pairs_find(&graft->echoing, e->asked, e->links[i].directed);
    return pair == KG_NO_PAIR ? 0 : (double)graft->echoes[pair];
}

/* Graft's offsets, to be merged with others. */
static void add_echoes(const kg_embedder *e, kg_score_offsets *offsets, size_t left_out) {
    for (size_t i = 0; i < e->count && has_echo(e); i++) {
        double echo = kg__embedder_echo(e, i);
        if (i != left_out && echo != 0)
            offsets->items[offsets->count++] = (kg_score_offset){e->links[i].other, echo};
    }
}

static kg_status add_hints(kg_embedder *e, kg_score_offsets *offsets, size_t left_out,
                           kg_error *error) {
    const real *worth = kg__features_weights_of(e->params.features, e->asked);
    kg_candidate_features hints[KG_MOST_CANDIDATES];
    size_t count = 0;
    KG_TRY(kg__extractor_candidates(&e->extractor, hints, KG_MOST_CANDIDATES, &count, left_out,
                                    error));
    for (size_t i = 0; i < count; i++)
        offsets->items[offsets->count++] = (kg_score_offset){
            hints[i].entity, (double)kg__candidate_features_score(&hints[i], worth)};
    return KG_OK;
}

/* Vacancies are part of all scores (rank/proposals.h), as for a new entity. One of the graph's has
 * answers there, which would have room for one more without it. */
static kg_status add_rooms(const kg_embedder *e, kg_score_offsets *offsets, kg_error *error) {
    const kg_features *evidence = e->params.features;
    kg_id self = e->extractor.self;
    size_t count = 0;
    if (self == KG_NO_ID || !kg__feature_set_has(evidence->enabled, KG_DEGREE_PRIOR))
        return KG_OK;
    const kg_link *links =
        kg__links_run(kg__adjacency_links(evidence->graph, self),
                      kg__adjacency_degree(evidence->graph, self), e->asked, &count);
    KG_TRY(kg__score_offsets_reserve(offsets, count, error));
    double worth = (double)kg__features_weights_of(evidence, e->asked)[KG_DEGREE_PRIOR];
    for (size_t i = 0; i < count; i++) {
        kg_id answer = links[i].other;
        real with = kg__degree_prior_of(&evidence->degree_prior, e->asked, KG_NO_ID, answer);
        real without = kg__degree_prior_of(&evidence->degree_prior, e->asked, self, answer);
        if (with != without)
            offsets->items[offsets->count++] =
                (kg_score_offset){answer, worth * ((double)without - (double)with)};
    }
    return KG_OK;
}

size_t kg__embedder_most_offsets(const kg_embedder *e, size_t links) {
    return (has_echo(e) ? links : 0) + (has_features(e) ? links + KG_MOST_CANDIDATES : 0);
}

kg_status kg__embedder_offsets(kg_embedder *e, kg_score_offsets *offsets, size_t left_out,
                               kg_error *error) {
    size_t before = offsets->count;
    KG_TRY(kg__score_offsets_reserve(offsets, kg__embedder_most_offsets(e, e->count), error));
    add_echoes(e, offsets, left_out);
    if (has_features(e)) {
        KG_TRY(add_hints(e, offsets, left_out, error));
        KG_TRY(add_rooms(e, offsets, error));
    }
    if (offsets->count > before)
        offsets->count = before + merge_offsets(offsets->items + before, offsets->count - before);
    return KG_OK;
}
