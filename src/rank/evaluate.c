/* Reads the data set, brings it to the model's ids, and ranks the answer to each query. */
#include "rank/evaluate.h"

#include <omp.h>

#include "graph/dataset_source.h"
#include "model/match_ids.h"
#include "rank/rank.h"

/* The mean over all queries of the part, in-sample entities embedded from facts or not. */
static kg_status rank_part(kg_metrics *out, const kg_model *model, const kg_aligned *aligned,
                           kg_part part, const kg_rank_options *options, kg_error *error) {
    const kg_dataset *dataset = aligned->dataset;
    kg_queries queries;
    KG_TRY(kg__queries_make(&queries, dataset, part, error));
    bool by_facts = !queries.unseen && kg__queries_by_facts(model);
    kg__queries_drop_known(&queries, dataset, &model->entities);
    kg_status status = by_facts ? kg__queries_give_facts(&queries, dataset, error) : KG_OK;
    if (status == KG_OK)
        status = kg__rank_metrics(out, &queries, &aligned->params, options, error);
    kg__queries_free(&queries);
    return status;
}

kg_status kg__evaluate(kg_metrics *out, const kg_model *model, const char *dataset,
                       const kg_evaluation_options *chosen, kg_error *error) {
    kg_aggregate_overrides overrides = {.aggregate = chosen->aggregate,
                                        .ls_rows = chosen->ls_rows,
                                        .ls_lambda = chosen->ls_lambda,
                                        .ials_alpha = chosen->ials_alpha,
                                        .ials_lambda = chosen->ials_lambda};
    kg_rank_options options = {.threads = chosen->threads, .progress = chosen->progress};
    kg_reader reader = {.options.folder_first = true, .progress = chosen->progress};
    kg_dataset data = {0};
    kg_aligned aligned = {0};
    kg_status status = KG_OK;
    int threads = omp_get_max_threads();
    omp_set_num_threads(chosen->threads); /* of the calling thread alone */
    KG_CHECK(kg__aggregate_choose(&options.embedding.aggregate, &overrides, model, error));
    KG_CHECK(kg__dataset_open(&data, error));
    KG_CHECK(kg__source_read(&data, &reader, &dataset, 1, error));
    kg_part part = kg__dataset_evaluated(&data, chosen->in_sample, chosen->valid);
    if (data.parts[part].count == 0) {
        status =
            kg_fail_at(error, dataset, 0, 0, "expected a data set with facts in %s, found none",
                       kg__part_name(part));
        goto done;
    }
    KG_CHECK(kg__model_check_unseen(model, &data, part, error));
    KG_CHECK(kg__model_align(&aligned, model, &data, part, error));
    status = rank_part(out, model, &aligned, part, &options, error);
done:
    omp_set_num_threads(threads);
    kg__aligned_free(&aligned);
    kg__dataset_close(&data);
    return status;
}
