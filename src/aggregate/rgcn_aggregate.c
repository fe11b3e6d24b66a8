/* The encoder of the model, applied to an entity that it was not trained with: rgcn-d. What an
 * entity is known by decides its features, its means and so all of z, so nothing is shared between
 * uses, and leaving a link out is not having it. z is no sum over facts. */
#include "aggregate/aggregate.h"

struct rgcn {
    kg_link *kept; /* the links that are not left out */
    real *scratch;
};

static bool load(kg_aggregate *a, size_t most_left_out) {
    (void)most_left_out;
    struct rgcn *rgcn = kg__arena_take(a->arena, 1, sizeof *rgcn);
    a->state = rgcn;
    if (rgcn == NULL)
        return false;
    rgcn->kept = kg__arena_take(a->arena, a->count, sizeof *rgcn->kept);
    rgcn->scratch = kg__arena_take(a->arena, kg__encoder_scratch(a->params->encoder), sizeof(real));
    return rgcn->kept != NULL && rgcn->scratch != NULL;
}

static void forward(kg_aggregate *a, real *z, kg_left_out left) {
    const struct rgcn *rgcn = a->state;
    size_t count = 0;
    for (size_t i = 0, skipped = 0; i < a->count; i++)
        if (!kg__is_left_out(left, &skipped, i))
            rgcn->kept[count++] = a->links[i];
    kg__encoder_embed(a->params->encoder, z, rgcn->kept, count, rgcn->scratch);
}

const kg_aggregator kg__aggregator_rgcn_d = {
    .name = "rgcn-d",
    .is_encoder = true,
    .load = load,
    .forward = forward,
};
