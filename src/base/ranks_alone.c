/* A build without MPI: every process is alone. */
#include "base/ranks.h"

kg_status kg__ranks_open(kg_ranks *out, kg_error *error) {
    *out = (kg_ranks){.count = 1};
    size_t launched = kg__ranks_launched();
    if (launched == 1)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "expected one process, found that %zu were started, but this kgraft was built "
                   "without MPI (build option mpi)",
                   launched);
}

bool kg__ranks_end(kg_ranks *ranks, bool has_failed) {
    (void)ranks;
    (void)has_failed;
    return true;
}

void kg__ranks_close(kg_ranks *ranks) {
    (void)ranks;
}

void kg__ranks_abort(kg_ranks *ranks, int code) {
    (void)ranks;
    (void)code;
}

void kg__ranks_send(kg_ranks *ranks, size_t from, void *data, size_t size) {
    (void)ranks;
    (void)from;
    (void)data;
    (void)size;
}

void kg__ranks_gather(kg_ranks *ranks, void *all, size_t size) {
    (void)ranks;
    (void)all;
    (void)size;
}

kg_status kg__ranks_exchange(kg_ranks *ranks, kg_message *in, const kg_message *out,
                             kg_arena *arena, kg_error *error) {
    (void)arena;
    (void)error;
    in[kg__ranks_number(ranks)] = out[kg__ranks_number(ranks)];
    return KG_OK;
}
