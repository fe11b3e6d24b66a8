/* The out-of-sample split, with a small share, of the training part alone. */
#include "train/hold_out.h"

#include <math.h>

#include "graph/split.h"

#define USUAL_SHARE 0.05
#define MOST_SHARE 0.2
#define FEWEST_ENTITIES 100.0 /* a larger share of a small graph is to come to so many, */
#define MOST_ENTITIES 3000.0  /* and more than these say nothing new, but take long to ask about */
#define MIN_FACTS 2           /* one to ask for, one to know */
#define HUB 10.0              /* times the mean number of facts, */
#define HUB_SHARE 0.02        /* or this share of all facts, */
#define FEWEST_OF_HUB 3.0     /* but so many times the mean */

bool kg__has_validation(const kg_dataset *dataset) {
    return dataset->parts[kg__dataset_validation(dataset, true)].count > 0;
}

static double choose_share(const kg_dataset *dataset) {
    double entities = (double)dataset->entities_before[KG_VALID];
    double wanted = fmin(fmax(USUAL_SHARE * entities, FEWEST_ENTITIES), MOST_ENTITIES);
    return fmin(wanted / entities, MOST_SHARE);
}

/* Without what hubs have, little would be left of a small graph to train on. */
static uint64_t count_most_facts(const kg_dataset *dataset) {
    double facts = (double)dataset->parts[KG_TRAIN].count;
    double mean = 2 * facts / (double)dataset->entities_before[KG_VALID];
    return (uint64_t)fmin(fmax(HUB_SHARE * facts, FEWEST_OF_HUB * mean), HUB * mean);
}

/* Whether some entity is left with two facts, as softmax needs it: there are more ends of facts
 * than entities. */
static bool can_train(const kg_dataset *dataset) {
    const kg_triples *facts = &dataset->parts[KG_TRAIN];
    size_t count = 0;
    for (size_t i = 0; i < facts->count; i++)
        count += facts->items[i].head != facts->items[i].tail;
    return 2 * count > kg__dataset_in_sample(dataset);
}

static kg_status split(kg_held_out *out, const kg_dataset *dataset, const kg_split_options *options,
                       kg_error *error) {
    kg_split_report report;
    kg_dataset trained = *dataset; /* borrowed, without the other parts */
    for (kg_part part = KG_TRAIN + 1; part < KG_PART_COUNT; part++)
        trained.parts[part] = (kg_triples){0};
    KG_TRY(kg__dataset_open(&out->dataset, error));
    KG_TRY(kg__split(&out->dataset, &report, &trained, options, error));
    out->facts = out->dataset.parts[KG_UNSEEN_VALID].count;
    if (!can_train(&out->dataset) || out->facts < KG_FEWEST_HELD_OUT)
        return kg_fail(error, KG_BAD_INPUT, "expected a graph that can spare entities, found none");
    out->share = options->unseen;
    out->entities = report.valid_entities;
    return KG_OK;
}

kg_status kg__hold_out(kg_held_out *out, const kg_dataset *dataset, double share, uint64_t seed,
                       kg_error *error) {
    *out = (kg_held_out){0};
    if (share != KG_DEFAULT_HOLD_OUT && !(share >= 0 && share < 1))
        return kg_fail(error, KG_BAD_INPUT,
                       "`hold_out`: expected a share from 0 to below 1, found %g", share);
    if (kg__has_validation(dataset) && share > 0)
        return kg_fail(
            error, KG_BAD_INPUT,
            "`hold_out`: expected data without a validation part, found one, which decides "
            "instead");
    if (kg__has_validation(dataset) || share == 0)
        return KG_OK;
    kg_split_options options = {.unseen = share > 0 ? share : choose_share(dataset),
                                .valid_share = 1,
                                .min_facts = MIN_FACTS,
                                .most_facts = count_most_facts(dataset),
                                .keep_relations = true,
                                .seed = seed};
    kg_status status = split(out, dataset, &options, error);
    if (status != KG_OK)
        kg__held_out_close(out);
    /* Bad input is a graph that is too small. */
    return status == KG_BAD_INPUT ? KG_OK : status;
}

void kg__held_out_close(kg_held_out *held) {
    kg__dataset_close(&held->dataset);
    *held = (kg_held_out){0};
}
