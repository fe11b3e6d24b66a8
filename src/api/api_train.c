/* Training, as users of the library see it. */
#include <omp.h>
#include <string.h>

#include "base/text.h"
#include "graph/source.h"
#include "train/fit.h"
#include "train/hold_out.h"

/* The place of a name among others, or that of the NULL which ends them. */
static size_t find_name(const char *const *names, const char *name) {
    size_t i = 0;
    while (names[i] != NULL && (name == NULL || strcmp(names[i], name) != 0))
        i++;
    return i;
}

/* Whether there is a preset of that name; if not, or if it is NULL, it is the usual one. */
static bool find_preset(kg_preset *out, const kg_scoring *kind, const char *name) {
    *out = kg__preset_usual(kind);
    if (name == NULL)
        return true;
    size_t i = find_name(kg__preset_names, name);
    if (kg__preset_names[i] == NULL)
        return false;
    *out = (kg_preset)i;
    return true;
}

kg_training kg_training_defaults(const char *preset, const char *model) {
    const kg_scoring *kind = model == NULL ? NULL : kg__scoring_find(model);
    kg_preset found;
    if (kind == NULL)
        kind = &kg__scorings[0];
    find_preset(&found, kind, preset);
    kg_train_options usual = kg__train_usual(found, kind);
    return (kg_training){
        .preset = preset,
        .model = model == NULL ? kind->name : model,
        .aggregate = usual.aggregate.aggregator->name,
        .optimizer = kg__method_names[usual.method],
        .dim = usual.dim,
        .psi = usual.psi,
        .negatives = usual.negatives,
        .batch = usual.batch,
        .epochs = usual.epochs,
        .rate = usual.rate,
        .l2 = usual.l2,
        .dropout = usual.dropout,
        .seed = usual.seed,
        .threads = usual.threads,
        .validate_every = usual.validate_every,
        .patience = usual.patience,
        .hold_out = KG_USUAL_HOLD_OUT,
        .refit = true,
    };
}

static kg_status refuse(const char *setting, const char *expected, const char *found,
                        kg_error *error) {
    return kg_fail(error, KG_BAD_INPUT, "%s: expected %s, found %s", setting, expected,
                   found == NULL ? "NULL" : kg__quote(found, strlen(found)).text);
}

static kg_status find_method(kg_method *out, const char *name, kg_error *error) {
    size_t i = find_name(kg__method_names, name);
    *out = (kg_method)i;
    return kg__method_names[i] == NULL ? refuse("optimizer", "adagrad or adam", name, error)
                                       : KG_OK;
}

/* What is not among a user's settings is as usual. */
static kg_status make_options(kg_train_options *out, kg_preset *preset, const kg_training *from,
                              kg_error *error) {
    const kg_scoring *kind = from->model == NULL ? NULL : kg__scoring_find(from->model);
    if (kind == NULL)
        return refuse("model", "distmult, simple, complex, quate or rgcn-d", from->model, error);
    if (!find_preset(preset, kind, from->preset))
        return refuse("preset", "paper or graft", from->preset, error);
    *out = kg__train_usual(*preset, kind);
    out->aggregate.aggregator =
        from->aggregate == NULL ? NULL : kg__aggregator_find(from->aggregate);
    if (out->aggregate.aggregator == NULL)
        return refuse("aggregate", "eavg, eravg, ls, ls-u, ials, graft or rgcn-d", from->aggregate,
                      error);
    KG_TRY(find_method(&out->method, from->optimizer, error));
    out->dim = from->dim;
    out->psi = from->psi;
    if (out->psi < 1) /* rows are asked without evidence */
        out->evidence = 0;
    out->negatives = from->negatives;
    out->batch = from->batch;
    out->epochs = from->epochs;
    double fall = out->last_rate / out->rate;
    out->rate = from->rate;
    out->last_rate = fall * from->rate;
    out->l2 = from->l2;
    out->dropout = from->dropout;
    out->seed = from->seed;
    out->threads = from->threads;
    out->validate_every = from->validate_every;
    out->patience = from->patience;
    return KG_OK;
}

kg_status kg_train(const char *path, const char *dataset, const kg_training *training,
                   kg_error *error) {
    KG_NEED(path);
    KG_NEED(dataset);
    KG_NEED(training);
    kg_train_options options;
    kg_preset preset;
    int threads = omp_get_max_threads();
    kg_reader reader = {.options.folder_first = true, .progress = training->progress};
    kg_train_watcher watcher = {.progress = training->progress};
    kg_dataset data = {0};
    kg_fit_result result;
    kg_status status = KG_OK;
    KG_TRY(make_options(&options, &preset, training, error));
    kg_fit_options run = {.options = &options,
                          .preset = kg__preset_names[preset],
                          .dataset = &data,
                          .path = path,
                          .hold_out = training->hold_out,
                          .refit = training->refit,
                          .resume = training->resume,
                          .force = training->replace,
                          .watcher = &watcher};
    KG_TRY(kg__train_check(&options, error));
    omp_set_num_threads((int)options.threads); /* of the calling thread alone */
    KG_CHECK(kg__dataset_open(&data, error));
    KG_CHECK(kg__source_read(&data, &reader, &dataset, 1, error));
    status = kg__fit(&result, &run, error);
done:
    omp_set_num_threads(threads);
    kg__dataset_close(&data);
    return status;
}
