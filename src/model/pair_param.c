/* What is done with a parameter of pairs, of a term or of an aggregator. */
#include "model/pair_param.h"

#include "base/memory.h"
#include "model/model.h"

static size_t params(kg_term_param *out, const kg_term_view *view) {
    const kg_pair_param *param = view->counted;
    out[0] = (kg_term_param){.name = param->name,
                             .rows = param->pairs.count,
                             .columns = 1,
                             .value = param->start,
                             .rate = param->rate};
    return 1;
}

static void close(kg_term_view *view) {
    kg_pair_param *param = view->counted;
    kg__pairs_free(&param->pairs);
    kg__free(param->values);
    kg__free(param);
}

static void copy_from(real *const *values, const kg_term_view *view, const kg_term_view *from,
                      const kg_id *relations) {
    const kg_pair_param *param = view->counted;
    const kg_pair_param *other = from->counted;
    kg__pairs_copy_from(values[0], &param->pairs, from->values[0], &other->pairs, relations);
}

static kg_status pack(kg_tensor *out, const kg_term_view *view, kg_arena *arena, kg_error *error) {
    const kg_pair_param *param = view->counted;
    return kg__pairs_pack(out, param->name, &param->pairs, view->values[0], arena, error);
}

static const kg_learned learned = {
    .params = params, .close = close, .copy_from = copy_from, .pack = pack};

void kg__pair_param_start(kg_term_view *out, kg_pair_param *counted) {
    out->learned = &learned;
    out->counted = counted;
}

kg_status kg__pair_param_open(kg_term_view *out, const kg_model *model, const char *path,
                              kg_error *error) {
    kg_pair_param *param = out->counted;
    KG_TRY(kg__model_open_pairs(&param->pairs, &param->values, model, param->name, path, error));
    out->values[0] = param->values;
    return KG_OK;
}
