/* Counting bytes. Each function names what it counts by the file that has it. */
#include "train/training_memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "terms/propagation/entity_profiles.h"
#include "train/grad_tree.h"
#include "train/row_exchange.h"

#define REAL ((double)sizeof(real))
#define PROGRAM 32e6 /* itself, its libraries and their buffers */
#define MPI 32e6     /* and those of MPI */

/* Hash tables have a power of two of slots. */
static double power_of_two(double least) {
    return exp2(ceil(log2(fmax(least, 64))));
}

/* base/names, graph/triples */
static double count_dataset(const kg_memory_counts *c) {
    double names = c->name_bytes + c->entities * sizeof(uint64_t) +
                   power_of_two(2 * c->entities) * sizeof(kg_names_slot);
    return names + c->facts * sizeof(kg_triple);
}

/* graph/adjacency */
static double count_links(const kg_memory_counts *c) {
    return 2 * c->facts * sizeof(kg_link) + c->entities * sizeof(uint64_t);
}

/* Finding facts that are repeated (graph/triples), of all parts at once. */
static double count_sets(const kg_memory_counts *c, double threads) {
    return c->facts + fmin(threads, 4) * 8 * power_of_two(3 * c->facts / 8);
}

/* Reading, and holding entities out: there are no rows yet. */
static kg_memory_needs count_reading(const kg_memory_counts *c, double threads) {
    double graph = count_dataset(c) + count_sets(c, threads);
    if (c->is_held_out)
        graph += count_dataset(c) + c->facts * sizeof(kg_triple);
    return (kg_memory_needs){.graph = graph, .work = PROGRAM};
}

/* ---- Terms that are trained together ---- */

/* Numbers of entities' and relations' rows: those that are learned, and those that are computed. Of
 * several ranks, each has some of the entities' rows. */
static void count_rows(double *learned, double *computed, const kg_train_options *o,
                       const kg_memory_counts *c) {
    double relations = c->relations * (o->directed ? 2 : 1) * (o->own_relations ? 2 : 1);
    double entities = c->entities * (double)o->dim;
    kg_encoder_shape shape = {(size_t)c->entities, (size_t)c->relations, (size_t)o->dim,
                              (size_t)o->bases, o->self_loops};
    double own = entities / (double)kg__ranks_count(o->ranks);
    *learned = relations * (double)o->dim + (o->scoring->is_encoded ? 0 : own);
    *computed = o->scoring->is_encoded ? 3 * entities : 0; /* as rows, gradients, and within */
    for (kg_encoder_tensor i = 0; i < KG_ENCODER_TENSORS && o->scoring->is_encoded; i++) {
        kg_tensor tensor = kg__encoder_describe(&shape, i);
        *(kg__encoder_rows(i) == KG_ROWS_OF_ENTITIES ? computed : learned) +=
            (double)tensor.rows * (double)tensor.columns;
    }
}

/* train/optimizer, and the steps that rows have taken. */
static double count_state(const kg_train_options *o, double learned) {
    double row = (double)o->dim;
    double steps = o->method == KG_ADAM || o->l2 > 0 ? sizeof(uint64_t) / row : 0;
    double numbers = (double)kg__optimizer_state(o->method, (size_t)o->dim) / row;
    return learned * (numbers * REAL + (o->method == KG_ADAM ? REAL : 0) + steps);
}

/* Pairs of relations that terms and aggregators have a number for: all that can be. */
static double count_pairs(const kg_train_options *o, const kg_memory_counts *c) {
    double pairs = fmin(4 * c->relations * c->relations, 2 * c->facts);
    double grads = (double)(KG_SHARDS * o->loss->parts + 1); /* model/sparse_grads */
    double each = grads * sizeof(uint32_t) + 8 * REAL;
    bool has_weights =
        (o->aggregate.aggregator->settings & KG_BY_GRAFT) != 0 && o->aggregate.graft_weights;
    return pairs * each * (has_weights ? 1.5 : kg__train_has(o, "echo") ? 0.5 : 0);
}

/* A batch of the softmax: arrays of all queries, up to twice the batch; blocks and their gradients;
 * negatives, their gradients for each level of the tree over shards, and a tile of scores. */
static double count_softmax(const kg_train_options *o, const kg_memory_counts *c) {
    double row = (double)o->dim * REAL;
    double queries = fmin((double)o->batch, 2 * c->facts);
    double most = fmin(2 * queries + 64, 2 * c->facts);
    double negatives = fmin((double)o->negatives, c->entities);
    double arrays = most * (3 * row + (o->dropout > 0 ? (double)o->dim : 0) + 3 * REAL);
    double blocks = queries * (6 * row + 1500);
    return arrays + blocks + negatives * 5 * row +
           fmin(4194304, fmax(128, queries) * negatives) * REAL;
}

/* A batch of the softplus: each query leaves gradients on its two ends and on other ends of facts.
 */
static double count_softplus(const kg_train_options *o, const kg_memory_counts *c) {
    double row = (double)o->dim * REAL;
    double facts = fmin((double)o->batch, c->facts);
    double links = fmin(2 * c->facts / c->entities, 64);
    return facts * (1 + (double)o->negatives) * (3 * row + 150 + o->psi * links * 24);
}

/* train/row_exchange: rows of others, each in pages of its own; and MPI. */
static double count_exchange(const kg_train_options *o, const kg_memory_counts *c) {
    double ranks = (double)kg__ranks_count(o->ranks);
    double row = (double)o->dim * REAL;
    double others = c->entities * (1 - 1 / ranks) * row;
    double cache = fmax(KG_FETCHED, c->entities / ranks * row / KG_FETCHED_SHARE);
    return ranks > 1 ? fmin(others, cache) + MPI : 0;
}

static kg_memory_needs count_joint(const kg_train_options *o, const kg_memory_counts *c) {
    double learned = 0;
    double computed = 0;
    bool is_softmax = kg__loss_compares(o->loss);
    count_rows(&learned, &computed, o, c);
    double ranges = is_softmax ? c->entities + 2 * c->facts / KG_MOST_QUERIES : 0;
    double slots = c->entities * sizeof(uint32_t) * (is_softmax ? 2 : 1);
    return (kg_memory_needs){.rows = (learned + computed) * REAL,
                             .state = count_state(o, learned),
                             .graph = count_dataset(c) * (c->is_held_out ? 2 : 1) + count_links(c) +
                                      ranges * 8 + slots,
                             .work = (is_softmax ? count_softmax(o, c) : count_softplus(o, c)) +
                                     count_pairs(o, c) + count_exchange(o, c) + PROGRAM};
}

/* ---- Propagation, after them ---- */

/* terms/propagation: of each entity a list of relations, of each thread sums of lists, and what it
 * reaches. The rows are still there. */
static kg_memory_needs count_apart(const kg_train_options *o, const kg_memory_counts *c) {
    kg_propagation_options p = kg__propagation_complete(&o->propagation, (size_t)(2 * c->relations),
                                                        (size_t)c->entities, (size_t)c->facts);
    double learned = 0;
    double computed = 0;
    if (kg__train_has_joint(o))
        count_rows(&learned, &computed, o, c);
    double groups = fmin(2 * c->facts / c->entities, 2 * c->relations);
    double lists = c->entities * (sizeof(kg_id) + sizeof(uint64_t) + groups * 8) +
                   power_of_two(2 * c->entities) * sizeof(kg_names_slot);
    double sums = 2 * fmin(c->entities, KG_MOST_PROFILES) * (double)p.width * REAL;
    double reached =
        fmin((double)p.edges, 2 * c->facts) * (double)p.layers * (double)p.width * REAL;
    double ranges = c->entities + 2 * c->facts;
    return (kg_memory_needs){.rows = (learned + computed) * REAL,
                             .graph = count_dataset(c) * (c->is_held_out ? 2 : 1) + count_links(c) +
                                      ranges * 8 + lists,
                             .work = (double)o->threads * (sums + reached + c->entities * 8) +
                                     count_exchange(o, c) + PROGRAM};
}

/* ---- All of it ---- */

kg_memory_counts kg__memory_counts(const kg_dataset *dataset, bool is_held_out) {
    const kg_names *names = &dataset->entities;
    kg_memory_counts out = {.entities = (double)names->count,
                            .relations = (double)dataset->relations.count,
                            .name_bytes =
                                names->count == 0 ? 0 : (double)names->starts[names->count],
                            .is_held_out = is_held_out};
    for (kg_part part = 0; part < KG_PART_COUNT; part++)
        out.facts += (double)dataset->parts[part].count;
    return out;
}

double kg__memory_total(const kg_memory_needs *needs) {
    return needs->rows + needs->state + needs->graph + needs->work;
}

static kg_memory_needs larger(kg_memory_needs a, kg_memory_needs b) {
    return kg__memory_total(&a) < kg__memory_total(&b) ? b : a;
}

kg_memory_needs kg__training_memory(const kg_train_options *options,
                                    const kg_memory_counts *counts) {
    kg_memory_needs out = count_reading(counts, (double)options->threads);
    if (kg__train_has_joint(options))
        out = larger(out, count_joint(options, counts));
    if (kg__train_has_apart(options))
        out = larger(out, count_apart(options, counts));
    return out;
}

kg_memory_text kg__memory_text(const kg_memory_needs *needs) {
    kg_memory_text out;
    snprintf(out.text, sizeof out.text, "%.1f GB: rows %.1f, state %.1f, graph %.1f, work %.1f",
             kg__memory_total(needs) / 1e9, needs->rows / 1e9, needs->state / 1e9,
             needs->graph / 1e9, needs->work / 1e9);
    return out;
}

json_t *kg__memory_json(const kg_memory_needs *needs) {
    return json_pack("{sI sI sI sI sI}", "total", (json_int_t)kg__memory_total(needs), "rows",
                     (json_int_t)needs->rows, "state", (json_int_t)needs->state, "graph",
                     (json_int_t)needs->graph, "work", (json_int_t)needs->work);
}

/* ---- What would make it smaller ---- */

static void suggest(char *out, size_t size, bool helps, const char *what) {
    size_t length = strlen(out);
    if (helps)
        snprintf(out + length, size - length, "%s%s", length == 0 ? "" : ", ", what);
}

kg_status kg__training_memory_check(const kg_memory_needs *needs, double limit,
                                    const kg_train_options *options, const kg_memory_counts *counts,
                                    kg_error *error) {
    char less[256] = "";
    double notable = kg__memory_total(needs) / 20;
    if (kg__memory_total(needs) <= limit)
        return KG_OK;
    suggest(less, sizeof less, options->method != KG_ADAGRAD_ROW && needs->state > notable,
            "`optimizer` adagrad-row");
    suggest(less, sizeof less, needs->rows > notable, "a smaller `dim`");
    suggest(less, sizeof less, needs->work > notable, "a smaller `batch`");
    suggest(less, sizeof less, counts->is_held_out && needs->graph > notable, "`hold_out` 0");
    suggest(less, sizeof less, kg__train_has_apart(options) && kg__train_has_joint(options),
            "`terms` without propagation");
    return kg_fail(error, KG_BAD_INPUT,
                   "expected training to fit into the %.1f GB of memory that there are, found that "
                   "it needs %s (less: %s)",
                   limit / 1e9, kg__memory_text(needs).text,
                   less[0] == '\0' ? "a smaller graph" : less);
}
