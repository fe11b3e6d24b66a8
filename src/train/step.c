/* The step, phase by phase: order the items, catch up the rows that they read, compute chunk by
 * chunk, group what came out by row, update. */
#include "train/step.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/progress.h"
#include "math/linear.h"
#include "train/chunk.h"
#include "train/learner.h"

#define LEAST_CHUNK 256 /* rows to read, below which a chunk does not pay */
#define USUAL_CHUNKS 64

struct kg_stepper {
    kg_stepper_options options;
    kg_table *entities;
    kg_table *relations;
    const kg_optimizer *optimizer;
    kg_scene scene;
    size_t item_count;
    kg_job *jobs;
    size_t job_capacity;
    size_t score_capacity;
    kg_chunk *chunks;
    kg_sheaf *sheaves; /* one for each chunk */
    size_t chunk_count;
    size_t chunk_capacity;
    size_t sheaf_capacity;
    kg_worker *workers;
    int worker_count;
    kg_learner learn_entities;
    kg_learner learn_relations;
    kg_step_cost cost;
};

static kg_status open_parts(kg_stepper *s, kg_error *error) {
    size_t threads = (size_t)s->options.threads;
    KG_TRY(kg__learner_open(&s->learn_entities, KG_LEARN_ENTITIES, s->entities, s->optimizer,
                            s->options.threads, error));
    KG_TRY(kg__learner_open(&s->learn_relations, KG_LEARN_RELATIONS, s->relations, s->optimizer,
                            s->options.threads, error));
    s->workers = kg__alloc(threads, sizeof *s->workers);
    if (s->workers == NULL)
        return kg__fail_memory(error);
    for (; s->worker_count < s->options.threads; s->worker_count++)
        KG_TRY(kg__worker_open(&s->workers[s->worker_count], &s->scene, error));
    return KG_OK;
}

kg_status kg__stepper_open(kg_stepper **out, const kg_stepper_options *options,
                           const kg_adjacency *adjacency, kg_table *entities, kg_table *relations,
                           const kg_optimizer *optimizer, kg_error *error) {
    kg_stepper *s = kg__alloc(1, sizeof *s);
    if (s == NULL)
        return kg__fail_memory(error);
    s->options = *options;
    s->entities = entities;
    s->relations = relations;
    s->optimizer = optimizer;
    s->scene = (kg_scene){
        .options = &s->options,
        .adjacency = adjacency,
        .params = {.scoring = options->scoring,
                   .entities = entities->values,
                   .relations = relations->values,
                   .dim = entities->dim},
        .relation_count = relations->rows,
    };
    kg_status status = kg__linear_set_up(options->threads, error);
    if (status == KG_OK)
        status = open_parts(s, error);
    if (status != KG_OK) {
        kg__stepper_close(s);
        return status;
    }
    *out = s;
    return KG_OK;
}

void kg__stepper_close(kg_stepper *s) {
    if (s == NULL)
        return;
    for (int i = 0; i < s->worker_count; i++)
        kg__worker_close(&s->workers[i]);
    for (size_t i = 0; i < s->sheaf_capacity; i++)
        kg__sheaf_free(&s->sheaves[i]);
    kg__learner_close(&s->learn_entities);
    kg__learner_close(&s->learn_relations);
    kg__free(s->workers);
    kg__free(s->chunks);
    kg__free(s->sheaves);
    kg__free(s->jobs);
    kg__free(s->scene.scores);
    kg__free(s);
}

/* ---- The plan ---- */

static int compare_jobs(const void *a, const void *b) {
    const kg_job *x = a;
    const kg_job *y = b;
    if (x->unseen != y->unseen)
        return x->unseen < y->unseen ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static kg_status order_items(kg_stepper *s, const kg_item *items, size_t count, kg_error *error) {
    kg_job *jobs = kg__grow(s->jobs, &s->job_capacity, count, sizeof *jobs);
    if (jobs == NULL)
        return kg__fail_memory(error);
    s->jobs = jobs;
    double *scores = kg__grow(s->scene.scores, &s->score_capacity, count, sizeof *scores);
    if (scores == NULL)
        return kg__fail_memory(error);
    s->scene.scores = scores;
    for (size_t i = 0; i < count; i++) {
        kg_triple triple = items[i].triple;
        kg_id unseen = items[i].unseen == KG_UNSEEN_HEAD   ? triple.head
                       : items[i].unseen == KG_UNSEEN_TAIL ? triple.tail
                                                           : KG_NO_ID;
        jobs[i] = (kg_job){unseen, (uint32_t)i};
    }
    qsort(jobs, count, sizeof *jobs, compare_jobs);
    s->item_count = count;
    s->scene.items = items;
    s->scene.jobs = jobs;
    return KG_OK;
}

/* Rows that a job reads beyond those that the job before it has read. */
static size_t job_cost(const kg_stepper *s, size_t i) {
    kg_id unseen = s->jobs[i].unseen;
    bool is_new = unseen != KG_NO_ID && (i == 0 || s->jobs[i - 1].unseen != unseen);
    return 2 + (is_new ? kg__adjacency_degree(s->scene.adjacency, unseen) : 0);
}

static kg_status add_chunk(kg_stepper *s, size_t from, size_t to, kg_error *error) {
    kg_chunk *chunks = kg__grow(s->chunks, &s->chunk_capacity, s->chunk_count + 1, sizeof *chunks);
    if (chunks == NULL)
        return kg__fail_memory(error);
    s->chunks = chunks;
    size_t before = s->sheaf_capacity;
    kg_sheaf *sheaves =
        kg__grow(s->sheaves, &s->sheaf_capacity, s->chunk_count + 1, sizeof *sheaves);
    if (sheaves == NULL)
        return kg__fail_memory(error);
    s->sheaves = sheaves;
    if (s->sheaf_capacity > before)
        memset(sheaves + before, 0, (s->sheaf_capacity - before) * sizeof *sheaves);
    chunks[s->chunk_count].from = from;
    chunks[s->chunk_count++].to = to;
    return KG_OK;
}

/* Chunks of about the same cost; jobs of one unseen entity stay together. */
static kg_status cut_chunks(kg_stepper *s, kg_error *error) {
    size_t total = 0;
    for (size_t i = 0; i < s->item_count; i++)
        total += job_cost(s, i);
    size_t enough = total / USUAL_CHUNKS > LEAST_CHUNK ? total / USUAL_CHUNKS : LEAST_CHUNK;
    s->chunk_count = 0;
    size_t from = 0;
    size_t cost = 0;
    for (size_t i = 0; i < s->item_count; i++) {
        cost += job_cost(s, i);
        bool last = i + 1 == s->item_count;
        kg_id unseen = s->jobs[i].unseen;
        bool goes_on = !last && unseen != KG_NO_ID && s->jobs[i + 1].unseen == unseen;
        if (last || (cost >= enough && !goes_on)) {
            KG_TRY(add_chunk(s, from, i + 1, error));
            from = i + 1;
            cost = 0;
        }
    }
    return KG_OK;
}

/* Every row that is read gets a gradient, if only a zero one. */
static void touch_rows(kg_stepper *s) {
    kg__touched_clear(&s->learn_entities.touched);
    kg__touched_clear(&s->learn_relations.touched);
    for (size_t i = 0; i < s->item_count; i++) {
        kg_id unseen = s->jobs[i].unseen;
        kg_triple triple = s->scene.items[s->jobs[i].item].triple;
        kg__touched_add(&s->learn_relations.touched, triple.relation);
        uint8_t which = s->scene.items[s->jobs[i].item].unseen;
        if (which != KG_UNSEEN_HEAD)
            kg__touched_add(&s->learn_entities.touched, triple.head);
        if (which != KG_UNSEEN_TAIL)
            kg__touched_add(&s->learn_entities.touched, triple.tail);
        if (unseen == KG_NO_ID || (i > 0 && s->jobs[i - 1].unseen == unseen))
            continue;
        const kg_link *links = kg__adjacency_links(s->scene.adjacency, unseen);
        size_t degree = kg__adjacency_degree(s->scene.adjacency, unseen);
        s->cost.links += degree;
        for (size_t j = 0; j < degree; j++) {
            kg__touched_add(&s->learn_entities.touched, links[j].other);
            kg__touched_add(&s->learn_relations.touched, links[j].directed / 2);
        }
    }
}

static void touch_all(kg_stepper *s) {
    for (size_t row = 0; row < s->options.trained_entities; row++)
        kg__touched_add(&s->learn_entities.touched, (uint32_t)row);
    for (size_t row = 0; row < s->options.trained_relations; row++)
        kg__touched_add(&s->learn_relations.touched, (uint32_t)row);
}

/* ---- The phases ---- */

static kg_status compute(kg_stepper *s, double *loss, kg_error *error) {
    bool good = true;
#pragma omp parallel for schedule(dynamic) num_threads(s->options.threads) reduction(&& : good)
    for (size_t i = 0; i < s->chunk_count; i++) {
        kg_worker *worker = &s->workers[omp_get_thread_num()];
        good = kg__chunk_compute(&s->chunks[i], &s->sheaves[i], worker, &s->scene, NULL) == KG_OK &&
               good;
    }
    if (!good) /* nothing else can go wrong there */
        return kg__fail_memory(error);
    *loss = 0;
    for (size_t i = 0; i < s->chunk_count; i++)
        *loss += s->chunks[i].loss;
    return KG_OK;
}

static void book(kg_stepper *s, const kg_touched *touched) {
    s->cost.rows += touched->count;
    s->cost.vectors += touched->starts[touched->count];
}

static kg_status group(kg_stepper *s, kg_error *error) {
    KG_TRY(kg__learner_group(&s->learn_entities, s->sheaves, s->chunk_count, error));
    KG_TRY(kg__learner_group(&s->learn_relations, s->sheaves, s->chunk_count, error));
    book(s, &s->learn_entities.touched);
    book(s, &s->learn_relations.touched);
    return KG_OK;
}

static kg_status update(kg_stepper *s, uint64_t step, kg_error *error) {
    KG_TRY(group(s, error));
    kg__learner_step(&s->learn_entities, step);
    kg__learner_step(&s->learn_relations, step);
    return KG_OK;
}

/* Adds the time since `*since`, which becomes now. */
static void clock_in(double *phase, double *since) {
    double now = kg__seconds();
    *phase += now - *since;
    *since = now;
}

static kg_status plan(kg_stepper *s, const kg_item *items, size_t count, uint64_t step,
                      kg_error *error) {
    s->scene.step = step;
    s->cost.items += count;
    KG_TRY(order_items(s, items, count, error));
    KG_TRY(cut_chunks(s, error));
    touch_rows(s);
    return KG_OK;
}

static kg_status check_loss(const kg_stepper *s, double loss, kg_error *error) {
    if (isfinite(loss))
        return KG_OK;
    bool has_ridge = !s->options.aggregate.aggregator->is_shared;
    return kg_fail(error, KG_DIVERGED,
                   "the loss is no longer a number in step %ju: try a smaller rate%s more L2%s",
                   (uintmax_t)s->scene.step, has_ridge ? "," : " or",
                   has_ridge ? " or a larger ridge" : "");
}

kg_status kg__stepper_step(kg_stepper *s, const kg_item *items, size_t count, uint64_t step,
                           double *loss, kg_error *error) {
    double since = kg__seconds();
    KG_TRY(plan(s, items, count, step, error));
    if (s->options.dense)
        touch_all(s);
    clock_in(&s->cost.plan, &since);
    s->cost.missed += kg__learner_catch_up(&s->learn_entities, step - 1);
    s->cost.missed += kg__learner_catch_up(&s->learn_relations, step - 1);
    clock_in(&s->cost.catch_up, &since);
    KG_TRY(compute(s, loss, error));
    clock_in(&s->cost.compute, &since);
    KG_TRY(check_loss(s, *loss, error));
    KG_TRY(update(s, step, error));
    clock_in(&s->cost.update, &since);
    return KG_OK;
}

/* ---- Gradients without a step ---- */

#define SLICE 20000 /* items whose gradients are kept at a time */

static kg_status add_slice(kg_stepper *s, const kg_item *items, size_t count, uint64_t step,
                           real *entities, real *relations, double *loss, kg_error *error) {
    double since = kg__seconds();
    double part = 0;
    KG_TRY(plan(s, items, count, step, error));
    clock_in(&s->cost.plan, &since);
    KG_TRY(compute(s, &part, error));
    clock_in(&s->cost.compute, &since);
    *loss += part;
    KG_TRY(check_loss(s, *loss, error));
    KG_TRY(group(s, error));
    kg__learner_add(&s->learn_entities, entities);
    kg__learner_add(&s->learn_relations, relations);
    clock_in(&s->cost.update, &since);
    return KG_OK;
}

kg_status kg__stepper_add_gradients(kg_stepper *s, const kg_item *items, size_t count,
                                    uint64_t step, real *entities, real *relations, double *loss,
                                    kg_error *error) {
    kg_status status = KG_OK;
    *loss = 0;
    for (size_t from = 0; from < count && status == KG_OK; from += SLICE) {
        size_t size = count - from < SLICE ? count - from : SLICE;
        s->scene.items_before = from;
        status = add_slice(s, items + from, size, step, entities, relations, loss, error);
    }
    s->scene.items_before = 0;
    return status;
}

kg_step_cost kg__stepper_cost(const kg_stepper *s) {
    return s->cost;
}

const double *kg__stepper_scores(const kg_stepper *s) {
    return s->scene.scores;
}

void kg__stepper_catch_up(kg_stepper *s, uint64_t step) {
    kg__learner_catch_up_all(&s->learn_entities, s->options.trained_entities, step);
    kg__learner_catch_up_all(&s->learn_relations, s->options.trained_relations, step);
}
