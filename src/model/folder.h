/* A model on disk: config.json (what it is and how it came to be), model.safetensors (the
 * embeddings), entities.tsv and relations.tsv (names, the id of each being its line, from 0), their
 * twin names.idx and the training facts known.bin (see twins.h), perhaps evidence.bin (see
 * evidence/file.h) and calibration.safetensors, and checkpoint.safetensors of the run that made it.
 * config.json is written last and holds the sizes of the other files, so a model that has one is
 * complete. A run of kgraft tune that came to nothing leaves failed.json instead. */
#ifndef KG_MODEL_FOLDER_H
#define KG_MODEL_FOLDER_H

#include <stdbool.h>

#include "base/folder.h"
#include "graph/dataset.h"
#include "model/config.h"
#include "model/tables.h"

#define KG_MODEL_TENSORS "model.safetensors"
#define KG_MODEL_ENTITIES "entities.tsv"
#define KG_MODEL_RELATIONS "relations.tsv"
#define KG_MODEL_CALIBRATION "calibration.safetensors"
#define KG_EVIDENCE_TENSOR "evidence" /* in KG_MODEL_TENSORS: what features are worth */
#define KG_MODEL_FAILURE "failed.json"
#define KG_CHECKPOINT "checkpoint.safetensors"

/* Makes the folder, or sets `*made` to false. One that exists is an error, unless `keep`: then a
 * model in it must have a checkpoint to go on from; or `replace`: then it must hold nothing but a
 * model. In both cases it is left as it is: the old model stays until there is a new one. */
KG_MUST_CHECK kg_status kg_model_folder_make(const char *path, bool keep, bool replace, bool *made,
                                             kg_error *error);

/* What a model is made of. */
typedef struct kg_model_parts {
    const kg_tables *tables;
    const kg_dataset *dataset; /* names and training facts, of which there may be none */
    const real *calibration;   /* see kg_model_write_calibration; NULL for none */
    json_t *config;            /* gets what the folder itself has to say */
} kg_model_parts;

/* Writes the model's files. If it fails, an older model is still there. */
KG_MUST_CHECK kg_status kg_model_write(const char *path, const kg_model_parts *parts,
                                       kg_error *error);

/* The same for a model that is made in one go: a folder that appears whole or not at all. The
 * caller commits and closes it. */
KG_MUST_CHECK kg_status kg_model_folder_start(kg_folder **out, const char *path, bool replace,
                                              kg_error *error);
KG_MUST_CHECK kg_status kg_model_folder_fill(kg_folder *folder, const kg_model_parts *parts,
                                             kg_error *error);

/* Gives a model that is on disk a calibration, or another one: slope and offset for each directed
 * relation, 2 x `relation_count` of them. At any instant the folder holds the model as it was,
 * without a calibration, or with the new one. */
KG_MUST_CHECK kg_status kg_model_write_calibration(const char *path, const real *values,
                                                   size_t relation_count, kg_error *error);

#endif
