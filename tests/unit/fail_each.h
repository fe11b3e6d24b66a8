/* Running out of memory: a piece of work is done once for every allocation that it makes, with that
 * one failing. Each time it says KG_NO_MEMORY (or finds a way around, to the same result), every
 * block is given back, and no file is left behind. jansson allocates by the same back end; what
 * xxHash, zlib and serd allocate by themselves does not fail here. */
#ifndef KG_TESTS_FAIL_EACH_H
#define KG_TESTS_FAIL_EACH_H

#include "support.h"

/* A piece of work: reads what was prepared, and may write a file or folder "out". */
typedef kg_status work(const void *setting, kg_error *error);

/* `least`: allocations that there must be, or the work was not done. */
void fail_each(work *run, const void *setting, long least);

/* What the work comes to, as a checksum; showing JSON allocates, which is not part of it. */
void note(const void *bytes, size_t size);
void note_json(const json_t *value);
void note_file(const char *path);

/* When memory runs out while it reads a word of more than 15 bytes, jansson 2.14 goes on beyond the
 * end of its buffer. Where there are such words, its allocations do not fail. */
extern bool spare_jansson;

/* A set-up of a group: like enter_temporary_folder, with jansson's allocations. */
int enter_failing_folder(void **state);

/* Removes "out". */
void remove_out(void);

#endif
