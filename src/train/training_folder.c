/* Finding, locking and leaving the folder of a run. */
#include "train/training_folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_lock.h"
#include "base/memory.h"
#include "base/path.h"

/* All that a run keeps in its folder. */
static const char *const run_files[] = {KG_CHECKPOINT, NULL};

/* Where everything is; to be closed also when this failed. */
static kg_status name_paths(kg_training_folder *out, const char *model, kg_error *error) {
    *out = (kg_training_folder){.lock = -1, .model = kg__path_resolve(model)};
    size_t size = out->model == NULL ? 0 : strlen(out->model) + sizeof ".training";
    out->path = size == 0 ? NULL : kg__resize(NULL, size, 1);
    if (out->path != NULL)
        snprintf(out->path, size, "%s.training", out->model);
    out->checkpoint = out->path == NULL ? NULL : kg__path_join(out->path, KG_CHECKPOINT);
    return out->checkpoint == NULL ? kg__fail_memory(error) : KG_OK;
}

/* The file of that name in the folder; NULL if there is none. */
static kg_status find(char **out, const char *folder, const char *name, kg_error *error) {
    *out = kg__path_join(folder, name);
    if (*out == NULL)
        return kg__fail_memory(error);
    struct stat info;
    if (lstat(*out, &info) == 0)
        return KG_OK;
    bool is_free = errno == ENOENT || errno == ENOTDIR;
    kg_status status = is_free ? KG_OK : kg__fail_errno(error, *out, "look at it");
    kg__free(*out);
    *out = NULL;
    return status;
}

static kg_status has(bool *out, const char *folder, const char *name, kg_error *error) {
    char *found = NULL;
    kg_status status = find(&found, folder, name, error);
    *out = found != NULL;
    kg__free(found);
    return status;
}

static kg_status find_start(kg_training_folder *run, kg_error *error) {
    KG_TRY(find(&run->start, run->path, KG_CHECKPOINT, error));
    return run->start == NULL ? find(&run->start, run->model, KG_CHECKPOINT, error) : KG_OK;
}

kg_status kg__training_checkpoint(char **out, const char *model, kg_error *error) {
    kg_training_folder run;
    kg_status status = name_paths(&run, model, error);
    if (status == KG_OK)
        status = find_start(&run, error);
    *out = run.start;
    run.start = NULL;
    kg__training_folder_close(&run);
    return status;
}

/* Nobody asked to replace what is there, unless it can be gone on with. */
static kg_status check_new(const kg_training_folder *run, kg_error *error) {
    struct stat info;
    bool has_run = false;
    KG_TRY(has(&has_run, run->path, KG_CHECKPOINT, error));
    if (has_run)
        return kg_fail_at(error, run->path, 0, 0,
                          "it holds an unfinished run (`resume` goes on with it, `replace` starts "
                          "anew)");
    if (lstat(run->model, &info) == 0)
        return kg_fail_at(error, run->model, 0, 0,
                          "it exists already (`resume` goes on with it, `replace` replaces it)");
    return KG_OK;
}

/* Without a checkpoint a run starts anew, and would in the end replace what has the names of our
 * files: another run's model, or something that is not ours at all. */
static kg_status check_resumable(const kg_training_folder *run, kg_error *error) {
    bool is_there = false;
    for (const char *const *name = kg__model_files; *name != NULL && run->start == NULL; name++) {
        if (strcmp(*name, KG_MODEL_FAILURE) != 0)
            KG_TRY(has(&is_there, run->model, *name, error));
        if (is_there)
            return kg_fail_at(error, run->model, 0, 0,
                              "expected a run to go on with, found %s without " KG_CHECKPOINT
                              " (`replace` replaces it)",
                              *name);
    }
    return KG_OK;
}

static kg_status open_folder(kg_training_folder *run, bool resume, bool force, kg_error *error) {
    bool is_model = false;
    if (mkdir(run->path, 0777) != 0 && errno != EEXIST)
        return kg__fail_errno(error, run->path, "create it");
    KG_TRY(kg__lock(&run->lock, run->path, error));
    run->is_open = true;
    /* A model may have been given the name of the folder: it is none of ours to clear. */
    KG_TRY(has(&is_model, run->path, KG_MODEL_CONFIG, error));
    if (is_model)
        return kg_fail_at(error, run->path, 0, 0,
                          "expected the folder of an unfinished run, or none, found a model: train "
                          "to another path, or move that model");
    if (resume)
        KG_TRY(find_start(run, error));
    if (!force)
        KG_TRY(resume ? check_resumable(run, error) : check_new(run, error));
    return kg__model_folder_start(&run->next, run->model, resume || force, error);
}

kg_status kg__training_folder_open(kg_training_folder *out, const char *model, bool resume,
                                   bool force, kg_error *error) {
    *out = (kg_training_folder){.lock = -1};
    if (model[0] == '\0')
        return kg_fail(error, KG_BAD_INPUT, "expected the path of a model, found an empty one");
    kg_status status = name_paths(out, model, error);
    if (status == KG_OK)
        status = open_folder(out, resume, force, error);
    if (status != KG_OK)
        kg__training_folder_close(out);
    return status;
}

kg_status kg__training_folder_clear(const kg_training_folder *run, kg_error *error) {
    bool goes_on = run->start != NULL && strcmp(run->start, run->checkpoint) == 0;
    if (!goes_on)
        return kg__folder_clear(run->path, run_files, error);
    kg__folder_sweep(run->path, run_files);
    return KG_OK;
}

/* Moves the checkpoint to the model, which is in place; nothing else is worth keeping. */
static kg_status leave(const kg_training_folder *run, kg_error *error) {
    char *place = kg__path_join(run->model, KG_CHECKPOINT);
    if (place == NULL)
        return kg__fail_memory(error);
    kg_status status = KG_OK;
    if (rename(run->checkpoint, place) != 0 && errno != ENOENT)
        status = kg__fail_errno(error, place, "put it in place");
    kg__free(place);
    KG_TRY(status);
    KG_TRY(kg__sync_folder(run->model, error));
    return kg__folder_clear(run->path, run_files, error);
}

kg_status kg__training_folder_finish(kg_training_folder *run, const kg_model_parts *parts,
                                     kg_error *error) {
    KG_TRY(kg__model_folder_fill(run->next, parts, error));
    KG_TRY(kg__folder_commit(run->next, error));
    return leave(run, error);
}

kg_status kg__training_folder_settle(const char *model, kg_error *error) {
    kg_training_folder run;
    struct stat info;
    kg_status status = name_paths(&run, model, error);
    if (status == KG_OK && lstat(run.path, &info) == 0) {
        KG_CHECK(open_folder(&run, true, true, error));
        KG_CHECK(leave(&run, error));
    }
done:
    kg__training_folder_close(&run);
    return status;
}

void kg__training_folder_close(kg_training_folder *run) {
    kg__folder_close(run->next);
    if (run->is_open)
        rmdir(run->path); /* if there is nothing in it */
    kg__unlock(run->lock);
    kg__free(run->start);
    kg__free(run->checkpoint);
    kg__free(run->path);
    kg__free(run->model);
    *run = (kg_training_folder){.lock = -1};
}
