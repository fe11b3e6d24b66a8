/* Gradients between ranks. Each has some of the shards of a batch, sums for each row what these
 * have for a branch of the tree (grad_tree.h) that is wholly its own, and sends these sums to the
 * owner of the row, or, where rows have none, to all others. From what comes, the tree is finished.
 * So about one vector a row and rank is sent, and the sums are those, to the bit, of one process.
 */
#ifndef KG_TRAIN_GRAD_EXCHANGE_H
#define KG_TRAIN_GRAD_EXCHANGE_H

#include "base/ranks.h"
#include "train/param.h"

typedef struct kg_grad_exchange {
    kg_ranks *ranks;
    kg_param_list *list;
    kg_grads *received; /* of all branches of all ranks, in the order of the tree */
    size_t count;
    kg_arena arena; /* holds what they consist of */
} kg_grad_exchange;

/* Borrows both. To be closed also when this failed. */
KG_MUST_CHECK kg_status kg__grad_exchange_open(kg_grad_exchange *out, kg_ranks *ranks,
                                               kg_param_list *list, kg_error *error);
void kg__grad_exchange_close(kg_grad_exchange *exchange);

/* Sends what the parts have and receives what all have, until the next time. */
KG_MUST_CHECK kg_status kg__grad_exchange_run(kg_grad_exchange *exchange, const kg_grads *parts,
                                              size_t part_count, kg_error *error);

#endif
