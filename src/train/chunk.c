/* Scores and gradients of a range of items. */
#include "train/chunk.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "math/vector.h"

kg_status kg__worker_open(kg_worker *worker, const kg_scene *scene, kg_error *error) {
    size_t dim = scene->params.dim;
    kg__aggregate_open(&worker->aggregate, scene->options->aggregate, scene->params);
    worker->z = kg__alloc(dim, sizeof *worker->z);
    worker->q = kg__alloc(dim, sizeof *worker->q);
    worker->g = kg__alloc(dim, sizeof *worker->g);
    worker->relation_sums = kg__alloc(scene->relation_count * dim, sizeof *worker->relation_sums);
    worker->is_summed = kg__alloc(scene->relation_count, sizeof *worker->is_summed);
    bool good = worker->z != NULL && worker->q != NULL && worker->g != NULL &&
                worker->relation_sums != NULL && worker->is_summed != NULL;
    return good ? KG_OK : kg__fail_memory(error);
}

void kg__worker_close(kg_worker *worker) {
    kg__aggregate_close(&worker->aggregate);
    kg__free(worker->z);
    kg__free(worker->q);
    kg__free(worker->g);
    kg__free(worker->relation_sums);
    kg__free(worker->is_summed);
    kg__free(worker->left_out);
}

/* A chunk being computed. */
struct work {
    kg_chunk *chunk;
    kg_sheaf *sheaf;
    kg_worker *worker;
    const kg_scene *scene;
    kg_error *error;
};

/* ---- What comes out ---- */

static kg_status add_vector(const struct work *work, real **out) {
    return kg__sheaf_add(work->sheaf, out, work->scene->params.dim, work->error);
}

static kg_status add_target(const struct work *work, kg_learned table, uint32_t row) {
    return kg__sheaf_send(work->sheaf, table, row, work->error);
}

/* A gradient g on the query vector of (directed, known) is one on the relation. */
static void add_to_relation(const struct work *work, kg_directed directed, const real *known,
                            const real *g) {
    const kg_params *params = &work->scene->params;
    kg_id relation = directed / 2;
    params->scoring->relation_gradient(work->worker->relation_sums + relation * params->dim,
                                       kg__relation_row(params, directed), known, g,
                                       kg_directed_end(directed), params->dim);
    work->worker->is_summed[relation] = true;
}

static kg_status emit_relations(const struct work *work) {
    size_t dim = work->scene->params.dim;
    for (size_t relation = 0; relation < work->scene->relation_count; relation++) {
        if (!work->worker->is_summed[relation])
            continue;
        real *vector = NULL;
        KG_TRY(add_vector(work, &vector));
        real *sum = work->worker->relation_sums + relation * dim;
        memcpy(vector, sum, dim * sizeof *vector);
        memset(sum, 0, dim * sizeof *sum);
        work->worker->is_summed[relation] = false;
        KG_TRY(add_target(work, KG_LEARN_RELATIONS, (uint32_t)relation));
    }
    return KG_OK;
}

/* ---- Items ---- */

static double softplus(double x) {
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

/* Keeps a product with probability 1 - dropout, and makes up for those that are gone. Dropping the
 * product of two numbers is dropping the second. */
static void drop_out(const kg_scene *scene, real *q, uint32_t item) {
    double rate = scene->options->dropout;
    if (rate == 0)
        return;
    size_t dim = scene->params.dim;
    uint64_t start = (scene->step << 32 | (scene->items_before + item)) * dim;
    for (size_t k = 0; k < dim; k++) {
        bool kept = kg__random_unit(scene->options->seed, KG_STREAM_DROPOUT, start + k) >= rate;
        q[k] = kept ? q[k] / (real)(1 - rate) : 0;
    }
}

/* An item asks for z . q, where z stands for one end and q is made of the other, `known`. Leaves
 * the gradient on z in `g` and emits those on `known` and on the relation. */
static kg_status score_item(const struct work *work, uint32_t number, const real *z, kg_end end,
                            real *g) {
    const kg_scene *scene = work->scene;
    const kg_params *params = &scene->params;
    size_t dim = params->dim;
    const kg_item *item = &scene->items[number];
    kg_directed directed = kg_direct(item->triple.relation, end);
    kg_id other = end == KG_HEAD ? item->triple.tail : item->triple.head;
    const real *known = kg__entity_row(params, other);
    real *q = work->worker->q;
    kg__query_vector(params, q, directed, known);
    drop_out(scene, q, number);
    double score = (double)kg__dot(z, q, dim);
    scene->scores[number] = score;
    work->chunk->loss += softplus(-item->label * score);
    real slope = (real)(-item->label / (1 + exp(item->label * score)));
    memset(g, 0, dim * sizeof *g);
    kg__add_scaled(g, slope, q, dim);
    /* From here on q is the gradient on the query vector: z, less what was dropped, times slope. */
    for (size_t k = 0; k < dim; k++)
        q[k] = slope * z[k];
    drop_out(scene, q, number);
    add_to_relation(work, directed, known, q);
    real *vector = NULL;
    KG_TRY(add_vector(work, &vector));
    kg__query_vector_adjoint(params, vector, directed, q);
    return add_target(work, KG_LEARN_ENTITIES, other);
}

/* Neither end is unseen: the head is looked up. */
static kg_status compute_seen(const struct work *work, uint32_t number) {
    const kg_scene *scene = work->scene;
    kg_id head = scene->items[number].triple.head;
    KG_TRY(
        score_item(work, number, kg__entity_row(&scene->params, head), KG_HEAD, work->worker->g));
    real *vector = NULL;
    KG_TRY(add_vector(work, &vector));
    memcpy(vector, work->worker->g, scene->params.dim * sizeof *vector);
    return add_target(work, KG_LEARN_ENTITIES, head);
}

/* ---- Unseen entities ---- */

/* Positions of the links that this item must not know. */
static kg_left_out find_left_out(const struct work *work, kg_id unseen, const kg_item *item) {
    const kg_scene *scene = work->scene;
    kg_end end = item->unseen == KG_UNSEEN_HEAD ? KG_HEAD : KG_TAIL;
    kg_id other = end == KG_HEAD ? item->triple.tail : item->triple.head;
    const kg_link *links = kg__adjacency_links(scene->adjacency, unseen);
    size_t count = kg__adjacency_degree(scene->adjacency, unseen);
    size_t *positions = work->worker->left_out;
    size_t found = 0;
    if (scene->options->exclude == KG_EXCLUDE_TRIPLE) {
        kg_link own = {kg_direct(item->triple.relation, end), other};
        positions[0] = kg__links_find(links, count, own);
        found = positions[0] < count;
    } else {
        for (size_t i = 0; i < count; i++)
            if (links[i].other == other)
                positions[found++] = i;
    }
    return (kg_left_out){positions, found};
}

static kg_status make_left_room(const struct work *work, size_t count) {
    kg_worker *worker = work->worker;
    size_t *grown =
        kg__grow(worker->left_out, &worker->left_capacity, count + 1, sizeof *worker->left_out);
    if (grown == NULL)
        return kg__fail_memory(work->error);
    worker->left_out = grown;
    return KG_OK;
}

/* The gradient that all rows of the group share: one vector for all its other ends. */
static kg_status emit_group(const struct work *work, size_t from, size_t to) {
    const kg_aggregate *a = &work->worker->aggregate;
    const kg_params *params = &work->scene->params;
    kg_directed directed = a->links[from].directed;
    real *vector = NULL;
    KG_TRY(add_vector(work, &vector));
    if (a->options.aggregator->uses_queries) {
        kg__query_vector_adjoint(params, vector, directed, a->shared);
        add_to_relation(work, directed, a->rows + from * params->dim, a->shared);
    } else {
        memcpy(vector, a->shared, params->dim * sizeof *vector);
    }
    for (size_t i = from; i < to; i++)
        KG_TRY(add_target(work, KG_LEARN_ENTITIES, a->links[i].other));
    return KG_OK;
}

static kg_status emit_own(const struct work *work, size_t i) {
    const kg_aggregate *a = &work->worker->aggregate;
    const kg_params *params = &work->scene->params;
    const real *own = a->own + i * params->dim;
    kg_link link = a->links[i];
    real *vector = NULL;
    KG_TRY(add_vector(work, &vector));
    if (a->options.aggregator->uses_queries) {
        kg__query_vector_adjoint(params, vector, link.directed, own);
        add_to_relation(work, link.directed, kg__entity_row(params, link.other), own);
    } else {
        memcpy(vector, own, params->dim * sizeof *vector);
    }
    return add_target(work, KG_LEARN_ENTITIES, link.other);
}

static kg_status emit_links(const struct work *work) {
    const kg_aggregate *a = &work->worker->aggregate;
    for (size_t from = 0, to = 0; from < a->count; from = to) {
        while (to < a->count && a->links[to].directed == a->links[from].directed)
            to++;
        if (a->options.aggregator->is_shared)
            KG_TRY(emit_group(work, from, to));
        for (size_t i = from; i < to; i++)
            if (a->has_own[i])
                KG_TRY(emit_own(work, i));
    }
    return KG_OK;
}

/* How many links the greediest of these jobs leaves out: nearly always few, even of a hub, and room
 * for them grows with the square. */
static size_t find_most_left_out(const struct work *work, kg_id unseen, size_t from, size_t to) {
    const kg_scene *scene = work->scene;
    size_t most = 1;
    if (scene->options->exclude == KG_EXCLUDE_TRIPLE)
        return most;
    for (size_t i = from; i < to; i++) {
        size_t count = find_left_out(work, unseen, &scene->items[scene->jobs[i].item]).count;
        most = count > most ? count : most;
    }
    return most;
}

/* All jobs from `from` up to `to` treat the same entity as unseen. */
static kg_status compute_unseen(const struct work *work, size_t from, size_t to) {
    const kg_scene *scene = work->scene;
    kg_worker *worker = work->worker;
    kg_id unseen = scene->jobs[from].unseen;
    size_t degree = kg__adjacency_degree(scene->adjacency, unseen);
    KG_TRY(make_left_room(work, degree));
    size_t most = find_most_left_out(work, unseen, from, to);
    KG_TRY(kg__aggregate_load(&worker->aggregate, kg__adjacency_links(scene->adjacency, unseen),
                              degree, most, work->error));
    for (size_t i = from; i < to; i++) {
        uint32_t number = scene->jobs[i].item;
        const kg_item *item = &scene->items[number];
        kg_left_out left = find_left_out(work, unseen, item);
        kg__aggregate_forward(&worker->aggregate, worker->z, left);
        kg_end end = item->unseen == KG_UNSEEN_HEAD ? KG_HEAD : KG_TAIL;
        KG_TRY(score_item(work, number, worker->z, end, worker->g));
        kg__aggregate_backward(&worker->aggregate, worker->g, left);
    }
    kg__aggregate_finish(&worker->aggregate);
    return emit_links(work);
}

kg_status kg__chunk_compute(kg_chunk *chunk, kg_sheaf *sheaf, kg_worker *worker,
                            const kg_scene *scene, kg_error *error) {
    struct work work = {chunk, sheaf, worker, scene, error};
    kg__sheaf_clear(sheaf);
    chunk->loss = 0;
    for (size_t from = chunk->from, to = 0; from < chunk->to; from = to) {
        to = from + 1;
        if (scene->jobs[from].unseen == KG_NO_ID) {
            KG_TRY(compute_seen(&work, scene->jobs[from].item));
            continue;
        }
        while (to < chunk->to && scene->jobs[to].unseen == scene->jobs[from].unseen)
            to++;
        KG_TRY(compute_unseen(&work, from, to));
    }
    return emit_relations(&work);
}
