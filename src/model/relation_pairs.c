/* Pairs are counted one query relation after the other, over the entities that have facts of it. */
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

/* The entities that have facts of each directed relation, in compressed rows. */
struct owners {
    size_t *starts; /* directed_count + 1 */
    kg_id *entities;
};

static size_t group_end(const kg_link *links, size_t count, size_t from) {
    size_t to = from + 1;
    while (to < count && links[to].directed == links[from].directed)
        to++;
    return to;
}

/* Counts each entity's groups at `starts[directed + 2]`, or places them at `starts[directed + 1]`.
 */
static void visit_groups(struct owners *owners, const kg_adjacency *graph, bool place) {
    for (kg_id v = 0; v < graph->entity_count; v++) {
        const kg_link *links = kg__adjacency_links(graph, v);
        size_t count = kg__adjacency_degree(graph, v);
        for (size_t i = 0; i < count; i = group_end(links, count, i)) {
            if (place)
                owners->entities[owners->starts[links[i].directed + 1]++] = v;
            else
                owners->starts[links[i].directed + 2]++;
        }
    }
}

static kg_status find_owners(struct owners *owners, const kg_adjacency *graph,
                             size_t directed_count, kg_error *error) {
    owners->starts = kg__alloc(directed_count + 2, sizeof *owners->starts);
    if (owners->starts == NULL)
        return kg__fail_memory(error);
    visit_groups(owners, graph, false);
    for (size_t i = 2; i < directed_count + 2; i++)
        owners->starts[i] += owners->starts[i - 1];
    owners->entities = kg__alloc(owners->starts[directed_count + 1], sizeof *owners->entities);
    if (owners->entities == NULL)
        return kg__fail_memory(error);
    visit_groups(owners, graph, true);
    return KG_OK;
}

/* The counts of a pair. */
struct tally {
    uint32_t owners; /* entities that have facts of both, one of which can be queried */
    uint32_t facts;  /* facts of `given` that these have */
    uint32_t echoed; /* of these, facts whose other end is also an answer */
};

static void count_echoes(struct tally *tallies, const kg_link *links, size_t count, size_t from,
                         size_t to) {
    for (size_t i = 0; i < count; i++) {
        if (i >= from && i < to)
            continue;
        kg_link same = {links[from].directed, links[i].other};
        if (kg__links_find(links + from, to - from, same) < to - from)
            tallies[links[i].directed].echoed++;
    }
}

static void count_owner(struct tally *tallies, const kg_adjacency *graph, kg_id v,
                        kg_directed query, bool with_echoes) {
    const kg_link *links = kg__adjacency_links(graph, v);
    size_t count = kg__adjacency_degree(graph, v);
    size_t own = 0;
    size_t own_end = 0;
    for (size_t from = 0, to = 0; from < count; from = to) {
        to = group_end(links, count, from);
        struct tally *tally = &tallies[links[from].directed];
        if (links[from].directed == query) {
            own = from;
            own_end = to;
        }
        tally->owners += links[from].directed != query || to - from > 1;
        tally->facts += (uint32_t)(to - from);
    }
    if (with_echoes)
        count_echoes(tallies, links, count, own, own_end);
}

/* Which pairs to keep. */
struct filter {
    bool echoes;
    uint32_t times;
    double share;
};

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
    struct owners owners = {0};
    struct tally *tallies = kg__alloc(directed_count, sizeof *tallies);
    size_t capacity = 0;
    *out = (kg_pairs){.directed_count = directed_count};
    out->starts = kg__alloc(directed_count + 1, sizeof *out->starts);
    kg_status status = tallies == NULL || out->starts == NULL ? kg__fail_memory(error) : KG_OK;
    if (status == KG_OK)
        status = find_owners(&owners, graph, directed_count, error);
    for (kg_directed query = 0; query < directed_count && status == KG_OK; query++) {
        memset(tallies, 0, directed_count * sizeof *tallies);
        for (size_t i = owners.starts[query]; i < owners.starts[query + 1]; i++)
            count_owner(tallies, graph, owners.entities[i], query, filter->echoes);
        status = keep_pairs(out, &capacity, query, tallies, filter, error);
    }
    kg__free(owners.starts);
    kg__free(owners.entities);
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
    return make(out, graph, directed_count, &(struct filter){true, times, share}, error);
}

/* ---- On disk ---- */

kg_status kg__pairs_pack(kg_tensor *out, const char *name, const kg_pairs *pairs,
                         const real *values, kg_arena *arena, kg_error *error) {
    real *rows = kg__arena_take(arena, pairs->count, KG_PAIR_COLUMNS * sizeof *rows);
    if (rows == NULL)
        return kg__fail_memory(error);
    *out = (kg_tensor){name, rows, pairs->count, KG_PAIR_COLUMNS};
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

/* Whether a row is valid and its pair greater than that of the row before. */
static bool is_row(const real *row, bool has_before, size_t count) {
    const real *before = row - KG_PAIR_COLUMNS;
    return is_number(row[0], count) && is_number(row[1], count) && isfinite(row[2]) &&
           (!has_before || before[0] < row[0] || (before[0] == row[0] && before[1] < row[1]));
}

kg_status kg__pairs_unpack(kg_pairs *out, real **values, const kg_tensor *rows,
                           size_t directed_count, const char *path, kg_error *error) {
    if (rows->columns != KG_PAIR_COLUMNS || rows->rows >= KG_NO_PAIR)
        return kg_fail_at(error, path, 0, 0, "expected %s with %d columns, found %zu x %zu",
                          rows->name, KG_PAIR_COLUMNS, rows->rows, rows->columns);
    for (size_t i = 0; i < rows->rows; i++)
        if (!is_row(rows->values + i * KG_PAIR_COLUMNS, i > 0, directed_count))
            return kg_fail_at(error, path, 0, 0,
                              "expected %s as pairs of directed relations in order, each with a "
                              "number, found something else in row %zu",
                              rows->name, i);
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
