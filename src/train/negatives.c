/* Drawing without repetition. */
#include "train/negatives.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"

kg_status kg__negatives_open(kg_negatives *n, uint64_t wanted, size_t entity_count, size_t dim,
                             uint64_t seed, kg_error *error) {
    *n = (kg_negatives){.count = wanted < entity_count ? (size_t)wanted : entity_count,
                        .entity_count = entity_count,
                        .dim = dim,
                        .seed = seed};
    n->entities = kg__alloc(n->count, sizeof *n->entities);
    n->places = kg__alloc(entity_count, sizeof *n->places);
    n->rows = kg__alloc(n->count, dim * sizeof *n->rows);
    n->gradients = kg__alloc(n->count, dim * sizeof *n->gradients);
    if (n->entities == NULL || n->places == NULL || n->rows == NULL || n->gradients == NULL) {
        kg__negatives_close(n);
        return kg__fail_memory(error);
    }
    memset(n->places, 0xff, entity_count * sizeof *n->places); /* none is one */
    return KG_OK;
}

void kg__negatives_close(kg_negatives *n) {
    kg__free(n->entities);
    kg__free(n->places);
    kg__free(n->rows);
    kg__free(n->gradients);
    *n = (kg_negatives){0};
}

/* What is drawn again does not count. */
void kg__negatives_draw(kg_negatives *n, uint64_t step) {
    bool all = n->count == n->entity_count;
    size_t count = 0;
    for (uint64_t draw = 0; count < n->count; draw++) {
        kg_id entity = (kg_id)(all ? draw
                                   : kg__random_below(n->entity_count, n->seed, KG_STREAM_NEGATIVES,
                                                      step << 32 | draw));
        if (n->places[entity] != UINT32_MAX)
            continue;
        n->places[entity] = (uint32_t)count;
        n->entities[count++] = entity;
    }
}

void kg__negatives_forget(kg_negatives *n) {
    for (size_t i = 0; i < n->count; i++)
        n->places[n->entities[i]] = UINT32_MAX;
}

void kg__negatives_gather(kg_negatives *n, const real *entities) {
    for (size_t i = 0; i < n->count; i++)
        memcpy(n->rows + i * n->dim, entities + n->entities[i] * n->dim, n->dim * sizeof *n->rows);
}

real kg__negatives_log_weight(const kg_negatives *n) {
    return (real)log((double)n->entity_count / (double)n->count);
}
