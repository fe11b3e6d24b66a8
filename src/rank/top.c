/* Each thread searches its own share of the blocks for all lists of a tile; then the shares are
 * merged. */
#include "rank/top.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "math/linear.h"

/* So few vectors are scored one by one: a product would only propose what a dot product costs. */
#define FEW 3

/* Lists of a tile have this many entries together; longer lists make a tile of fewer. */
#define TILE_ENTRIES ((size_t)1 << 18)

/* What a thread works with. */
struct kg_top_hand {
    kg_approx_scores proposals;
    kg_candidate *entries;
    kg_list lists[KG_TILE];
    double lengths[KG_TILE]; /* of the vectors */
};

/* The lists that are searched for together. */
struct tile {
    const real *vectors;
    const kg_search *searches;
    size_t count;
    size_t most;
    bool is_cosine;
};

void kg__top_close(kg_top *top) {
    for (size_t i = 0; i < top->threads && top->hands != NULL; i++) {
        kg__approx_scores_close(&top->hands[i].proposals);
        kg__free(top->hands[i].entries);
    }
    kg__free(top->hands);
    kg__blocks_close(&top->blocks);
    *top = (kg_top){0};
}

static kg_status open_hands(kg_top *top, size_t threads, kg_error *error) {
    top->hands = kg__alloc(threads, sizeof *top->hands);
    if (top->hands == NULL)
        return kg__fail_memory(error);
    top->threads = threads;
    for (size_t i = 0; i < threads; i++)
        KG_TRY(kg__approx_scores_open(&top->hands[i].proposals, &top->blocks, error));
    return KG_OK;
}

kg_status kg__top_open(kg_top *top, const kg_params *params, size_t candidates, size_t threads,
                       kg_error *error) {
    *top = (kg_top){0};
    int team = kg__threads(threads);
    KG_TRY(kg__linear_set_up(team, error));
    kg_status status = kg__blocks_open(&top->blocks, params, candidates, error);
    if (status == KG_OK)
        status = open_hands(top, (size_t)team, error);
    if (status != KG_OK)
        kg__top_close(top);
    return status;
}

/* No list is longer than there are candidates. */
static size_t within(const kg_top *top, size_t most) {
    return most < top->blocks.candidates ? most : top->blocks.candidates;
}

size_t kg__top_tile(const kg_top *top, size_t most) {
    size_t length = within(top, most);
    size_t lists = length == 0 ? KG_TILE : TILE_ENTRIES / length;
    return lists == 0 ? 1 : lists < KG_TILE ? lists : KG_TILE;
}

kg_status kg__top_reserve(kg_top *top, size_t most, kg_error *error) {
    size_t room = kg__top_tile(top, most) * within(top, most);
    if (room <= top->room)
        return KG_OK;
    for (size_t i = 0; i < top->threads; i++) {
        struct kg_top_hand *hand = &top->hands[i];
        kg_candidate *entries = kg__resize(hand->entries, room, sizeof *entries);
        if (entries == NULL)
            return kg__fail_memory(error);
        hand->entries = entries;
    }
    top->room = room;
    return KG_OK;
}

/* ---- Lists ---- */

static bool is_left_out(const kg_search *search, kg_id candidate) {
    if (search->itself != NULL && *search->itself == candidate)
        return true;
    size_t from = 0;
    size_t to = search->left_out_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (search->left_out[middle].other < candidate)
            from = middle + 1;
        else
            to = middle;
    }
    return from < search->left_out_count && search->left_out[from].other == candidate &&
           search->left_out + from != search->forgotten;
}

/* A score that a candidate must reach to be looked at, if scores may be off by `bound`. */
static real entry_level(const kg_list *list, real bound) {
    return !kg__list_is_full(list) || isinf(bound) ? -(real)INFINITY : list->heap[0].score - bound;
}

/* A score that need not be looked at: what is not finite must be. */
static inline bool is_below(real score, real level) {
    return score < level && score >= -KG_REAL_MAX;
}

static bool has_bonus(const kg_search *search, kg_id candidate) {
    for (size_t i = 0; i < search->bonus_count; i++)
        if (search->bonuses[i].entity >= candidate)
            return search->bonuses[i].entity == candidate;
    return false;
}

/* What offsets go by. */
static kg_directed offsets_of(const kg_search *search) {
    return search->is_by_row ? KG_NO_QUESTION : search->directed;
}

/* A final score, unless it is too low or not a number. */
static void consider(kg_list *list, const kg_search *search, kg_id entity, real score) {
    list->met_damage = list->met_damage || !isfinite(score);
    if (score >= entry_level(list, 0) && !is_left_out(search, entity))
        kg__list_offer(list, (kg_candidate){search->directed, entity, score, score});
}

/* Those with a bonus come first, and are passed over when they are met without it. */
static void consider_bonuses(const kg_blocks *blocks, kg_list *list, const kg_search *search,
                             const real *vector, size_t from, size_t to) {
    for (size_t i = 0; i < search->bonus_count; i++) {
        kg_score_offset bonus = search->bonuses[i];
        if (bonus.entity >= from && bonus.entity < to && bonus.entity < blocks->candidates)
            consider(list, search, bonus.entity,
                     kg__blocks_score(blocks, vector, offsets_of(search), bonus.entity) +
                         (real)bonus.value);
    }
}

static void consider_plain(kg_list *list, const kg_search *search, kg_id entity, real score) {
    if (!has_bonus(search, entity))
        consider(list, search, entity, score);
}

/* ---- Searching ---- */

/* The final score of list i and candidate k of a block, or the cosine. */
static real score_one(const kg_blocks *blocks, const struct kg_top_hand *hand,
                      const struct tile *tile, size_t i, size_t block, size_t k) {
    size_t dim = blocks->params.dim;
    const real *row = kg__entity_row(&blocks->params, kg__blocks_first(block) + (kg_id)k);
    real product = kg__dot(row, tile->vectors + i * dim, dim);
    if (tile->is_cosine)
        return (real)((double)product / kg__length(row, dim) / hand->lengths[i]);
    const real *offsets = kg__approx_scores_offsets(&hand->proposals, i);
    return offsets == NULL ? product : product + offsets[k];
}

/* Then cosines are not numbers, and rightly so. */
static bool has_no_direction(const kg_blocks *blocks, const struct kg_top_hand *hand, size_t i,
                             size_t block, size_t k) {
    const real *row = kg__entity_row(&blocks->params, kg__blocks_first(block) + (kg_id)k);
    return hand->lengths[i] == 0 || kg__length(row, blocks->params.dim) == 0;
}

static void search_one_by_one(const kg_blocks *blocks, struct kg_top_hand *hand,
                              const struct tile *tile, size_t block) {
    kg__approx_scores_offset(&hand->proposals, blocks, block);
    for (size_t k = 0; k < kg__blocks_size(blocks, block); k++)
        for (size_t i = 0; i < tile->count; i++) {
            real score = score_one(blocks, hand, tile, i, block, k);
            if (tile->is_cosine && isnan(score) && has_no_direction(blocks, hand, i, block, k))
                continue;
            if (!is_below(score, entry_level(&hand->lists[i], 0)))
                consider_plain(&hand->lists[i], &tile->searches[i],
                               kg__blocks_first(block) + (kg_id)k, score);
        }
}

KG_CLONES static uint32_t count_from(const real *scores, size_t count, real level) {
    uint32_t reached = 0;
#pragma omp simd reduction(+ : reached)
    for (size_t i = 0; i < count; i++)
        reached += is_below(scores[i], level) ? 0 : 1;
    return reached;
}

/* Strip by strip, since few proposals reach the list, and only their strips are looked at twice. */
static void search_proposals(const kg_blocks *blocks, struct kg_top_hand *hand,
                             const struct tile *tile, size_t i, size_t block) {
    kg_list *list = &hand->lists[i];
    size_t size = kg__blocks_size(blocks, block);
    const real *scores = hand->proposals.scores + i * size;
    const real *vector = tile->vectors + i * blocks->params.dim;
    real bound =
        kg__approx_scores_bound(&hand->proposals, blocks, block, i, (real)hand->lengths[i]);
    for (size_t from = 0; from < size; from += KG_STRIP) {
        size_t count = size - from < KG_STRIP ? size - from : KG_STRIP;
        if (count_from(scores + from, count, entry_level(list, bound)) == 0)
            continue;
        for (size_t k = from; k < from + count; k++) {
            kg_id candidate = kg__blocks_first(block) + (kg_id)k;
            if (!is_below(scores[k], entry_level(list, bound)))
                consider_plain(
                    list, &tile->searches[i], candidate,
                    kg__blocks_score(blocks, vector, offsets_of(&tile->searches[i]), candidate));
        }
    }
}

static void search_block(kg_blocks *blocks, struct kg_top_hand *hand, const struct tile *tile,
                         size_t block) {
    if (tile->count <= FEW) {
        search_one_by_one(blocks, hand, tile, block);
        return;
    }
    kg__blocks_measure(blocks, block);
    kg__approx_scores_make(&hand->proposals, blocks, tile->vectors, tile->count, block);
    for (size_t i = 0; i < tile->count; i++)
        search_proposals(blocks, hand, tile, i, block);
}

/* A thread's share of the blocks. */
static void search_share(kg_top *top, const struct tile *tile, size_t share, size_t shares) {
    struct kg_top_hand *hand = &top->hands[share];
    size_t dim = top->blocks.params.dim;
    size_t first = top->blocks.count * share / shares;
    size_t end = top->blocks.count * (share + 1) / shares;
    for (size_t i = 0; i < tile->count; i++) {
        const real *vector = tile->vectors + i * dim;
        hand->lists[i] = (kg_list){.heap = hand->entries + i * tile->most, .most = tile->most};
        hand->lengths[i] = kg__length(vector, dim);
        consider_bonuses(&top->blocks, &hand->lists[i], &tile->searches[i], vector,
                         first * KG_BLOCK, end * KG_BLOCK);
        hand->proposals.asked[i] = offsets_of(&tile->searches[i]);
    }
    kg__approx_scores_take(&hand->proposals, &top->blocks, tile->is_cosine ? 0 : tile->count);
    for (size_t block = first; block < end; block++)
        search_block(&top->blocks, hand, tile, block);
}

static void merge(kg_top *top, size_t i, size_t shares) {
    kg_list *list = &top->hands[0].lists[i];
    for (size_t share = 1; share < shares; share++) {
        const kg_list *more = &top->hands[share].lists[i];
        list->met_damage = list->met_damage || more->met_damage;
        for (size_t k = 0; k < more->count; k++)
            kg__list_offer(list, more->heap[k]);
    }
    kg__list_sort(list);
}

/* The team may be smaller than asked for: shares go by its real size. */
static void search_tile(kg_top *top, const struct tile *tile) {
    size_t shares = 1;
#pragma omp parallel num_threads((int)top->threads) if (top->threads > 1)
    {
        size_t team = (size_t)omp_get_num_threads();
        if (omp_get_thread_num() == 0)
            shares = team;
        search_share(top, tile, (size_t)omp_get_thread_num(), team);
    }
    for (size_t i = 0; i < tile->count; i++) {
        merge(top, i, shares);
        top->met_damage = top->met_damage || top->hands[0].lists[i].met_damage;
    }
}

kg_status kg__top_find(kg_top *top, kg_candidate *out, size_t *found, const real *vectors,
                       const kg_search *searches, size_t count, size_t most, kg_error *error) {
    size_t length = within(top, most);
    size_t most_lists = kg__top_tile(top, most);
    memset(found, 0, count * sizeof *found);
    top->met_damage = false;
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
            const kg_list *list = &top->hands[0].lists[i];
            found[from + i] = list->count;
            memcpy(out + (from + i) * most, list->heap, list->count * sizeof *out);
        }
    }
    return KG_OK;
}

kg_status kg__top_find_nearest(kg_top *top, kg_candidate *out, size_t *found, const real *vector,
                               const kg_search *search, size_t most, kg_error *error) {
    struct tile tile = {vector, search, 1, within(top, most), true};
    *found = 0;
    top->met_damage = false;
    if (tile.most == 0)
        return KG_OK;
    KG_TRY(kg__top_reserve(top, most, error));
    search_tile(top, &tile);
    *found = top->hands[0].lists[0].count;
    memcpy(out, top->hands[0].lists[0].heap, *found * sizeof *out);
    return KG_OK;
}
