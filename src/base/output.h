/* Files that appear whole or not at all. An output is written without a name, where the file system
 * supports that, or under a temporary one; it is synced, and only then renamed into place. A
 * process killed before that leaves nothing, or what was there before. */
#ifndef KG_BASE_OUTPUT_H
#define KG_BASE_OUTPUT_H

#include <stdbool.h>

#include "base/checksum.h"
#include "base/file_mapping.h"
#include "base/status.h"

typedef struct kg_output kg_output;

/* Starts the file that shall become `path`; "-" is standard output. What exists and is not a
 * regular file (a pipe, a device) is written to directly. Until it is in place it is in the folder
 * of `beside`: `path` itself, or a path in the same file system. */
KG_MUST_CHECK kg_status kg__output_open(kg_output **out, const char *path, const char *beside,
                                        kg_error *error);

/* Refuses a file that exists, unless it is to be replaced. Pipes and devices, which are written to
 * directly, are accepted. */
KG_MUST_CHECK kg_status kg__output_check(const char *path, bool replace, kg_error *error);

/* Frees the output; what was written is discarded unless it was committed. */
void kg__output_close(kg_output *output);

/* Buffered. */
KG_MUST_CHECK kg_status kg__output_write(kg_output *output, const void *bytes, size_t size,
                                         kg_error *error);

/* Puts the file in place, durably: synced, renamed, its folder synced. */
KG_MUST_CHECK kg_status kg__output_commit(kg_output *output, kg_error *error);

/* A whole file at once. */
KG_MUST_CHECK kg_status kg__output_save(const char *path, const void *bytes, size_t size,
                                        kg_error *error);

/* The same as a commit in two steps, to put several files in place together: everything is on disk
 * after the first, and the second only gives it the name `path` (in the same file system). */
KG_MUST_CHECK kg_status kg__output_finish(kg_output *output, kg_error *error);
KG_MUST_CHECK kg_status kg__output_place(kg_output *output, const char *path, kg_error *error);

/* Maps what was written so far, for as long as the output is open. */
KG_MUST_CHECK kg_status kg__output_map(kg_output *output, kg_mapping *out, kg_error *error);

/* Of everything written so far. */
uint64_t kg__output_size(const kg_output *output);
kg_checksum kg__output_checksum(const kg_output *output);

/* Marks what was written so far as the file's head: the part that is trusted when a file is opened
 * and before the rest is verified. Its size, 0 if no head was marked, and its checksum. */
void kg__output_end_head(kg_output *output);
uint64_t kg__output_head_size(const kg_output *output);
kg_checksum kg__output_head_checksum(const kg_output *output);

/* Makes what was renamed or created in a folder durable. */
KG_MUST_CHECK kg_status kg__sync_folder(const char *folder, kg_error *error);

#endif
