/* A model on disk: config.json (settings and history), model.safetensors (the
 * parameters), entities.tsv and relations.tsv (names; ids are line numbers from 0), their index
 * names.idx and the training facts known.bin (mapped_index.h), optionally a calibration, a
 * quantised copy of the entities' rows, and checkpoint.safetensors of the run that trained it.
 * config.json lists the other files with their sizes and checksums.
 *
 * A model's folder is put in place atomically, replacing an older one. Quantised
 * rows may be added later, and only the calibration is changed: it has a second name, so that the
 * new one can lie beside the old one until config.json lists it instead. A failed run of kgraft
 * tune leaves failed.json. */
#ifndef KG_MODEL_MODEL_FOLDER_H
#define KG_MODEL_MODEL_FOLDER_H

#include <stdbool.h>

#include "base/output_folder.h"
#include "graph/dataset.h"
#include "model/config.h"
#include "model/params.h"

#define KG_MODEL_TENSORS "model.safetensors"
#define KG_MODEL_ENTITIES "entities.tsv"
#define KG_MODEL_RELATIONS "relations.tsv"
#define KG_MODEL_CALIBRATION "calibration.safetensors"
#define KG_MODEL_OTHER_CALIBRATION "calibration-2.safetensors"
#define KG_CALIBRATION_KEY "calibration" /* in config.json: the settings of the calibration */
#define KG_MODEL_FAILURE "failed.json"
#define KG_CHECKPOINT "checkpoint.safetensors"
#define KG_APART_CHECKPOINT "checkpoint-apart.safetensors" /* of a term that is trained apart */

/* All files that a model folder may have; ended by NULL. */
extern const char *const kg__model_files[];

/* What is written. */
typedef struct kg_model_parts {
    const kg_params *params;
    const kg_dataset *dataset; /* names and training facts, of which there may be none */
    const real *calibration;   /* see kg__model_write_calibration; NULL for none */
    json_t *config;            /* completed by the description of the files */
    const kg_mapping *mapped;  /* params may be in it: see kg__safetensors_write; NULL: none are */
} kg_model_parts;

/* Fills the folder of a model, which the caller has started, commits and closes. */
KG_MUST_CHECK kg_status kg__model_folder_fill(kg_folder *folder, const kg_model_parts *parts,
                                              kg_error *error);

/* Sets or replaces the calibration of a model on disk: slope and offset for each of 2 x
 * `relation_count` directed relations; `about` describes it in config.json, an object or NULL.
 * Atomic: at any time the folder has either the old state or the new one. The caller has locked the
 * folder. */
KG_MUST_CHECK kg_status kg__model_write_calibration(const char *path, const real *values,
                                                    size_t relation_count, json_t *about,
                                                    kg_error *error);

/* Adds the quantised copy of its rows (quantized_rows.h) to a model on disk that has none, as
 * atomically; and takes it away, whatever it is by then. */
KG_MUST_CHECK kg_status kg__model_write_quantized(const char *path, const kg_params *params,
                                                  size_t entities, kg_error *error);
KG_MUST_CHECK kg_status kg__model_drop_quantized(const char *path, kg_error *error);

/* The file with the calibration of a model; NULL if it has none. */
const char *kg__model_calibration_file(const json_t *config);

#endif
