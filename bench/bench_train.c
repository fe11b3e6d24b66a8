/* How fast training is, and how fast it could be: seconds of an epoch and where they go, beside
 * what this machine can do at best, measured just before.
 *
 * At least, an epoch has to
 *   - read and write the embedding and the optimiser's state of every row that a step touches,
 *     which takes its bytes at the bandwidth of main memory (a triad over arrays of 256 MB);
 *   - take all steps of all rows, L2 moving each in each step: a root and a division for every
 *     number, at the speed that the same loop has in the innermost cache;
 *   - add up the rows of all facts of all unseen entities, and spread gradients over them again, at
 *     the speed at which rows of a table of that size, picked at random, can be added to one;
 *   - multiply and add for scores and gradients (and, for LS, systems of equations), at the peak of
 *     sgemm. Counted are the operations of the formulas, not those of the program.
 * The sum is the floor that the epoch is compared with, since little of it overlaps: the steps of a
 * row have to wait for its bytes. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/aggregate_options.h"
#include "base/progress.h"
#include "base/random.h"
#include "cli/blas_setup.h"
#include "graph/dataset_source.h"
#include "math/linalg.h"
#include "math/vector.h"
#include "roof.h"
#include "train/trainer.h"

/* ---- What the machine can do ---- */

struct roof {
    double bytes;    /* a second, from main memory */
    double flops;    /* a second, in sgemm */
    double steps[2]; /* numbers a second that take a step, by method */
    double sums;     /* numbers a second, of random rows that are added up */
};

/* One row in the innermost cache takes many steps. */
static double measure_steps(int threads, kg_method method) {
    enum { COUNT = 200000, DIM = 200 };
    kg_optimizer optimizer;
    double best = 0;
    if (kg__optimizer_open(&optimizer, method, (kg_rates){.first = 0.1, .last = 0.1}, 1e-4, COUNT,
                           NULL) != KG_OK)
        exit(1);
    for (int round = 0; round < 3; round++) {
        double started = kg__seconds();
#pragma omp parallel num_threads(threads)
        {
            real row[3][DIM] = {{0}};
            for (size_t i = 0; i < DIM; i++)
                row[0][i] = row[1][i] = (real)(i + 1);
            kg__optimizer_catch_up(&optimizer, (kg_param_row){row[0], row[1], row[2]}, DIM, 0,
                                   COUNT);
        }
        best = roof_best(best, threads * (double)COUNT * DIM / (kg__seconds() - started));
    }
    kg__optimizer_close(&optimizer);
    return best;
}

/* Rows of 200, a hundred at a time: a hub's sum, again and again. */
static double measure_sums(int threads, size_t rows) {
    enum { COUNT = 400000, DIM = 200, GROUP = 100 };
    real *table = malloc(rows * DIM * sizeof *table);
    const real **picked = malloc(COUNT * sizeof *picked);
    double best = 0;
    if (table == NULL || picked == NULL)
        exit(1);
    for (size_t i = 0; i < rows * DIM; i++)
        table[i] = 1;
    for (size_t i = 0; i < COUNT; i++)
        picked[i] = table + kg__random_below(rows, 0, KG_STREAM_GENERATE_TAIL, i) * DIM;
    for (int round = 0; round < 5; round++) {
        double check = 0;
        double started = kg__seconds();
#pragma omp parallel for num_threads(threads) reduction(+ : check)
        for (size_t from = 0; from < COUNT; from += GROUP) {
            real sum[DIM] = {0};
            kg__add_rows(sum, picked + from, GROUP, COUNT - from - GROUP, DIM);
            check += (double)sum[0];
        }
        if (check != COUNT)
            exit(1);
        best = roof_best(best, (double)COUNT * DIM / (kg__seconds() - started));
    }
    free(table);
    free(picked);
    return best;
}

static struct roof measure_roof(int threads, size_t rows) {
    return (struct roof){roof_bytes(threads),
                         roof_flops(threads),
                         {measure_steps(threads, KG_ADAGRAD), measure_steps(threads, KG_ADAM)},
                         measure_sums(threads, rows)};
}

/* ---- The work ---- */

struct run {
    const char *label;
    const char *aggregator;
    kg_method method;
    double rate;
    double l2;
};

/* Operations of the formulas: for an item query, dot product and their gradients; LS adds M = A
 * A^T, its inverse and two solutions for each item, where A is that of an average entity. */
static double count_flops(const kg_step_cost *cost, double dim, bool is_ls) {
    double flops = dim * 10.0 * (double)cost->queries;
    if (is_ls && cost->queries > 0) {
        double items = (double)cost->queries / 2;
        double links = (double)cost->links / items;
        flops += items * (2 * links * links * dim + links * links * links + 12 * links * dim);
    }
    return flops;
}

static void print_run(const struct run *run, const struct roof *roof, const kg_step_cost *cost,
                      double seconds, size_t epochs, double dim, double all_steps) {
    double n = (double)epochs;
    double state = run->method == KG_ADAM ? 3 : 2;
    double bytes = (double)cost->rows / n * dim * sizeof(real) * state * 2;
    double flops = count_flops(cost, dim, strcmp(run->aggregator, "ls") == 0) / n;
    double floor_bytes = bytes / roof->bytes;
    double floor_steps = all_steps * dim / roof->steps[run->method];
    double floor_flops = flops / roof->flops;
    double sums = 2 * (double)cost->links / n * dim;
    double floor_sums = sums / roof->sums;
    double least = floor_bytes + floor_steps + floor_sums + floor_flops;
    printf(
        "%-28s %7.3f s an epoch: plan %.3f, catch up %.3f, compute %.3f, update %.3f, rest %.3f\n",
        run->label, seconds, cost->plan / n, cost->catch_up / n, cost->compute / n,
        cost->update / n,
        seconds - (cost->plan + cost->catch_up + cost->compute + cost->update) / n);
    printf("%-28s %7.3f s at least: %.2f GB %.3f s, %.0f M steps of a number %.3f s, "
           "%.0f M sums %.3f s, %.2f Gflop %.3f s; %.0f %% of the roof\n",
           "", least, bytes / 1e9, floor_bytes, all_steps * dim / 1e6, floor_steps, sums / 1e6,
           floor_sums, flops / 1e9, floor_flops, 100 * least / seconds);
}

static double median(const kg_epoch *epochs, size_t count) {
    double seconds[64];
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        for (; at > 0 && seconds[at - 1] > epochs[i].seconds; at--)
            seconds[at] = seconds[at - 1];
        seconds[at] = epochs[i].seconds;
    }
    return seconds[count / 2];
}

static kg_status time_run(const struct run *run, const kg_dataset *dataset, const struct roof *roof,
                          int threads, size_t epochs, kg_error *error) {
    kg_train_options options = kg__train_defaults(KG_PAPER, kg__scoring_find("distmult"));
    options.aggregate = kg__aggregate_defaults(kg__aggregator_find(run->aggregator));
    options.epochs = epochs;
    options.method = run->method;
    options.rate = options.last_rate = run->rate;
    options.l2 = run->l2;
    options.validate_every = 0;
    options.threads = (uint64_t)threads;
    char checkpoint[] = "/tmp/kgraft-bench-XXXXXX";
    int fd = mkstemp(checkpoint);
    kg_trainer *trainer = NULL;
    kg_train_watcher nobody = {0};
    kg_status status = KG_OK;
    if (fd < 0)
        return kg__fail_errno(error, checkpoint, "create it");
    KG_CHECK(kg__trainer_open(&trainer, &options, dataset, NULL, error));
    KG_CHECK(kg__trainer_run(trainer, checkpoint, &nobody, error));
    size_t count = trainer->history_count;
    kg_step_cost cost = kg__step_cost(trainer->step);
    size_t batches = (dataset->parts[KG_TRAIN].count - 1) / options.batch + 1;
    double all_steps = options.l2 > 0 ? (double)(batches * kg__dataset_in_sample(dataset))
                                      : (double)cost.rows / (double)count;
    print_run(run, roof, &cost, median(trainer->history, count), count, (double)options.dim,
              all_steps);
done:
    kg__trainer_close(trainer);
    remove(checkpoint);
    return status;
}

static kg_status time_all(const char *source, double rate, double l2, int threads, size_t epochs,
                          bool with_ls, kg_error *error) {
    const struct run runs[] = {
        {"eravg, AdaGrad", "eravg", KG_ADAGRAD, rate, l2},
        {"eravg, Adam", "eravg", KG_ADAM, rate / 10, l2},
        {"eravg, AdaGrad, no L2", "eravg", KG_ADAGRAD, rate, 0},
        {"ls, AdaGrad", "ls", KG_ADAGRAD, rate, l2},
    };
    kg_dataset dataset = {0};
    kg_reader reader = {0};
    kg_status status = KG_OK;
    KG_CHECK(kg__dataset_open(&dataset, error));
    KG_CHECK(kg__source_read(&dataset, &reader, &source, 1, error));
    struct roof roof = measure_roof(threads, kg__dataset_in_sample(&dataset));
    printf("%s: %zu facts, %zu entities, %zu relations; DistMult, d 200, psi 0.5, batch 1000, "
           "lr %g, l2 %g\n",
           source, dataset.parts[KG_TRAIN].count, kg__dataset_in_sample(&dataset),
           dataset.in_sample_relations, rate, l2);
    printf("%d threads, %s: triad %.1f GB/s, sgemm %.0f Gflop/s, sums of random rows %.1f G/s, "
           "steps in the cache: AdaGrad %.2f, Adam %.2f G/s\n",
           threads, kg__linear_kernels(), roof.bytes / 1e9, roof.flops / 1e9, roof.sums / 1e9,
           roof.steps[0] / 1e9, roof.steps[1] / 1e9);
    for (size_t i = 0; i < (with_ls ? 4 : 3); i++)
        KG_CHECK(time_run(&runs[i], &dataset, &roof, threads, epochs, error));
done:
    kg__dataset_close(&dataset);
    return status;
}

int main(int count, char **words) {
    cli_choose_kernels(words);
    if (count != 6) {
        fprintf(stderr, "usage: bench_train DATASET LR L2 EPOCHS ls|no-ls\n");
        return 2;
    }
    int threads = omp_get_num_procs();
    size_t epochs = strtoul(words[4], NULL, 10);
    kg_error error;
    kg_status status =
        time_all(words[1], strtod(words[2], NULL), strtod(words[3], NULL), threads,
                 epochs > 0 && epochs <= 64 ? epochs : 5, strcmp(words[5], "ls") == 0, &error);
    if (status != KG_OK)
        fprintf(stderr, "bench_train: %s: %s\n", error.source, error.message);
    return status == KG_OK ? 0 : 1;
}
