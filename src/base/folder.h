/* Folders that appear whole or not at all: the files of a folder are written as outputs without a
 * name, and when all of them are on disk the folder is made beside its place and renamed there, in
 * exchange for the one that it replaces. */
#ifndef KG_BASE_FOLDER_H
#define KG_BASE_FOLDER_H

#include <stdbool.h>

#include "base/output.h"

typedef struct kg_folder kg_folder;

/* The most files that a folder can get. */
#define KG_FOLDER_FILES 16

/* Starts the folder that shall become `path`. Nothing may be there, unless `replace`: then it may
 * be a folder that holds no other files than those of `own_files` (ended by NULL), so that nobody
 * loses what we did not write. It is locked from then on. What an earlier process left beside
 * `path` when it was killed is removed. `own_files` must live as long as the folder. */
KG_MUST_CHECK kg_status kg__folder_start(kg_folder **out, const char *path, bool replace,
                                         const char *const *own_files, kg_error *error);

/* A new file of it. The folder owns it; the caller only writes to it. */
KG_MUST_CHECK kg_status kg__folder_add(kg_folder *folder, kg_output **out, const char *name,
                                       kg_error *error);

/* Puts the folder in place, for good. */
KG_MUST_CHECK kg_status kg__folder_commit(kg_folder *folder, kg_error *error);

/* Frees it; unless it was committed, what was written is gone. */
void kg__folder_close(kg_folder *folder);

/* Removes the files of a folder, which may hold none but those of `own_files`. */
KG_MUST_CHECK kg_status kg__folder_clear(const char *path, const char *const *own_files,
                                         kg_error *error);

/* Removes what a process that was killed left of files on their way to become `own_files`. Whoever
 * calls this has locked the folder. */
void kg__folder_sweep(const char *path, const char *const *own_files);

/* A folder to put things into as they come: makes it unless it is there; its parent must be.
 * `*made` may be NULL. */
KG_MUST_CHECK kg_status kg__folder_ensure(const char *path, bool *made, kg_error *error);

#endif
