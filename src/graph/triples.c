/* Lists and sets of triples. */
#include "graph/triples.h"

#include <string.h>

#include "base/memory.h"
#include "base/thread_count.h"

#define NO_POSITION UINT32_MAX
#define GROUP 32           /* triples whose slots are prefetched together */
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

/* Equal triples have equal hashes, so they are searched for in shares of the hashes, each with a
 * set of its own: a small one, that caches hold, and threads need no more than one each. */
#define SHARE_FACTS ((size_t)1 << 18)
#define LEAST_SHARES 4
#define MOST_SHARES 32 /* the share of all triples is looked at for each of them */

static uint8_t share_of(kg_triple triple, size_t shares) {
    return (uint8_t)((uint64_t)hash_triple(triple) * shares >> 32);
}

static size_t count_shares(size_t count) {
    size_t shares = count / SHARE_FACTS;
    if (shares < LEAST_SHARES)
        return LEAST_SHARES;
    return shares > MOST_SHARES ? MOST_SHARES : shares;
}

/* The next positions of a share, from `*from` on, at most GROUP: as many as hide the latency of
 * memory. */
static size_t find_group(size_t positions[GROUP], const uint8_t *share_by, size_t count,
                         size_t share, size_t *from) {
    size_t found = 0;
    while (found < GROUP) {
        const uint8_t *next = memchr(share_by + *from, (int)share, count - *from);
        if (next == NULL)
            break;
        positions[found++] = (size_t)(next - share_by);
        *from = positions[found - 1] + 1;
    }
    return found;
}

/* False if memory is short. `share_by` has the share of each triple, `size` of them this one. */
static bool mark_repeated(const kg_triples *triples, bool *repeated, const uint8_t *share_by,
                          size_t share, size_t size) {
    const kg_triple *items = triples->items;
    kg_triple_set set = {0};
    if (kg__triple_set_open(&set, size, NULL) != KG_OK)
        return false;
    size_t positions[GROUP];
    size_t from = 0;
    for (size_t found = 1; found > 0;) {
        found = find_group(positions, share_by, triples->count, share, &from);
        for (size_t i = 0; i < found; i++)
            __builtin_prefetch(&set.slots[hash_triple(items[positions[i]]) & (set.slot_count - 1)]);
        for (size_t i = 0; i < found; i++)
            repeated[positions[i]] = !kg__triple_set_add(&set, items, positions[i]);
    }
    kg__triple_set_close(&set);
    return true;
}

/* `repeated` does not depend on the number of threads. False if memory is short. */
static bool find_repeated(const kg_triples *triples, bool *repeated, uint8_t *share_by) {
    size_t shares = count_shares(triples->count);
    size_t sizes[MOST_SHARES] = {0};
    bool good = true;
#pragma omp parallel num_threads(kg__threads(0)) if (triples->count > PARALLEL_MIN)
    {
#pragma omp for reduction(+ : sizes)
        for (size_t i = 0; i < triples->count; i++)
            sizes[share_by[i] = share_of(triples->items[i], shares)]++;
#pragma omp for schedule(dynamic) reduction(&& : good)
        for (size_t share = 0; share < shares; share++)
            good = mark_repeated(triples, repeated, share_by, share, sizes[share]) && good;
    }
    return good;
}

kg_status kg__triples_unique(kg_triples *triples, size_t *dropped, kg_error *error) {
    bool *repeated = kg__alloc(triples->count, sizeof *repeated);
    uint8_t *share_by = kg__resize(NULL, triples->count, sizeof *share_by);
    bool good = repeated != NULL && share_by != NULL && find_repeated(triples, repeated, share_by);
    size_t kept = 0;
    for (size_t i = 0; good && i < triples->count; i++)
        if (!repeated[i])
            triples->items[kept++] = triples->items[i];
    kg__free(repeated);
    kg__free(share_by);
    if (!good)
        return kg__fail_memory(error);
    *dropped = triples->count - kept;
    triples->count = kept;
    return KG_OK;
}
