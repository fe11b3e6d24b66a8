/* Rules are counted in two passes. The first follows every path and finds the rules that have hits;
 * most have none. The second counts the predictions of these rules, for which only the number of
 * entities at the end of a last step matters, not which they are. Counts are integers in units of
 * 2^-24, so that the order of additions does not matter. */
#include "terms/features/rules.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "terms/features/rule_walk.h"

/* Limits of time and memory for large graphs: every n-th entity is sampled, so that together they
 * have about MOST_QUERIES facts, until there are MOST_HITS hits; and if an entity has more than
 * MOST_STARTS facts, every n-th starts paths. */
#define MOST_QUERIES ((size_t)1 << 19)
#define MOST_HITS ((size_t)1 << 25)
#define MOST_STARTS ((size_t)1 << 12)

#define ONE ((uint64_t)1 << 24)

static size_t stride_of(size_t count, size_t most) {
    return count <= most ? 1 : (count + most - 1) / most;
}

/* Of the total weight of an entity's queries with one directed relation, that of each answer, and
 * that of a wrong prediction: a path that starts with an answer exists in all queries but the one
 * for it. */
static uint64_t hit_weight(size_t answers) {
    return (ONE + answers / 2) / answers;
}

static uint64_t miss_weight(size_t answers, bool starts_with_answer) {
    return starts_with_answer ? ONE - hit_weight(answers) : ONE;
}

/* ---- Rules with hits, in a hash table ---- */

/* Steps are stored plus one, followed by zeroes, so that prefixes sort before longer rules. */
struct chain {
    kg_directed query;
    uint32_t steps[KG_MOST_STEPS];
    uint32_t width;
};

struct entry {
    struct chain chain;
    uint64_t hits;
    uint64_t as_misses; /* the weight of the same paths, had they been misses; 0 if empty */
};

struct table {
    struct entry *entries;
    size_t capacity; /* a power of two */
    size_t count;
};

static uint64_t hash_chain(const struct chain *chain) {
    uint64_t hash = chain->query * UINT64_C(0x9E3779B97F4A7C15) + chain->width;
    for (size_t i = 0; i < KG_MOST_STEPS; i++) {
        hash = (hash ^ chain->steps[i]) * UINT64_C(0xBF58476D1CE4E5B9);
        hash ^= hash >> 29;
    }
    return hash;
}

/* The entry of a chain, or the empty one where it belongs. */
static struct entry *find_entry(const struct table *table, const struct chain *chain) {
    size_t i = (size_t)hash_chain(chain) & (table->capacity - 1);
    while (table->entries[i].as_misses > 0 &&
           memcmp(&table->entries[i].chain, chain, sizeof *chain) != 0)
        i = (i + 1) & (table->capacity - 1);
    return &table->entries[i];
}

static bool grow_table(struct table *table) {
    struct table larger = {.capacity = table->capacity == 0 ? 1024 : 2 * table->capacity,
                           .count = table->count};
    larger.entries = kg__alloc(larger.capacity, sizeof *larger.entries);
    if (larger.entries == NULL)
        return false;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->entries[i].as_misses > 0)
            *find_entry(&larger, &table->entries[i].chain) = table->entries[i];
    kg__free(table->entries);
    *table = larger;
    return true;
}

static bool add_hit(struct table *table, const struct chain *chain, uint64_t hit, uint64_t miss) {
    if (table->count >= table->capacity / 2 && !grow_table(table))
        return false;
    struct entry *entry = find_entry(table, chain);
    table->count += entry->as_misses == 0;
    entry->chain = *chain;
    entry->hits += hit;
    entry->as_misses += miss;
    return true;
}

static int compare_chains(const struct chain *a, const struct chain *b) {
    if (a->query != b->query)
        return a->query < b->query ? -1 : 1;
    for (size_t i = 0; i < KG_MOST_STEPS; i++)
        if (a->steps[i] != b->steps[i])
            return a->steps[i] < b->steps[i] ? -1 : 1;
    return a->width < b->width ? -1 : a->width > b->width;
}

static int compare_entries(const void *a, const void *b) {
    return compare_chains(&((const struct entry *)a)->chain, &((const struct entry *)b)->chain);
}

/* ---- The first pass: hits ---- */

/* `other` is one of `answers` answers to a query. */
struct answer {
    kg_id other;
    kg_directed query;
    uint32_t answers;
};

/* One per thread. */
struct hit_counter {
    const kg_adjacency *graph;
    size_t most_steps;
    struct table table;
    bool is_short_of_memory;
    size_t hits;

    struct answer *answers; /* of the current entity, sorted by `other` */
    size_t answer_count;
    size_t capacity;
    uint32_t *places; /* of each entity: 1 + its first position among the answers, or 0 */

    kg_path_so_far path;
    struct chain chain;
    size_t length;
};

static int compare_answers(const void *a, const void *b) {
    const struct answer *x = a;
    const struct answer *y = b;
    if (x->other != y->other)
        return x->other < y->other ? -1 : 1;
    return x->query < y->query ? -1 : x->query > y->query;
}

static bool list_answers(struct hit_counter *counter, const kg_link *links, size_t count) {
    struct answer *grown =
        kg__grow(counter->answers, &counter->capacity, count, sizeof *counter->answers);
    if (grown == NULL)
        return false;
    counter->answers = grown;
    counter->answer_count = count;
    for (size_t from = 0, to = 0; from < count; from = to) {
        to = kg__group_end(links, count, from);
        for (size_t i = from; i < to; i++)
            grown[i] = (struct answer){links[i].other, links[i].directed, (uint32_t)(to - from)};
    }
    qsort(grown, count, sizeof *grown, compare_answers);
    for (size_t i = count; i-- > 0;)
        counter->places[grown[i].other] = (uint32_t)i + 1;
    return true;
}

static void clear_answers(struct hit_counter *counter) {
    for (size_t i = 0; i < counter->answer_count; i++)
        counter->places[counter->answers[i].other] = 0;
}

/* A path ends at an entity: one hit for each query that it is an answer to. */
static void count_hits(struct hit_counter *counter, kg_id at) {
    if (counter->places[at] == 0)
        return;
    for (size_t i = counter->places[at] - 1;
         i < counter->answer_count && counter->answers[i].other == at; i++) {
        const struct answer *answer = &counter->answers[i];
        bool starts_with_answer = counter->chain.steps[0] == answer->query + 1;
        if (starts_with_answer && counter->length == 1)
            continue; /* the queried fact itself */
        counter->chain.query = answer->query;
        counter->hits++;
        if (!add_hit(&counter->table, &counter->chain, hit_weight(answer->answers),
                     miss_weight(answer->answers, starts_with_answer)))
            counter->is_short_of_memory = true;
    }
}

static void follow(struct hit_counter *counter, kg_spread spread);

/* Extends the path by links of one directed relation. */
static void follow_step(struct hit_counter *counter, const kg_link *links, size_t count,
                        kg_spread spread) {
    spread.fan *= kg__path_so_far_unvisited(&counter->path, links, count);
    if (spread.fan == 0 || spread.fan > KG_MOST_FAN)
        return;
    counter->chain.steps[counter->length++] = links[0].directed + 1;
    bool is_extended = counter->length < counter->most_steps && spread.reach <= KG_MOST_REACH;
    for (size_t i = 0; i < count; i++) {
        if (kg__path_so_far_has(&counter->path, links[i].other))
            continue;
        counter->chain.width = kg__width(spread.fan);
        count_hits(counter, links[i].other);
        if (is_extended) {
            counter->path.links[counter->path.count++] = links[i];
            follow(counter, spread);
            counter->path.count--;
        }
    }
    counter->chain.steps[--counter->length] = 0;
}

static void follow(struct hit_counter *counter, kg_spread spread) {
    if (!kg__path_so_far_extends(&counter->path, counter->graph, &spread.reach))
        return;
    kg_id here = counter->path.links[counter->path.count - 1].other;
    const kg_link *links = kg__adjacency_links(counter->graph, here);
    size_t count = kg__adjacency_degree(counter->graph, here);
    for (size_t from = 0, to = 0; from < count; from = to) {
        to = kg__group_end(links, count, from);
        follow_step(counter, links + from, to - from, spread);
    }
}

static void find_hits(struct hit_counter *counter, kg_id self) {
    const kg_link *links = kg__adjacency_links(counter->graph, self);
    size_t count = kg__adjacency_degree(counter->graph, self);
    if (counter->is_short_of_memory || !list_answers(counter, links, count)) {
        counter->is_short_of_memory = true;
        return;
    }
    counter->path = (kg_path_so_far){.links = {{KG_SELF, self}}, .count = 1};
    size_t stride = stride_of(count, MOST_STARTS);
    for (size_t i = 0; i < count; i += stride)
        follow_step(counter, links + i, 1, (kg_spread){1, 1});
    clear_answers(counter);
}

static bool open_counter(struct hit_counter *counter, const kg_adjacency *graph,
                         size_t most_steps) {
    *counter = (struct hit_counter){.graph = graph, .most_steps = most_steps};
    counter->places = kg__alloc(graph->entity_count, sizeof *counter->places);
    return counter->places != NULL;
}

static void close_counter(struct hit_counter *counter) {
    kg__free(counter->table.entries);
    kg__free(counter->answers);
    kg__free(counter->places);
}

/* The hits of all threads, sorted, one entry per chain. */
static kg_status merge(struct table *out, const struct hit_counter *counters, size_t count,
                       kg_error *error) {
    bool is_short_of_memory = false;
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        is_short_of_memory = is_short_of_memory || counters[i].is_short_of_memory;
        total += counters[i].table.count;
    }
    *out = (struct table){.entries = kg__alloc(total, sizeof *out->entries)};
    if (is_short_of_memory || out->entries == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < counters[i].table.capacity; k++)
            if (counters[i].table.entries[k].as_misses > 0)
                out->entries[out->count++] = counters[i].table.entries[k];
    qsort(out->entries, total, sizeof *out->entries, compare_entries);
    size_t kept = 0;
    for (size_t i = 0; i < total; i++) {
        const struct entry *entry = &out->entries[i];
        if (kept > 0 && compare_entries(entry, &out->entries[kept - 1]) == 0) {
            out->entries[kept - 1].hits += entry->hits;
            out->entries[kept - 1].as_misses += entry->as_misses;
        } else {
            out->entries[kept++] = *entry;
        }
    }
    out->count = kept;
    return KG_OK;
}

/* ---- Sampling entities ---- */

/* Every n-th entity, in a permuted order, of which the first `count` are used. */
struct sample {
    size_t stride;
    size_t all;
    size_t count;
};

static struct sample make_sample(const kg_adjacency *graph) {
    size_t stride = stride_of((size_t)graph->starts[graph->entity_count], MOST_QUERIES);
    size_t count = (graph->entity_count + stride - 1) / stride;
    return (struct sample){stride, count, count};
}

/* Multiplication by a prime above any size of a sample is a permutation. */
static kg_id sample_at(const struct sample *sample, size_t i) {
    return (kg_id)(i * UINT64_C(4294967311) % sample->all * sample->stride);
}

/* One pass over the sample, in parallel. */
struct pass {
    const char *stage;
    void (*visit)(void *payload, kg_id self);
    bool (*is_enough)(const void *payload); /* ends the pass; may be NULL */
    void *payload;
};

/* Entities between two reports of progress and tests of is_enough: a constant, so that results do
 * not depend on the number of threads. */
#define CHUNK 1024

/* If the pass ends early, the sample is cut to the entities that were visited. */
static kg_status visit_all(const struct pass *pass, struct sample *sample,
                           const kg_rule_options *options, kg_error *error) {
    for (size_t from = 0; from < sample->count; from += CHUNK) {
        kg_progress_report report = {
            .stage = pass->stage, .unit = "entities", .done = from, .total = sample->count};
        KG_TRY(kg__progress_tick(options->progress, &report, error));
        size_t to = sample->count - from < CHUNK ? sample->count : from + CHUNK;
#pragma omp parallel for schedule(dynamic, 16) num_threads(options->threads)
        for (size_t i = from; i < to; i++)
            pass->visit(pass->payload, sample_at(sample, i));
        if (pass->is_enough != NULL && pass->is_enough(pass->payload))
            sample->count = to;
    }
    return KG_OK;
}

/* One counter per thread. */
struct hit_counters {
    struct hit_counter *list;
    size_t count;
};

static void visit_for_hits(void *payload, kg_id self) {
    const struct hit_counters *counters = payload;
    find_hits(&counters->list[omp_get_thread_num()], self);
}

static bool has_enough_hits(const void *payload) {
    const struct hit_counters *counters = payload;
    size_t hits = 0;
    for (size_t i = 0; i < counters->count; i++)
        hits += counters->list[i].hits;
    return hits > MOST_HITS;
}

static kg_status find_all(struct table *out, const kg_adjacency *graph, struct sample *sample,
                          const kg_rule_options *options, kg_error *error) {
    size_t threads = (size_t)options->threads;
    struct hit_counter *counters = kg__alloc(threads, sizeof *counters);
    if (counters == NULL)
        return kg__fail_memory(error);
    bool opened = true;
    for (size_t i = 0; i < threads; i++)
        opened = open_counter(&counters[i], graph, options->most_steps) && opened;
    struct hit_counters all = {counters, threads};
    struct pass pass = {"finding rules", visit_for_hits, has_enough_hits, &all};
    kg_status status = opened ? visit_all(&pass, sample, options, error) : kg__fail_memory(error);
    if (status == KG_OK)
        status = merge(out, counters, threads, error);
    for (size_t i = 0; i < threads; i++)
        close_counter(&counters[i]);
    kg__free(counters);
    return status;
}

/* ---- Tries ---- */

static size_t length_of(const struct chain *chain) {
    size_t length = 0;
    while (length < KG_MOST_STEPS && chain->steps[length] != 0)
        length++;
    return length;
}

/* The length of the common prefix of two chains. */
static size_t common_steps(const struct chain *a, const struct chain *b) {
    size_t length = 0;
    while (length < KG_MOST_STEPS && a->steps[length] == b->steps[length])
        length++;
    return length;
}

/* Whether the entry at `i` is the first with its first `length` steps. */
static bool starts_rule(const struct table *table, size_t i, size_t length) {
    const struct chain *chain = &table->entries[i].chain;
    if (length_of(chain) < length)
        return false;
    if (i == 0)
        return true;
    const struct chain *before = &table->entries[i - 1].chain;
    return before->query != chain->query || common_steps(before, chain) < length;
}

/* Where the rules of each length start in the list. */
static void find_lengths(size_t *firsts, const struct table *table) {
    size_t counts[KG_MOST_STEPS + 2] = {0};
    for (size_t i = 0; i < table->count; i++)
        for (size_t length = 1; length <= KG_MOST_STEPS; length++)
            counts[length] += starts_rule(table, i, length);
    firsts[0] = 0;
    for (size_t length = 1; length < KG_MOST_STEPS + 2; length++)
        firsts[length] = firsts[length - 1] + counts[length - 1];
}

/* Entries are sorted, and so are the rules of each length: `next` has the end of each length so
 * far. Each entry is a tally. */
static void list_rules(kg_rules *out, const struct table *table, size_t *next) {
    for (size_t i = 0; i < table->count; i++) {
        const struct chain *chain = &table->entries[i].chain;
        size_t own = length_of(chain);
        for (size_t length = 1; length <= own; length++) {
            if (!starts_rule(table, i, length))
                continue;
            out->list[next[length]++] = (kg_rule){.step = chain->steps[length - 1] - 1,
                                                  .first_next = (uint32_t)next[length + 1],
                                                  .first_tally = (uint32_t)i};
            if (length == 1)
                out->starts[chain->query + 1]++;
            else
                out->list[next[length - 1] - 1].next_count++;
        }
        out->list[next[own] - 1].tally_count++;
        out->tallies[i].width = chain->width;
    }
    for (size_t i = 0; i < out->directed_count; i++)
        out->starts[i + 1] += out->starts[i];
}

static kg_status make_tries(kg_rules *out, const struct table *table, size_t directed_count,
                            kg_error *error) {
    size_t firsts[KG_MOST_STEPS + 2];
    find_lengths(firsts, table);
    *out = (kg_rules){.count = firsts[KG_MOST_STEPS + 1],
                      .directed_count = directed_count,
                      .tally_count = table->count};
    size_t most = out->count > out->tally_count ? out->count : out->tally_count;
    if (most > UINT32_MAX)
        return kg_fail(error, KG_BAD_INPUT, "expected fewer than 2^32 rules, found %zu", most);
    out->list = kg__alloc(out->count, sizeof *out->list);
    out->starts = kg__alloc(directed_count + 1, sizeof *out->starts);
    out->tallies = kg__alloc(out->tally_count, sizeof *out->tallies);
    if (out->list == NULL || out->starts == NULL || out->tallies == NULL)
        return kg__fail_memory(error);
    list_rules(out, table, firsts);
    return KG_OK;
}

void kg__rules_free(kg_rules *rules) {
    kg__free(rules->list);
    kg__free(rules->starts);
    kg__free(rules->tallies);
    *rules = (kg_rules){0};
}

const kg_rule_tally *kg__rules_tally(const kg_rules *rules, const kg_rule *rule, unsigned width) {
    const kg_rule_tally *tallies = rules->tallies + rule->first_tally;
    for (size_t i = 0; i < rule->tally_count; i++)
        if (tallies[i].width == width)
            return &tallies[i];
    return NULL;
}

/* ---- The second pass: predictions ---- */

struct prediction_counter {
    const kg_adjacency *graph;
    const kg_rules *rules;
    uint64_t *totals; /* of each tally: the weight of all paths, as if none were a hit */
    uint64_t weight;  /* of each path */
};

static void count_arrival(void *payload, const kg_arrival *arrival) {
    const struct prediction_counter *counter = payload;
    const kg_rules *rules = counter->rules;
    const kg_rule_tally *tally = kg__rules_tally(rules, arrival->rule, kg__width(arrival->fan));
    if (tally == NULL)
        return;
    uint64_t *total = &counter->totals[tally - rules->tallies];
#pragma omp atomic
    *total += counter->weight * arrival->unvisited;
}

/* The paths of one entity for one query, whose answers are its links `from` up to `to`. */
static void count_paths(const kg_walk *walk, kg_id self, size_t from, size_t to) {
    struct prediction_counter *counter = walk->payload;
    const kg_link *links = kg__adjacency_links(walk->graph, self);
    size_t count = kg__adjacency_degree(walk->graph, self);
    kg_directed query = links[from].directed;
    size_t stride = stride_of(count, MOST_STARTS);
    for (size_t i = 0; i < count; i += stride) {
        counter->weight = miss_weight(to - from, links[i].directed == query);
        kg__walk_from(walk, query, self, &links[i]);
    }
}

static void count_entity(void *payload, kg_id self) {
    struct prediction_counter counter =
        *(const struct prediction_counter *)payload; /* one per thread */
    const kg_adjacency *graph = counter.graph;
    kg_walk walk = {graph, counter.rules, count_arrival, &counter};
    const kg_link *links = kg__adjacency_links(graph, self);
    size_t count = kg__adjacency_degree(graph, self);
    for (size_t from = 0, to = 0; from < count; from = to) {
        to = kg__group_end(links, count, from);
        count_paths(&walk, self, from, to);
    }
}

/* A path to an answer is a hit in the query for it, and no prediction in the others. */
static void set_counts(kg_rules *rules, const struct table *table, const uint64_t *totals) {
    for (size_t i = 0; i < rules->tally_count; i++) {
        const struct entry *entry = &table->entries[i];
        uint64_t predictions = totals[i] - entry->as_misses + entry->hits;
        rules->tallies[i].hits = (float)((double)entry->hits / (double)ONE);
        rules->tallies[i].predictions = (float)((double)predictions / (double)ONE);
    }
}

static kg_status count_predictions(kg_rules *rules, const kg_adjacency *graph,
                                   struct sample *sample, const struct table *table,
                                   const kg_rule_options *options, kg_error *error) {
    uint64_t *totals = kg__alloc(rules->tally_count, sizeof *totals);
    if (totals == NULL)
        return kg__fail_memory(error);
    struct prediction_counter counter = {graph, rules, totals, 0};
    struct pass pass = {"counting rules", count_entity, NULL, &counter};
    kg_status status = visit_all(&pass, sample, options, error);
    if (status == KG_OK)
        set_counts(rules, table, totals);
    kg__free(totals);
    return status;
}

static void set_confidences(kg_rules *rules) {
    for (size_t i = 0; i < rules->count; i++) {
        const kg_rule *rule = &rules->list[i];
        kg_rule_tally *tallies = rules->tallies + rule->first_tally;
        double hits = 0;
        double predictions = 6;
        for (size_t k = 0; k < rule->tally_count; k++) {
            hits += tallies[k].hits;
            predictions += tallies[k].predictions;
        }
        double prior = hits / predictions;
        for (size_t k = 0; k < rule->tally_count; k++)
            tallies[k].confidence =
                (float)((tallies[k].hits + 5 * prior) / (tallies[k].predictions + 6.0));
    }
}

/* Rebuilds the tries without the tallies of low confidence. */
static kg_status keep_confident(kg_rules *rules, struct table *table, kg_error *error) {
    kg_rules all = *rules;
    *rules = (kg_rules){0};
    size_t kept = 0;
    for (size_t i = 0; i < all.tally_count; i++) {
        if (all.tallies[i].confidence < KG_LEAST_CONFIDENCE)
            continue;
        table->entries[kept] = table->entries[i];
        all.tallies[kept++] = all.tallies[i];
    }
    table->count = kept;
    kg_status status = make_tries(rules, table, all.directed_count, error);
    if (status == KG_OK)
        memcpy(rules->tallies, all.tallies, kept * sizeof *all.tallies);
    kg__rules_free(&all);
    return status;
}

kg_status kg__rules_count(kg_rules *out, const kg_adjacency *graph, size_t directed_count,
                          const kg_rule_options *options, kg_error *error) {
    struct table table = {0};
    struct sample sample = make_sample(graph);
    *out = (kg_rules){0};
    kg_status status = KG_OK;
    KG_CHECK(find_all(&table, graph, &sample, options, error));
    KG_CHECK(make_tries(out, &table, directed_count, error));
    KG_CHECK(count_predictions(out, graph, &sample, &table, options, error));
    set_confidences(out);
    KG_CHECK(keep_confident(out, &table, error));
done:
    kg__free(table.entries);
    if (status != KG_OK)
        kg__rules_free(out);
    return status;
}
