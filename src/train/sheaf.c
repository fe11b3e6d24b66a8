/* Two lists that grow. */
#include "train/sheaf.h"

#include "base/memory.h"

void kg__sheaf_free(kg_sheaf *sheaf) {
    kg__free(sheaf->vectors);
    for (size_t i = 0; i < KG_LEARNED_COUNT; i++)
        kg__free(sheaf->targets[i].list);
    *sheaf = (kg_sheaf){0};
}

void kg__sheaf_clear(kg_sheaf *sheaf) {
    sheaf->vector_count = 0;
    for (size_t i = 0; i < KG_LEARNED_COUNT; i++)
        sheaf->targets[i].count = 0;
}

kg_status kg__sheaf_add(kg_sheaf *sheaf, real **out, size_t dim, kg_error *error) {
    real *vectors = kg__grow(sheaf->vectors, &sheaf->vector_capacity, sheaf->vector_count + 1,
                             dim * sizeof *vectors);
    if (vectors == NULL)
        return kg__fail_memory(error);
    sheaf->vectors = vectors;
    *out = vectors + sheaf->vector_count++ * dim;
    return KG_OK;
}

kg_status kg__sheaf_send(kg_sheaf *sheaf, kg_learned table, uint32_t row, kg_error *error) {
    kg_targets *targets = &sheaf->targets[table];
    kg_target *list = kg__grow(targets->list, &targets->capacity, targets->count + 1, sizeof *list);
    if (list == NULL)
        return kg__fail_memory(error);
    targets->list = list;
    list[targets->count++] = (kg_target){row, (uint32_t)(sheaf->vector_count - 1)};
    return KG_OK;
}
