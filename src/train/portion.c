/* Portions in random order, cut into a number of batches that is the same in each epoch. */
#include "train/portion.h"

#include "base/memory.h"
#include "base/random.h"

static size_t most_asked(size_t batch_size) {
    return batch_size < KG_MOST_ASKED ? batch_size : KG_MOST_ASKED;
}

/* Fills in the list, or only counts. */
static void cut(kg_portions *p, const kg_adjacency *graph, size_t fewest) {
    size_t most = most_asked(p->batch_size);
    p->count = 0;
    p->question_count = 0;
    for (kg_id v = 0; v < graph->entity_count; v++) {
        size_t degree = kg__adjacency_degree(graph, v);
        if (degree < fewest)
            continue;
        for (size_t from = 0; from < degree; from += most) {
            size_t to = degree - from < most ? degree : from + most;
            if (p->list != NULL)
                p->list[p->count] =
                    (kg_portion){v, (uint32_t)from, (uint32_t)to, (uint32_t)p->count};
            p->count++;
        }
        p->question_count += degree;
    }
}

kg_status kg__portions_open(kg_portions *p, const kg_adjacency *graph, size_t fewest,
                            size_t batch_size, bool shuffle, uint64_t seed, kg_error *error) {
    *p = (kg_portions){
        .batch_size = batch_size, .shuffle = shuffle, .seed = seed, .epoch = UINT64_MAX};
    cut(p, graph, fewest);
    p->batch_count = p->question_count / batch_size + (p->question_count < batch_size);
    p->list = kg__alloc(p->count, sizeof *p->list);
    p->order = kg__alloc(p->count, sizeof *p->order);
    p->starts = kg__alloc(p->batch_count + 1, sizeof *p->starts);
    if (p->list == NULL || p->order == NULL || p->starts == NULL) {
        kg__portions_close(p);
        return kg__fail_memory(error);
    }
    cut(p, graph, fewest);
    return KG_OK;
}

void kg__portions_close(kg_portions *p) {
    kg__free(p->list);
    kg__free(p->order);
    kg__free(p->starts);
    *p = (kg_portions){0};
}

/* A portion belongs to the batch in which its first question lies when all are cut evenly; what is
 * left over at the end goes to the last batch. */
static void enter(kg_portions *p, uint64_t epoch) {
    size_t before = 0;
    size_t batch = 0;
    for (size_t i = 0; i < p->count; i++) {
        size_t place =
            p->shuffle ? kg__random_permute(i, p->count, p->seed, KG_STREAM_SHUFFLE, epoch) : i;
        p->order[i] = p->list[place];
        for (; batch < p->batch_count && batch * p->batch_size <= before; batch++)
            p->starts[batch] = i;
        before += p->order[i].to - p->order[i].from;
    }
    for (; batch <= p->batch_count; batch++)
        p->starts[batch] = p->count;
    p->epoch = epoch;
}

const kg_portion *kg__portions_batch(kg_portions *p, uint64_t epoch, size_t number, size_t *count) {
    if (p->epoch != epoch)
        enter(p, epoch);
    *count = p->starts[number + 1] - p->starts[number];
    return p->order + p->starts[number];
}

size_t kg__portions_most(const kg_portions *p) {
    size_t most = 2 * p->batch_size + KG_MOST_ASKED;
    return most < p->question_count ? most : p->question_count;
}
