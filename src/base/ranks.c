/* What ranks do by the messages that either build has. */
#include "base/ranks.h"

#include <stdlib.h>

#include "base/memory.h"

/* Open MPI's variable, and that of MPICH and those derived from it. */
size_t kg__ranks_launched(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        unsigned long long count = text == NULL ? 0 : strtoull(text, NULL, 10);
        if (count > 0)
            return (size_t)count;
    }
    return 1;
}

kg_status kg__ranks_agree(kg_ranks *ranks, kg_status status, kg_error *error) {
    if (!kg__ranks_many(ranks))
        return status;
    kg_status *all = kg__alloc(ranks->count, sizeof *all);
    if (all == NULL)
        return kg__fail_memory(error);
    all[ranks->number] = status;
    kg__ranks_gather(ranks, all, sizeof *all);
    size_t failed = 0;
    while (failed < ranks->count && all[failed] == KG_OK)
        failed++;
    status = failed < ranks->count ? all[failed] : KG_OK;
    kg__free(all);
    if (status == KG_OK)
        return KG_OK;
    kg_error told = {0};
    if (error != NULL)
        told = *error;
    kg__ranks_send(ranks, failed, &told, sizeof told);
    if (error != NULL)
        *error = told;
    return status;
}
