/* Files that appear whole or not at all. An output is written without a name, where the file
 * system can do that, or under a temporary one; it is synced, and only then put in its place by a
 * rename. Whatever kills the program before that leaves nothing, or what was there before. */
#ifndef KG_BASE_OUTPUT_H
#define KG_BASE_OUTPUT_H

#include <stdbool.h>

#include "base/checksum.h"
#include "base/status.h"

typedef struct kg_output kg_output;

/* Starts the file that shall become `path`; "-" is standard output. What exists and is not a
 * regular file (a pipe, a device) is written to as it is. Until it is in place it lives in the
 * folder that holds `beside`: `path` itself, or something in the same file system. */
KG_MUST_CHECK kg_status kg__output_open(kg_output **out, const char *path, const char *beside,
                                        kg_error *error);

/* Refuses a file that is there already, unless it is to be replaced. Pipes and devices, which are
 * written to as they are, are fine. */
KG_MUST_CHECK kg_status kg__output_check(const char *path, bool replace, kg_error *error);

/* Frees the output; unless it was committed, what was written is gone. */
void kg__output_close(kg_output *output);

/* Buffered. */
KG_MUST_CHECK kg_status kg__output_write(kg_output *output, const void *bytes, size_t size,
                                         kg_error *error);

/* Puts the file in place, for good: synced, renamed, its folder synced. */
KG_MUST_CHECK kg_status kg__output_commit(kg_output *output, kg_error *error);

/* The same in two steps, for those who put several files in place together: everything is on disk
 * after the first, and the second only gives it the name `path` (in the same file system). */
KG_MUST_CHECK kg_status kg__output_finish(kg_output *output, kg_error *error);
KG_MUST_CHECK kg_status kg__output_place(kg_output *output, const char *path, kg_error *error);

/* Of everything written so far. */
uint64_t kg__output_size(const kg_output *output);
kg_checksum kg__output_checksum(const kg_output *output);

/* What was written so far is the file's head: what whoever opens it believes before he looks at the
 * rest. Its size, 0 where nobody said where it ends, and its checksum. */
void kg__output_end_head(kg_output *output);
uint64_t kg__output_head_size(const kg_output *output);
kg_checksum kg__output_head_checksum(const kg_output *output);

/* Makes what was renamed or created in a folder durable. */
KG_MUST_CHECK kg_status kg__sync_folder(const char *folder, kg_error *error);

#endif
