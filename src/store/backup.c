/* The database is copied in one read transaction. If the store has gone over to another generation
 * since its model was linked, it is done again. */
#include "store/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output_folder.h"
#include "base/path.h"
#include "store/generation_folder.h"
#include "store/store_handle.h"

/* VACUUM INTO 'file', quotes doubled. */
static char *make_statement(const char *file) {
    size_t size = 2 * strlen(file) + 32;
    char *sql = kg__alloc(size, 1);
    if (sql == NULL)
        return NULL;
    size_t length = (size_t)snprintf(sql, size, "VACUUM INTO '");
    for (; *file != '\0'; file++) {
        if (*file == '\'')
            sql[length++] = '\'';
        sql[length++] = *file;
    }
    sql[length] = '\'';
    return sql;
}

static kg_status sync_file(const char *file, kg_error *error) {
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;
    kg_status status = good ? KG_OK : kg__fail_errno(error, file, "write it to disk");
    if (fd >= 0)
        close(fd);
    return status;
}

static kg_status copy_database(kg_store *store, const char *file, kg_error *error) {
    char *sql = make_statement(file);
    if (sql == NULL)
        return kg__fail_memory(error);
    kg_status status = KG_OK;
    if (unlink(file) != 0 && errno != ENOENT)
        status = kg__fail_errno(error, file, "replace it");
    if (status == KG_OK)
        status = kg__database_script(store->database, sql, error);
    kg__free(sql);
    return status == KG_OK ? sync_file(file, error) : status;
}

/* The generation that a copy is of. */
static kg_status read_generation(int64_t *out, const char *file, kg_error *error) {
    kg_database *database = NULL;
    bool found = false;
    kg_value current = kg__string(kg__text("current"));
    KG_TRY(kg__database_open(&database, file, KG_DATABASE_READ, kg__store_statements, KG_STATEMENTS,
                             error));
    kg_status status =
        kg__database_number(database, out, &found, KG_FIND_GENERATION, &current, 1, error);
    kg__database_close(database);
    return status;
}

static kg_status copy_once(kg_store *store, const char *path, const char *file, int64_t *linked,
                           int64_t *copied, kg_error *error) {
    kg_store_state state;
    KG_TRY(kg__store_read_state(store, &state, error));
    char *model = kg__store_generation_path(store, state.generation);
    if (model == NULL)
        return kg__fail_memory(error);
    *linked = state.generation;
    kg_status status = kg__generation_fill(path, state.generation, model, error);
    kg__free(model);
    if (status == KG_OK)
        status = copy_database(store, file, error);
    return status == KG_OK ? read_generation(copied, file, error) : status;
}

#define MOST_TRIES 5

static kg_status copy(kg_store *store, const char *path, const char *file, kg_error *error) {
    int64_t linked = 0;
    int64_t copied = -1;
    for (int i = 0; i < MOST_TRIES && copied != linked; i++)
        KG_TRY(copy_once(store, path, file, &linked, &copied, error));
    if (copied != linked)
        return kg_fail_at(error, path, 0, 0,
                          "expected a store that keeps its generation, found new ones %d times",
                          MOST_TRIES);
    kg__generation_sweep(path, linked, linked);
    return KG_OK;
}

/* The database gets its name last: until then the folder is not a store. */
static kg_status fill(kg_store *store, const char *path, kg_error *error) {
    char *made = kg__path_join(path, KG_NEW_DATABASE_FILE);
    char *file = kg__path_join(path, KG_DATABASE_FILE);
    char *parent = kg__path_parent(path);
    kg_status status =
        made == NULL || file == NULL || parent == NULL ? kg__fail_memory(error) : KG_OK;
    if (status != KG_OK)
        goto done;
    KG_CHECK(copy(store, path, made, error));
    if (rename(made, file) != 0) {
        status = kg__fail_errno(error, file, "put it in place");
        goto done;
    }
    KG_CHECK(kg__sync_folder(path, error));
    status = kg__sync_folder(parent, error);
done:
    if (status != KG_OK && made != NULL)
        unlink(made);
    if (status != KG_OK && file != NULL)
        unlink(file); /* the model that it needs is removed as well */
    kg__free(made);
    kg__free(file);
    kg__free(parent);
    return status;
}

kg_status kg__store_backup(const char *store, const char *path, kg_error *error) {
    kg_store *reader = NULL;
    bool is_made = false;
    KG_TRY(kg__store_open(&reader, store, KG_STORE_READ, error));
    kg_status status = kg__folder_ensure(path, &is_made, error);
    if (status == KG_OK && !is_made)
        status = kg_fail_at(error, path, 0, 0, "expected a new name, found a folder");
    if (status == KG_OK)
        status = fill(reader, path, error);
    if (status != KG_OK && is_made) {
        kg__generation_sweep(path, 0, 0);
        rmdir(path);
    }
    kg__store_close(reader);
    return status;
}
