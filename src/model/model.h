/* A model opened from disk. Parameters, names and training facts are mapped, not read (except names
 * without names.idx), so that the time to open a model does not depend on its size. But
 * propagation traverses the training facts, so a model with it has a validated copy of these. A
 * model is immutable, so threads may share it. */
#ifndef KG_MODEL_MODEL_H
#define KG_MODEL_MODEL_H

#include "model/config.h"
#include "model/mapped_index.h"
#include "model/quantized_rows.h"
#include "model/relation_pairs.h"
#include "model/term.h"

/* The aggregator of a model whose settings name none, as that of another tool. */
#define KG_DEFAULT_AGGREGATOR "eravg"

typedef struct kg_model {
    json_t *config;
    kg_safetensors file;
    kg_names entities;
    kg_names relations;
    kg_mapping names;     /* backs the names; unmapped if they were read */
    kg_known_facts known; /* the training facts */
    kg_mapping facts;     /* backs `known`, */
    kg_adjacency listed;  /* or this does, if they are those of another graph */
    bool lost_terms;      /* it has fewer terms there than on the graph that it was trained on */
    kg_half_rows half;    /* of the file, if it has any */
    kg_params params;     /* borrows from both */
    kg_encoder encoder;   /* of the params, if they have one */
    kg_adjacency graph;   /* the training facts without reflexive ones, if a term needs them */

    kg_quantized_rows quantized; /* the entities' rows in int8; all zeroes if it has none */
    kg_mapping quantized_file;   /* backs them */

    struct kg_live *live; /* whose snapshot it is (live/live.h); NULL: a model of its own */

    kg_safetensors calibration_file;
    const real *calibration; /* slope and offset of each directed relation; NULL if it has none */
} kg_model;

/* The model must not be moved while it is open. */
KG_MUST_CHECK kg_status kg__model_open(kg_model *model, const char *path, kg_error *error);
void kg__model_close(kg_model *model);

/* What it is. */
kg_model_info kg__model_describe(const kg_model *model);

/* The config of a model that can be opened. A new reference. */
KG_MUST_CHECK kg_status kg__model_read_config(json_t **out, const char *path, kg_error *error);

/* How many of its entities did not come later: those with a row among params.entities. */
static inline size_t kg__model_own_entities(const kg_model *model) {
    return model->entities.later == NULL ? model->entities.count : model->entities.later->first;
}

/* Refuses a model without vectors of entities. */
KG_MUST_CHECK kg_status kg__model_check_embedding(const kg_model *model, kg_error *error);

/* ---- For terms ---- */

/* Makes sure of the model's graph, which it has to have since it has `what`. */
KG_MUST_CHECK kg_status kg__model_open_graph(kg_model *model, const char *what, const char *path,
                                             kg_error *error);

/* Pairs of relations and their values, which are to be kg_freed; none if the model has no such
 * tensor. */
KG_MUST_CHECK kg_status kg__model_open_pairs(kg_pairs *pairs, real **values, const kg_model *model,
                                             const char *name, const char *path, kg_error *error);

#endif
