/* Making, opening and closing stores. A folder without graph.db is not a store yet: that file, made
 * under another name, is put in place last. */
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file_lock.h"
#include "base/memory.h"
#include "base/output_folder.h"
#include "base/path.h"
#include "base/text.h"
#include "model/config.h"
#include "model/scoring.h"
#include "store/failed_stores.h"
#include "store/generation_folder.h"
#include "store/store_handle.h"
#include "store/writer_lock.h"

#define NEW_JOURNAL_FILE "graph.db.new-journal"

int64_t kg__store_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool kg__store_exists(const char *path) {
    char *file = kg__path_join(path, KG_DATABASE_FILE);
    bool exists = file != NULL && access(file, F_OK) == 0;
    kg__free(file);
    return exists;
}

char *kg__store_generation_path(const kg_store *store, int64_t generation) {
    return kg__generation_path(store->folder, generation);
}

const kg_base_facts *kg__store_base(const kg_store *store) {
    return &store->base;
}

/* ---- Making one ---- */

/* Refuses a folder that holds anything but remains of making a store. */
static kg_status check_place(const char *path, kg_error *error) {
    static const char *const own[] = {
        ".", "..", "lock", "generation-1", KG_NEW_DATABASE_FILE, NEW_JOURNAL_FILE};
    kg_status status = KG_OK;
    if (kg__store_exists(path))
        return kg_fail_at(error, path, 0, 0, "expected a new name, found a store");
    DIR *dir = opendir(path);
    if (dir == NULL)
        return kg__fail_errno(error, path, "look into it");
    for (struct dirent *entry = readdir(dir); entry != NULL && status == KG_OK;
         entry = readdir(dir)) {
        bool is_own = false;
        for (size_t i = 0; i < sizeof own / sizeof *own && !is_own; i++)
            is_own = strcmp(entry->d_name, own[i]) == 0;
        if (!is_own)
            status = kg_fail_at(error, path, 0, 0, "expected a new name, found a folder with %s",
                                kg__quote(entry->d_name, strlen(entry->d_name)).text);
    }
    closedir(dir);
    return status;
}

static kg_status fill_database(kg_database *database, const char *file, kg_error *error) {
    kg_value first[] = {kg__integer(KG_FIRST_GENERATION), kg__string(kg__text("current")),
                        kg__integer(0), kg__integer(kg__store_now())};
    KG_TRY(kg__schema_make(database, kg__store_steps, file, error));
    return kg__database_run(database, KG_INSERT_GENERATION, first, 4, NULL, NULL, error);
}

/* The database under its first name, closed again. */
static kg_status make_database(const char *file, kg_error *error) {
    kg_database *database = NULL;
    if (unlink(file) != 0 && errno != ENOENT)
        return kg__fail_errno(error, file, "replace it");
    KG_TRY(kg__database_open(&database, file, KG_DATABASE_CREATE, kg__store_statements,
                             KG_STATEMENTS, error));
    kg_status status = fill_database(database, file, error);
    kg__database_close(database);
    return status;
}

/* Refuses a model that could not be asked as a store. */
static kg_status check_model(const char *path, kg_error *error) {
    kg_base_facts base;
    KG_TRY(kg__base_facts_open(&base, path, error));
    const json_t *settings = json_object_get(base.config, "settings");
    const char *name = json_string_value(json_object_get(settings, "model"));
    const kg_scoring *scoring = name == NULL ? NULL : kg__scoring_find(name);
    kg_status status = scoring == NULL ? KG_OK : kg__scoring_check_live(scoring, path, error);
    kg__base_facts_close(&base);
    return status;
}

static kg_status make_files(const char *path, const char *model, kg_error *error) {
    char *made = kg__path_join(path, KG_NEW_DATABASE_FILE);
    char *file = kg__path_join(path, KG_DATABASE_FILE);
    kg_status status = made == NULL || file == NULL ? kg__fail_memory(error) : KG_OK;
    if (status != KG_OK)
        goto done;
    KG_CHECK(kg__generation_fill(path, 1, model, error));
    KG_CHECK(make_database(made, error));
    if (rename(made, file) != 0)
        status = kg__fail_errno(error, file, "put it in place");
    else
        status = kg__sync_folder(path, error);
done:
    kg__free(made);
    kg__free(file);
    return status;
}

/* Removes a folder that could not be filled. */
static void discard(const char *path) {
    static const char *const files[] = {"lock", KG_NEW_DATABASE_FILE, NEW_JOURNAL_FILE};
    kg__generation_sweep(path, 0, 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *file = kg__path_join(path, files[i]);
        if (file != NULL)
            unlink(file);
        kg__free(file);
    }
    rmdir(path);
}

kg_status kg__store_create(const char *path, const char *model, kg_error *error) {
    int lock = -1;
    char *parent = NULL;
    bool is_made = false;
    kg_status status = KG_OK;
    KG_TRY(check_model(model, error));
    KG_TRY(kg__folder_ensure(path, &is_made, error));
    KG_CHECK(check_place(path, error)); /* nothing is written to a folder of others, */
    KG_CHECK(kg__writer_lock(&lock, path, 0, error));
    KG_CHECK(check_place(path, error)); /* nor to a store that was made before it was locked */
    KG_CHECK(make_files(path, model, error));
    parent = kg__path_parent(path);
    status = parent == NULL ? kg__fail_memory(error) : kg__sync_folder(parent, error);
done:
    if (status != KG_OK && is_made && lock >= 0 && !kg__store_exists(path))
        discard(path);
    kg__unlock(lock);
    kg__free(parent);
    return status;
}

/* ---- Opening ---- */

/* Commands write for a moment. Who writes for long, such as a server, is not waited for. */
#define USUAL_WAIT 1.0

static kg_status open_writer(kg_store *store, double seconds, kg_error *error) {
    char *folder = NULL;
    store->identity = kg__failed_stores_identify(store->file);
    if (store->identity < 0)
        return kg__fail_errno(error, store->file, "open it");
    KG_TRY(kg__store_check_writable(store, error));
    KG_TRY(kg__writer_lock(&store->lock, store->path, seconds, error));
    KG_TRY(kg__database_open(&store->database, store->file, KG_DATABASE_WRITE, kg__store_statements,
                             KG_STATEMENTS, error));
    KG_TRY(kg__schema_recognise(store->database, kg__store_steps, store->file, error));
    KG_TRY(kg__database_start_log(store->database, error));
    KG_TRY(kg__database_renew_log(store->database, error));
    KG_TRY(kg__schema_upgrade(store->database, kg__store_steps, store->file, error));
    KG_TRY(kg__store_load_state(store, &store->state, error));
    folder = kg__store_generation_path(store, store->state.generation);
    kg_status status =
        folder == NULL ? kg__fail_memory(error) : kg__base_facts_open(&store->base, folder, error);
    kg__free(folder);
    KG_TRY(status);
    /* Only now: an older graph.db may have been put beside the model of a later generation. */
    kg__generation_sweep(store->folder, store->state.generation, store->state.next);
    return KG_OK;
}

static kg_status open_reader(kg_store *store, kg_error *error) {
    KG_TRY(kg__database_open(&store->database, store->file, KG_DATABASE_READ, kg__store_statements,
                             KG_STATEMENTS, error));
    return kg__schema_check(store->database, kg__store_steps, store->file, error);
}

static kg_status refuse_folder(const kg_store *store, kg_error *error) {
    char *config = kg__path_join(store->path, KG_MODEL_CONFIG);
    bool is_model = config != NULL && access(config, F_OK) == 0;
    kg__free(config);
    return kg_fail_at(error, store->path, 0, 0, "expected a store (a folder with %s), found %s",
                      KG_DATABASE_FILE,
                      is_model ? "a model (kgraft store MODEL STORE makes a store of it)" : "none");
}

static kg_status open_in_mode(kg_store *store, double seconds, kg_error *error) {
    if (access(store->file, F_OK) != 0)
        return refuse_folder(store, error);
    return store->mode == KG_STORE_WRITE ? open_writer(store, seconds, error)
                                         : open_reader(store, error);
}

static kg_status open_store(kg_store **out, const char *path, kg_store_mode mode, double seconds,
                            kg_error *error) {
    kg_store *store = kg__alloc(1, sizeof *store);
    if (store == NULL)
        return kg__fail_memory(error);
    store->path = kg__path_trim(path);
    store->file = kg__path_join(path, KG_DATABASE_FILE);
    store->folder = kg__path_absolute(path);
    store->mode = mode;
    store->lock = -1;
    store->identity = -1;
    store->queue_end = &store->queue;
    pthread_mutex_init(&store->mutex, NULL);
    pthread_cond_init(&store->changed, NULL);
    kg_status status = store->path == NULL || store->file == NULL || store->folder == NULL
                           ? kg__fail_memory(error)
                           : open_in_mode(store, seconds, error);
    if (status == KG_OK) {
        *out = store;
        return KG_OK;
    }
    if (store->lock >= 0 && store->database != NULL)
        kg__store_give_up(store);
    kg__store_close(store);
    return status;
}

kg_status kg__store_open(kg_store **out, const char *path, kg_store_mode mode, kg_error *error) {
    return open_store(out, path, mode, USUAL_WAIT, error);
}

kg_status kg__store_open_when_free(kg_store **out, const char *path, double seconds,
                                   kg_error *error) {
    return open_store(out, path, KG_STORE_WRITE, seconds, error);
}

/* Empties the write-ahead log, if that has not failed yet: closing the database would ignore it. */
static void empty_log(kg_store *store) {
    kg_error error = {0};
    if (store->lock < 0 || store->database == NULL || kg__database_failure(store->database) != NULL)
        return;
    if (kg__database_checkpoint(store->database, &error) != KG_OK)
        kg__store_give_up(store);
}

void kg__store_close(kg_store *store) {
    if (store == NULL)
        return;
    empty_log(store);
    kg__database_close(store->database);
    kg__base_facts_close(&store->base);
    kg__unlock(store->lock);
    if (store->identity >= 0)
        close(store->identity);
    pthread_cond_destroy(&store->changed);
    pthread_mutex_destroy(&store->mutex);
    kg__free(store->path);
    kg__free(store->file);
    kg__free(store->folder);
    kg__free(store);
}

/* ---- Writing that fails ---- */

/* What a write failed with: through this handle, or through another one of the process. */
static bool find_failure(const kg_store *store, kg_error *reason) {
    const kg_error *own = store->database == NULL ? NULL : kg__database_failure(store->database);
    if (own == NULL)
        return kg__failed_stores_find(store->identity, reason);
    *reason = *own;
    return true;
}

kg_status kg__store_check_writable(const kg_store *store, kg_error *error) {
    kg_error reason = {0};
    if (store->mode != KG_STORE_WRITE)
        return kg_fail_at(error, store->path, 0, 0, "it was opened for reading only");
    if (!find_failure(store, &reason))
        return KG_OK;
    kg__record(error, KG_SYSTEM, store->path, 0, 0,
               "read-only until this process ends, since writing it failed: %s", reason.message);
    return KG_SYSTEM;
}

void kg__store_give_up(kg_store *store) {
    kg__database_rollback(store->database);
    const kg_error *failure = kg__database_failure(store->database);
    if (failure != NULL)
        kg__failed_stores_add(store->identity, failure);
}
