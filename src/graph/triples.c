/* Lists and sets of triples. */
#include "graph/triples.h"

#include <string.h>

#include "base/memory.h"
#include "base/thread_count.h"

#define NO_POSITION UINT32_MAX
#define PREFETCH_DISTANCE 16
#define PARALLEL_MIN 10000 /* triples: with fewer, threads are slower */

struct kg_triple_slot {
    uint32_t hash;
    uint32_t position; /* NO_POSITION where the slot is free */
};

void kg__triples_free(kg_triples *triples) {
    kg__free(triples->items);
    *triples = (kg_triples){0};
}

kg_status kg__triples_reserve(kg_triples *triples, size_t more, kg_error *error) {
    if (more >= NO_POSITION - triples->count)
        return kg_fail(error, KG_BAD_INPUT, "more than %u facts in one part", NO_POSITION - 1);
    kg_triple *items =
        kg__grow(triples->items, &triples->capacity, triples->count + more, sizeof *items);
    if (items == NULL)
        return kg__fail_memory(error);
    triples->items = items;
    return KG_OK;
}

kg_status kg__triples_push(kg_triples *triples, kg_triple triple, kg_error *error) {
    KG_TRY(kg__triples_reserve(triples, 1, error));
    triples->items[triples->count++] = triple;
    return KG_OK;
}

/* Multiplications by odd constants and a final mix (as in splitmix64): every bit of every id
 * reaches the low bits. */
static uint32_t hash_triple(kg_triple t) {
    uint64_t z = t.head * 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 32) ^ t.tail) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 29) ^ t.relation) * 0x94d049bb133111ebU;
    return (uint32_t)(z >> 32) ^ (uint32_t)z;
}

static bool same(kg_triple a, kg_triple b) {
    return a.head == b.head && a.relation == b.relation && a.tail == b.tail;
}

kg_status kg__triple_set_open(kg_triple_set *set, size_t count, kg_error *error) {
    set->slot_count = 16;
    while (set->slot_count / 3 < count / 2 + 1)
        set->slot_count *= 2;
    set->slots = kg__resize(NULL, set->slot_count, sizeof *set->slots);
    if (set->slots == NULL)
        return kg__fail_memory(error);
    memset(set->slots, 0xff, set->slot_count * sizeof *set->slots); /* all free */
    return KG_OK;
}

void kg__triple_set_close(kg_triple_set *set) {
    kg__free(set->slots);
    *set = (kg_triple_set){0};
}

bool kg__triple_set_add(kg_triple_set *set, const kg_triple *items, size_t position) {
    uint32_t hash = hash_triple(items[position]);
    size_t mask = set->slot_count - 1;
    size_t i = hash & mask;
    for (; set->slots[i].position != NO_POSITION; i = (i + 1) & mask)
        if (set->slots[i].hash == hash && same(items[set->slots[i].position], items[position]))
            return false;
    set->slots[i] = (struct kg_triple_slot){hash, (uint32_t)position};
    return true;
}

/* Equal triples have equal hashes, so each thread handles a share of the hashes, with a set of its
 * own. `repeated` does not depend on the number of threads. */
static unsigned share_of(kg_triple triple, unsigned shares) {
    return (unsigned)((uint64_t)hash_triple(triple) * shares >> 32);
}

/* False if memory is short. */
static bool mark_repeated(const kg_triples *triples, bool *repeated, unsigned share,
                          unsigned shares) {
    const kg_triple *items = triples->items;
    size_t count = 0;
    for (size_t i = 0; i < triples->count; i++)
        count += share_of(items[i], shares) == share;
    kg_triple_set set = {0};
    if (kg__triple_set_open(&set, count, NULL) != KG_OK)
        return false;
    for (size_t i = 0; i < triples->count; i++) {
        size_t ahead = i + PREFETCH_DISTANCE;
        if (ahead < triples->count && share_of(items[ahead], shares) == share)
            __builtin_prefetch(&set.slots[hash_triple(items[ahead]) & (set.slot_count - 1)]);
        if (share_of(items[i], shares) == share)
            repeated[i] = !kg__triple_set_add(&set, items, i);
    }
    kg__triple_set_close(&set);
    return true;
}

kg_status kg__triples_unique(kg_triples *triples, size_t *dropped, kg_error *error) {
    const unsigned shares = 4;
    bool *repeated = kg__alloc(triples->count, sizeof *repeated);
    if (repeated == NULL)
        return kg__fail_memory(error);
    bool good = true;
#pragma omp parallel for schedule(dynamic) reduction(&& : good) num_threads(kg__threads(0)) \
    if (triples->count > PARALLEL_MIN)
    for (unsigned share = 0; share < shares; share++)
        good = mark_repeated(triples, repeated, share, shares) && good;
    size_t kept = 0;
    for (size_t i = 0; good && i < triples->count; i++)
        if (!repeated[i])
            triples->items[kept++] = triples->items[i];
    kg__free(repeated);
    if (!good)
        return kg__fail_memory(error);
    *dropped = triples->count - kept;
    triples->count = kept;
    return KG_OK;
}
