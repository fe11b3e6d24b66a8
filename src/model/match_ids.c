/* Renumbering data sets, or copying rows. */
#include "model/match_ids.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "model/nonfinite.h"

/* The id among `names` of the i-th of `others`, or KG_NO_ID. */
static kg_id find(const kg_names *names, const kg_names *others, size_t i) {
    kg_name name = kg__names_get(others, (kg_id)i);
    return kg__names_find(names, kg__name_of(name.bytes, name.length));
}

/* Whether the first `count` of a data set's names, which must all be there, have the same ids. */
static kg_status compare(bool *is_same, const kg_names *names, const kg_names *others, size_t count,
                         const char *what, kg_error *error) {
    *is_same = true;
    for (size_t i = 0; i < count; i++) {
        kg_id id = find(names, others, i);
        kg_name name = kg__names_get(others, (kg_id)i);
        if (id == KG_NO_ID)
            return kg_fail(error, KG_BAD_INPUT,
                           "expected a model that knows the data set's %s, found that it lacks %s",
                           what, kg__quote(name.bytes, name.length).text);
        *is_same = *is_same && id == i;
    }
    return KG_OK;
}

/* The rows of the data set's in-sample entities. */
static kg_status gather(real **copy, const real **rows, size_t columns, const kg_model *model,
                        const kg_dataset *dataset, kg_error *error) {
    size_t count = kg__dataset_in_sample(dataset);
    *copy = kg__resize(NULL, count * columns, sizeof **copy);
    if (*copy == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < count; i++) {
        size_t id = find(&model->entities, &dataset->entities, i);
        memcpy(*copy + i * columns, *rows + id * columns, columns * sizeof **copy);
    }
    *rows = *copy;
    return KG_OK;
}

static kg_status gather_all(kg_aligned *out, const kg_model *model, const kg_dataset *dataset,
                            kg_error *error) {
    kg_params *params = &out->params;
    if (model->graph.starts != NULL) /* a term depends on its ids */
        return kg_fail(
            error, KG_BAD_INPUT,
            "expected a data set of the model's %zu entities, since it has a graph of them "
            "and the data set another order, found %zu of them",
            model->entities.count, kg__dataset_in_sample(dataset));
    params->entities = kg__entity_rows(params, 0, kg__model_own_entities(model));
    params->half = NULL;
    KG_TRY(gather(&out->rows[0], &params->entities, params->dim, model, dataset, error));
    if (params->encoder == NULL)
        return KG_OK;
    out->encoder = model->encoder;
    params->encoder = &out->encoder;
    for (kg_encoder_tensor i = 0; i < KG_ENCODER_TENSORS; i++)
        if (kg__encoder_rows(i) == KG_ROWS_OF_ENTITIES)
            KG_TRY(gather(&out->rows[1 + i], &out->encoder.tensors[i],
                          kg__encoder_describe(&out->encoder.shape, i).columns, model, dataset,
                          error));
    return KG_OK;
}

static kg_status align(kg_aligned *out, const kg_model *model, const kg_dataset *dataset,
                       kg_part part, kg_error *error) {
    size_t in_sample = kg__dataset_in_sample(dataset);
    bool same_entities = true; /* or they are not asked about */
    bool same_relations = false;
    if (part < KG_GRAPH)
        KG_TRY(compare(&same_entities, &model->entities, &dataset->entities, in_sample, "entities",
                       error));
    KG_TRY(compare(&same_relations, &model->relations, &dataset->relations,
                   dataset->in_sample_relations, "relations", error));
    bool keeps_entities = same_entities || in_sample < model->entities.count;
    if (!same_entities && keeps_entities)
        KG_TRY(gather_all(out, model, dataset, error));
    if (keeps_entities && same_relations)
        return KG_OK;
    out->dataset = &out->renumbered;
    return kg__dataset_renumber(&out->renumbered, dataset, keeps_entities ? NULL : &model->entities,
                                &model->relations, error);
}

kg_status kg__model_align(kg_aligned *out, const kg_model *model, const kg_dataset *dataset,
                          kg_part part, kg_error *error) {
    *out = (kg_aligned){.params = model->params, .dataset = dataset};
    KG_TRY(
        kg__nonfinite_check(&model->params, model->entities.count, model->relations.count, error));
    kg_status status = align(out, model, dataset, part, error);
    if (status != KG_OK)
        kg__aligned_free(out);
    return status;
}

void kg__aligned_free(kg_aligned *aligned) {
    kg__dataset_close(&aligned->renumbered);
    for (size_t i = 0; i < sizeof aligned->rows / sizeof aligned->rows[0]; i++)
        kg__free(aligned->rows[i]);
    *aligned = (kg_aligned){0};
}

kg_status kg__model_check_unseen(const kg_model *model, const kg_dataset *dataset, kg_part part,
                                 kg_error *error) {
    if (part != KG_UNSEEN_VALID && part != KG_UNSEEN_TEST)
        return KG_OK;
    for (size_t i = dataset->entities_before[part]; i < dataset->entities_before[part + 1]; i++)
        if (find(&model->entities, &dataset->entities, i) == KG_NO_ID)
            return KG_OK;
    return kg_fail(
        error, KG_BAD_INPUT,
        "expected entities in %s that the model does not know, found that it was trained "
        "with all %zu of them (train a model on this data set, or take one whose validation "
        "facts are in valid.txt)",
        kg__part_name(part), kg__dataset_unseen(dataset, part));
}
