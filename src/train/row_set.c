/* A counting sort of targets by row: stable, so the order of the parts is kept. */
#include "train/row_set.h"

#include <string.h>

#include "base/memory.h"

kg_status kg__row_set_open(kg_row_set *set, size_t row_count, kg_error *error) {
    *set = (kg_row_set){0};
    set->slots = kg__resize(NULL, row_count, sizeof *set->slots);
    set->rows = kg__resize(NULL, row_count, sizeof *set->rows);
    set->starts = kg__resize(NULL, row_count + 2, sizeof *set->starts);
    if (set->slots == NULL || set->rows == NULL || set->starts == NULL)
        return kg__fail_memory(error);
    memset(set->slots, 0xff, row_count * sizeof *set->slots); /* none is in it */
    return KG_OK;
}

void kg__row_set_close(kg_row_set *set) {
    kg__free(set->slots);
    kg__free(set->rows);
    kg__free(set->starts);
    kg__free(set->vectors);
    *set = (kg_row_set){0};
}

void kg__row_set_clear(kg_row_set *set) {
    for (size_t i = 0; i < set->count; i++)
        set->slots[set->rows[i]] = UINT32_MAX;
    set->count = 0;
}

kg_status kg__row_set_group(kg_row_set *set, const kg_grads *parts, size_t part_count, size_t param,
                            kg_error *error) {
    /* starts[i + 2] counts row i at first; when vectors are placed, starts[i + 1] moves from where
     * row i begins to where it ends. */
    size_t *starts = set->starts;
    size_t total = 0;
    memset(starts, 0, (set->count + 2) * sizeof *starts);
    for (size_t p = 0; p < part_count; p++) {
        const kg_param_grads *grads = &parts[p].params[param];
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
    for (size_t i = 2; i < set->count + 2; i++)
        starts[i] += starts[i - 1];
    for (size_t p = 0; p < part_count; p++) {
        const kg_param_grads *grads = &parts[p].params[param];
        for (size_t i = 0; i < grads->target_count; i++) {
            kg_grad_target target = grads->targets[i];
            vectors[starts[set->slots[target.row] + 1]++] =
                grads->vectors + target.vector * grads->columns;
        }
    }
    return KG_OK;
}
