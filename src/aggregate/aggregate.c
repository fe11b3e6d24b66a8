/* The table of aggregators, and the room that they work in. */
#include "aggregate/aggregate.h"

#include <math.h>
#include <string.h>

#include "aggregate/aggregators.h"
#include "base/memory.h"
#include "base/text.h"

const kg_aggregator kg__aggregators[] = {
    {"eavg", false, true, false, false, false, false, kg__mean_load, kg__mean_forward,
     kg__mean_backward, NULL},
    {"eravg", true, true, false, false, false, false, kg__mean_load, kg__mean_forward,
     kg__mean_backward, NULL},
    {"ls", true, false, false, false, false, false, kg__ls_load, kg__ls_forward, kg__ls_backward,
     kg__ls_finish},
    {"ls-u", true, false, true, false, false, false, kg__ls_load, kg__ls_forward, kg__ls_backward,
     kg__ls_finish},
    {"rgcn-d", false, true, false, true, false, false, NULL, kg__rgcn_forward, NULL, NULL},
    {"graft", true, true, false, false, false, true, NULL, NULL, NULL, NULL},
    {"ials", true, false, false, false, true, false, NULL, NULL, NULL, NULL},
    {NULL, false, false, false, false, false, false, NULL, NULL, NULL, NULL},
};

const char *const kg__ls_rows_names[] = {"normalized", "weighted", NULL};

const char *const kg__aggregator_names[] = {"eavg",   "eravg", "ls",   "ls-u",
                                            "rgcn-d", "graft", "ials", NULL};

const kg_aggregator *kg__aggregator_find(const char *name) {
    for (const kg_aggregator *row = kg__aggregators; row->name != NULL; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

kg_aggregate_options kg__aggregate_usual(const kg_aggregator *aggregator) {
    return (kg_aggregate_options){aggregator, KG_LS_LAMBDA, KG_LS_NORMALIZED, KG_IALS_ALPHA,
                                  KG_IALS_LAMBDA};
}

static kg_status check_positive(const char *option, const char *what, double found,
                                kg_error *error) {
    if (kg__is_positive(found))
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "%s: expected a %s above 0 that single precision can hold, found %g", option,
                   what, found);
}

kg_status kg__aggregate_check(const kg_aggregate_options *options, const kg_scoring *kind,
                              kg_error *error) {
    if (options->aggregator->is_encoder != kind->is_encoded)
        return kg_fail(error, KG_BAD_INPUT, "aggregate: expected %s for model %s, found %s",
                       kind->is_encoded ? "rgcn-d" : "eavg, eravg, ls, ls-u, ials or graft",
                       kind->name, options->aggregator->name);
    KG_TRY(check_positive("ls-lambda", "ridge", options->ls_lambda, error));
    KG_TRY(check_positive("ials-alpha", "weight", options->ials_alpha, error));
    return check_positive("ials-lambda", "ridge", options->ials_lambda, error);
}

static kg_status find_rows(kg_ls_rows *out, const char *name, kg_error *error) {
    *out = KG_LS_NORMALIZED;
    for (size_t i = 0; name != NULL; i++) {
        if (kg__ls_rows_names[i] == NULL)
            return kg_fail(error, KG_BAD_INPUT,
                           "ls-rows: expected normalized or weighted, found %s",
                           kg__quote(name, strlen(name)).text);
        if (strcmp(kg__ls_rows_names[i], name) != 0)
            continue;
        *out = (kg_ls_rows)i;
        break;
    }
    return KG_OK;
}

static kg_status take_number(double *number, const char *setting, kg_error *error) {
    if (isnan(*number))
        return kg_fail(error, KG_BAD_INPUT, "%s: expected a number, or 0 for none, found nan",
                       setting);
    if (*number == 0)
        *number = (double)NAN;
    return KG_OK;
}

kg_status kg__overrides_take(kg_aggregate_overrides *wish, kg_error *error) {
    KG_TRY(take_number(&wish->ls_lambda, "ls_lambda", error));
    KG_TRY(take_number(&wish->ials_alpha, "ials_alpha", error));
    return take_number(&wish->ials_lambda, "ials_lambda", error);
}

static double wished(double wish, const json_t *trained, const char *key, double usual) {
    const json_t *value = json_object_get(trained, key);
    return !isnan(wish) ? wish : json_is_number(value) ? json_number_value(value) : usual;
}

/* What was wished for, or else what the settings of a model have. */
static kg_status choose(kg_aggregate_options *out, const kg_aggregate_overrides *wish,
                        const json_t *trained, kg_error *error) {
    const char *name = wish->aggregate;
    const char *rows = wish->ls_rows;
    if (name == NULL)
        name = json_string_value(json_object_get(trained, "aggregate"));
    if (name == NULL)
        name = "eravg";
    if (rows == NULL)
        rows = json_string_value(json_object_get(trained, "ls_rows"));
    *out = (kg_aggregate_options){
        .aggregator = kg__aggregator_find(name),
        .ls_lambda = wished(wish->ls_lambda, trained, "ls_lambda", KG_LS_LAMBDA),
        .ials_alpha = wished(wish->ials_alpha, trained, "ials_alpha", KG_IALS_ALPHA),
        .ials_lambda = wished(wish->ials_lambda, trained, "ials_lambda", KG_IALS_LAMBDA)};
    if (out->aggregator == NULL)
        return kg_fail(error, KG_BAD_INPUT,
                       "aggregate: expected eavg, eravg, ls, ls-u, ials or graft, found %s",
                       kg__quote(name, strlen(name)).text);
    return find_rows(&out->ls_rows, rows, error);
}

kg_status kg__aggregate_choose(kg_aggregate_options *out, const kg_aggregate_overrides *wish,
                               const kg_model *model, kg_error *error) {
    KG_TRY(choose(out, wish, json_object_get(model->config, "settings"), error));
    if (out->aggregator->is_asked && model->params.graft == NULL)
        return kg_fail(error, KG_BAD_INPUT,
                       "aggregate: expected a model that was trained with it for graft, found "
                       "another");
    return kg__aggregate_check(out, model->params.scoring, error);
}

static bool uses_ridge(const kg_aggregator *aggregator) {
    return strncmp(aggregator->name, "ls", 2) == 0;
}

static bool uses_rows(const kg_aggregator *aggregator) {
    return uses_ridge(aggregator) && !aggregator->is_plain;
}

json_t *kg__aggregate_json(const kg_aggregate_options *options) {
    const kg_aggregator *aggregator = options->aggregator;
    json_t *out = json_pack("{ss}", "aggregate", aggregator->name);
    bool good = out != NULL;
    if (uses_ridge(aggregator))
        good = good && json_object_set_new(out, "ls_lambda", json_real(options->ls_lambda)) == 0;
    if (uses_rows(aggregator))
        good = good && json_object_set_new(out, "ls_rows",
                                           json_string(kg__ls_rows_names[options->ls_rows])) == 0;
    if (aggregator->is_implicit)
        good = good &&
               json_object_set_new(out, "ials_alpha", json_real(options->ials_alpha)) == 0 &&
               json_object_set_new(out, "ials_lambda", json_real(options->ials_lambda)) == 0;
    if (good)
        return out;
    json_decref(out);
    return NULL;
}

/* What they do not go by may differ. */
static bool is_same(const kg_aggregate_options *one, const kg_aggregate_options *other) {
    const kg_aggregator *aggregator = one->aggregator;
    if (aggregator != other->aggregator)
        return false;
    if (uses_ridge(aggregator) && one->ls_lambda != other->ls_lambda)
        return false;
    if (uses_rows(aggregator) && one->ls_rows != other->ls_rows)
        return false;
    return !aggregator->is_implicit ||
           (one->ials_alpha == other->ials_alpha && one->ials_lambda == other->ials_lambda);
}

bool kg__aggregate_is_calibrated(const kg_aggregate_options *options, const kg_model *model) {
    static const kg_aggregate_overrides nothing = KG_NO_OVERRIDES;
    const json_t *about = json_object_get(model->config, "calibration");
    kg_aggregate_options made;
    kg_error error;
    if (about == NULL)
        about = json_object_get(model->config, "settings");
    return model->calibration != NULL && choose(&made, &nothing, about, &error) == KG_OK &&
           is_same(&made, options);
}

void kg__aggregate_open(kg_aggregate *aggregate, kg_aggregate_options options, kg_params params) {
    *aggregate = (kg_aggregate){.options = options, .params = params};
}

static void free_room(kg_aggregate *a) {
    real **narrow[] = {&a->sum, &a->rows, &a->scratch, &a->shared, &a->own};
    double **wide[] = {&a->equations, &a->targets, &a->norms,      &a->z,
                       &a->h,         &a->wide,    &a->own_targets};
    for (size_t i = 0; i < sizeof narrow / sizeof narrow[0]; i++) {
        kg__free(*narrow[i]);
        *narrow[i] = NULL;
    }
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        kg__free(*wide[i]);
        *wide[i] = NULL;
    }
    kg__free(a->has_own);
    kg__free(a->others);
    kg__free(a->kept);
    kg__ridge_free(&a->ridge);
    kg__fact_map_close(&a->map);
    a->kept = NULL;
    a->has_own = NULL;
    a->others = NULL;
    a->capacity = 0;
    a->left_capacity = 0;
}

void kg__aggregate_close(kg_aggregate *aggregate) {
    free_room(aggregate);
}

static void *allocate(size_t rows, size_t columns, size_t size) {
    return columns != 0 && rows > SIZE_MAX / columns ? NULL
                                                     : kg__resize(NULL, rows * columns, size);
}

static bool allocate_narrow(real **out, size_t rows, size_t columns) {
    return (*out = allocate(rows, columns, sizeof **out)) != NULL;
}

static bool allocate_wide(double **out, size_t rows, size_t columns) {
    return (*out = allocate(rows, columns, sizeof **out)) != NULL;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static bool make_equations_room(kg_aggregate *a, size_t count, size_t left) {
    size_t dim = a->params.dim;
    return kg__fact_map_open(&a->map, &a->params) &&
           kg__ridge_make_room(&a->ridge, dim, count, left) &&
           allocate_wide(&a->equations, count, dim) && allocate_wide(&a->targets, 1, count) &&
           allocate_wide(&a->norms, 1, count) && allocate_wide(&a->z, 1, dim) &&
           allocate_wide(&a->h, 1, dim) && allocate_wide(&a->wide, 1, dim) &&
           allocate_wide(&a->own_targets, 1, count);
}

/* What all but ls need. */
static bool make_sums_room(kg_aggregate *a, size_t count) {
    size_t dim = a->params.dim;
    bool is_encoder = a->options.aggregator->is_encoder;
    size_t scratch = is_encoder ? kg__encoder_room(a->params.encoder) : dim;
    if (is_encoder && (a->kept = kg__resize(NULL, count, sizeof *a->kept)) == NULL)
        return false;
    return allocate_narrow(&a->sum, 1, dim) && allocate_narrow(&a->rows, count, dim) &&
           allocate_narrow(&a->scratch, 1, scratch);
}

/* Room for `count` links of which `left` are left out at once. Either grows for itself: links by
 * doubling, what is left out, whose room grows with the square, as far as it must. */
static kg_status make_room(kg_aggregate *a, size_t count, size_t left, kg_error *error) {
    if (a->capacity >= count && a->left_capacity >= left && a->capacity > 0)
        return KG_OK;
    count = count > a->capacity ? larger(count, 2 * a->capacity) : a->capacity;
    left = larger(left, a->left_capacity);
    free_room(a);
    size_t dim = a->params.dim;
    a->has_own = kg__resize(NULL, count, sizeof *a->has_own);
    a->others = kg__resize(NULL, count, sizeof *a->others);
    bool good = a->has_own != NULL && a->others != NULL && allocate_narrow(&a->shared, 1, dim) &&
                allocate_narrow(&a->own, count, dim) &&
                (a->options.aggregator->is_shared ? make_sums_room(a, count)
                                                  : make_equations_room(a, count, left));
    if (!good) {
        free_room(a);
        return kg__fail_memory(error);
    }
    a->capacity = count;
    a->left_capacity = left;
    return KG_OK;
}

kg_status kg__aggregate_load(kg_aggregate *aggregate, const kg_link *links, size_t count,
                             size_t most_left_out, kg_error *error) {
    KG_TRY(make_room(aggregate, count, most_left_out, error));
    aggregate->links = links;
    aggregate->count = count;
    memset(aggregate->shared, 0, aggregate->params.dim * sizeof(real));
    memset(aggregate->has_own, 0, count * sizeof *aggregate->has_own);
    if (aggregate->options.aggregator->load != NULL)
        aggregate->options.aggregator->load(aggregate);
    return KG_OK;
}

static bool is_empty(const kg_aggregate *aggregate, kg_left_out left) {
    return left.count >= aggregate->count;
}

void kg__aggregate_forward(kg_aggregate *aggregate, real *z, kg_left_out left) {
    if (is_empty(aggregate, left))
        memset(z, 0, aggregate->params.dim * sizeof *z);
    else
        aggregate->options.aggregator->forward(aggregate, z, left);
}

void kg__aggregate_backward(kg_aggregate *aggregate, const real *g, kg_left_out left) {
    if (!is_empty(aggregate, left))
        aggregate->options.aggregator->backward(aggregate, g, left);
}

void kg__aggregate_finish(kg_aggregate *aggregate) {
    if (aggregate->options.aggregator->finish != NULL)
        aggregate->options.aggregator->finish(aggregate);
}

void kg__aggregate_row(const kg_aggregate *aggregate, real *row, size_t i) {
    const kg_params *params = &aggregate->params;
    kg_link link = aggregate->links[i];
    const real *other = kg__entity_row(params, link.other);
    if (aggregate->options.aggregator->uses_queries)
        kg__fact_vector(params, row, link.directed, other);
    else
        memcpy(row, other, params->dim * sizeof *row);
}

real *kg__aggregate_own(kg_aggregate *aggregate, size_t i) {
    real *own = aggregate->own + i * aggregate->params.dim;
    if (!aggregate->has_own[i])
        memset(own, 0, aggregate->params.dim * sizeof *own);
    aggregate->has_own[i] = true;
    return own;
}
