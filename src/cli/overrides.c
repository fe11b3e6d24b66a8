/* Which wishes there are. */
#include "cli/overrides.h"

#include <math.h>

const char *cli_overrides_given(const kg_aggregate_overrides *wish) {
    return wish->aggregate != NULL     ? "--aggregate"
           : !isnan(wish->ls_lambda)   ? "--ls-lambda"
           : wish->ls_rows != NULL     ? "--ls-rows"
           : !isnan(wish->ials_alpha)  ? "--ials-alpha"
           : !isnan(wish->ials_lambda) ? "--ials-lambda"
                                       : NULL;
}
