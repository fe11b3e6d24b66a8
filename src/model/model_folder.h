/* A model on disk: config.json (what it is and how it came to be), model.safetensors (the
 * embeddings), entities.tsv and relations.tsv (names, the id of each being its line, from 0), their
 * twin names.idx and the training facts known.bin (see twins.h), perhaps evidence.bin (see
 * evidence/file.h) and a calibration, and checkpoint.safetensors of the run that made it.
 * config.json lists the other files with their sizes and checksums.
 *
 * The folder of a model is put in place as a whole, in exchange for an older one. Only a
 * calibration is changed later: there is another name for it, so that the new one can lie beside
 * the old one until config.json lists it instead. A run of kgraft tune that came to nothing leaves
 * failed.json. */
#ifndef KG_MODEL_MODEL_FOLDER_H
#define KG_MODEL_MODEL_FOLDER_H

#include <stdbool.h>

#include "base/folder.h"
#include "graph/dataset.h"
#include "model/config.h"
#include "model/params.h"

#define KG_MODEL_TENSORS "model.safetensors"
#define KG_MODEL_ENTITIES "entities.tsv"
#define KG_MODEL_RELATIONS "relations.tsv"
#define KG_MODEL_CALIBRATION "calibration.safetensors"
#define KG_MODEL_OTHER_CALIBRATION "calibration-2.safetensors"
#define KG_CALIBRATION_KEY "calibration" /* in config.json: what it was made with */
#define KG_EVIDENCE_TENSOR "evidence"    /* in KG_MODEL_TENSORS: what features are worth */
#define KG_MODEL_FAILURE "failed.json"
#define KG_CHECKPOINT "checkpoint.safetensors"

/* All files that there can be in one; ended by NULL. */
extern const char *const kg__model_files[];

/* What a model is made of. */
typedef struct kg_model_parts {
    const kg_params *params;
    const kg_dataset *dataset; /* names and training facts, of which there may be none */
    const real *calibration;   /* see kg__model_write_calibration; NULL for none */
    json_t *config;            /* gets what the folder itself has to say */
} kg_model_parts;

/* Starts the folder of a model, fills it; the caller commits and closes it. With `replace` it may
 * take the place of another model. */
KG_MUST_CHECK kg_status kg__model_folder_start(kg_folder **out, const char *path, bool replace,
                                               kg_error *error);
KG_MUST_CHECK kg_status kg__model_folder_fill(kg_folder *folder, const kg_model_parts *parts,
                                              kg_error *error);

/* All of that at once. */
KG_MUST_CHECK kg_status kg__model_write(const char *path, bool replace, const kg_model_parts *parts,
                                        kg_error *error);

/* Gives a model that is on disk a calibration, or another one: slope and offset for each directed
 * relation, 2 x `relation_count` of them; and what config.json has to say about it, an object or
 * NULL. At any instant the folder holds the model as it was or with the new one. Whoever calls this
 * has locked the folder. */
KG_MUST_CHECK kg_status kg__model_write_calibration(const char *path, const real *values,
                                                    size_t relation_count, json_t *about,
                                                    kg_error *error);

/* Which file of a model has its calibration; NULL if it has none. */
const char *kg__model_calibration_file(const json_t *config);

#endif
