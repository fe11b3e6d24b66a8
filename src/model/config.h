/* config.json of a model folder: what the model is, how it came to be, and what the other files
 * must be like. For each of them it has the size and a checksum, which is there for whoever wants
 * to read the whole file; and the same of its head, the part that is believed as soon as the file
 * is opened, which is checked then. It also has a checksum of itself.
 *
 * A folder that others wrote need not have the checksums. What it has is checked. */
#ifndef KG_MODEL_CONFIG_H
#define KG_MODEL_CONFIG_H

#include <stdbool.h>

#include "base/json.h"
#include "base/mapping.h"

#define KG_MODEL_CONFIG "config.json"

/* Puts the size and checksums of what was written into `files`. */
KG_MUST_CHECK kg_status kg__config_describe(json_t *files, const char *name,
                                            const kg_output *output, kg_error *error);

/* Completes a config by its files, the version of the format and the checksum of itself. */
KG_MUST_CHECK kg_status kg__config_seal(json_t *config, json_t *files, kg_error *error);

/* Which config.json is there: another one for every model that is put in place, and for every
 * change of one. All zeros if there is none. Two are equal if all their bytes are. */
typedef struct kg_config_stamp {
    uint64_t device;
    uint64_t file;
    int64_t seconds;
    int64_t nanoseconds;
} kg_config_stamp;

KG_MUST_CHECK kg_status kg__config_look(kg_config_stamp *out, const char *folder, kg_error *error);

/* Reads the config of a folder and checks it, and that its files are there and have the sizes that
 * it says. A new reference. */
KG_MUST_CHECK kg_status kg__config_read(json_t **out, const char *folder, kg_error *error);

/* The same without a look at the files. */
KG_MUST_CHECK kg_status kg__config_read_alone(json_t **out, const char *folder, kg_error *error);

bool kg__config_lists(const json_t *config, const char *name);

/* Maps one of its files, whose head has been checked then. */
KG_MUST_CHECK kg_status kg__config_map(kg_mapping *out, const json_t *config, const char *folder,
                                       const char *name, kg_error *error);

/* Opens one of its files to be read; and checks, when all of it was read, that it was the one. */
KG_MUST_CHECK kg_status kg__config_open(kg_input **out, const json_t *config, const char *folder,
                                        const char *name, kg_error *error);
KG_MUST_CHECK kg_status kg__config_check_read(const json_t *config, const char *name,
                                              const kg_input *input, kg_error *error);

#endif
