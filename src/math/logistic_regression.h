/* Logistic regression on one number: the log-odds of an outcome as slope * x + offset. */
#ifndef KG_MATH_LOGISTIC_REGRESSION_H
#define KG_MATH_LOGISTIC_REGRESSION_H

#include <stdbool.h>
#include <stddef.h>

typedef struct kg_outcome {
    double x;
    double weight;
    bool is_true;
} kg_outcome;

typedef struct kg_logistic {
    double slope;
    double offset;
} kg_logistic;

/* The prior: normal distributions of slope and offset. */
typedef struct kg_logistic_prior {
    kg_logistic mean;
    kg_logistic deviation; /* above 0 */
    double least_slope;    /* the slope is never lower */
} kg_logistic_prior;

/* The maximum a posteriori slope and offset, given the outcomes and the prior. */
kg_logistic kg__logistic_fit(const kg_outcome *outcomes, size_t count,
                             const kg_logistic_prior *prior);

#endif
