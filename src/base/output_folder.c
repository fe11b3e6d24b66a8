/* Builds a folder beside its place and renames it there. Both the folder being replaced and the one
 * being built are locked meanwhile; an unlocked folder beside the place was left by a killed
 * process. */
#define _GNU_SOURCE
#include "base/output_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_lock.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"

struct kg_folder {
    char *path;
    char *parent;
    char *aside; /* where it is built; NULL before the commit and once it is in place */
    int aside_lock;
    int place_lock; /* on what is at `path`; -1 if nothing is */
    bool replace;
    const char *const *own_files;
    kg_output *files[KG_FOLDER_FILES];
    char *names[KG_FOLDER_FILES];
    size_t count;
};

static bool is_listed(const char *const *own_files, const char *name) {
    for (; *own_files != NULL; own_files++)
        if (strcmp(*own_files, name) == 0)
            return true;
    return false;
}

/* One of the own files, or one that was being written to become one. */
static bool is_own(const char *const *own_files, const char *name) {
    bool is_leftover = false;
    for (size_t i = 0; own_files[i] != NULL && !is_leftover; i++)
        is_leftover = kg__path_is_aside(name, own_files[i], KG_PARTIAL);
    return is_leftover || is_listed(own_files, name);
}

static bool is_file_in(DIR *dir, const char *name) {
    struct stat info;
    return fstatat(dirfd(dir), name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode);
}

static kg_status check_only_own(const char *path, const char *const *own_files, kg_error *error) {
    if (access(path, W_OK | X_OK) != 0)
        return kg__fail_errno(error, path, "replace it");
    DIR *dir = opendir(path);
    if (dir == NULL)
        return kg__fail_errno(error, path, "look into it");
    kg_status status = KG_OK;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            (is_own(own_files, entry->d_name) && is_file_in(dir, entry->d_name)))
            continue;
        status =
            kg_fail_at(error, path, 0, 0, "not replaced: it holds %s, which kgraft did not make",
                       kg__quote(entry->d_name, strlen(entry->d_name)).text);
        break;
    }
    closedir(dir);
    return status;
}

static void unlink_own(const char *path, const char *const *own_files, bool leftovers_only) {
    DIR *dir = opendir(path);
    if (dir == NULL)
        return;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        if (is_own(own_files, entry->d_name) &&
            !(leftovers_only && is_listed(own_files, entry->d_name)))
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

kg_status kg__folder_clear(const char *path, const char *const *own_files, kg_error *error) {
    KG_TRY(check_only_own(path, own_files, error));
    unlink_own(path, own_files, false);
    return KG_OK;
}

void kg__folder_sweep(const char *path, const char *const *own_files) {
    unlink_own(path, own_files, true);
}

static void remove_folder(const char *path, const char *const *own_files) {
    unlink_own(path, own_files, false);
    rmdir(path);
}

/* ---- Remains of killed processes ---- */

/* Removes what is not locked, a folder or one of its files that has no name yet; or puts it back in
 * its place. */
static void settle(const kg_folder *folder, const char *path, bool put_back) {
    int lock = -1;
    struct stat info;
    if (lstat(path, &info) != 0 || S_ISLNK(info.st_mode) || kg__lock(&lock, path, NULL) != KG_OK ||
        lock < 0)
        return;
    if (put_back)
        rename(path, folder->path);
    else if (S_ISREG(info.st_mode))
        unlink(path);
    else if (check_only_own(path, folder->own_files, NULL) == KG_OK)
        remove_folder(path, folder->own_files);
    kg__unlock(lock);
}

/* What was built for this place; and what had been there, unless it has to be put back. */
static void sweep(const kg_folder *folder) {
    const char *slash = strrchr(folder->path, '/');
    const char *name = slash == NULL ? folder->path : slash + 1;
    struct stat info;
    DIR *dir = opendir(folder->parent);
    if (dir == NULL)
        return;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        bool was_in_place = kg__path_is_aside(entry->d_name, name, KG_REPLACED);
        if (!was_in_place && !kg__path_is_aside(entry->d_name, name, KG_PARTIAL))
            continue;
        char *path = kg__path_join(folder->parent, entry->d_name);
        if (path != NULL)
            settle(folder, path, was_in_place && lstat(folder->path, &info) != 0);
        kg__free(path);
    }
    closedir(dir);
}

/* ---- The place ---- */

/* "." and the like name a folder that can neither be renamed nor exchanged by that name. */
static bool has_own_name(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    return name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static kg_status check_mount(const kg_folder *folder, const struct stat *info, kg_error *error) {
    struct stat parent;
    if (stat(folder->parent, &parent) == 0 && parent.st_dev != info->st_dev)
        return kg_fail_at(error, folder->path, 0, 0,
                          "not replaced: expected a folder that can be renamed, found one where a "
                          "file system is mounted");
    return KG_OK;
}

static kg_status check_place(kg_folder *folder, kg_error *error) {
    struct stat info;
    if (lstat(folder->path, &info) != 0) {
        bool is_free = errno == ENOENT && access(folder->parent, W_OK | X_OK) == 0;
        return is_free ? KG_OK : kg__fail_errno(error, folder->path, "create it");
    }
    if (!S_ISDIR(info.st_mode))
        return kg_fail_at(error, folder->path, 0, 0,
                          "expected the name of a new folder, found a %s",
                          S_ISLNK(info.st_mode) ? "symbolic link" : "file");
    if (!folder->replace)
        return kg_fail_at(error, folder->path, 0, 0, "it exists already (`replace` replaces it)");
    KG_TRY(check_only_own(folder->path, folder->own_files, error));
    if (!has_own_name(folder->path))
        return kg_fail_at(error, folder->path, 0, 0,
                          "not replaced: expected the folder's own name");
    KG_TRY(check_mount(folder, &info, error));
    return folder->place_lock < 0 ? kg__lock(&folder->place_lock, folder->path, error) : KG_OK;
}

kg_status kg__folder_start(kg_folder **out, const char *path, bool replace,
                           const char *const *own_files, kg_error *error) {
    kg_folder *folder = kg__alloc(1, sizeof *folder);
    if (folder == NULL)
        return kg__fail_memory(error);
    folder->aside_lock = -1;
    folder->place_lock = -1;
    folder->replace = replace;
    folder->own_files = own_files;
    folder->path = kg__path_trim(path);
    folder->parent = kg__path_parent(path);
    kg_status status =
        folder->path == NULL || folder->parent == NULL ? kg__fail_memory(error) : KG_OK;
    if (status == KG_OK) {
        sweep(folder);
        status = check_place(folder, error);
    }
    if (status != KG_OK) {
        kg__folder_close(folder);
        return status;
    }
    *out = folder;
    return KG_OK;
}

kg_status kg__folder_add(kg_folder *folder, kg_output **out, const char *name, kg_error *error) {
    if (folder->count == KG_FOLDER_FILES)
        return kg_fail(error, KG_BAD_INPUT, "more than %d files in a folder", KG_FOLDER_FILES);
    char *path = kg__path_join(folder->path, name);
    char *copy = kg__copy_string(name, strlen(name));
    kg_output *file = NULL;
    kg_status status = path == NULL || copy == NULL
                           ? kg__fail_memory(error)
                           : kg__output_open(&file, path, folder->path, error);
    kg__free(path);
    if (status != KG_OK) {
        kg__free(copy);
        return status;
    }
    folder->names[folder->count] = copy;
    folder->files[folder->count++] = file;
    *out = file;
    return KG_OK;
}

void kg__folder_close(kg_folder *folder) {
    if (folder == NULL)
        return;
    if (folder->aside != NULL)
        remove_folder(folder->aside, folder->own_files);
    kg__unlock(folder->aside_lock);
    kg__unlock(folder->place_lock);
    for (size_t i = 0; i < folder->count; i++) {
        kg__output_close(folder->files[i]);
        kg__free(folder->names[i]);
    }
    kg__free(folder->aside);
    kg__free(folder->path);
    kg__free(folder->parent);
    kg__free(folder);
}

static kg_status fill(const kg_folder *folder, kg_error *error) {
    for (size_t i = 0; i < folder->count; i++) {
        char *path = kg__path_join(folder->aside, folder->names[i]);
        if (path == NULL)
            return kg__fail_memory(error);
        kg_status status = kg__output_place(folder->files[i], path, error);
        kg__free(path);
        KG_TRY(status);
    }
    return KG_OK;
}

/* Where the file system can exchange two names, there is always a folder in place. Elsewhere the
 * old one is moved aside first; a process killed then leaves both, and the next one to write here
 * puts the old one back. */
static kg_status replace_folder(const kg_folder *folder, kg_error *error) {
    if (renameat2(AT_FDCWD, folder->aside, AT_FDCWD, folder->path, RENAME_EXCHANGE) == 0) {
        KG_TRY(
            kg__sync_folder(folder->parent, error)); /* or neither might survive a power failure */
        remove_folder(folder->aside, folder->own_files);
        return KG_OK;
    }
    char *old = kg__path_aside(folder->path, KG_REPLACED);
    if (old == NULL)
        return kg__fail_memory(error);
    kg_status status = KG_OK;
    if (rename(folder->path, old) != 0) {
        status = kg__fail_errno(error, folder->path, "replace it");
    } else if (rename(folder->aside, folder->path) != 0) {
        status = kg__fail_errno(error, folder->path, "replace it");
        rename(old, folder->path);
    } else {
        status = kg__sync_folder(folder->parent, error);
        remove_folder(old, folder->own_files);
    }
    kg__free(old);
    return status;
}

static kg_status put_in_place(const kg_folder *folder, kg_error *error) {
    if (renameat2(AT_FDCWD, folder->aside, AT_FDCWD, folder->path, RENAME_NOREPLACE) == 0)
        return KG_OK;
    bool exists = errno == EEXIST || access(folder->path, F_OK) == 0;
    if (exists && folder->replace)
        return replace_folder(folder, error);
    if (!exists && rename(folder->aside, folder->path) == 0)
        return KG_OK;
    return kg__fail_errno(error, folder->path, "put it in place");
}

kg_status kg__folder_commit(kg_folder *folder, kg_error *error) {
    for (size_t i = 0; i < folder->count; i++)
        KG_TRY(kg__output_finish(folder->files[i], error));
    KG_TRY(check_place(folder, error));
    char *aside = kg__path_aside(folder->path, KG_PARTIAL);
    if (aside == NULL)
        return kg__fail_memory(error);
    if (mkdir(aside, 0777) != 0) {
        kg_status status = kg__fail_errno(error, folder->path, "create it");
        kg__free(aside);
        return status;
    }
    folder->aside = aside;
    KG_TRY(kg__lock(&folder->aside_lock, aside, error));
    KG_TRY(fill(folder, error));
    KG_TRY(put_in_place(folder, error));
    kg__free(folder->aside);
    folder->aside = NULL;
    KG_TRY(kg__sync_folder(folder->path, error));
    return kg__sync_folder(folder->parent, error);
}

kg_status kg__folder_ensure(const char *path, bool *made, kg_error *error) {
    struct stat about;
    bool is_new = mkdir(path, 0777) == 0;
    if (made != NULL)
        *made = is_new;
    if (is_new || (errno == EEXIST && stat(path, &about) == 0 && S_ISDIR(about.st_mode)))
        return KG_OK;
    return kg__fail_errno(error, path, "create it");
}

kg_status kg__folder_ensure_all(const char *path, kg_error *error) {
    struct stat about;
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        return KG_OK;
    char *parent = kg__path_parent(path);
    kg_status status = parent == NULL ? kg__fail_memory(error) : KG_OK;
    if (status == KG_OK && strcmp(parent, path) != 0)
        status = kg__folder_ensure_all(parent, error);
    kg__free(parent);
    return status == KG_OK ? kg__folder_ensure(path, NULL, error) : status;
}
