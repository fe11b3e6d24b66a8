/* The encoder of the model, applied to an entity that it was not trained with: rgcn-d. What an
 * entity is known by decides its features, its means and so all of z, so nothing is shared between
 * uses, and leaving a link out is not having it. */
#include "aggregate/aggregators.h"

void kg__rgcn_forward(kg_aggregate *a, real *z, kg_left_out left) {
    size_t count = 0;
    size_t skipped = 0;
    for (size_t i = 0; i < a->count; i++) {
        if (skipped < left.count && left.positions[skipped] == i)
            skipped++;
        else
            a->kept[count++] = a->links[i];
    }
    kg__encoder_embed(a->params.encoder, z, a->kept, count, a->scratch);
}
