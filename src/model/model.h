/* A model from disk, ready to compute with: embeddings, names and training facts are mapped, not
 * read (but for a model whose names have no twin), so that opening a large one takes no longer than
 * opening a small one. Evidence is read, and walks over the training facts, so that a model with it
 * has a copy of these that was checked. A model is never changed, so threads may share it. */
#ifndef KG_MODEL_MODEL_H
#define KG_MODEL_MODEL_H

#include "graph/dataset.h"
#include "model/config.h"
#include "model/mapped_index.h"
#include "model/params.h"
#include "model/safetensors.h"

typedef struct kg_model {
    json_t *config;
    kg_safetensors *file;
    kg_names entities;
    kg_names relations;
    kg_mapping names;     /* what the names borrow from; unmapped if they were read */
    kg_known_facts known; /* the training facts */
    kg_mapping facts;     /* what these borrow from */
    kg_params params;     /* borrows from the file */
    kg_encoder encoder;   /* of the params, if they have one */
    kg_graft graft;       /* likewise; the model's own */
    real *pair_values[2];
    kg_adjacency graph;   /* the training facts but those of entities with themselves, if needed */
    kg_features evidence; /* of the params, if they have some; the model's own */

    kg_safetensors *calibration_file;
    const real *calibration; /* slope and offset of each directed relation; NULL if it has none */
} kg_model;

/* The model must not be moved while it is open. */
KG_MUST_CHECK kg_status kg__model_open(kg_model *model, const char *path, kg_error *error);
void kg__model_close(kg_model *model);

/* The config of a model that can be opened. A new reference. */
KG_MUST_CHECK kg_status kg__model_read_config(json_t **out, const char *path, kg_error *error);

/* A model and a data set with the same ids. They are the data set's, and embeddings are copied if
 * they stand in another order; but evidence goes by the model's (facts are sorted by ids, and of
 * many every n-th counts), so a model that has some keeps its own, and facts are copied. */
typedef struct kg_aligned {
    kg_params params;
    const kg_dataset *dataset;
    kg_dataset renumbered; /* all zeroes if it is not */
    real *entities;        /* what had to be copied; NULL if the order is the same */
    real *relations;
    kg_encoder encoder; /* of the params, if they have one */
    real *tensors[KG_ENCODER_TENSORS];
    real *aggregate_relations;
    kg_graft graft; /* with pairs of its own, if relations have other ids */
    real *pair_values[2];
} kg_aligned;

/* Every in-sample entity and relation of the data set must be in the model; what else the model
 * has is left out. If it has evidence, and the order is another, there must be no other entity. The
 * result borrows from both and must not be moved. */
KG_MUST_CHECK kg_status kg__model_align(kg_aligned *out, const kg_model *model,
                                        const kg_dataset *dataset, kg_error *error);
/* Refuses a data set whose unseen part has entities that the model knows, all of them: it was
 * trained with what it would be asked about. */
KG_MUST_CHECK kg_status kg__model_check_unseen(const kg_model *model, const kg_dataset *dataset,
                                               kg_part part, kg_error *error);

void kg__aligned_free(kg_aligned *aligned);

#endif
