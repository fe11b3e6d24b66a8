/* Detection of numbers that are not finite. */
#include "model/nonfinite.h"

#include <math.h>
#include <stdio.h>

kg_status kg__nonfinite_fail(const char *found, kg_error *error) {
    return kg_fail(error, KG_BAD_INPUT,
                   "expected a model of finite numbers, found %s that is not finite: it is damaged "
                   "(kgraft check tells where)",
                   found);
}

static kg_status check_rows(const real *rows, size_t count, size_t dim, const char *what,
                            kg_error *error) {
    for (size_t i = 0; i < count * dim && rows != NULL; i++)
        if (!isfinite(rows[i])) {
            char found[64];
            snprintf(found, sizeof found, "a number in row %zu of %s", i / dim, what);
            return kg__nonfinite_fail(found, error);
        }
    return KG_OK;
}

kg_status kg__nonfinite_check(const kg_params *params, size_t entity_count, size_t relation_count,
                              kg_error *error) {
    size_t rows = params->is_directed ? 2 * relation_count : relation_count;
    KG_TRY(check_rows(kg__entity_rows(params, 0, entity_count), entity_count, params->dim,
                      kg__param_names[KG_PARAM_ENTITIES], error));
    KG_TRY(check_rows(params->relations, rows, params->dim, kg__param_names[KG_PARAM_RELATIONS],
                      error));
    return check_rows(params->aggregate_relations, rows, params->dim,
                      kg__param_names[KG_PARAM_AGGREGATE_RELATIONS], error);
}
