/* Parameters: allocation and initial values, sums of gradients by row, and optimiser steps, on all
 * threads. */
#include "train/param.h"

#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "math/lanes.h"
#include "math/vector.h"

#define CHUNK 64 /* rows that a thread takes at a time: fewer are not worth waking another */

/* ---- Opening ---- */

static void fill_row(const kg_param *p, size_t row, kg_param_start start, uint64_t seed) {
    for (size_t i = row * p->columns; i < (row + 1) * p->columns; i++)
        p->values[i] =
            start.bound == 0
                ? (real)start.value
                : (real)(start.bound *
                         (2 * kg__random_unit(seed, (kg_stream)start.stream, start.position + i) -
                          1));
}

static void fill(const kg_param *p, kg_param_start start, uint64_t seed, int threads) {
#pragma omp parallel for num_threads(threads) if (p->rows > CHUNK)
    for (size_t row = 0; row < p->rows; row++)
        if (kg__param_owns(p, row))
            fill_row(p, row, start, seed);
}

/* How many rows this process owns. */
static size_t count_owned(const kg_param *p) {
    size_t owned = 0;
    for (size_t from = 0, count = 0; from < p->rows; from += count) {
        count = kg__param_run(p, from);
        owned += kg__param_owns(p, from) ? count : 0;
    }
    return owned;
}

/* Those of a sharded one have room for all rows, and memory for few of them. */
static bool make_values(kg_param *p) {
    if (!kg__param_is_sharded(p))
        p->values = kg__resize(NULL, p->rows, p->columns * sizeof *p->values);
    else if (kg__mapping_reserve(&p->pages, p->rows * p->columns * sizeof *p->values, NULL) ==
             KG_OK)
        p->values = (real *)(void *)p->pages.bytes;
    return p->values != NULL;
}

static bool make(kg_param *p, kg_method method, int threads) {
    size_t row = p->columns * sizeof(real);
    bool learns = !p->is_computed;
    p->kept = count_owned(p);
    p->state = kg__optimizer_state(method, p->columns);
    p->first = learns ? kg__alloc(p->kept, p->state * sizeof(real)) : NULL;
    p->second = learns && method == KG_ADAM ? kg__alloc(p->kept, row) : NULL;
    p->sums = kg__alloc((size_t)threads * KG_TREE_DEPTH, row);
    p->touched.slots = kg__resize(NULL, p->rows, sizeof *p->touched.slots);
    p->touched.rows = kg__resize(NULL, p->rows, sizeof *p->touched.rows);
    p->touched.starts = kg__resize(NULL, p->rows + 2, sizeof *p->touched.starts);
    return make_values(p) && p->sums != NULL && p->touched.slots != NULL &&
           p->touched.rows != NULL && p->touched.starts != NULL && (!learns || p->first != NULL) &&
           (!learns || method != KG_ADAM || p->second != NULL);
}

kg_status kg__param_list_add(kg_param_list *list, const kg_param *about, kg_param_start start,
                             kg_error *error) {
    if (list->count == KG_MOST_PARAMS)
        return kg_fail(error, KG_BAD_INPUT, "expected at most %d parameters, found %s as well",
                       KG_MOST_PARAMS, about->name);
    if (strlen(about->name) > KG_PARAM_NAME)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected a parameter's name of at most %d bytes, found %s", KG_PARAM_NAME,
                       about->name);
    kg_param *p = &list->items[list->count++];
    *p = *about;
    if (!make(p, list->method, list->threads))
        return kg__fail_memory(error);
    fill(p, start, list->seed, list->threads);
    memset(p->touched.slots, 0xff, p->rows * sizeof *p->touched.slots); /* none is in it */
    return KG_OK;
}

static void forget_best(kg_param_list *list) {
    for (size_t i = 0; i < list->count; i++)
        list->items[i].best = NULL;
    kg__mapping_close(&list->best);
    kg__output_close(list->best_file);
    list->best_file = NULL;
}

void kg__param_list_end(kg_param_list *list) {
    forget_best(list);
    for (size_t i = 0; i < list->count; i++) {
        kg_param *p = &list->items[i];
        kg__free(p->first);
        kg__free(p->second);
        kg__free(p->steps);
        kg__free(p->sums);
        kg__free(p->touched.slots);
        kg__free(p->touched.rows);
        kg__free(p->touched.starts);
        kg__free(p->touched.vectors);
        kg__free(p->touched.nodes);
        p->first = p->second = p->sums = NULL;
        p->steps = NULL;
        p->touched = (kg_row_set){0};
        kg__optimizer_close(&p->optimizer);
    }
}

void kg__param_list_close(kg_param_list *list) {
    kg__param_list_end(list);
    for (size_t i = 0; i < list->count; i++) {
        kg_param *p = &list->items[i];
        if (!kg__param_is_sharded(p))
            kg__free(p->values);
        kg__mapping_close(&p->pages);
    }
    *list = (kg_param_list){0};
}

/* Whether its rows move without a gradient. */
static bool catches_up(const kg_param *p) {
    return p->optimizer.method == KG_ADAM || p->optimizer.l2 != 0;
}

kg_status kg__param_list_open_optimizers(kg_param_list *list, kg_rates rates, double l2,
                                         uint64_t steps, kg_error *error) {
    for (size_t i = 0; i < list->count; i++) {
        kg_param *p = &list->items[i];
        kg_rates own = {p->rate * rates.first, p->rate * rates.last, rates.beta2};
        if (p->is_computed)
            continue;
        KG_TRY(
            kg__optimizer_open(&p->optimizer, list->method, own, p->has_l2 ? l2 : 0, steps, error));
        if (!catches_up(p))
            continue;
        p->steps = kg__alloc(p->kept, sizeof *p->steps);
        if (p->steps == NULL)
            return kg__fail_memory(error);
    }
    return KG_OK;
}

kg_status kg__param_list_open_grads(const kg_param_list *list, kg_grads *grads, kg_error *error) {
    for (size_t i = 0; i < list->count; i++)
        KG_TRY(kg__grads_add_param(grads, list->items[i].rows, list->items[i].columns, error));
    return KG_OK;
}

/* ---- Rows ---- */

static kg_param_row row_of(const kg_param *p, size_t row) {
    size_t place = kg__param_place(p, row);
    return (kg_param_row){p->values + row * p->columns, p->first + place * p->state,
                          p->second == NULL ? NULL : p->second + place * p->columns};
}

static void catch_up(const kg_param *p, size_t row, uint64_t step) {
    uint64_t *taken = p->steps == NULL ? NULL : &p->steps[kg__param_place(p, row)];
    if (taken == NULL || *taken >= step)
        return;
    kg__optimizer_catch_up(&p->optimizer, row_of(p, row), p->columns, *taken, step);
    *taken = step;
}

static void take_step(const kg_param *p, size_t row, const real *gradient, uint64_t step) {
    kg__optimizer_step(&p->optimizer, row_of(p, row), gradient, p->columns, step);
    if (p->steps != NULL)
        p->steps[kg__param_place(p, row)] = step;
}

void kg__param_forget_fetched(kg_param *p) {
    for (size_t row = 0, count = 0; row < p->rows; row += count) {
        count = kg__param_run(p, row);
        if (!kg__param_owns(p, row))
            kg__mapping_clear(p->values + row * p->columns, count * p->columns * sizeof *p->values);
    }
    p->fetched = 0;
}

/* Inlined, since gcc takes a call of a function that only fetches for one without effect. */

KG_INLINED void fetch_for_writing(const real *x, size_t n) {
    for (size_t i = 0; i < n; i += KG_CACHE_LINE / sizeof *x)
        __builtin_prefetch(x + i, 1);
}

/* The row will soon be read and written: which comes next the processor cannot foresee. */
KG_INLINED void prefetch(const kg_param *p, size_t i) {
    if (i >= p->touched.count || p->columns * sizeof(real) < KG_CACHE_LINE ||
        !kg__param_owns(p, p->touched.rows[i]))
        return;
    kg_param_row row = row_of(p, p->touched.rows[i]);
    fetch_for_writing(row.values, p->columns);
    fetch_for_writing(row.first, p->state);
    if (row.second != NULL)
        fetch_for_writing(row.second, p->columns);
}

/* ---- Steps ---- */

void kg__row_set_clear(kg_row_set *set) {
    for (; set->count > 0; set->count--)
        set->slots[set->rows[set->count - 1]] = UINT32_MAX;
}

void kg__param_list_clear(kg_param_list *list) {
    for (size_t i = 0; i < list->count; i++)
        kg__row_set_clear(&list->items[i].touched);
}

bool kg__param_list_catches_up(const kg_param_list *list) {
    bool out = false;
    for (size_t i = 0; i < list->count; i++)
        out = out || list->items[i].steps != NULL;
    return out;
}

static void catch_up_whole(const kg_param *p, uint64_t step, int threads) {
    if (p->steps == NULL)
        return;
#pragma omp parallel for schedule(dynamic, CHUNK) num_threads(threads) if (p->trained_rows > CHUNK)
    for (size_t row = 0; row < p->trained_rows; row++)
        if (kg__param_owns(p, row))
            catch_up(p, row, step);
}

void kg__param_catch_up_rows(kg_param *p, const uint32_t *rows, size_t count, uint64_t step,
                             int threads) {
#pragma omp parallel for schedule(dynamic, CHUNK) num_threads(threads) if (count > CHUNK)
    for (size_t i = 0; i < count; i++)
        catch_up(p, rows[i], step);
}

static uint64_t catch_up_touched(const kg_param *p, uint64_t step, int threads) {
    uint64_t missed = 0;
#pragma omp parallel for schedule(dynamic, CHUNK) num_threads(threads) \
    reduction(+ : missed) if (p->touched.count > CHUNK)
    for (size_t i = 0; i < p->touched.count; i++) {
        uint32_t row = p->touched.rows[i];
        prefetch(p, i + 1);
        if (!kg__param_owns(p, row))
            continue;
        missed += step - p->steps[kg__param_place(p, row)];
        catch_up(p, row, step);
    }
    return missed;
}

uint64_t kg__param_list_catch_up(kg_param_list *list, uint64_t step) {
    uint64_t missed = 0;
    for (size_t i = 0; i < list->count; i++) {
        const kg_param *p = &list->items[i];
        if (p->steps == NULL)
            continue;
        if (p->is_read_whole)
            catch_up_whole(p, step, list->threads);
        else
            missed += catch_up_touched(p, step, list->threads);
    }
    return missed;
}

void kg__param_list_catch_up_all(kg_param_list *list, uint64_t step) {
    for (size_t i = 0; i < list->count; i++)
        catch_up_whole(&list->items[i], step, list->threads);
}

/* A counting sort, which is stable, so the order of the parts is kept. */
kg_status kg__param_group(kg_param *p, size_t number, const kg_grads *parts, size_t part_count,
                          kg_error *error) {
    kg_row_set *set = &p->touched;
    /* starts[i + 2] counts row i at first; when vectors are placed, starts[i + 1] moves from where
     * row i begins to where it ends. */
    size_t *starts = set->starts;
    size_t total = 0;
    memset(starts, 0, (set->count + 2) * sizeof *starts);
    for (size_t part = 0; part < part_count; part++) {
        const kg_param_grads *grads = &parts[part].params[number];
        total += grads->target_count;
        for (size_t i = 0; i < grads->target_count; i++) {
            uint32_t row = grads->targets[i].row;
            if (set->slots[row] == UINT32_MAX) {
                kg__row_set_add(set, row);
                starts[set->count + 1] = 0;
            }
            starts[set->slots[row] + 2]++;
        }
    }
    const real **vectors = kg__grow(set->vectors, &set->vector_capacity, total, sizeof *vectors);
    if (vectors == NULL)
        return kg__fail_memory(error);
    set->vectors = vectors;
    uint8_t *nodes = kg__grow(set->nodes, &set->node_capacity, total, sizeof *nodes);
    if (nodes == NULL)
        return kg__fail_memory(error);
    set->nodes = nodes;
    for (size_t i = 2; i < set->count + 2; i++)
        starts[i] += starts[i - 1];
    for (size_t part = 0; part < part_count; part++) {
        const kg_param_grads *grads = &parts[part].params[number];
        for (size_t i = 0; i < grads->target_count; i++) {
            kg_grad_target target = grads->targets[i];
            size_t place = starts[set->slots[target.row] + 1]++;
            vectors[place] = grads->vectors + target.vector * grads->columns;
            nodes[place] = parts[part].node;
        }
    }
    return KG_OK;
}

/* The sum of the vectors that go to touched row i, which may be none. */
static const real *sum_of(const kg_param *p, size_t i) {
    const kg_row_set *set = &p->touched;
    kg_tree_sum sum = {set->vectors, set->nodes, p->columns};
    size_t from = set->starts[i];
    size_t to = set->starts[i + 1];
    real *scratch = p->sums + (size_t)omp_get_thread_num() * KG_TREE_DEPTH * p->columns;
    if (from == to)
        return memset(scratch, 0, p->columns * sizeof *scratch);
    return kg__tree_sum(&sum, from, to, set->starts[set->count] - to, scratch);
}

/* Rows that are only read take the step, too, with no gradient: it is cheaper now than later. */
static void step_rows(kg_param *p, uint64_t step, int threads) {
#pragma omp parallel for schedule(dynamic, CHUNK) num_threads(threads) if (p->touched.count > CHUNK)
    for (size_t i = 0; i < p->touched.count; i++) {
        prefetch(p, i + 1);
        catch_up(p, p->touched.rows[i], step - 1); /* gradients of other ranks go there, too */
        take_step(p, p->touched.rows[i], sum_of(p, i), step);
    }
}

kg_status kg__param_list_step(kg_param_list *list, const kg_grads *parts, size_t part_count,
                              uint64_t step, kg_error *error) {
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].is_computed)
            continue;
        KG_TRY(kg__param_group(&list->items[i], i, parts, part_count, error));
        step_rows(&list->items[i], step, list->threads);
    }
    return KG_OK;
}

kg_status kg__param_sum(kg_param *p, size_t number, const kg_grads *parts, size_t part_count,
                        int threads, real *out, kg_error *error) {
    KG_TRY(kg__param_group(p, number, parts, part_count, error));
#pragma omp parallel for schedule(dynamic, CHUNK) num_threads(threads) if (p->touched.count > CHUNK)
    for (size_t i = 0; i < p->touched.count; i++)
        memcpy(out + p->touched.rows[i] * p->columns, sum_of(p, i), p->columns * sizeof *out);
    return KG_OK;
}

void kg__param_step_dense(kg_param *p, const real *gradients, int threads, uint64_t step) {
#pragma omp parallel for schedule(dynamic, CHUNK) num_threads(threads) if (p->trained_rows > CHUNK)
    for (size_t row = 0; row < p->trained_rows; row++)
        take_step(p, row, gradients + row * p->columns, step);
}

/* ---- The best ---- */

static size_t size_of(const kg_param *p, size_t rows) {
    return rows * p->columns * sizeof(real);
}

static kg_status write_owned(kg_output *file, const kg_param *p, const real *values,
                             kg_error *error) {
    for (size_t from = 0, count = 0; from < p->rows; from += count) {
        count = kg__param_run(p, from);
        if (kg__param_owns(p, from))
            KG_TRY(kg__output_write(file, values + from * p->columns, size_of(p, count), error));
    }
    return KG_OK;
}

static void read_owned(const kg_param *p, const real *owned) {
    for (size_t from = 0, count = 0; from < p->rows; from += count) {
        count = kg__param_run(p, from);
        if (kg__param_owns(p, from))
            kg__mapping_copy(p->values + from * p->columns,
                             owned + kg__param_place(p, from) * p->columns, size_of(p, count));
    }
}

static kg_status write_best(kg_param_list *list, const real *const *values, kg_error *error) {
    for (size_t i = 0; i < list->count; i++) {
        const kg_param *p = &list->items[i];
        KG_TRY(write_owned(list->best_file, p, values == NULL ? p->values : values[i], error));
    }
    return kg__output_map(list->best_file, &list->best, error);
}

kg_status kg__param_list_keep_best(kg_param_list *list, const real *const *values,
                                   const char *beside, kg_error *error) {
    forget_best(list);
    KG_TRY(kg__output_open(&list->best_file, beside, beside, error));
    kg_status status = write_best(list, values, error);
    if (status != KG_OK) {
        forget_best(list);
        return status;
    }
    const char *bytes = list->best.bytes;
    for (size_t i = 0; i < list->count; i++) {
        list->items[i].best = (const real *)(const void *)bytes;
        bytes += size_of(&list->items[i], list->items[i].kept);
    }
    return KG_OK;
}

void kg__param_list_take_best(kg_param_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        const kg_param *p = &list->items[i];
        if (p->best != NULL)
            read_owned(p, p->best);
    }
    forget_best(list);
}
