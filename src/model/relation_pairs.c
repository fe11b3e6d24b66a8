/* Pairs are counted one query relation after the other, over the entities that have facts of it:
 * each costs as many steps as the entity has relations. Echoes are counted before, entity by entity
 * over links by their other ends, in a table of those pairs that have any. */
#include "model/relation_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/lower_bound.h"
#include "base/memory.h"

void kg__pairs_free(kg_pairs *pairs) {
    kg__free(pairs->starts);
    kg__free(pairs->given);
    *pairs = (kg_pairs){0};
}

uint32_t kg__pairs_find(const kg_pairs *pairs, kg_directed query, kg_directed given) {
    if (query >= pairs->directed_count)
        return KG_NO_PAIR;
    size_t from = pairs->starts[query];
    size_t end = pairs->starts[query + 1];
    if (from == end) /* perhaps of no pairs at all */
        return KG_NO_PAIR;
    from += kg__lower_bound(pairs->given + from, end - from, sizeof *pairs->given, 0, given);
    return from < end && pairs->given[from] == given ? (uint32_t)from : KG_NO_PAIR;
}

/* The same directed relation elsewhere; one that does not exist if it is not there. */
static kg_directed map_directed(const kg_id *relations, kg_directed directed) {
    kg_id relation = relations[directed / 2];
    return relation == KG_NO_ID ? KG_MOST_DIRECTED : kg_direct(relation, kg_directed_end(directed));
}

void kg__pairs_copy_from(real *values, const kg_pairs *pairs, const real *others,
                         const kg_pairs *other_pairs, const kg_id *relations) {
    for (kg_directed query = 0; query < pairs->directed_count; query++)
        for (size_t i = pairs->starts[query]; i < pairs->starts[query + 1]; i++) {
            uint32_t pair = kg__pairs_find(other_pairs, map_directed(relations, query),
                                           map_directed(relations, pairs->given[i]));
            if (pair != KG_NO_PAIR)
                values[i] = others[pair];
        }
}

/* The entities that have facts of directed relation d: starts[d] up to starts[d + 1] of `*out`.
 * There are directed_count + 2 starts, zero before. */
static kg_status list_owners(kg_id **out, size_t *starts, const kg_adjacency *graph,
                             size_t directed_count, kg_error *error) {
    *out = kg__resize(NULL, (size_t)graph->starts[graph->entity_count], sizeof **out);
    if (*out == NULL)
        return kg__fail_memory(error);
    for (int pass = 0; pass < 2; pass++) { /* counts, then places */
        for (kg_id v = 0; v < graph->entity_count; v++) {
            const kg_link *links = kg__adjacency_links(graph, v);
            size_t degree = kg__adjacency_degree(graph, v);
            for (size_t i = 0; i < degree; i = kg__group_end(links, degree, i))
                if (pass == 0)
                    starts[links[i].directed + 2]++;
                else
                    (*out)[starts[links[i].directed + 1]++] = v;
        }
        for (size_t d = 0; d < directed_count && pass == 0; d++)
            starts[d + 2] += starts[d + 1];
    }
    return KG_OK;
}

/* ---- Echoes ---- */

/* How often each pair echoes: open addressing, at most half full. */
struct echo_slot {
    kg_directed query;
    kg_directed given;
    uint32_t times; /* 0: the slot is free */
};

struct echo_table {
    struct echo_slot *slots;
    size_t slot_count; /* a power of two */
    size_t used;
};

/* The slot of a pair, or the free one where it would be. */
static struct echo_slot *find_echo(const struct echo_table *table, kg_directed query,
                                   kg_directed given) {
    uint64_t hash = ((uint64_t)query << 32 | given) * UINT64_C(0x9E3779B97F4A7C15);
    size_t i = (size_t)(hash >> 32) & (table->slot_count - 1);
    while (table->slots[i].times > 0 &&
           (table->slots[i].query != query || table->slots[i].given != given))
        i = (i + 1) & (table->slot_count - 1);
    return &table->slots[i];
}

/* False if memory is short. */
static bool grow_echoes(struct echo_table *table) {
    struct echo_table larger = {.slot_count = table->slot_count == 0 ? 64 : 2 * table->slot_count,
                                .used = table->used};
    larger.slots = kg__alloc(larger.slot_count, sizeof *larger.slots);
    if (larger.slots == NULL)
        return false;
    for (size_t i = 0; i < table->slot_count; i++)
        if (table->slots[i].times > 0)
            *find_echo(&larger, table->slots[i].query, table->slots[i].given) = table->slots[i];
    kg__free(table->slots);
    *table = larger;
    return true;
}

static bool add_echo(struct echo_table *table, kg_directed query, kg_directed given) {
    if (2 * (table->used + 1) > table->slot_count && !grow_echoes(table))
        return false;
    struct echo_slot *slot = find_echo(table, query, given);
    table->used += slot->times == 0;
    *slot = (struct echo_slot){query, given, slot->times + 1};
    return true;
}

/* Each two of these links, which have the same other end. */
static bool add_echoes(struct echo_table *table, const kg_link *links, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            if (i != k && !add_echo(table, links[i].directed, links[k].directed))
                return false;
    return true;
}

static bool count_echoes(struct echo_table *table, const kg_link *links, kg_link *sorted,
                         kg_link *spare, size_t count) {
    bool good = true;
    kg__links_by_other(sorted, spare, links, count);
    for (size_t from = 0, to = 0; from < count && good; from = to) {
        while (to < count && sorted[to].other == sorted[from].other)
            to++;
        good = add_echoes(table, sorted + from, to - from);
    }
    return good;
}

static kg_status count_all_echoes(struct echo_table *table, const kg_adjacency *graph,
                                  kg_error *error) {
    size_t most = 0;
    for (kg_id v = 0; v < graph->entity_count; v++)
        most = kg__adjacency_degree(graph, v) > most ? kg__adjacency_degree(graph, v) : most;
    kg_link *sorted = kg__resize(NULL, most, 2 * sizeof *sorted);
    bool good = sorted != NULL && grow_echoes(table);
    for (kg_id v = 0; v < graph->entity_count && good; v++)
        good = count_echoes(table, kg__adjacency_links(graph, v), sorted, sorted + most,
                            kg__adjacency_degree(graph, v));
    kg__free(sorted);
    return good ? KG_OK : kg__fail_memory(error);
}

/* ---- Pairs ---- */

/* The counts of a pair. */
struct tally {
    uint32_t owners; /* entities that have facts of both, one of which can be queried */
    uint32_t facts;  /* facts of `given` that these have */
    uint32_t echoed; /* of these, facts whose other end is also an answer */
};

static void count_owner(struct tally *tallies, const kg_adjacency *graph, kg_id v,
                        kg_directed query) {
    const kg_link *links = kg__adjacency_links(graph, v);
    size_t count = kg__adjacency_degree(graph, v);
    for (size_t from = 0, to = 0; from < count; from = to) {
        to = kg__group_end(links, count, from);
        struct tally *tally = &tallies[links[from].directed];
        tally->owners += links[from].directed != query || to - from > 1;
        tally->facts += (uint32_t)(to - from);
    }
}

/* Which pairs to keep. */
struct filter {
    bool echoes;
    uint32_t times;
    double share;
    struct echo_table table; /* of echoes */
};

/* Counts of all pairs of a query relation with others, which owners have facts of. */
static void fill_tallies(struct tally *tallies, const kg_adjacency *graph, kg_directed query,
                         const kg_id *owners, size_t owner_count, const struct filter *filter,
                         size_t directed_count) {
    memset(tallies, 0, directed_count * sizeof *tallies);
    for (size_t i = 0; i < owner_count; i++)
        count_owner(tallies, graph, owners[i], query);
    for (kg_directed given = 0; given < directed_count && filter->echoes; given++)
        if (tallies[given].facts > 0)
            tallies[given].echoed = find_echo(&filter->table, query, given)->times;
}

static bool is_kept(const struct tally *tally, const struct filter *filter) {
    if (!filter->echoes)
        return tally->owners > 0;
    return tally->echoed >= filter->times &&
           (double)tally->echoed > filter->share * (double)tally->facts;
}

static kg_status keep_pairs(kg_pairs *out, size_t *capacity, kg_directed query,
                            const struct tally *tallies, const struct filter *filter,
                            kg_error *error) {
    for (size_t given = 0; given < out->directed_count; given++) {
        if (!is_kept(&tallies[given], filter))
            continue;
        if (out->count == KG_NO_PAIR)
            return kg_fail(error, KG_BAD_INPUT, "expected fewer than 2^32 pairs of relations");
        kg_directed *grown = kg__grow(out->given, capacity, out->count + 1, sizeof *grown);
        if (grown == NULL)
            return kg__fail_memory(error);
        out->given = grown;
        out->given[out->count++] = (kg_directed)given;
    }
    out->starts[query + 1] = (uint32_t)out->count;
    return KG_OK;
}

static kg_status make(kg_pairs *out, const kg_adjacency *graph, size_t directed_count,
                      const struct filter *filter, kg_error *error) {
    struct tally *tallies = kg__alloc(directed_count, sizeof *tallies);
    size_t *starts = kg__alloc(directed_count + 2, sizeof *starts);
    kg_id *owners = NULL;
    size_t capacity = 0;
    *out = (kg_pairs){.starts = kg__alloc(directed_count + 1, sizeof *out->starts),
                      .directed_count = directed_count};
    bool is_short = tallies == NULL || starts == NULL || out->starts == NULL;
    kg_status status = is_short ? kg__fail_memory(error)
                                : list_owners(&owners, starts, graph, directed_count, error);
    for (kg_directed query = 0; query < directed_count && status == KG_OK; query++) {
        fill_tallies(tallies, graph, query, owners + starts[query],
                     starts[query + 1] - starts[query], filter, directed_count);
        status = keep_pairs(out, &capacity, query, tallies, filter, error);
    }
    kg__free(owners);
    kg__free(starts);
    kg__free(tallies);
    if (status != KG_OK)
        kg__pairs_free(out);
    return status;
}

kg_status kg__pairs_make(kg_pairs *out, const kg_adjacency *graph, size_t directed_count,
                         kg_error *error) {
    return make(out, graph, directed_count, &(struct filter){0}, error);
}

kg_status kg__pairs_make_echoes(kg_pairs *out, const kg_adjacency *graph, size_t directed_count,
                                uint32_t times, double share, kg_error *error) {
    struct filter filter = {.echoes = true, .times = times, .share = share};
    *out = (kg_pairs){0};
    kg_status status = count_all_echoes(&filter.table, graph, error);
    if (status == KG_OK)
        status = make(out, graph, directed_count, &filter, error);
    kg__free(filter.table.slots);
    return status;
}

/* ---- On disk ---- */

kg_status kg__pairs_pack(kg_tensor *out, const char *name, const kg_pairs *pairs,
                         const real *values, kg_arena *arena, kg_error *error) {
    real *rows = kg__arena_take(arena, pairs->count, KG_PAIR_COLUMNS * sizeof *rows);
    if (rows == NULL)
        return kg__fail_memory(error);
    *out =
        (kg_tensor){.name = name, .values = rows, .rows = pairs->count, .columns = KG_PAIR_COLUMNS};
    for (size_t query = 0; query < pairs->directed_count; query++)
        for (size_t i = pairs->starts[query]; i < pairs->starts[query + 1]; i++) {
            real *row = rows + i * KG_PAIR_COLUMNS;
            row[0] = (real)query;
            row[1] = (real)pairs->given[i];
            row[2] = values[i];
        }
    return KG_OK;
}

/* Whether x is a directed relation. */
static bool is_number(real x, size_t count) {
    return x >= 0 && x < (real)count && x == (real)(kg_directed)x;
}

kg_status kg__pairs_unpack(kg_pairs *out, real **values, const kg_tensor *rows,
                           size_t directed_count, const char *path, kg_error *error) {
    if (rows->columns != KG_PAIR_COLUMNS || rows->rows >= KG_NO_PAIR)
        return kg_fail_at(error, path, 0, 0, "expected %s with %d columns, found %zu x %zu",
                          rows->name, KG_PAIR_COLUMNS, rows->rows, rows->columns);
    double last = -1;
    for (size_t i = 0; i < rows->rows; i++) {
        const real *row = rows->values + i * KG_PAIR_COLUMNS;
        double pair = (double)row[0] * KG_MOST_DIRECTED + (double)row[1];
        if (!is_number(row[0], directed_count) || !is_number(row[1], directed_count) ||
            !isfinite(row[2]) || pair <= last)
            return kg_fail_at(error, path, 0, 0,
                              "expected %s as pairs of directed relations in order, each with a "
                              "number, found something else in row %zu",
                              rows->name, i);
        last = pair;
    }
    *out = (kg_pairs){.directed_count = directed_count, .count = rows->rows};
    out->starts = kg__alloc(directed_count + 1, sizeof *out->starts);
    out->given = kg__alloc(rows->rows, sizeof *out->given);
    *values = kg__alloc(rows->rows, sizeof **values);
    if (out->starts == NULL || out->given == NULL || *values == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < rows->rows; i++) {
        const real *row = rows->values + i * KG_PAIR_COLUMNS;
        out->starts[(kg_directed)row[0] + 1]++;
        out->given[i] = (kg_directed)row[1];
        (*values)[i] = row[2];
    }
    for (size_t i = 0; i < directed_count; i++)
        out->starts[i + 1] += out->starts[i];
    return KG_OK;
}
