/* Folders that appear whole or not at all: files are written as outputs without a name, and when
 * all of them are on disk the folder is made beside its place and renamed there, in exchange for
 * the one that it replaces. */
#ifndef KG_BASE_OUTPUT_FOLDER_H
#define KG_BASE_OUTPUT_FOLDER_H

#include <stdbool.h>

#include "base/output.h"

typedef struct kg_folder kg_folder;

/* The most files that a folder can get. */
#define KG_FOLDER_FILES 16

/* Starts the folder that shall become `path`. Nothing may be there, unless `replace`: then it may
 * be a folder that holds no files but those of `own_files` (ended by NULL), so that no file of
 * others is lost. It is locked from then on. Remains of a killed process beside `path` are removed.
 * `own_files` must outlive the folder. */
KG_MUST_CHECK kg_status kg__folder_start(kg_folder **out, const char *path, bool replace,
                                         const char *const *own_files, kg_error *error);

/* A new file of the folder, which owns it; the caller only writes to it. */
KG_MUST_CHECK kg_status kg__folder_add(kg_folder *folder, kg_output **out, const char *name,
                                       kg_error *error);

/* Puts the folder in place, durably. */
KG_MUST_CHECK kg_status kg__folder_commit(kg_folder *folder, kg_error *error);

/* Frees it; what was written is discarded unless it was committed. */
void kg__folder_close(kg_folder *folder);

/* Removes the files of a folder, which may hold none but those of `own_files`. */
KG_MUST_CHECK kg_status kg__folder_clear(const char *path, const char *const *own_files,
                                         kg_error *error);

/* Removes files that a killed process was writing to become `own_files`. The caller has locked the
 * folder. */
void kg__folder_sweep(const char *path, const char *const *own_files);

/* Makes a folder unless it exists; its parent must exist. `*made` may be NULL. */
KG_MUST_CHECK kg_status kg__folder_ensure(const char *path, bool *made, kg_error *error);

/* The same, with all parents that are missing. */
KG_MUST_CHECK kg_status kg__folder_ensure_all(const char *path, kg_error *error);

#endif
