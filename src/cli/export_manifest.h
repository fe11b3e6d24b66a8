/* export.json: what an export records about its model, so that `adopt` restores the same model, or
 * says why it cannot: some models consist of rows of entities and relations alone, others have
 * further parameters. */
#ifndef KG_CLI_EXPORT_MANIFEST_H
#define KG_CLI_EXPORT_MANIFEST_H

#include "model/model.h"

#define CLI_EXPORT_FILE "export.json"
#define CLI_INVERSE                                                              \
    "_inverse" /* appended to a relation's name: the row for queries about heads \
                */

/* NULL if memory is short. A new reference. */
json_t *cli_export_json(const kg_model *model);

/* Looks for it in the folder of a file of rows: `*settings` is how the model embeds unseen
 * entities, or NULL if there is no such file. A model of another scoring function, and one with
 * further parameters, is refused. A new reference. */
KG_MUST_CHECK kg_status cli_export_read(json_t **settings, const char *rows, const char *model,
                                        kg_error *error);

#endif
