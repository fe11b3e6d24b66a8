/* export.json: what an export says about the model that it came from, so that `adopt` makes the
 * same model of it again, or says why it cannot: rows of entities and relations are all of some
 * models, but not of those that learned something else beside them. */
#ifndef KG_CLI_EXPORTED_H
#define KG_CLI_EXPORTED_H

#include "model/model.h"

#define CLI_EXPORT_FILE "export.json"
#define CLI_INVERSE "_inverse" /* behind a relation's name: the row for questions about heads */

/* NULL if memory is short. A new reference. */
json_t *cli_export_json(const kg_model *model);

/* Looks for it in the folder of a file of rows: `*settings` is how the model embeds unseen
 * entities, or NULL if there is no such file. A model of another kind, and one that is more than
 * its rows, is refused. A new reference. */
KG_MUST_CHECK kg_status cli_export_read(json_t **settings, const char *rows, const char *model,
                                        kg_error *error);

#endif
