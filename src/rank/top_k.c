/* Each thread searches its own share of the blocks for all lists of a tile; then the shares are
 * merged. */
#include "rank/top_k.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/lower_bound.h"
#include "base/memory.h"
#include "base/thread_count.h"
#include "math/linalg.h"

/* Up to so many vectors are scored by dot products: a matrix product costs as much, and is only
 * approximate. */
#define FEW 3

/* Lists of a tile have this many entries together; longer lists make a tile of fewer. */
#define TILE_ENTRIES ((size_t)1 << 18)

/* One per thread. */
struct kg_top_thread {
    kg_approx_scores approx;
    kg_candidate *entries;
    kg_top_heap lists[KG_TILE];
    double lengths[KG_TILE]; /* of the vectors */
    kg_quantized_query queries[FEW];
    int16_t *codes; /* of these, if there are quantised rows */
};

/* Lists that are computed together. */
struct tile {
    const real *vectors;
    const kg_search *searches;
    size_t count;
    size_t most;
    bool is_cosine;
};

void kg__top_close(kg_top *top) {
    for (size_t i = 0; i < top->threads && top->per_thread != NULL; i++) {
        kg__approx_scores_close(&top->per_thread[i].approx);
        kg__free(top->per_thread[i].entries);
        kg__free(top->per_thread[i].codes);
    }
    kg__free(top->per_thread);
    kg__blocks_close(&top->blocks);
    *top = (kg_top){0};
}

static kg_status open_threads(kg_top *top, size_t threads, kg_error *error) {
    top->per_thread = kg__alloc(threads, sizeof *top->per_thread);
    if (top->per_thread == NULL)
        return kg__fail_memory(error);
    top->threads = threads;
    for (size_t i = 0; i < threads; i++)
        KG_TRY(kg__approx_scores_open(&top->per_thread[i].approx, &top->blocks, error));
    return KG_OK;
}

kg_status kg__top_open(kg_top *top, const kg_params *params, size_t candidates, size_t threads,
                       kg_error *error) {
    *top = (kg_top){.every = 1};
    int thread_count = kg__threads(threads);
    KG_TRY(kg__linear_set_up(thread_count, error));
    kg_status status = kg__blocks_open(&top->blocks, params, candidates, error);
    if (status == KG_OK)
        status = open_threads(top, (size_t)thread_count, error);
    if (status != KG_OK)
        kg__top_close(top);
    return status;
}

kg_status kg__top_use_quantized(kg_top *top, const kg_quantized_rows *quantized, kg_error *error) {
    size_t stride = kg__quantized_stride(quantized->dim);
    for (size_t i = 0; i < top->threads; i++) {
        struct kg_top_thread *own = &top->per_thread[i];
        own->codes = kg__alloc(FEW * stride, sizeof *own->codes);
        if (own->codes == NULL)
            return kg__fail_memory(error);
        for (size_t k = 0; k < FEW; k++)
            own->queries[k].codes = own->codes + k * stride;
    }
    top->quantized = *quantized;
    return KG_OK;
}

/* No list is longer than there are candidates. */
static size_t list_length(const kg_top *top, size_t most) {
    return most < top->blocks.candidates ? most : top->blocks.candidates;
}

size_t kg__top_tile(const kg_top *top, size_t most) {
    size_t length = list_length(top, most);
    size_t lists = length == 0 ? KG_TILE : TILE_ENTRIES / length;
    return lists == 0 ? 1 : lists < KG_TILE ? lists : KG_TILE;
}

kg_status kg__top_reserve(kg_top *top, size_t most, kg_error *error) {
    size_t capacity = kg__top_tile(top, most) * list_length(top, most);
    if (capacity <= top->capacity)
        return KG_OK;
    for (size_t i = 0; i < top->threads; i++) {
        struct kg_top_thread *own = &top->per_thread[i];
        kg_candidate *entries = kg__resize(own->entries, capacity, sizeof *entries);
        if (entries == NULL)
            return kg__fail_memory(error);
        own->entries = entries;
    }
    top->capacity = capacity;
    return KG_OK;
}

/* ---- Lists ---- */

static bool is_left_out(const kg_search *search, kg_id candidate) {
    if (search->itself != NULL && *search->itself == candidate)
        return true;
    size_t i = kg__lower_bound(search->left_out, search->left_out_count, sizeof *search->left_out,
                               offsetof(kg_link, other), candidate);
    return i < search->left_out_count && search->left_out[i].other == candidate &&
           search->left_out + i != search->unfiltered;
}

/* The score that a candidate needs to be considered, if scores have an error of up to `bound`. */
static real entry_level(const kg_top_heap *list, real bound) {
    return !kg__top_heap_is_full(list) || isinf(bound) ? -(real)INFINITY
                                                       : list->heap[0].score - bound;
}

/* Whether a score can be ignored: one that is not finite cannot. */
static inline bool is_below(real score, real level) {
    return score < level && score >= -KG_REAL_MAX;
}

/* The relation that priors depend on. */
static kg_directed prior_query(const kg_search *search) {
    return search->is_by_row ? KG_NO_QUERY : search->directed;
}

/* Offers a final score to the list unless it is too low or NaN. */
static void consider(kg_top_heap *list, const kg_search *search, kg_id entity, real score) {
    list->found_nonfinite = list->found_nonfinite || !isfinite(score);
    if (score >= entry_level(list, 0) && !is_left_out(search, entity))
        kg__top_heap_offer(list, (kg_candidate){search->directed, entity, score, score});
}

/* ---- Searching ---- */

/* From dot products to cosines. That with a row of length 0 is NaN, which is no sign of damage. */
static void search_cosines(const kg_blocks *blocks, struct kg_top_thread *own,
                           const struct tile *tile, size_t block) {
    size_t dim = blocks->params.dim;
    for (size_t k = 0; k < kg__blocks_size(blocks, block); k++) {
        kg_id entity = kg__blocks_first(blocks, block) + (kg_id)k;
        const real *row = kg__entity_row(&blocks->params, entity);
        double length = kg__length(row, dim);
        real cosine = (real)((double)kg__dot(row, tile->vectors, dim) / length / own->lengths[0]);
        bool has_direction = length != 0 && own->lengths[0] != 0;
        if ((has_direction || !isnan(cosine)) && !is_below(cosine, entry_level(own->lists, 0)))
            consider(own->lists, tile->searches, entity, cosine);
    }
}

static void search_final(const kg_blocks *blocks, struct kg_top_thread *own,
                         const struct tile *tile, size_t block) {
    size_t size = kg__blocks_size(blocks, block);
    kg__approx_scores_compute_final(&own->approx, blocks, tile->vectors, tile->count, block);
    for (size_t i = 0; i < tile->count; i++)
        for (size_t k = 0; k < size; k++) {
            real score = own->approx.scores[i * size + k];
            if (!is_below(score, entry_level(&own->lists[i], 0)))
                consider(&own->lists[i], &tile->searches[i],
                         kg__blocks_first(blocks, block) + (kg_id)k, score);
        }
}

KG_CLONES static uint32_t count_from(const real *scores, size_t count, real level) {
    uint32_t reached = 0;
#pragma omp simd reduction(+ : reached)
    for (size_t i = 0; i < count; i++)
        reached += is_below(scores[i], level) ? 0 : 1;
    return reached;
}

/* Strip by strip: few approximate scores reach the list, and only their strips are scanned again.
 */
static void search_approx(const kg_blocks *blocks, struct kg_top_thread *own,
                          const struct tile *tile, size_t i, size_t block, real bound) {
    kg_top_heap *list = &own->lists[i];
    const kg_search *search = &tile->searches[i];
    size_t size = kg__blocks_size(blocks, block);
    const real *scores = own->approx.scores + i * size;
    const real *vector = tile->vectors + i * blocks->params.dim;
    for (size_t from = 0; from < size; from += KG_STRIP) {
        size_t count = size - from < KG_STRIP ? size - from : KG_STRIP;
        if (count_from(scores + from, count, entry_level(list, bound)) == 0)
            continue;
        for (size_t k = from; k < from + count; k++) {
            kg_id candidate = kg__blocks_first(blocks, block) + (kg_id)k;
            if (!is_below(scores[k], entry_level(list, bound)))
                consider(list, search, candidate,
                         kg__blocks_score(blocks, vector, prior_query(search), candidate) +
                             kg__offset_of(search->offsets, candidate));
        }
    }
}

static void search_products(kg_blocks *blocks, struct kg_top_thread *own, const struct tile *tile,
                            size_t block) {
    kg__blocks_measure(blocks, block);
    kg__approx_scores_compute(&own->approx, blocks, tile->vectors, tile->count, block);
    for (size_t i = 0; i < tile->count; i++)
        search_approx(
            blocks, own, tile, i, block,
            kg__approx_scores_bound(&own->approx, blocks, block, i, (real)own->lengths[i]));
}

/* Priors and offsets are added to both scores alike: see kg__blocks_bound. */
static real bound_with(real bound, real largest_rest) {
    return largest_rest < KG_REAL_MAX / 4 ? bound + 2 * KG_REAL_EPSILON * largest_rest
                                          : (real)INFINITY;
}

static void search_quantized(const kg_top *top, struct kg_top_thread *own, const struct tile *tile,
                             size_t block) {
    const kg_blocks *blocks = &top->blocks;
    size_t size = kg__blocks_size(blocks, block);
    real bounds[FEW] = {0};
    for (size_t i = 0; i < tile->count; i++)
        bounds[i] = kg__quantized_scores(own->approx.scores + i * size, &top->quantized,
                                         kg__blocks_first(blocks, block), size, &own->queries[i]);
    kg__approx_scores_add_rest(&own->approx, blocks, tile->count, block);
    for (size_t i = 0; i < tile->count; i++)
        search_approx(blocks, own, tile, i, block,
                      bound_with(bounds[i], kg__approx_scores_largest_rest(&own->approx, i)));
}

/* Entities that came later have no quantised rows. */
static void search_block(kg_top *top, struct kg_top_thread *own, const struct tile *tile,
                         size_t block) {
    bool is_few = tile->count <= FEW;
    if (tile->is_cosine)
        search_cosines(&top->blocks, own, tile, block);
    else if (is_few && top->quantized.count > 0 && block < top->blocks.own_count)
        search_quantized(top, own, tile, block);
    else if (is_few)
        search_final(&top->blocks, own, tile, block);
    else
        search_products(&top->blocks, own, tile, block);
}

/* A thread's share of the blocks. */
static void search_share(kg_top *top, const struct tile *tile, size_t share, size_t shares) {
    struct kg_top_thread *own = &top->per_thread[share];
    size_t dim = top->blocks.params.dim;
    size_t all = (top->blocks.count + top->every - 1 - top->first) / top->every;
    size_t first = top->first + all * share / shares * top->every;
    size_t end = top->first + all * (share + 1) / shares * top->every;
    for (size_t i = 0; i < tile->count; i++) {
        const real *vector = tile->vectors + i * dim;
        own->lists[i] = (kg_top_heap){.heap = own->entries + i * tile->most,
                                      .most = tile->most,
                                      .names = kg__blocks_names(&top->blocks)};
        own->lengths[i] = kg__length(vector, dim);
        own->approx.queries[i] = prior_query(&tile->searches[i]);
        own->approx.offsets[i] = tile->searches[i].offsets;
        if (top->quantized.count > 0 && tile->count <= FEW)
            kg__quantized_query_set(&own->queries[i], vector, dim);
    }
    kg__approx_scores_set_queries(&own->approx, &top->blocks, tile->is_cosine ? 0 : tile->count,
                                  first);
    for (size_t block = first; block < end; block += top->every)
        search_block(top, own, tile, block);
}

static void merge(kg_top *top, size_t i, size_t shares) {
    kg_top_heap *list = &top->per_thread[0].lists[i];
    for (size_t share = 1; share < shares; share++) {
        const kg_top_heap *more = &top->per_thread[share].lists[i];
        list->found_nonfinite = list->found_nonfinite || more->found_nonfinite;
        for (size_t k = 0; k < more->count; k++)
            kg__top_heap_offer(list, more->heap[k]);
    }
    kg__top_heap_sort(list);
}

/* There may be fewer threads than requested: shares follow their real number. */
static void search_tile(kg_top *top, const struct tile *tile) {
    size_t shares = 1;
#pragma omp parallel num_threads((int)top->threads) if (top->threads > 1)
    {
        size_t thread_count = (size_t)omp_get_num_threads();
        if (omp_get_thread_num() == 0)
            shares = thread_count;
        search_share(top, tile, (size_t)omp_get_thread_num(), thread_count);
    }
    for (size_t i = 0; i < tile->count; i++) {
        merge(top, i, shares);
        top->found_nonfinite = top->found_nonfinite || top->per_thread[0].lists[i].found_nonfinite;
    }
}

kg_status kg__top_find(kg_top *top, kg_candidate *out, size_t *found, const real *vectors,
                       const kg_search *searches, size_t count, size_t most, kg_error *error) {
    size_t length = list_length(top, most);
    size_t most_lists = kg__top_tile(top, most);
    memset(found, 0, count * sizeof *found);
    top->found_nonfinite = false;
    KG_TRY(kg__top_reserve(top, most, error));
    for (size_t from = 0; from < count && length > 0; from += most_lists) {
        struct tile tile = {
            .vectors = vectors + from * top->blocks.params.dim,
            .searches = searches + from,
            .count = count - from < most_lists ? count - from : most_lists,
            .most = length,
        };
        search_tile(top, &tile);
        for (size_t i = 0; i < tile.count; i++) {
            const kg_top_heap *list = &top->per_thread[0].lists[i];
            found[from + i] = list->count;
            memcpy(out + (from + i) * most, list->heap, list->count * sizeof *out);
        }
    }
    return KG_OK;
}

kg_status kg__top_find_nearest(kg_top *top, kg_candidate *out, size_t *found, const real *vector,
                               const kg_search *search, size_t most, kg_error *error) {
    struct tile tile = {vector, search, 1, list_length(top, most), true};
    *found = 0;
    top->found_nonfinite = false;
    if (tile.most == 0)
        return KG_OK;
    KG_TRY(kg__top_reserve(top, most, error));
    search_tile(top, &tile);
    *found = top->per_thread[0].lists[0].count;
    memcpy(out, top->per_thread[0].lists[0].heap, *found * sizeof *out);
    return KG_OK;
}
