/* A sum is made when it is first needed, always group by group, so that it has the same bits
 * whether it is kept or not. */
#include "terms/propagation/entity_profiles.h"

#include <math.h>
#include <string.h>

#include "math/lanes.h"

static kg_status open_profiles(kg_profiles *p, const kg_relation_degrees *graph, size_t width,
                               kg_error *error) {
    size_t lists = graph->lists.count < KG_MOST_PROFILES ? graph->lists.count : KG_MOST_PROFILES;
    kg__profiles_close(p);
    p->weights = kg__arena_take(&p->memory, graph->directed_count * width, sizeof *p->weights);
    p->versions = kg__arena_take_zeroed(&p->memory, lists, sizeof *p->versions);
    p->lists = kg__arena_take_zeroed(&p->memory, lists, sizeof *p->lists);
    p->sums = kg__arena_take(&p->memory, lists * width, sizeof *p->sums);
    p->changed = kg__arena_take(&p->memory, width, sizeof *p->changed);
    if (p->weights == NULL || p->versions == NULL || p->lists == NULL || p->sums == NULL ||
        p->changed == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < KG_PROFILE_LOGS; i++)
        p->logs[i] = (real)log1p((double)i);
    p->graph = graph;
    p->width = width;
    p->list_count = lists;
    return KG_OK;
}

kg_status kg__profiles_use(kg_profiles *p, const kg_relation_degrees *graph, const real *weights,
                           size_t width, kg_error *error) {
    if (p->graph != graph || p->width != width)
        KG_TRY(open_profiles(p, graph, width, error));
    size_t size = graph->directed_count * width * sizeof *weights;
    if (p->version != 0 && memcmp(p->weights, weights, size) == 0)
        return KG_OK;
    memcpy(p->weights, weights, size);
    if (++p->version == 0) { /* all numbers were used once */
        memset(p->versions, 0, p->list_count * sizeof *p->versions);
        p->version = 1;
    }
    return KG_OK;
}

void kg__profiles_close(kg_profiles *p) {
    kg__arena_free(&p->memory);
    *p = (kg_profiles){0};
}

void kg__profiles_move(kg_profiles *p, const kg_relation_degrees *graph) {
    if (p->graph != NULL)
        p->graph = graph;
}

/* log(1 + n_r(e)) of a group. */
KG_INLINED real log_facts(const kg_profiles *p, kg_relation_group group, kg_own_facts left_out) {
    size_t facts = group.count;
    for (size_t k = 0; k < left_out.count; k++)
        facts -= left_out.relations[k] == group.directed;
    return facts < KG_PROFILE_LOGS ? p->logs[facts] : (real)log1p((double)facts);
}

KG_CLONES static void fill(real *restrict out, const kg_profiles *p, kg_id entity,
                           kg_own_facts left_out) {
    kg_relation_groups groups = kg__relation_degrees_groups(p->graph, entity);
    for (size_t from = 0; from < p->width; from += KG_LANES) {
        real sums[KG_LANES] = {0};
        for (size_t i = 0; i < groups.count; i++) {
            const real *weights = p->weights + groups.items[i].directed * p->width + from;
            real factor = log_facts(p, groups.items[i], left_out);
#pragma omp simd
            for (size_t k = 0; k < KG_LANES; k++)
                sums[k] += factor * weights[k];
        }
        memcpy(out + from, sums, sizeof sums);
    }
}

const real *kg__profiles_of(kg_profiles *p, kg_id entity, kg_own_facts left_out) {
    if (left_out.count > 0 || kg__adjacency_changed(p->graph->graph, entity) != NULL) {
        fill(p->changed, p, entity, left_out);
        return p->changed;
    }
    uint32_t list = p->graph->list_of[entity];
    size_t place = kg__profiles_place(list);
    real *sum = p->sums + place * p->width;
    if (p->versions[place] != p->version || p->lists[place] != list) {
        p->versions[place] = p->version;
        p->lists[place] = list;
        fill(sum, p, entity, left_out);
    }
    return sum;
}

bool kg__profile_gradients_open(kg_profile_gradients *out, const kg_profiles *p,
                                kg_arena *scratch) {
    size_t relations = p->graph->directed_count;
    out->sums = kg__arena_take(scratch, relations * p->width, sizeof *out->sums);
    out->is_used = kg__arena_take_zeroed(scratch, relations, sizeof *out->is_used);
    return out->sums != NULL && out->is_used != NULL;
}

KG_CLONES static void spread(kg_profile_gradients out, const kg_profiles *p, kg_id entity,
                             kg_own_facts left_out, const real *restrict gradient) {
    kg_relation_groups groups = kg__relation_degrees_groups(p->graph, entity);
    for (size_t i = 0; i < groups.count; i++) {
        real *restrict to = out.sums + groups.items[i].directed * p->width;
        real factor = log_facts(p, groups.items[i], left_out);
        kg__clear_first(to, &out.is_used[groups.items[i].directed], p->width);
#pragma omp simd
        for (size_t k = 0; k < p->width; k++)
            to[k] += factor * gradient[k];
    }
}

void kg__profiles_backward(kg_profile_gradients out, const kg_profiles *p, kg_id entity,
                           kg_own_facts left_out, const real *gradient) {
    spread(out, p, entity, left_out, gradient);
}
