/* New entities: facts by name, and which entities in them the model does not know. Functions are
 * those of the public interface, without its checks of arguments, and what the tool needs beyond
 * them. */
#ifndef KG_INFER_NEW_ENTITIES_H
#define KG_INFER_NEW_ENTITIES_H

#include "base/input.h"
#include "infer/name_suggestions.h"

#define KG_MOST_NEW_FACTS ((size_t)8 << 20) /* some 300 MB of them */

KG_MUST_CHECK kg_status kg__new_entities_open(kg_new_entities **out, const kg_model *model,
                                              const kg_new_entities_options *options,
                                              size_t most_facts, kg_error *error);
void kg__new_entities_close(kg_new_entities *entities);
KG_MUST_CHECK kg_status kg__new_entities_add(kg_new_entities *entities, kg_text head,
                                             kg_text relation, kg_text tail, kg_error *error);
KG_MUST_CHECK kg_status kg__new_entities_read(kg_new_entities *entities, const char *path,
                                              kg_error *error);
KG_MUST_CHECK kg_status kg__new_entities_finish(kg_left_out_facts *left, kg_new_entities *entities,
                                                kg_error *error);
size_t kg__new_entities_count(const kg_new_entities *entities);
kg_text kg__new_entities_name(const kg_new_entities *entities, size_t place);
const kg_link *kg__new_entities_links(size_t *count, const kg_new_entities *entities, size_t place);
size_t kg__new_entities_find(const kg_new_entities *entities, kg_text name);

/* Adds the facts of an input that is open already. */
KG_MUST_CHECK kg_status kg__new_entities_read_input(kg_new_entities *entities, kg_input *input,
                                                    kg_error *error);

/* Errors are without similar names from now on, each of which costs a pass over all names. */
void kg__new_entities_be_brief(kg_new_entities *entities);

/* Similar names among the unknown entities of the facts. */
kg_suggestion kg__new_entities_suggest(const kg_new_entities *entities, kg_text name);

#endif
