/* The name of the first option given of those that override how a model aggregates. */
#include "cli/aggregate_overrides.h"

const char *cli_overrides_given(const kg_aggregate_overrides *overrides) {
    return overrides->aggregate != NULL  ? "--aggregate"
           : overrides->ls_lambda != 0   ? "--ls-lambda"
           : overrides->ls_rows != NULL  ? "--ls-rows"
           : overrides->ials_alpha != 0  ? "--ials-alpha"
           : overrides->ials_lambda != 0 ? "--ials-lambda"
                                         : NULL;
}
