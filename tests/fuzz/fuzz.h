/* What the fuzzers have in common. An input is one byte of options, then one or more files with a
 * byte 0xff between them (which no UTF-8 text contains). A harness opens a trial, has its reader
 * read the files, and closes the trial with the reader's status: that is where the properties are
 * checked that hold for every reader, whatever it is fed. A broken one traps.
 *
 *  - A failure is KG_BAD_INPUT or KG_CANCELLED (memory and the system do not fail here), is
 *    recorded as what was returned, has one line of printable text, and names its source.
 *  - A success is a data set: its names can be written as TSV, the ids of its facts are those of
 *    names, no part has a fact twice, a fact of an unseen part has one end that is new in that
 *    part and one that is in sample, one of the new graph a relation that is in sample.
 *  - The data set, written as TSV and read again, is the same. */
#ifndef KG_FUZZ_H
#define KG_FUZZ_H

#include "graph/reader.h"

#define FUZZ_FILES_MAX 16

/* Bits of the first byte. The rest of it, shifted by FUZZ_SYNTAX_SHIFT, is a kg_rdf_syntax. */
enum fuzz_option {
    FUZZ_PLAIN = 1,
    FUZZ_SKIP_BLANK = 2,
    FUZZ_COMMENT = 4,
    FUZZ_LITERALS = 8,
    FUZZ_INVERSES = 16,
    FUZZ_SKIP_UNKNOWN = 16, /* where there are no inverses: relations of the new graph */
    FUZZ_CANCEL = 32,       /* at the second report of progress */
};
#define FUZZ_SYNTAX_SHIFT 6

struct fuzz_file {
    const uint8_t *bytes;
    size_t size;
};

struct fuzz_trial {
    unsigned options;
    struct fuzz_file files[FUZZ_FILES_MAX]; /* those behind `file_count` are empty */
    size_t file_count;
    kg_dataset dataset;
    kg_reader reader;
    kg_progress progress;
    int reports;
    kg_error error;
};

/* Traps if a property does not hold. */
static inline void fuzz_require(bool holds) {
    if (!holds)
        __builtin_trap();
}

/* A failure is as described above. */
void fuzz_check_error(kg_status status, const kg_error *error);

/* Cuts an input into at most `file_limit` files and sets up the reader. The trial stays in its
 * place until it is closed, and borrows the input. */
void fuzz_trial_open(struct fuzz_trial *trial, const uint8_t *input, size_t size,
                     size_t file_limit);

/* Finishes the data set where `status` is KG_OK, checks all properties, and frees everything. */
void fuzz_trial_close(struct fuzz_trial *trial, kg_status status);

/* A file of the trial as an input. The caller closes it. */
kg_input *fuzz_trial_input(const struct fuzz_trial *trial, size_t file, const char *name);

/* Any bytes as an input. The caller closes it. */
kg_input *fuzz_input(const void *bytes, size_t size, const char *name, kg_coding coding);

/* A text, or what is left of it. */
struct fuzz_text {
    const char *bytes;
    size_t size;
};

/* Cuts off what stands before the first `end`, or the rest if there is none; and a line, without
 * its end. */
struct fuzz_text fuzz_cut(struct fuzz_text *rest, char end);
struct fuzz_text fuzz_cut_line(struct fuzz_text *rest);

/* How many bytes at the start are the mark that a file of UTF-8 may have: three or none. */
size_t fuzz_mark(const char *bytes, size_t size);

/* The entry that libFuzzer calls; each harness has one. */
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

#endif
