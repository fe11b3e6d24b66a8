/* config.json of a model folder: the settings and history of the model, and a description of its
 * other files. Each has its size and a checksum, verified when the whole file is read; and the same
 * for its head, the part that is used as soon as the file is opened, verified then. config.json
 * also has a checksum of itself.
 *
 * Folders of format 1, and those of other programs, may lack checksums, but for config.json's own
 * in format 2. Those that are present are verified. */
#ifndef KG_MODEL_CONFIG_H
#define KG_MODEL_CONFIG_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/file_mapping.h"
#include "base/json.h"

#define KG_MODEL_CONFIG "config.json"

/* Adds the size and checksums of a written file to `files`. */
KG_MUST_CHECK kg_status kg__config_describe(json_t *files, const char *name,
                                            const kg_output *output, kg_error *error);

/* Adds the files, the version of the format and the checksum of the config itself. */
KG_MUST_CHECK kg_status kg__config_seal(json_t *config, json_t *files, kg_error *error);

/* Reads and validates the config of a folder. A new reference. */
KG_MUST_CHECK kg_status kg__config_read(json_t **out, const char *folder, kg_error *error);

/* Checks that its files exist and have the described sizes. */
KG_MUST_CHECK kg_status kg__config_check_sizes(const json_t *config, const char *folder,
                                               kg_error *error);

/* Refuses what older versions trained with and this one lacks; `path` is where the settings are. */
KG_MUST_CHECK kg_status kg__config_check_settings(const json_t *settings, const char *path,
                                                  kg_error *error);

/* What stat tells of a file in a folder; all zeroes if there is none. */
KG_MUST_CHECK kg_status kg__stat_file(struct stat *out, const char *folder, const char *name,
                                      kg_error *error);

bool kg__config_lists(const json_t *config, const char *name);

/* The checksum of one of its files; "" if it has none, as in the first version. */
const char *kg__config_checksum(const json_t *config, const char *name);

/* Maps one of its files and verifies its head. */
KG_MUST_CHECK kg_status kg__config_map(kg_mapping *out, const json_t *config, const char *folder,
                                       const char *name, kg_error *error);

/* Opens one of its files; and verifies its checksum after all of it was read. */
KG_MUST_CHECK kg_status kg__config_open(kg_input **out, const json_t *config, const char *folder,
                                        const char *name, kg_error *error);
KG_MUST_CHECK kg_status kg__config_check_read(const json_t *config, const char *name,
                                              const kg_input *input, kg_error *error);

#endif
