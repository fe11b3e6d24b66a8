/* Building a folder aside and renaming it into place. */
#define _GNU_SOURCE
#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"

struct kg_folder {
    char *path;
    char *parent;
    char *aside; /* where it is built; NULL before the commit and once it is in place */
    bool replace;
    const char *const *own_files;
    kg_output *files[KG_FOLDER_FILES];
    char *names[KG_FOLDER_FILES];
    size_t count;
};

static bool is_own(const char *const *own_files, const char *name) {
    for (; *own_files != NULL; own_files++)
        if (strcmp(*own_files, name) == 0)
            return true;
    return false;
}

static bool is_file_in(DIR *dir, const char *name) {
    struct stat info;
    return fstatat(dirfd(dir), name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode);
}

static kg_status check_only_own(const kg_folder *folder, kg_error *error) {
    if (access(folder->path, W_OK | X_OK) != 0)
        return kg_fail_errno(error, folder->path, "replace it");
    DIR *dir = opendir(folder->path);
    if (dir == NULL)
        return kg_fail_errno(error, folder->path, "look into it");
    kg_status status = KG_OK;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            (is_own(folder->own_files, entry->d_name) && is_file_in(dir, entry->d_name)))
            continue;
        status = kg_fail_at(error, folder->path, 0, 0,
                            "not replaced: it holds %s, which kgraft did not make",
                            kg_quote(entry->d_name, strlen(entry->d_name)).text);
        break;
    }
    closedir(dir);
    return status;
}

/* "." and the like name a folder that can neither be renamed nor exchanged by that name. */
static bool has_own_name(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    return name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static kg_status check_place(const kg_folder *folder, kg_error *error) {
    struct stat info;
    if (lstat(folder->path, &info) != 0) {
        bool is_free = errno == ENOENT && access(folder->parent, W_OK | X_OK) == 0;
        return is_free ? KG_OK : kg_fail_errno(error, folder->path, "create it");
    }
    if (!S_ISDIR(info.st_mode))
        return kg_fail_at(error, folder->path, 0, 0,
                          "expected the name of a new folder, found a %s",
                          S_ISLNK(info.st_mode) ? "symbolic link" : "file");
    if (!folder->replace)
        return kg_fail_at(error, folder->path, 0, 0, "it exists already (`replace` replaces it)");
    KG_TRY(check_only_own(folder, error));
    if (!has_own_name(folder->path))
        return kg_fail_at(error, folder->path, 0, 0,
                          "not replaced: expected the folder's own name");
    return KG_OK;
}

kg_status kg_folder_start(kg_folder **out, const char *path, bool replace,
                          const char *const *own_files, kg_error *error) {
    kg_folder *folder = kg_alloc(1, sizeof *folder);
    if (folder == NULL)
        return kg_fail_memory(error);
    folder->replace = replace;
    folder->own_files = own_files;
    folder->path = kg_path_trim(path);
    folder->parent = kg_path_parent(path);
    kg_status status = folder->path == NULL || folder->parent == NULL ? kg_fail_memory(error)
                                                                      : check_place(folder, error);
    if (status != KG_OK) {
        kg_folder_close(folder);
        return status;
    }
    *out = folder;
    return KG_OK;
}

kg_status kg_folder_add(kg_folder *folder, kg_output **out, const char *name, kg_error *error) {
    if (folder->count == KG_FOLDER_FILES)
        return kg_fail(error, KG_BAD_INPUT, "more than %d files in a folder", KG_FOLDER_FILES);
    char *path = kg_path_join(folder->path, name);
    char *copy = kg_copy_string(name, strlen(name));
    kg_output *file = NULL;
    kg_status status = path == NULL || copy == NULL
                           ? kg_fail_memory(error)
                           : kg_output_open(&file, path, folder->path, error);
    kg_free(path);
    if (status != KG_OK) {
        kg_free(copy);
        return status;
    }
    folder->names[folder->count] = copy;
    folder->files[folder->count++] = file;
    *out = file;
    return KG_OK;
}

static void remove_own(const kg_folder *folder, const char *path) {
    for (const char *const *name = folder->own_files; *name != NULL; name++) {
        char *file = kg_path_join(path, *name);
        if (file != NULL)
            unlink(file);
        kg_free(file);
    }
    rmdir(path);
}

void kg_folder_close(kg_folder *folder) {
    if (folder == NULL)
        return;
    if (folder->aside != NULL)
        remove_own(folder, folder->aside);
    for (size_t i = 0; i < folder->count; i++) {
        kg_output_close(folder->files[i]);
        kg_free(folder->names[i]);
    }
    kg_free(folder->aside);
    kg_free(folder->path);
    kg_free(folder->parent);
    kg_free(folder);
}

static kg_status fill(const kg_folder *folder, kg_error *error) {
    for (size_t i = 0; i < folder->count; i++) {
        char *path = kg_path_join(folder->aside, folder->names[i]);
        if (path == NULL)
            return kg_fail_memory(error);
        kg_status status = kg_output_place(folder->files[i], path, error);
        kg_free(path);
        KG_TRY(status);
    }
    return KG_OK;
}

/* Where the file system can exchange two names, there is no moment without a folder in place. */
static kg_status replace_folder(const kg_folder *folder, kg_error *error) {
    if (renameat2(AT_FDCWD, folder->aside, AT_FDCWD, folder->path, RENAME_EXCHANGE) == 0) {
        remove_own(folder, folder->aside);
        return KG_OK;
    }
    char *old = kg_path_partial(folder->path);
    if (old == NULL)
        return kg_fail_memory(error);
    kg_status status = KG_OK;
    if (rename(folder->path, old) != 0) {
        status = kg_fail_errno(error, folder->path, "replace it");
    } else if (rename(folder->aside, folder->path) != 0) {
        status = kg_fail_errno(error, folder->path, "replace it");
        rename(old, folder->path);
    } else {
        remove_own(folder, old);
    }
    kg_free(old);
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
    return kg_fail_errno(error, folder->path, "put it in place");
}

kg_status kg_folder_commit(kg_folder *folder, kg_error *error) {
    for (size_t i = 0; i < folder->count; i++)
        KG_TRY(kg_output_finish(folder->files[i], error));
    KG_TRY(check_place(folder, error));
    char *aside = kg_path_partial(folder->path);
    if (aside == NULL)
        return kg_fail_memory(error);
    if (mkdir(aside, 0777) != 0) {
        kg_status status = kg_fail_errno(error, folder->path, "create it");
        kg_free(aside);
        return status;
    }
    folder->aside = aside;
    KG_TRY(fill(folder, error));
    KG_TRY(put_in_place(folder, error));
    kg_free(folder->aside);
    folder->aside = NULL;
    KG_TRY(kg_sync_folder(folder->path, error));
    return kg_sync_folder(folder->parent, error);
}

kg_status kg_folder_ensure(const char *path, bool *made, kg_error *error) {
    struct stat about;
    bool is_new = mkdir(path, 0777) == 0;
    if (made != NULL)
        *made = is_new;
    if (is_new || (errno == EEXIST && stat(path, &about) == 0 && S_ISDIR(about.st_mode)))
        return KG_OK;
    return kg_fail_errno(error, path, "create it");
}
