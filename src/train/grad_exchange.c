/* Two rounds: of parameters that all ranks have, the same message for all; of sharded ones, to each
 * rank what goes to its rows. A message has, parameter by parameter and in each branch by branch, a
 * list of targets and their vectors; in front of all that, how many vectors each list has. */
#include "train/grad_exchange.h"

#include <omp.h>
#include <string.h>

#include "base/memory.h"

/* The branches of a rank: those of its parts, then those of its shared negatives. */
struct branches {
    uint8_t nodes[2 * KG_MOST_BRANCHES];
    size_t count;
};

static struct branches branches_of(const kg_ranks *ranks, size_t rank) {
    struct branches out;
    size_t from = kg__ranks_begin(ranks, rank, KG_SHARDS);
    size_t to = kg__ranks_begin(ranks, rank + 1, KG_SHARDS);
    out.count = kg__tree_branches(out.nodes, from, to);
    out.count += kg__tree_branches(out.nodes + out.count, KG_SHARDS + from, KG_SHARDS + to);
    return out;
}

/* ---- Opening ---- */

/* The branches of all ranks, which each have some of either half of the tree, in its order. */
static size_t list_branches(kg_grads *out, const kg_ranks *ranks) {
    size_t count = 0;
    for (size_t half = 0; half < 2; half++)
        for (size_t rank = 0; rank < ranks->count; rank++) {
            struct branches branches = branches_of(ranks, rank);
            for (size_t i = 0; i < branches.count; i++) {
                if (kg__tree_first_leaf(branches.nodes[i]) / KG_SHARDS != half)
                    continue;
                if (out != NULL)
                    out[count].node = branches.nodes[i];
                count++;
            }
        }
    return count;
}

kg_status kg__grad_exchange_open(kg_grad_exchange *out, kg_ranks *ranks, kg_param_list *list,
                                 kg_error *error) {
    *out = (kg_grad_exchange){.ranks = ranks, .list = list};
    if (!kg__ranks_many(ranks))
        return KG_OK;
    size_t count = list_branches(NULL, ranks);
    out->received = kg__alloc(count, sizeof *out->received);
    if (out->received == NULL)
        return kg__fail_memory(error);
    out->count = count;
    list_branches(out->received, ranks);
    for (size_t i = 0; i < count; i++)
        KG_TRY(kg__param_list_open_grads(list, &out->received[i], error));
    return KG_OK;
}

void kg__grad_exchange_close(kg_grad_exchange *e) {
    for (size_t i = 0; i < e->count; i++)
        kg__free(e->received[i].params); /* their vectors are the arena's */
    kg__free(e->received);
    kg__arena_free(&e->arena);
    *e = (kg_grad_exchange){0};
}

/* ---- Sending ---- */

/* A list of a message: where it is, for `count` vectors. */
struct section {
    kg_grad_target *targets;
    real *vectors;
};

/* Targets have 8 bytes, so that vectors behind them are aligned if all of it begins at 8. */
static size_t section_size(const kg_param *param, size_t count) {
    size_t vectors = count * param->columns * sizeof(real);
    return count * sizeof(kg_grad_target) + (vectors + 7) / 8 * 8;
}

static struct section section_at(void *bytes, size_t count) {
    kg_grad_target *targets = bytes;
    void *vectors = targets + count;
    return (struct section){targets, vectors};
}

/* What a branch has for a touched row: its vectors `from` up to `to`. */
struct item {
    uint32_t slot;
    size_t from;
    size_t to;
};

/* Of one parameter, branch by branch; `counts` says how many each has. Of a sharded one, those of
 * one owner's rows. */
static void find_items(struct item *out, uint64_t *counts, const kg_param *p, size_t owner,
                       const struct branches *branches) {
    const kg_row_set *set = &p->touched;
    size_t total = 0;
    for (size_t k = 0; k < branches->count; k++) {
        size_t before = total;
        size_t first = kg__tree_first_leaf(branches->nodes[k]);
        size_t last = first + kg__tree_leaves(branches->nodes[k]);
        for (size_t i = 0; i < set->count; i++) {
            if (kg__param_is_sharded(p) && kg__param_owner(p, set->rows[i]) != owner)
                continue;
            size_t from = set->starts[i];
            while (from < set->starts[i + 1] && kg__tree_first_leaf(set->nodes[from]) < first)
                from++;
            size_t to = from;
            while (to < set->starts[i + 1] && kg__tree_first_leaf(set->nodes[to]) < last)
                to++;
            if (from < to)
                out[total++] = (struct item){(uint32_t)i, from, to};
        }
        counts[k] = total - before;
    }
}

/* Vector i of a list, in its place. */
static void fill_item(const kg_param *p, const struct item *item, struct section section,
                      size_t i) {
    kg_tree_sum sum = {p->touched.vectors, p->touched.nodes, p->columns};
    real *scratch = p->sums + (size_t)omp_get_thread_num() * KG_TREE_DEPTH * p->columns;
    size_t more = p->touched.starts[p->touched.count] - item->to;
    const real *vector = kg__tree_sum(&sum, item->from, item->to, more, scratch);
    section.targets[i] = (kg_grad_target){p->touched.rows[item->slot], (uint32_t)i};
    memcpy(section.vectors + i * p->columns, vector, p->columns * sizeof *vector);
}

static char *fill_sections(const kg_param *p, const struct item *items, const uint64_t *counts,
                           size_t branch_count, int threads, char *at) {
    for (size_t k = 0; k < branch_count; k++) {
        struct section section = section_at(at, counts[k]);
#pragma omp parallel for schedule(static) num_threads(threads)
        for (size_t i = 0; i < counts[k]; i++)
            fill_item(p, &items[i], section, i);
        items += counts[k];
        at += section_size(p, counts[k]);
    }
    return at;
}

/* A message of what has been grouped: of all sharded parameters, for one owner, or of all others.
 */
static kg_status pack(kg_grad_exchange *e, kg_message *out, bool is_sharded, size_t owner,
                      kg_error *error) {
    kg_param_list *list = e->list;
    struct branches branches = branches_of(e->ranks, e->ranks->number);
    size_t lists = list->count * branches.count;
    struct item *items[KG_MOST_PARAMS];
    uint64_t *counts = kg__arena_take_zeroed(&e->arena, lists, sizeof *counts);
    size_t size = lists * sizeof *counts;
    if (counts == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < list->count; i++) {
        const kg_param *p = &list->items[i];
        uint64_t *own = counts + i * branches.count;
        if (kg__param_is_sharded(p) != is_sharded)
            continue;
        items[i] = kg__arena_take(&e->arena, p->touched.starts[p->touched.count], sizeof **items);
        if (items[i] == NULL)
            return kg__fail_memory(error);
        find_items(items[i], own, p, owner, &branches);
        for (size_t k = 0; k < branches.count; k++)
            size += section_size(p, own[k]);
    }
    char *bytes = kg__arena_take(&e->arena, size, sizeof *bytes);
    if (bytes == NULL)
        return kg__fail_memory(error);
    memcpy(bytes, counts, lists * sizeof *counts);
    char *at = bytes + lists * sizeof *counts;
    for (size_t i = 0; i < list->count; i++)
        if (kg__param_is_sharded(&list->items[i]) == is_sharded)
            at = fill_sections(&list->items[i], items[i], counts + i * branches.count,
                               branches.count, list->threads, at);
    *out = (kg_message){bytes, size};
    return KG_OK;
}

/* ---- Receiving ---- */

static kg_grads *received_for(const kg_grad_exchange *e, uint8_t node) {
    kg_grads *out = e->received;
    while (out->node != node)
        out++;
    return out;
}

/* Lets the gradients of a rank's branches be what its message has. */
static void unpack(const kg_grad_exchange *e, const kg_message *message, size_t rank,
                   bool is_sharded) {
    struct branches branches = branches_of(e->ranks, rank);
    const uint64_t *counts = message->bytes;
    char *at = (char *)message->bytes + e->list->count * branches.count * sizeof *counts;
    for (size_t i = 0; i < e->list->count; i++)
        for (size_t k = 0; k < branches.count; k++) {
            if (kg__param_is_sharded(&e->list->items[i]) != is_sharded)
                continue;
            size_t count = counts[i * branches.count + k];
            struct section section = section_at(at, count);
            kg_param_grads *grads = &received_for(e, branches.nodes[k])->params[i];
            grads->targets = section.targets;
            grads->vectors = section.vectors;
            grads->target_count = grads->vector_count = count;
            at += section_size(&e->list->items[i], count);
        }
}

static kg_status run_round(kg_grad_exchange *e, bool is_sharded, kg_error *error) {
    size_t ranks = e->ranks->count;
    kg_message *out = kg__arena_take(&e->arena, 2 * ranks, sizeof *out);
    if (out == NULL)
        return kg__fail_memory(error);
    kg_message *in = out + ranks;
    for (size_t i = 0; i < ranks; i++)
        if (is_sharded || i == 0)
            KG_TRY(pack(e, &out[i], is_sharded, i, error));
        else
            out[i] = out[0];
    KG_TRY(kg__ranks_exchange(e->ranks, in, out, &e->arena, error));
    for (size_t i = 0; i < ranks; i++)
        unpack(e, &in[i], i, is_sharded);
    return KG_OK;
}

kg_status kg__grad_exchange_run(kg_grad_exchange *e, const kg_grads *parts, size_t part_count,
                                kg_error *error) {
    bool has_sharded = false;
    kg__arena_reset(&e->arena);
    for (size_t i = 0; i < e->list->count; i++) {
        has_sharded = has_sharded || kg__param_is_sharded(&e->list->items[i]);
        KG_TRY(kg__param_group(&e->list->items[i], i, parts, part_count, error));
    }
    KG_TRY(run_round(e, false, error));
    if (has_sharded)
        KG_TRY(run_round(e, true, error));
    for (size_t i = 0; i < e->list->count; i++) /* others let some of them take the step */
        if (kg__param_is_sharded(&e->list->items[i]))
            kg__row_set_clear(&e->list->items[i].touched);
    return KG_OK;
}
