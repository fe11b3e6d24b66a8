/* Top-k: the candidates with the highest scores, sorted; ties are broken as in top_heap.h. As in
 * ranking, matrix products are approximate and final scores decide: a list is the same for any
 * number of threads, alone or in a batch. NaN is never listed. */
#ifndef KG_RANK_TOP_K_H
#define KG_RANK_TOP_K_H

#include "model/quantized_rows.h"
#include "rank/approx_scores.h"
#include "rank/top_heap.h"
#include "terms/scorer.h"

/* One list: candidate u scores u . vector + prior + offset; the answers `left_out`, sorted by id,
 * are not listed. Entries carry the directed relation of the query. */
typedef struct kg_search {
    kg_directed directed;
    bool is_by_row; /* the vector comes from a row: there are no priors */
    const kg_link *left_out;
    size_t left_out_count;
    const kg_link *unfiltered; /* one of them that is listed nevertheless; may be NULL */
    const kg_id *itself;       /* an entity that is never listed; may be NULL */
    kg_offset_run offsets;
} kg_search;

/* Scratch memory, reused by one caller at a time. */
typedef struct kg_top {
    kg_blocks blocks;
    size_t threads;
    size_t capacity;                  /* entries that each thread has for its lists */
    struct kg_top_thread *per_thread; /* one for each thread */
    size_t first; /* block that is searched, and how many further the next one is: 0 and 1, unless
                   * processes share the candidates */
    size_t every;
    kg_quantized_rows quantized; /* all zeroes: rows propose answers themselves */
    bool found_nonfinite;        /* in the last search, a candidate's score was not finite */
} kg_top;

KG_MUST_CHECK kg_status kg__top_open(kg_top *top, const kg_params *params, size_t candidates,
                                     size_t threads, kg_error *error);
void kg__top_close(kg_top *top);

/* Few lists at a time, which take as long as rows take to be read, are proposed by a quantised copy
 * of the rows from now on. */
KG_MUST_CHECK kg_status kg__top_use_quantized(kg_top *top, const kg_quantized_rows *quantized,
                                              kg_error *error);

/* How many lists of that length are best computed together. */
size_t kg__top_tile(const kg_top *top, size_t most);

/* Allocates memory for lists of that length, so that finding them allocates nothing. */
KG_MUST_CHECK kg_status kg__top_reserve(kg_top *top, size_t most, kg_error *error);

/* Lists of at most `most`: list i is out[i * most] and following, found[i] of them. The vectors are
 * count x dim. */
KG_MUST_CHECK kg_status kg__top_find(kg_top *top, kg_candidate *out, size_t *found,
                                     const real *vectors, const kg_search *searches, size_t count,
                                     size_t most, kg_error *error);

/* One list by cosine instead of the dot product, without priors; rows of length 0 are not listed.
 */
KG_MUST_CHECK kg_status kg__top_find_nearest(kg_top *top, kg_candidate *out, size_t *found,
                                             const real *vector, const kg_search *search,
                                             size_t most, kg_error *error);

#endif
