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
static const char *const run_files[KG_RUNS + 1] = {KG_CHECKPOINT, KG_APART_CHECKPOINT, NULL};

static kg_status is_there(bool *out, const char *path, kg_error *error) {
    struct stat info;
    *out = lstat(path, &info) == 0;
    return *out || errno == ENOENT || errno == ENOTDIR ? KG_OK
                                                       : kg__fail_errno(error, path, "look at it");
}

/* The same of a file in a folder. */
static kg_status has(bool *out, const char *folder, const char *name, kg_error *error) {
    char *path = kg__path_join(folder, name);
    kg_status status = path == NULL ? kg__fail_memory(error) : is_there(out, path, error);
    kg__free(path);
    return status;
}

/* Unfinished runs, or, if there are none, those that have come to the model. */
static kg_status find_starts(kg_training_folder *run, kg_error *error) {
    char *const *const places[] = {run->checkpoints, run->last};
    for (size_t i = 0; i < 2 && kg__training_folder_start(run) == NULL; i++)
        for (size_t k = 0; k < KG_RUNS; k++) {
            bool found = false;
            KG_TRY(is_there(&found, places[i][k], error));
            run->starts[k] = found ? places[i][k] : NULL;
        }
    return KG_OK;
}

const char *kg__training_folder_start(const kg_training_folder *run) {
    return run->starts[KG_JOINT_RUN] != NULL ? run->starts[KG_JOINT_RUN]
                                             : run->starts[KG_APART_RUN];
}

static kg_status name_paths(kg_training_folder *out, const char *model, kg_error *error) {
    char *resolved = kg__path_resolve(model);
    size_t size = resolved == NULL ? 0 : strlen(resolved) + sizeof ".training";
    *out = (kg_training_folder){.lock = -1, .model = resolved};
    out->path = size == 0 ? NULL : kg__resize(NULL, size, 1);
    if (out->path != NULL)
        snprintf(out->path, size, "%s.training", out->model);
    bool good = out->path != NULL;
    for (size_t i = 0; i < KG_RUNS && good; i++) {
        out->checkpoints[i] = kg__path_join(out->path, run_files[i]);
        out->last[i] = kg__path_join(out->model, run_files[i]);
        good = out->checkpoints[i] != NULL && out->last[i] != NULL;
    }
    return good ? KG_OK : kg__fail_memory(error);
}

kg_status kg__training_folder_find(kg_training_folder *out, const char *model, kg_error *error) {
    KG_TRY(name_paths(out, model, error));
    return find_starts(out, error);
}

/* Refuses to replace what is there, since the caller wants neither that nor to resume it. */
static kg_status check_new(const kg_training_folder *run, kg_error *error) {
    struct stat info;
    bool has_run = false;
    for (size_t i = 0; i < KG_RUNS && !has_run; i++)
        KG_TRY(is_there(&has_run, run->checkpoints[i], error));
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
    const char *start = kg__training_folder_start(run);
    bool found = false;
    for (const char *const *name = kg__model_files; *name != NULL && start == NULL; name++) {
        if (strcmp(*name, KG_MODEL_FAILURE) != 0)
            KG_TRY(has(&found, run->model, *name, error));
        if (found)
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
        KG_TRY(find_starts(run, error));
    if (!force)
        KG_TRY(resume ? check_resumable(run, error) : check_new(run, error));
    return kg__folder_start(&run->next, run->model, resume || force, kg__model_files, error);
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
    for (size_t i = 0; i < KG_RUNS; i++)
        if (run->starts[i] != NULL && run->starts[i] == run->checkpoints[i]) {
            kg__folder_sweep(run->path, run_files);
            return KG_OK;
        }
    return kg__folder_clear(run->path, run_files, error);
}

/* Moves checkpoints to the model, which is in place; nothing else is worth keeping. */
static kg_status leave(const kg_training_folder *run, kg_error *error) {
    for (size_t i = 0; i < KG_RUNS; i++)
        if (rename(run->checkpoints[i], run->last[i]) != 0 && errno != ENOENT)
            return kg__fail_errno(error, run->last[i], "put it in place");
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
    if (run->is_open && run->path != NULL)
        rmdir(run->path); /* if there is nothing in it */
    kg__unlock(run->lock);
    for (size_t i = 0; i < KG_RUNS; i++) {
        kg__free(run->checkpoints[i]);
        kg__free(run->last[i]);
    }
    kg__free(run->path);
    kg__free(run->model);
    *run = (kg_training_folder){.lock = -1};
}
