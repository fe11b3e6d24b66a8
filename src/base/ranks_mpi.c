/* Ranks by MPI. Its errors end all processes by themselves; its counts have 32 bits, so long
 * messages go in pieces. */
#include <mpi.h>
#include <time.h>

#include "base/memory.h"
#include "base/progress.h"
#include "base/ranks.h"

#define PIECE ((size_t)1 << 30) /* bytes of a message at most */
#define PATIENCE 10.0           /* seconds that a failed rank waits for the others to fail */
#define PAUSE 10000000          /* nanoseconds between looks at them */

/* The end of a run must not get mixed up with what ranks that go on are sending, so it has a
 * communicator of its own. */
struct kg_ranks_link {
    MPI_Comm end_of_run;
};

static size_t count_beside(void) {
    MPI_Comm machine;
    int count = 1;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &count);
    MPI_Comm_free(&machine);
    return (size_t)count;
}

kg_status kg__ranks_open(kg_ranks *out, kg_error *error) {
    *out = (kg_ranks){.count = 1};
    int provided = 0;
    int number = 0;
    int count = 1;
    if (kg__ranks_launched() == 1)
        return KG_OK;
    struct kg_ranks_link *link = kg__alloc(1, sizeof *link);
    if (link == NULL)
        return kg__fail_memory(error);
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
        kg__free(link);
        return kg_fail(error, KG_SYSTEM, "cannot start MPI");
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    MPI_Comm_dup(MPI_COMM_WORLD, &link->end_of_run);
    *out = (kg_ranks){
        .number = (size_t)number, .count = (size_t)count, .beside = count_beside(), .link = link};
    return KG_OK;
}

bool kg__ranks_end(kg_ranks *ranks, bool has_failed) {
    MPI_Request all = MPI_REQUEST_NULL;
    struct timespec pause = {.tv_nsec = PAUSE};
    double started = kg__seconds();
    int have_ended = 0;
    if (ranks->link == NULL)
        return true;
    MPI_Ibarrier(ranks->link->end_of_run, &all);
    while (!have_ended && !(has_failed && kg__seconds() - started > PATIENCE)) {
        MPI_Test(&all, &have_ended, MPI_STATUS_IGNORE);
        if (!have_ended)
            nanosleep(&pause, NULL);
    }
    return have_ended;
}

void kg__ranks_close(kg_ranks *ranks) {
    if (ranks->link == NULL)
        return;
    MPI_Barrier(ranks->link->end_of_run);
    MPI_Comm_free(&ranks->link->end_of_run);
    MPI_Finalize();
    kg__free(ranks->link);
    ranks->link = NULL;
}

void kg__ranks_abort(kg_ranks *ranks, int code) {
    if (ranks->link != NULL)
        MPI_Abort(MPI_COMM_WORLD, code);
}

void kg__ranks_send(kg_ranks *ranks, size_t from, void *data, size_t size) {
    for (size_t at = 0; at < size && kg__ranks_many(ranks); at += PIECE) {
        size_t piece = size - at < PIECE ? size - at : PIECE;
        MPI_Bcast((char *)data + at, (int)piece, MPI_BYTE, (int)from, MPI_COMM_WORLD);
    }
    if (kg__ranks_many(ranks) && ranks->number == from)
        ranks->sent += size * (ranks->count - 1);
}

void kg__ranks_gather(kg_ranks *ranks, void *all, size_t size) {
    if (!kg__ranks_many(ranks))
        return;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, (int)size, MPI_BYTE, MPI_COMM_WORLD);
    ranks->sent += size * (ranks->count - 1);
}

/* ---- Messages of any size ---- */

static size_t count_pieces(size_t size) {
    return (size + PIECE - 1) / PIECE;
}

/* How much comes from each rank. */
static kg_status find_sizes(const kg_ranks *ranks, kg_message *in, const kg_message *out,
                            kg_arena *arena, kg_error *error) {
    uint64_t *sizes = kg__arena_take(arena, 2 * ranks->count, sizeof *sizes);
    if (sizes == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < ranks->count; i++)
        sizes[i] = out[i].size;
    MPI_Alltoall(sizes, (int)sizeof *sizes, MPI_BYTE, sizes + ranks->count, (int)sizeof *sizes,
                 MPI_BYTE, MPI_COMM_WORLD);
    for (size_t i = 0; i < ranks->count; i++)
        in[i].size = (size_t)sizes[ranks->count + i];
    return KG_OK;
}

kg_status kg__ranks_exchange(kg_ranks *ranks, kg_message *in, const kg_message *out,
                             kg_arena *arena, kg_error *error) {
    size_t pieces = 0;
    KG_TRY(find_sizes(ranks, in, out, arena, error));
    for (size_t i = 0; i < ranks->count; i++) {
        pieces += count_pieces(in[i].size) + count_pieces(out[i].size);
        in[i].bytes =
            i == ranks->number ? out[i].bytes : kg__arena_take(arena, in[i].size, sizeof(char));
        if (in[i].bytes == NULL && in[i].size > 0)
            return kg__fail_memory(error);
    }
    MPI_Request *requests = kg__arena_take(arena, pieces, sizeof(MPI_Request));
    int open = 0;
    if (requests == NULL)
        return kg__fail_memory(error);
    for (size_t k = 1; k < ranks->count; k++) { /* each begins with its neighbour */
        size_t to = (ranks->number + k) % ranks->count;
        size_t from = (ranks->number + ranks->count - k) % ranks->count;
        for (size_t at = 0; at < in[from].size; at += PIECE) {
            size_t piece = in[from].size - at < PIECE ? in[from].size - at : PIECE;
            MPI_Irecv((char *)in[from].bytes + at, (int)piece, MPI_BYTE, (int)from, 0,
                      MPI_COMM_WORLD, &requests[open++]);
        }
        for (size_t at = 0; at < out[to].size; at += PIECE) {
            size_t piece = out[to].size - at < PIECE ? out[to].size - at : PIECE;
            MPI_Isend((const char *)out[to].bytes + at, (int)piece, MPI_BYTE, (int)to, 0,
                      MPI_COMM_WORLD, &requests[open++]);
        }
        ranks->sent += out[to].size;
    }
    MPI_Waitall(open, requests, MPI_STATUSES_IGNORE);
    return KG_OK;
}
