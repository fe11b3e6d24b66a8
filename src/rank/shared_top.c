/* Each finds its best, and all merge what all have found: the order of candidates is total, so they
 * come to the same lists. */
#include "rank/shared_top.h"

#include "base/memory.h"

/* Of all ranks: lists of `most` entries, and how many each has. */
struct found {
    kg_candidate *lists;
    size_t *counts;
    size_t queries;
    size_t most;
};

static void merge(kg_candidate *out, size_t *found, const struct found *all, size_t ranks,
                  const kg_names *names) {
    for (size_t i = 0; i < all->queries; i++) {
        kg_top_heap list = {.heap = out + i * all->most, .most = all->most, .names = names};
        for (size_t rank = 0; rank < ranks; rank++) {
            size_t at = rank * all->queries + i;
            for (size_t k = 0; k < all->counts[at]; k++)
                kg__top_heap_offer(&list, all->lists[at * all->most + k]);
        }
        kg__top_heap_sort(&list);
        found[i] = list.count;
    }
}

kg_status kg__shared_top_find(kg_top *top, kg_ranks *ranks, kg_candidate *out, size_t *found,
                              const real *vectors, const kg_search *searches, size_t count,
                              size_t most, kg_error *error) {
    size_t lists = ranks->count * count;
    size_t own = ranks->number * count;
    struct found all = {.lists = kg__alloc(lists, most * sizeof *all.lists),
                        .counts = kg__alloc(lists, sizeof *all.counts),
                        .queries = count,
                        .most = most};
    kg_status status = all.lists == NULL || all.counts == NULL
                           ? kg__fail_memory(error)
                           : kg__top_find(top, all.lists + own * most, all.counts + own, vectors,
                                          searches, count, most, error);
    status = kg__ranks_agree(ranks, status, error);
    if (status == KG_OK && all.lists != NULL && all.counts != NULL) {
        kg__ranks_gather(ranks, all.lists, count * most * sizeof *all.lists);
        kg__ranks_gather(ranks, all.counts, count * sizeof *all.counts);
        merge(out, found, &all, ranks->count, kg__blocks_names(&top->blocks));
    }
    kg__free(all.lists);
    kg__free(all.counts);
    return status;
}
