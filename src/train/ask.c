/* A portion, forward and back. */
#include "train/ask.h"

#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "train/asking.h"

kg_status kg__ask_worker_open(kg_ask_worker *worker, const kg_ask_scene *scene, size_t most_links,
                              kg_error *error) {
    size_t dim = scene->params.dim;
    *worker = (kg_ask_worker){0};
    worker->others = kg__alloc(most_links, sizeof *worker->others);
    bool good = worker->others != NULL;
    for (size_t i = 0; i < 2; i++) {
        worker->relation_sums[i] = kg__alloc(scene->relation_rows * dim, sizeof(real));
        worker->is_summed[i] = kg__alloc(scene->relation_rows, sizeof(bool));
        good = good && worker->relation_sums[i] != NULL && worker->is_summed[i] != NULL;
    }
    size_t entities = scene->graph->entity_count;
    worker->local_of = kg__alloc(entities, sizeof *worker->local_of);
    if (!good || worker->local_of == NULL)
        return kg__fail_memory(error);
    memset(worker->local_of, 0xff, entities * sizeof *worker->local_of); /* none is one */
    return scene->clues == NULL ? KG_OK
                                : kg__clue_reader_open(&worker->reader, scene->clues, error);
}

void kg__ask_worker_close(kg_ask_worker *worker) {
    kg__free(worker->others);
    kg__free(worker->room);
    kg__free(worker->local_of);
    kg__clue_reader_close(&worker->reader);
    for (size_t i = 0; i < 2; i++) {
        kg__free(worker->relation_sums[i]);
        kg__free(worker->is_summed[i]);
    }
    *worker = (kg_ask_worker){0};
}

static size_t count_groups(const kg_link *links, size_t count) {
    size_t groups = 0;
    for (size_t i = 0; i < count; groups++)
        i = kg__group_end(links, count, i);
    return groups;
}

void kg__ask_measure(kg_inquiry *inquiry, const kg_ask_scene *scene) {
    const kg_link *links = kg__adjacency_links(scene->graph, inquiry->portion.entity);
    size_t count = kg__adjacency_degree(scene->graph, inquiry->portion.entity);
    size_t questions = inquiry->portion.to - inquiry->portion.from;
    size_t most = questions + KG_MOST_SAMPLED;
    inquiry->group_count = count_groups(links, count);
    inquiry->asked_count = count_groups(links + inquiry->portion.from, questions);
    inquiry->local_count = (count < most ? count : most) + (scene->psi < 1);
    if (scene->clues != NULL)
        inquiry->local_count += questions * KG_MOST_CANDIDATES;
}

static kg_asking open_asking(kg_inquiry *q, const kg_ask_scene *scene, kg_ask_worker *worker,
                             kg_error *error) {
    kg_id entity = q->portion.entity;
    const kg_link *links = kg__adjacency_links(scene->graph, entity);
    size_t dim = scene->params.dim;
    return (kg_asking){
        .inquiry = q,
        .scene = scene,
        .worker = worker,
        .error = error,
        .params = &scene->params,
        .dim = dim,
        .links = links,
        .by_other = scene->by_other + scene->graph->starts[entity],
        .link_count = kg__adjacency_degree(scene->graph, entity),
        .asked = links + q->portion.from,
        .question_count = q->portion.to - q->portion.from,
        .vectors = scene->vectors + q->question * dim,
        .z = scene->z + q->question * dim,
        .gradients = scene->gradients + q->question * dim,
        .groups = scene->groups + q->group,
        .sums = scene->sums + q->group * dim,
        .queries = scene->queries + q->group * dim,
        .weights = scene->weights + q->pair,
        .echoes = scene->echoes + q->pair,
        .weighted = scene->weighted + q->pair,
        .echoing = scene->echoing + q->pair,
        .locals = scene->locals + q->local,
        .answers = scene->answers + q->question,
        .scores = scene->scores + q->score,
        .hinted = scene->clues == NULL ? NULL : scene->hinted + q->question * KG_MOST_CANDIDATES,
        .hint_counts = scene->clues == NULL ? NULL : scene->hint_counts + q->question,
        .vacancies = scene->clues == NULL ? NULL : scene->vacancies + q->vacancy,
        .worth = scene->clues == NULL ? NULL : scene->worth + q->question * KG_FEATURE_COUNT,
    };
}

/* ---- What the files that ask share ---- */

bool kg__asked_next(const kg_asking *a, kg_asked_run *run) {
    bool is_first = run->to == 0;
    if (run->to == a->question_count)
        return false;
    run->number += !is_first;
    run->from = run->to;
    run->to = kg__group_end(a->asked, a->question_count, run->from);
    run->directed = a->asked[run->from].directed;
    run->group = is_first ? kg__asking_group(a, run->directed) : run->group + 1;
    run->pair = run->number * a->inquiry->group_count;
    return true;
}

size_t kg__asking_group(const kg_asking *a, kg_directed directed) {
    size_t from = 0;
    size_t to = a->inquiry->group_count;
    while (to - from > 1) {
        size_t middle = from + (to - from) / 2;
        if (a->links[a->groups[middle]].directed <= directed)
            from = middle;
        else
            to = middle;
    }
    return from;
}

bool kg__asking_is_unseen(const kg_asking *a, size_t i) {
    double psi = a->scene->psi;
    return psi == 1 || (psi > 0 && kg__random_unit(a->scene->seed, KG_STREAM_UNSEEN,
                                                   kg__asking_position(a, i)) < psi);
}

kg_status kg__asking_room(const kg_asking *a, real **out, size_t count) {
    kg_ask_worker *worker = a->worker;
    real *room = kg__grow(worker->room, &worker->room_capacity, count, sizeof *room);
    if (room == NULL)
        return kg__fail_memory(a->error);
    worker->room = room;
    *out = room;
    return KG_OK;
}

/* ---- Forward and back ---- */

kg_status kg__ask_hints(const kg_inquiry *inquiry, const kg_ask_scene *scene, kg_ask_worker *worker,
                        kg_error *error) {
    const kg_portion *portion = &inquiry->portion;
    const kg_candidate_features *hints = NULL;
    const uint8_t *counts = NULL;
    KG_TRY(kg__clues_read(scene->clues, &worker->reader, portion, &hints, &counts, error));
    for (size_t i = 0; i < portion->to - portion->from; i++) {
        kg_clue *hinted = scene->hinted + (inquiry->question + i) * KG_MOST_CANDIDATES;
        scene->hint_counts[inquiry->question + i] = counts[i];
        for (size_t k = 0; k < counts[i]; k++)
            hinted[k].hint = *hints++;
    }
    return KG_OK;
}

kg_status kg__ask_forward(kg_inquiry *inquiry, const kg_ask_scene *scene, kg_ask_worker *worker,
                          kg_masks *masks, kg_error *error) {
    kg_asking asking = open_asking(inquiry, scene, worker, error);
    KG_TRY(kg__ask_facts(&asking));
    return kg__ask_locals(&asking, masks);
}

kg_status kg__ask_backward(kg_inquiry *inquiry, const kg_ask_scene *scene, kg_ask_worker *worker,
                           kg_sheaf *sheaf, kg_error *error) {
    kg_asking asking = open_asking(inquiry, scene, worker, error);
    size_t local_size = inquiry->local_count * asking.dim;
    real *room = NULL;
    KG_TRY(kg__asking_room(&asking, &room, local_size + kg__ask_facts_room(&asking)));
    kg__ask_locals_back(&asking, room);
    KG_TRY(kg__ask_facts_back(&asking, sheaf, room, room + local_size));
    for (size_t j = 0; j < inquiry->local_count; j++) {
        real *vector = NULL;
        KG_TRY(kg__sheaf_add(sheaf, &vector, asking.dim, error));
        memcpy(vector, room + j * asking.dim, asking.dim * sizeof *vector);
        KG_TRY(kg__sheaf_send(sheaf, KG_LEARN_ENTITIES, asking.locals[j].entity, error));
    }
    return KG_OK;
}

kg_status kg__ask_emit_relations(const kg_ask_scene *scene, kg_ask_worker *worker, kg_sheaf *sheaf,
                                 kg_error *error) {
    static const kg_learned params[] = {KG_LEARN_RELATIONS, KG_LEARN_AGGREGATE_RELATIONS};
    size_t dim = scene->params.dim;
    for (size_t i = 0; i < 2; i++)
        for (size_t row = 0; row < scene->relation_rows; row++) {
            if (!worker->is_summed[i][row])
                continue;
            real *sum = worker->relation_sums[i] + row * dim;
            real *vector = NULL;
            KG_TRY(kg__sheaf_add(sheaf, &vector, dim, error));
            memcpy(vector, sum, dim * sizeof *vector);
            memset(sum, 0, dim * sizeof *sum);
            worker->is_summed[i][row] = false;
            KG_TRY(kg__sheaf_send(sheaf, params[i], (uint32_t)row, error));
        }
    return KG_OK;
}
