/* Which overrides were given. */
#include "cli/overrides.h"

#include <math.h>

const char *cli_overrides_given(const kg_aggregate_overrides *overrides) {
    return overrides->aggregate != NULL     ? "--aggregate"
           : !isnan(overrides->ls_lambda)   ? "--ls-lambda"
           : overrides->ls_rows != NULL     ? "--ls-rows"
           : !isnan(overrides->ials_alpha)  ? "--ials-alpha"
           : !isnan(overrides->ials_lambda) ? "--ials-lambda"
                                            : NULL;
}
