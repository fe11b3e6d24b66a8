/* Memory of samplers and their batches. */
#include "train/batch_sampler.h"

#include "base/memory.h"

void kg__batch_free(kg_batch *batch) {
    kg__free(batch->queries);
    kg__free(batch->blocks);
    *batch = (kg_batch){0};
}

void kg__sampler_close(kg_sampler *sampler) {
    kg__arena_free(&sampler->arena);
    *sampler = (kg_sampler){0};
}

static kg_status add_block(kg_batch *batch, kg_query_range block, kg_error *error) {
    kg_query_range *blocks =
        kg__grow(batch->blocks, &batch->block_capacity, batch->block_count + 1, sizeof *blocks);
    if (blocks == NULL)
        return kg__fail_memory(error);
    batch->blocks = blocks;
    blocks[batch->block_count++] = block;
    return KG_OK;
}

kg_status kg__batch_add(kg_batch *batch, kg_id entity, bool is_start, kg_train_query query,
                        kg_error *error) {
    kg_train_query *queries =
        kg__grow(batch->queries, &batch->query_capacity, batch->query_count + 1, sizeof *queries);
    if (queries == NULL)
        return kg__fail_memory(error);
    batch->queries = queries;
    const kg_query_range *last =
        batch->block_count == 0 ? NULL : &batch->blocks[batch->block_count - 1];
    uint32_t at = (uint32_t)batch->query_count;
    if (last == NULL || last->entity != entity || is_start)
        KG_TRY(add_block(batch, (kg_query_range){entity, at, at}, error));
    queries[batch->query_count++] = query;
    batch->blocks[batch->block_count - 1].to = at + 1;
    return KG_OK;
}

kg_status kg__sampler_fill(kg_sampler *sampler, kg_batch *out, uint64_t epoch, size_t number,
                           kg_error *error) {
    out->query_count = 0;
    out->block_count = 0;
    return sampler->fill(sampler, out, epoch, number, error);
}
