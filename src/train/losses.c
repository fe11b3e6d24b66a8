/* The table of losses. */
#include "train/loss.h"

/* All of them, each from the file that has its functions. */
#define LOSSES(ROW) ROW(softplus) ROW(softmax)

#define DECLARED(name) extern const kg_loss kg__loss_##name;
#define LISTED(name) &kg__loss_##name,

LOSSES(DECLARED)
const kg_loss *const kg__losses[] = {LOSSES(LISTED) NULL};

bool kg__loss_trains(const kg_loss *loss, const kg_term *term) {
    return term->is_trained_apart ||
           (kg__loss_compares(loss) ? term->forward != NULL : term->forward_one != NULL);
}
