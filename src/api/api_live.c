/* The live graph, as users of the library see it. */
#include <omp.h>

#include "api/sized.h"
#include "base/thread_count.h"
#include "infer/workspace.h"
#include "live/compaction.h"
#include "live/live_store.h"

kg_status kg_live_open(kg_live **out, const kg_model *model, const kg_live_options *options,
                       kg_error *error) {
    kg_live_options whole = KG_LIVE_OPTIONS_INIT;
    KG_NEED(out);
    *out = NULL;
    KG_NEED(model);
    KG_READ(&whole, options);
    return kg__live_open(out, model, &whole, error);
}

kg_status kg_store_create(const char *path, const char *model, kg_error *error) {
    KG_NEED(path);
    KG_NEED(model);
    return kg__store_create(path, model, error);
}

kg_status kg_live_open_store(kg_live **out, const char *path, const kg_live_options *options,
                             kg_error *error) {
    kg_live_options whole = KG_LIVE_OPTIONS_INIT;
    KG_NEED(out);
    *out = NULL;
    KG_NEED(path);
    KG_READ(&whole, options);
    return kg__live_open_store(out, path, &whole, error);
}

kg_status kg_snapshot_describe(kg_snapshot_info *out, const kg_model *snapshot, kg_error *error) {
    KG_CHECK_SIZE(out);
    KG_NEED(snapshot);
    if (snapshot->live == NULL)
        return kg_fail(error, KG_BAD_INPUT, "expected a snapshot of a live graph, found a model");
    const kg_live_version *version = kg__live_version_of(snapshot);
    kg_snapshot_info info = {
        .generation = version->generation->number, .last = version->last, .facts = version->facts};
    kg__sized_write(out, &info, sizeof info);
    return KG_OK;
}

kg_status kg_live_log(kg_live *live, int64_t since, const char *source, kg_on_logged on_logged,
                      void *payload, kg_error *error) {
    KG_NEED(live);
    KG_NEED(on_logged);
    return kg__live_log(live, since, source, on_logged, payload, error);
}

kg_status kg_live_offset(int64_t *out, kg_live *live, const char *source, kg_error *error) {
    KG_NEED(out);
    KG_NEED(live);
    KG_NEED(source);
    return kg__live_offset(out, live, source, error);
}

void kg_live_close_store(kg_live *live) {
    if (live != NULL)
        kg__live_close_store(live);
}

void kg_live_close(kg_live *live) {
    kg__live_close(live);
}

kg_status kg_live_snapshot(kg_model **out, kg_live *live, kg_error *error) {
    KG_NEED(out);
    *out = NULL;
    KG_NEED(live);
    *out = kg__live_snapshot(live);
    return KG_OK;
}

kg_status kg_workspace_move(kg_workspace *workspace, const kg_model *snapshot, kg_error *error) {
    KG_NEED(workspace);
    KG_NEED(snapshot);
    return kg__workspace_move(workspace, snapshot, error);
}

kg_status kg_changes_open(kg_changes **out, kg_live *live, kg_error *error) {
    KG_NEED(out);
    *out = NULL;
    KG_NEED(live);
    return kg__changes_open(out, live, error);
}

void kg_changes_close(kg_changes *changes) {
    kg__changes_close(changes);
}

kg_status kg_changes_add(kg_changes *changes, kg_text head, kg_text relation, kg_text tail,
                         kg_error *error) {
    KG_NEED(changes);
    KG_NEED(head.bytes);
    KG_NEED(relation.bytes);
    KG_NEED(tail.bytes);
    return kg__changes_add(changes, head, relation, tail, error);
}

kg_status kg_changes_remove(kg_changes *changes, kg_text head, kg_text relation, kg_text tail,
                            kg_error *error) {
    KG_NEED(changes);
    KG_NEED(head.bytes);
    KG_NEED(relation.bytes);
    KG_NEED(tail.bytes);
    return kg__changes_remove(changes, head, relation, tail, error);
}

kg_status kg_changes_set_source(kg_changes *changes, const char *source, int64_t offset,
                                kg_error *error) {
    KG_NEED(changes);
    KG_NEED(source);
    return kg__changes_set_source(changes, source, offset, error);
}

kg_status kg_changes_commit(kg_commit *out, kg_changes *changes, kg_error *error) {
    kg_commit commit;
    if (out != NULL)
        KG_CHECK_SIZE(out);
    KG_NEED(changes);
    KG_TRY(kg__changes_commit(&commit, changes, error));
    if (out != NULL)
        kg__sized_write(out, &commit, sizeof commit);
    return KG_OK;
}

static kg_compaction described(const kg_compact_result *found) {
    return (kg_compaction){.generation = found->generation,
                           .is_new = found->is_new,
                           .added = found->added,
                           .removed = found->removed,
                           .facts = found->facts,
                           .entities = found->entities,
                           .relations = found->relations,
                           .new_entities = found->new_entities,
                           .new_relations = found->new_relations,
                           .gone_entities = found->gone_entities,
                           .epochs = found->fit.best.number};
}

kg_status kg_live_compact(kg_compaction *out, kg_live *live, const kg_compaction_options *options,
                          kg_error *error) {
    kg_compaction_options whole = KG_COMPACTION_OPTIONS_INIT;
    if (out != NULL)
        KG_CHECK_SIZE(out);
    KG_NEED(live);
    KG_READ(&whole, options);
    KG_TRY(kg__live_check_store(live, error));
    int before = omp_get_max_threads();
    kg_train_watcher watcher = {.progress = whole.progress};
    kg_compact_options run = {.store = live->path,
                              .live = live,
                              .epochs = whole.epochs,
                              .threads = (uint64_t)kg__threads(whole.threads),
                              .from_scratch = whole.from_scratch,
                              .restart = whole.restart,
                              .watcher = &watcher};
    kg_compact_result found;
    omp_set_num_threads((int)run.threads); /* of the calling thread alone */
    kg_status status = kg__compact(&found, &run, error);
    omp_set_num_threads(before);
    KG_TRY(status);
    kg_compaction done = described(&found);
    if (out != NULL)
        kg__sized_write(out, &done, sizeof done);
    return KG_OK;
}
