/* A counting sort of targets by row: stable, so the order of the sheaves is kept. */
#include "train/touched.h"

#include <string.h>

#include "base/memory.h"

kg_status kg__touched_open(kg_touched *touched, size_t row_count, kg_error *error) {
    *touched = (kg_touched){.row_count = row_count};
    touched->slots = kg__resize(NULL, row_count, sizeof *touched->slots);
    touched->rows = kg__resize(NULL, row_count, sizeof *touched->rows);
    touched->starts = kg__resize(NULL, row_count + 2, sizeof *touched->starts);
    if (touched->slots == NULL || touched->rows == NULL || touched->starts == NULL)
        return kg__fail_memory(error);
    memset(touched->slots, 0xff, row_count * sizeof *touched->slots); /* none is touched */
    return KG_OK;
}

void kg__touched_close(kg_touched *touched) {
    kg__free(touched->slots);
    kg__free(touched->rows);
    kg__free(touched->starts);
    kg__free(touched->vectors);
    *touched = (kg_touched){0};
}

void kg__touched_clear(kg_touched *touched) {
    for (size_t i = 0; i < touched->count; i++)
        touched->slots[touched->rows[i]] = UINT32_MAX;
    touched->count = 0;
}

kg_status kg__touched_group(kg_touched *touched, const kg_sheaf *sheaves, size_t count,
                            kg_learned table, size_t dim, kg_error *error) {
    /* starts[i + 2] counts row i at first; when vectors are placed, starts[i + 1] moves from where
     * row i begins to where it ends. */
    size_t *starts = touched->starts;
    memset(starts, 0, (touched->count + 2) * sizeof *starts);
    size_t total = 0;
    for (size_t c = 0; c < count; c++) {
        const kg_targets *targets = &sheaves[c].targets[table];
        total += targets->count;
        for (size_t i = 0; i < targets->count; i++)
            starts[touched->slots[targets->list[i].row] + 2]++;
    }
    for (size_t i = 2; i < touched->count + 2; i++)
        starts[i] += starts[i - 1];
    const real **vectors =
        kg__grow(touched->vectors, &touched->vector_capacity, total, sizeof *vectors);
    if (vectors == NULL)
        return kg__fail_memory(error);
    touched->vectors = vectors;
    for (size_t c = 0; c < count; c++) {
        const kg_targets *targets = &sheaves[c].targets[table];
        for (size_t i = 0; i < targets->count; i++) {
            kg_target target = targets->list[i];
            vectors[starts[touched->slots[target.row] + 1]++] =
                sheaves[c].vectors + target.vector * dim;
        }
    }
    return KG_OK;
}
