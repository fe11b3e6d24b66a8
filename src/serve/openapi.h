/* The description of the API, OpenAPI 3.1: the table of routes and the schemas of schemas.json. */
#ifndef KG_SERVE_OPENAPI_H
#define KG_SERVE_OPENAPI_H

#include "base/json.h"

/* The document, to be kg_freed. Its examples have names of the model. */
KG_MUST_CHECK kg_status serve_openapi_make(char **out, size_t *size, const kg_model *model,
                                           kg_error *error);

#endif
