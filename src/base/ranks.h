/* The processes that share a run, ranks as MPI calls them: those that mpirun has started, or this
 * one alone. What is done with them is done by all of them, in the same order, by the thread that
 * opened them. A NULL stands for one process alone.
 *
 * They are for speed and memory, never for the result: what ranks come to together is what one
 * would have come to. ranks_mpi.c is the only file that knows MPI; a build without it has
 * ranks_alone.c. */
#ifndef KG_BASE_RANKS_H
#define KG_BASE_RANKS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"

typedef struct kg_ranks {
    size_t number; /* of this process, from 0 */
    size_t count;
    size_t beside;              /* of these, how many are on this machine, which share its memory */
    uint64_t sent;              /* bytes to others so far */
    struct kg_ranks_link *link; /* what MPI needs; NULL: this process is alone */
} kg_ranks;

/* Bytes for a rank, or from it. */
typedef struct kg_message {
    const void *bytes;
    size_t size;
} kg_message;

/* How many there are: NULL stands for one alone. */
static inline size_t kg__ranks_count(const kg_ranks *ranks) {
    return ranks == NULL || ranks->count == 0 ? 1 : ranks->count;
}

static inline bool kg__ranks_many(const kg_ranks *ranks) {
    return kg__ranks_count(ranks) > 1;
}

static inline size_t kg__ranks_beside(const kg_ranks *ranks) {
    return ranks == NULL || ranks->beside == 0 ? 1 : ranks->beside;
}

/* Whether this process writes and prints what all have come to. */
static inline bool kg__ranks_first(const kg_ranks *ranks) {
    return ranks == NULL || ranks->number == 0;
}

/* Of `count` things in order, rank i's are from here up to where those of i + 1 begin. */
static inline size_t kg__ranks_begin(const kg_ranks *ranks, size_t i, size_t count) {
    return i * count / kg__ranks_count(ranks);
}

/* Rows of a table belong to ranks in blocks of so many, in turn. Whole blocks of tables are whole
 * pages of memory, if rows have a multiple of 32 bytes. */
#define KG_OWNED_ROWS 384

static inline size_t kg__ranks_owner(size_t count, size_t row) {
    return row / KG_OWNED_ROWS % count;
}

static inline size_t kg__ranks_number(const kg_ranks *ranks) {
    return ranks == NULL ? 0 : ranks->number;
}

/* How many processes this one was started with, by its environment. */
size_t kg__ranks_launched(void);

/* Meets the others. A process that was not started with others is alone, and stays without MPI. */
KG_MUST_CHECK kg_status kg__ranks_open(kg_ranks *out, kg_error *error);

/* Waits until all have done their work. One that failed waits for some seconds only: if others go
 * on then, returns false, and kg__ranks_abort is left to end them. */
bool kg__ranks_end(kg_ranks *ranks, bool has_failed);

/* After that: waits until all get here. So the first one can say why all failed before mpirun sees
 * another one's exit code, and ends it. */
void kg__ranks_close(kg_ranks *ranks);

/* Ends all processes, this one included, with that exit code; of one alone, does nothing. */
void kg__ranks_abort(kg_ranks *ranks, int code);

/* What any rank fails with, all fail with: the first one's status and error. */
KG_MUST_CHECK kg_status kg__ranks_agree(kg_ranks *ranks, kg_status status, kg_error *error);

/* All get what the rank `from` has. */
void kg__ranks_send(kg_ranks *ranks, size_t from, void *data, size_t size);

/* `all` has `size` bytes for each rank; each fills in its own, and then has all. */
void kg__ranks_gather(kg_ranks *ranks, void *all, size_t size);

/* Sends out[i] to rank i and receives in[i] from it, into memory of the arena; what a rank has for
 * itself is not copied. Of several ranks. */
KG_MUST_CHECK kg_status kg__ranks_exchange(kg_ranks *ranks, kg_message *in, const kg_message *out,
                                           kg_arena *arena, kg_error *error);

#endif
