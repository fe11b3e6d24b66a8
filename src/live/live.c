/* Opening, snapshots, and the current generation. */
#include "live/live.h"

#include "base/memory.h"

/* ---- Generations ---- */

static void close_generation(void *root) {
    kg__generation_close(root);
}

kg_status kg__live_make(kg_live **out, const kg_live_options *options, kg_error *error) {
    kg_live *live = kg__alloc(1, sizeof *live);
    if (live == NULL)
        return kg__fail_memory(error);
    live->options = *options;
    kg__snapshots_open(&live->generations, close_generation);
    *out = live;
    return KG_OK;
}

kg_status kg__live_set_generation(kg_live *live, kg_generation *generation, kg_error *error) {
    kg__snapshots_lock(&live->generations);
    kg_status status =
        kg__snapshots_publish(&live->generations, generation, &generation->snapshot, error);
    kg__snapshots_unlock(&live->generations);
    return status;
}

kg_generation *kg__live_generation(const kg_live *live) {
    return kg__snapshots_root(&live->generations);
}

/* ---- Opening ---- */

static kg_status open_on(kg_live *live, const kg_model *model, kg_error *error) {
    kg_generation *generation = NULL;
    KG_TRY(kg__generation_open(&generation, live, model, error));
    kg_status status = kg__live_set_generation(live, generation, error);
    if (status != KG_OK)
        kg__generation_close(generation);
    return status;
}

kg_status kg__live_open(kg_live **out, const kg_model *model, const kg_live_options *options,
                        kg_error *error) {
    kg_live *live = NULL;
    KG_TRY(kg__live_make(&live, options, error));
    kg_status status = open_on(live, model, error);
    if (status == KG_OK)
        *out = live;
    else
        kg__live_close(live);
    return status;
}

void kg__live_close(kg_live *live) {
    if (live == NULL)
        return;
    kg__snapshots_close(&live->generations);
    kg__store_close(live->store);
    kg__free(live->path);
    kg__free(live);
}

/* ---- Snapshots ---- */

kg_model *kg__live_snapshot(kg_live *live) {
    kg_generation *generation = kg__snapshots_acquire(&live->generations)->root;
    kg_live_version *version = kg__snapshots_acquire(&generation->versions)->root;
    return &version->model;
}

const kg_live_version *kg__live_version_of(const kg_model *snapshot) {
    return (const kg_live_version *)(const void *)snapshot; /* its first member */
}

void kg__live_release(kg_model *snapshot) {
    const kg_live_version *version = kg__live_version_of(snapshot);
    kg_generation *generation = version->generation;
    kg_live *live = generation->live;
    kg__snapshots_release(&generation->versions, version->snapshot);
    kg__snapshots_release(&live->generations, generation->snapshot);
    if (live->is_model)
        kg__live_close(live);
}
