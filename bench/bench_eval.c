/* How fast ranking is: the queries of a data set's test part, asked with eravg and ls, beside the
 * peak of sgemm, both the best of rounds that take turns, since a machine has better and worse
 * moments. Ranking needs one product of all queries with all candidates; making the queries and
 * counting ranks come on top of it. Embeddings are random, which is the harder case: more
 * candidates come close to the answer than after training. And how much memory all that takes. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/progress.h"
#include "base/random.h"
#include "cli/blas_setup.h"
#include "graph/dataset_source.h"
#include "rank/rank.h"
#include "roof.h"

#define DIM 200
#define ROUNDS 5

static real *random_rows(size_t rows) {
    real *out = malloc(rows * DIM * sizeof *out);
    if (out == NULL)
        exit(1);
    for (size_t i = 0; i < rows * DIM; i++)
        out[i] = (real)(kg__random_unit(0, KG_STREAM_INIT_ENTITIES, i) - 0.5);
    return out;
}

static kg_status time_ranking(const char *aggregator, const kg_queries *queries,
                              const kg_params *params, int threads, kg_error *error) {
    kg_rank_options options = {
        .embedding.aggregate = kg__aggregate_defaults(kg__aggregator_find(aggregator)),
        .threads = threads,
    };
    double *ranks = malloc(queries->count * sizeof *ranks);
    double peak = 0;
    double best = 0;
    if (ranks == NULL)
        return kg__fail_memory(error);
    kg_status status = KG_OK;
    for (int round = 0; round < ROUNDS && status == KG_OK; round++) {
        peak = roof_best(peak, roof_flops(threads));
        double started = kg__seconds();
        status = kg__rank(ranks, queries, params, &options, error);
        best = roof_best(best, 1 / (kg__seconds() - started));
    }
    double flops = 2.0 * (double)queries->count * (double)queries->candidates * DIM;
    printf("%-6s %7.3f s, %5.0f Gflop/s of products: %.0f %% of sgemm's %.0f\n", aggregator,
           1 / best, flops * best / 1e9, 100 * flops * best / peak, peak / 1e9);
    free(ranks);
    return status;
}

/* The whole process, data set and all. */
static void print_memory(size_t rows) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double peak = (double)usage.ru_maxrss * 1024 / 1e6;
    double parameters = (double)(rows * DIM * sizeof(real)) / 1e6;
    printf("memory %7.0f MB of parameters and %.0f MB; at most 256 are allowed\n", parameters,
           peak - parameters);
}

static kg_status measure(const char *source, int threads, kg_error *error) {
    kg_dataset dataset = {0};
    kg_queries queries = {0};
    kg_reader reader = {0};
    kg_status status = KG_OK;
    real *entities = NULL;
    real *relations = NULL;
    KG_CHECK(kg__dataset_open(&dataset, error));
    KG_CHECK(kg__source_read(&dataset, &reader, &source, 1, error));
    KG_CHECK(kg__queries_make(&queries, &dataset, KG_UNSEEN_TEST, error));
    entities = random_rows(queries.candidates);
    relations = random_rows(dataset.in_sample_relations);
    kg_params params = {.scoring = kg__scoring_find("distmult"),
                        .entities = entities,
                        .relations = relations,
                        .dim = DIM};
    printf("%s: %zu queries, %zu candidates, d %d; %d threads\n", source, queries.count,
           queries.candidates, DIM, threads);
    KG_CHECK(time_ranking("eravg", &queries, &params, threads, error));
    KG_CHECK(time_ranking("ls", &queries, &params, threads, error));
    print_memory(queries.candidates + dataset.in_sample_relations);
done:
    free(entities);
    free(relations);
    kg__queries_free(&queries);
    kg__dataset_close(&dataset);
    return status;
}

int main(int count, char **words) {
    kg_error error;
    cli_choose_kernels(words);
    if (count != 2) {
        fputs("usage: bench_eval DATASET\n", stderr);
        return 2;
    }
    if (measure(words[1], omp_get_num_procs(), &error) == KG_OK)
        return 0;
    fprintf(stderr, "bench_eval: %s: %s\n", error.source, error.message);
    return 1;
}
