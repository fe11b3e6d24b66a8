/* Counting rules takes two passes. The first follows every path and finds the rules that have hits;
 * most have none. The second counts what these predict, which takes no look at where a last step
 * arrives: all that matters is how many there are. Counts are whole numbers of 2^-24, so that the
 * order in which they are added up does not matter. */
#include "terms/features/rules.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "terms/features/rule_walk.h"

/* What counting may cost, in time and in memory, for large graphs: every n-th entity is asked, so
 * that they have about this many facts together, until there are so many hits; and of more facts of
 * one entity every n-th starts paths. */
#define MOST_ASKED ((size_t)1 << 19)
#define MOST_HITS ((size_t)1 << 25)
#define MOST_STARTS ((size_t)1 << 12)

#define ONE ((uint64_t)1 << 24)

static size_t stride_of(size_t count, size_t most) {
    return count <= most ? 1 : (count + most - 1) / most;
}

/* Of the weight of a question, the part for each of its answers, and for what is wrong: a path that
 * starts with an answer is there for all questions but the one that asks for it. */
static uint64_t weigh_hit(size_t answers) {
    return (ONE + answers / 2) / answers;
}

static uint64_t weigh_miss(size_t answers, bool starts_with_answer) {
    return starts_with_answer ? ONE - weigh_hit(answers) : ONE;
}

/* ---- Rules with hits, in a hash table ---- */

/* Steps are one up, and zeroes behind the last; so shorter rules go before their longer forms. */
struct chain {
    kg_directed asked;
    uint32_t steps[KG_MOST_STEPS];
    uint32_t width;
};

struct entry {
    struct chain chain;
    uint64_t hits;
    uint64_t spared; /* what these would have weighed, had they been misses; 0 in an empty entry */
};

struct table {
    struct entry *entries;
    size_t capacity; /* a power of two */
    size_t count;
};

static uint64_t hash_chain(const struct chain *chain) {
    uint64_t hash = chain->asked * UINT64_C(0x9E3779B97F4A7C15) + chain->width;
    for (size_t i = 0; i < KG_MOST_STEPS; i++) {
        hash = (hash ^ chain->steps[i]) * UINT64_C(0xBF58476D1CE4E5B9);
        hash ^= hash >> 29;
    }
    return hash;
}

/* Where it is or belongs. */
static struct entry *find_entry(const struct table *table, const struct chain *chain) {
    size_t i = (size_t)hash_chain(chain) & (table->capacity - 1);
    while (table->entries[i].spared > 0 &&
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
        if (table->entries[i].spared > 0)
            *find_entry(&larger, &table->entries[i].chain) = table->entries[i];
    kg__free(table->entries);
    *table = larger;
    return true;
}

static bool add_hit(struct table *table, const struct chain *chain, uint64_t hit, uint64_t miss) {
    if (table->count >= table->capacity / 2 && !grow_table(table))
        return false;
    struct entry *entry = find_entry(table, chain);
    table->count += entry->spared == 0;
    entry->chain = *chain;
    entry->hits += hit;
    entry->spared += miss;
    return true;
}

static int compare_chains(const struct chain *a, const struct chain *b) {
    if (a->asked != b->asked)
        return a->asked < b->asked ? -1 : 1;
    for (size_t i = 0; i < KG_MOST_STEPS; i++)
        if (a->steps[i] != b->steps[i])
            return a->steps[i] < b->steps[i] ? -1 : 1;
    return a->width < b->width ? -1 : a->width > b->width;
}

static int compare_entries(const void *a, const void *b) {
    return compare_chains(&((const struct entry *)a)->chain, &((const struct entry *)b)->chain);
}

/* ---- The first pass: hits ---- */

/* That `other` answers a question, which has `answers` of them. */
struct answer {
    kg_id other;
    kg_directed asked;
    uint32_t answers;
};

/* One for each thread. */
struct finder {
    const kg_adjacency *graph;
    size_t most_steps;
    struct table table;
    bool is_short_of_memory;
    size_t hits;

    struct answer *answers; /* of the entity that is asked, by `other` */
    size_t answer_count;
    size_t capacity;
    uint32_t *places; /* for each entity: 1 + its first place among the answers, or 0 */

    kg_path_so_far trail;
    struct chain chain;
    size_t length;
};

static int compare_answers(const void *a, const void *b) {
    const struct answer *x = a;
    const struct answer *y = b;
    if (x->other != y->other)
        return x->other < y->other ? -1 : 1;
    return x->asked < y->asked ? -1 : x->asked > y->asked;
}

static bool list_answers(struct finder *finder, const kg_link *links, size_t count) {
    struct answer *grown =
        kg__grow(finder->answers, &finder->capacity, count, sizeof *finder->answers);
    if (grown == NULL)
        return false;
    finder->answers = grown;
    finder->answer_count = count;
    for (size_t from = 0, to = 0; from < count; from = to) {
        to = kg__group_end(links, count, from);
        for (size_t i = from; i < to; i++)
            grown[i] = (struct answer){links[i].other, links[i].directed, (uint32_t)(to - from)};
    }
    qsort(grown, count, sizeof *grown, compare_answers);
    for (size_t i = count; i-- > 0;)
        finder->places[grown[i].other] = (uint32_t)i + 1;
    return true;
}

static void forget_answers(struct finder *finder) {
    for (size_t i = 0; i < finder->answer_count; i++)
        finder->places[finder->answers[i].other] = 0;
}

/* A path arrives at someone: for each question that he answers, a hit. */
static void arrive(struct finder *finder, kg_id at) {
    if (finder->places[at] == 0)
        return;
    for (size_t i = finder->places[at] - 1;
         i < finder->answer_count && finder->answers[i].other == at; i++) {
        const struct answer *answer = &finder->answers[i];
        bool starts_with_answer = finder->chain.steps[0] == answer->asked + 1;
        if (starts_with_answer && finder->length == 1)
            continue; /* the fact itself */
        finder->chain.asked = answer->asked;
        finder->hits++;
        if (!add_hit(&finder->table, &finder->chain, weigh_hit(answer->answers),
                     weigh_miss(answer->answers, starts_with_answer)))
            finder->is_short_of_memory = true;
    }
}

static void follow(struct finder *finder, kg_spread spread);

/* By links of one directed relation. */
static void follow_step(struct finder *finder, const kg_link *links, size_t count,
                        kg_spread spread) {
    spread.fan *= kg__path_so_far_open(&finder->trail, links, count);
    if (spread.fan == 0 || spread.fan > KG_MOST_FAN)
        return;
    finder->chain.steps[finder->length++] = links[0].directed + 1;
    bool goes_on = finder->length < finder->most_steps && spread.reach <= KG_MOST_REACH;
    for (size_t i = 0; i < count; i++) {
        if (kg__path_so_far_has(&finder->trail, links[i].other))
            continue;
        finder->chain.width = kg__width(spread.fan);
        arrive(finder, links[i].other);
        if (goes_on) {
            finder->trail.met[finder->trail.count++] = links[i];
            follow(finder, spread);
            finder->trail.count--;
        }
    }
    finder->chain.steps[--finder->length] = 0;
}

static void follow(struct finder *finder, kg_spread spread) {
    if (!kg__path_so_far_goes_on(&finder->trail, finder->graph, &spread.reach))
        return;
    kg_id here = finder->trail.met[finder->trail.count - 1].other;
    const kg_link *links = kg__adjacency_links(finder->graph, here);
    size_t count = kg__adjacency_degree(finder->graph, here);
    for (size_t from = 0, to = 0; from < count; from = to) {
        to = kg__group_end(links, count, from);
        follow_step(finder, links + from, to - from, spread);
    }
}

static void find_hits(struct finder *finder, kg_id self) {
    const kg_link *links = kg__adjacency_links(finder->graph, self);
    size_t count = kg__adjacency_degree(finder->graph, self);
    if (finder->is_short_of_memory || !list_answers(finder, links, count)) {
        finder->is_short_of_memory = true;
        return;
    }
    finder->trail = (kg_path_so_far){.met = {{KG_SELF, self}}, .count = 1};
    size_t stride = stride_of(count, MOST_STARTS);
    for (size_t i = 0; i < count; i += stride)
        follow_step(finder, links + i, 1, (kg_spread){1, 1});
    forget_answers(finder);
}

static bool open_finder(struct finder *finder, const kg_adjacency *graph, size_t most_steps) {
    *finder = (struct finder){.graph = graph, .most_steps = most_steps};
    finder->places = kg__alloc(graph->entity_count, sizeof *finder->places);
    return finder->places != NULL;
}

static void close_finder(struct finder *finder) {
    kg__free(finder->table.entries);
    kg__free(finder->answers);
    kg__free(finder->places);
}

/* What all threads found, in order and each chain once. */
static kg_status merge(struct table *out, const struct finder *finders, size_t count,
                       kg_error *error) {
    bool is_short_of_memory = false;
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        is_short_of_memory = is_short_of_memory || finders[i].is_short_of_memory;
        total += finders[i].table.count;
    }
    *out = (struct table){.entries = kg__alloc(total, sizeof *out->entries)};
    if (is_short_of_memory || out->entries == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < finders[i].table.capacity; k++)
            if (finders[i].table.entries[k].spared > 0)
                out->entries[out->count++] = finders[i].table.entries[k];
    qsort(out->entries, total, sizeof *out->entries, compare_entries);
    size_t kept = 0;
    for (size_t i = 0; i < total; i++) {
        const struct entry *entry = &out->entries[i];
        if (kept > 0 && compare_entries(entry, &out->entries[kept - 1]) == 0) {
            out->entries[kept - 1].hits += entry->hits;
            out->entries[kept - 1].spared += entry->spared;
        } else {
            out->entries[kept++] = *entry;
        }
    }
    out->count = kept;
    return KG_OK;
}

/* ---- Asking ---- */

/* Who is asked: every n-th entity; and of these, the first ones in an order that jumps about. */
struct crowd {
    size_t stride;
    size_t all;
    size_t count;
};

static struct crowd gather_crowd(const kg_adjacency *graph) {
    size_t stride = stride_of((size_t)graph->starts[graph->entity_count], MOST_ASKED);
    size_t count = (graph->entity_count + stride - 1) / stride;
    return (struct crowd){stride, count, count};
}

/* A prime number as large as no crowd is leads to each of them once. */
static kg_id crowd_at(const struct crowd *crowd, size_t i) {
    return (kg_id)(i * UINT64_C(4294967311) % crowd->all * crowd->stride);
}

/* What a pass does, in several threads. */
struct pass {
    const char *stage;
    void (*ask)(void *payload, kg_id self);
    bool (*is_enough)(const void *payload); /* may be NULL: everybody is asked */
    void *payload;
};

/* So many are asked between two reports, and before anybody looks whether it is enough: this does
 * not depend on the number of threads. */
#define CHUNK 1024

/* If not all are asked, the crowd is cut down to those who were. */
static kg_status ask_all(const struct pass *pass, struct crowd *crowd,
                         const kg_rule_options *options, kg_error *error) {
    for (size_t from = 0; from < crowd->count; from += CHUNK) {
        kg_progress_report report = {pass->stage, "entities", from, crowd->count, NULL};
        KG_TRY(kg__progress_tick(options->progress, &report, error));
        size_t to = crowd->count - from < CHUNK ? crowd->count : from + CHUNK;
#pragma omp parallel for schedule(dynamic, 16) num_threads(options->threads)
        for (size_t i = from; i < to; i++)
            pass->ask(pass->payload, crowd_at(crowd, i));
        if (pass->is_enough != NULL && pass->is_enough(pass->payload))
            crowd->count = to;
    }
    return KG_OK;
}

/* One finder for each thread. */
struct team {
    struct finder *finders;
    size_t count;
};

static void ask_for_hits(void *payload, kg_id self) {
    const struct team *team = payload;
    find_hits(&team->finders[omp_get_thread_num()], self);
}

static bool has_enough_hits(const void *payload) {
    const struct team *team = payload;
    size_t hits = 0;
    for (size_t i = 0; i < team->count; i++)
        hits += team->finders[i].hits;
    return hits > MOST_HITS;
}

static kg_status find_all(struct table *out, const kg_adjacency *graph, struct crowd *crowd,
                          const kg_rule_options *options, kg_error *error) {
    size_t threads = (size_t)options->threads;
    struct finder *finders = kg__alloc(threads, sizeof *finders);
    if (finders == NULL)
        return kg__fail_memory(error);
    bool opened = true;
    for (size_t i = 0; i < threads; i++)
        opened = open_finder(&finders[i], graph, options->most_steps) && opened;
    struct team team = {finders, threads};
    struct pass pass = {"finding rules", ask_for_hits, has_enough_hits, &team};
    kg_status status = opened ? ask_all(&pass, crowd, options, error) : kg__fail_memory(error);
    if (status == KG_OK)
        status = merge(out, finders, threads, error);
    for (size_t i = 0; i < threads; i++)
        close_finder(&finders[i]);
    kg__free(finders);
    return status;
}

/* ---- Tries ---- */

static size_t length_of(const struct chain *chain) {
    size_t length = 0;
    while (length < KG_MOST_STEPS && chain->steps[length] != 0)
        length++;
    return length;
}

/* How many steps two chains have in common. */
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
    return before->asked != chain->asked || common_steps(before, chain) < length;
}

/* Where the rules of each length start in a list of all. */
static void find_lengths(size_t *firsts, const struct table *table) {
    size_t counts[KG_MOST_STEPS + 2] = {0};
    for (size_t i = 0; i < table->count; i++)
        for (size_t length = 1; length <= KG_MOST_STEPS; length++)
            counts[length] += starts_rule(table, i, length);
    firsts[0] = 0;
    for (size_t length = 1; length < KG_MOST_STEPS + 2; length++)
        firsts[length] = firsts[length - 1] + counts[length - 1];
}

/* Entries are in order, and so are the rules of each length: `next` runs along in each. Each entry
 * is a tally. */
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
                out->starts[chain->asked + 1]++;
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

struct teller {
    const kg_adjacency *graph;
    const kg_rules *rules;
    uint64_t *totals; /* of each tally: what all paths weigh, as if none were a hit */
    uint64_t weight;  /* of each path */
};

static void count_arrival(void *payload, const kg_arrival *arrival) {
    const struct teller *teller = payload;
    const kg_rules *rules = teller->rules;
    const kg_rule_tally *tally = kg__rules_tally(rules, arrival->rule, kg__width(arrival->fan));
    if (tally == NULL)
        return;
    uint64_t *total = &teller->totals[tally - rules->tallies];
#pragma omp atomic
    *total += teller->weight * arrival->open;
}

/* The paths of one entity for one question, links `from` up to `to` of it being the answers. */
static void count_paths(const kg_walk *walk, kg_id self, size_t from, size_t to) {
    struct teller *teller = walk->payload;
    const kg_link *links = kg__adjacency_links(walk->graph, self);
    size_t count = kg__adjacency_degree(walk->graph, self);
    kg_directed asked = links[from].directed;
    size_t stride = stride_of(count, MOST_STARTS);
    for (size_t i = 0; i < count; i += stride) {
        teller->weight = weigh_miss(to - from, links[i].directed == asked);
        kg__walk_from(walk, asked, self, &links[i]);
    }
}

static void count_entity(void *payload, kg_id self) {
    struct teller teller = *(const struct teller *)payload; /* one for each thread */
    const kg_adjacency *graph = teller.graph;
    kg_walk walk = {graph, teller.rules, count_arrival, &teller};
    const kg_link *links = kg__adjacency_links(graph, self);
    size_t count = kg__adjacency_degree(graph, self);
    for (size_t from = 0, to = 0; from < count; from = to) {
        to = kg__group_end(links, count, from);
        count_paths(&walk, self, from, to);
    }
}

/* A path to an answer is a hit where it is asked for, and no prediction where it is not. */
static void settle(kg_rules *rules, const struct table *table, const uint64_t *totals) {
    for (size_t i = 0; i < rules->tally_count; i++) {
        const struct entry *entry = &table->entries[i];
        uint64_t predictions = totals[i] - entry->spared + entry->hits;
        rules->tallies[i].hits = (float)((double)entry->hits / (double)ONE);
        rules->tallies[i].predictions = (float)((double)predictions / (double)ONE);
    }
}

static kg_status count_predictions(kg_rules *rules, const kg_adjacency *graph, struct crowd *crowd,
                                   const struct table *table, const kg_rule_options *options,
                                   kg_error *error) {
    uint64_t *totals = kg__alloc(rules->tally_count, sizeof *totals);
    if (totals == NULL)
        return kg__fail_memory(error);
    struct teller teller = {graph, rules, totals, 0};
    struct pass pass = {"counting rules", count_entity, NULL, &teller};
    kg_status status = ask_all(&pass, crowd, options, error);
    if (status == KG_OK)
        settle(rules, table, totals);
    kg__free(totals);
    return status;
}

/* Confidences from counts. */
static void rate(kg_rules *rules) {
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

/* Makes the tries again, of what says enough. */
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
    struct crowd crowd = gather_crowd(graph);
    *out = (kg_rules){0};
    kg_status status = KG_OK;
    KG_CHECK(find_all(&table, graph, &crowd, options, error));
    KG_CHECK(make_tries(out, &table, directed_count, error));
    KG_CHECK(count_predictions(out, graph, &crowd, &table, options, error));
    rate(out);
    KG_CHECK(keep_confident(out, &table, error));
done:
    kg__free(table.entries);
    if (status != KG_OK)
        kg__rules_free(out);
    return status;
}
