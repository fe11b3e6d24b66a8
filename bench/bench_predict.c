/* How fast new entities are served: embedding one, its ten best answers, and batches of them,
 * beside what the machine can do. Embeddings are random, d 200; new entities have five facts.
 *
 *     bench_predict make DATASET MODEL     writes a model directory, random but whole
 *     bench_predict measure MODEL
 *     bench_predict compare MODEL INDEXED  a model and its copy with quantised rows: the same
 * answers?
 *
 * One list of best answers reads all rows once, so beside it stands the plain sum over the same
 * memory; a batch is a matrix product, so beside it stands the peak of sgemm. They take turns,
 * since a machine has better and worse moments. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/random.h"
#include "cli/blas_setup.h"
#include "graph/dataset_source.h"
#include "model/model_folder.h"
#include "roof.h"

#define DIM 200
#define FACTS 5
#define SUBJECTS 1000
#define ANSWERS 10
#define SINGLES 300 /* of them asked one by one, fewer if that takes long */
#define PATIENCE 20 /* seconds */
#define ROUNDS 5

static void *must(void *block) {
    if (block == NULL)
        exit(1);
    return block;
}

static void check(kg_status status, const kg_error *error) {
    char text[KG_ERROR_TEXT_MAX];
    if (status == KG_OK)
        return;
    fprintf(stderr, "bench_predict: %s\n", kg_error_text(text, sizeof text, error));
    exit(1);
}

/* ---- A model ---- */

static real *random_rows(size_t rows) {
    real *out = must(malloc(rows * DIM * sizeof *out));
#pragma omp parallel for
    for (size_t i = 0; i < rows * DIM; i++)
        out[i] = (real)(kg__random_unit(0, KG_STREAM_INIT_ENTITIES, i) - 0.5);
    return out;
}

static void make(const char *source, const char *path) {
    kg_error error;
    kg_dataset dataset = {0};
    kg_reader reader = {0};
    kg_folder *folder = NULL;
    check(kg__dataset_open(&dataset, &error), &error);
    check(kg__source_read(&dataset, &reader, &source, 1, &error), &error);
    size_t entities = kg__dataset_in_sample(&dataset);
    size_t relations = dataset.in_sample_relations;
    real *rows = random_rows(entities + relations);
    kg_params params = {.scoring = kg__scoring_find("distmult"),
                        .entities = rows,
                        .relations = rows + entities * DIM,
                        .dim = DIM};
    json_t *config = json_pack("{sI sI s{ss sI ss}}", "entities", (json_int_t)entities, "relations",
                               (json_int_t)relations, "settings", "model", "distmult", "dim",
                               (json_int_t)DIM, "aggregate", "ls");
    kg_model_parts parts = {&params, &dataset, NULL, config, NULL};
    check(kg__folder_start(&folder, path, false, kg__model_files, &error), &error);
    check(kg__model_folder_fill(folder, &parts, &error), &error);
    check(kg__folder_commit(folder, &error), &error);
    kg__folder_close(folder);
    json_decref(config);
    free(rows);
    kg__dataset_close(&dataset);
}

/* ---- Opening ---- */

static double resident_megabytes(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1)
        exit(1);
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static double file_megabytes(const char *folder, const char *name) {
    char path[4096];
    struct stat info = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &info) == 0 ? (double)info.st_size / 1e6 : 0;
}

static kg_model_info describe(const kg_model *model) {
    kg_model_info out = KG_MODEL_INFO_INIT;
    kg_error error;
    check(kg_model_describe(&out, model, &error), &error);
    return out;
}

static kg_model *measure_opening(const char *path) {
    kg_error error;
    kg_model *model = NULL;
    check(kg_model_open(&model, path, &error), &error); /* the files come into memory */
    kg_model_close(model);
    double before = resident_megabytes();
    double started = kg__seconds();
    check(kg_model_open(&model, path, &error), &error);
    double seconds = kg__seconds() - started;
    kg_model_info about = describe(model);
    printf("%s: %zu entities, %zu relations, d %zu\n", path, about.entities, about.relations,
           about.dim);
    printf("opening      %8.4f s, %.0f MB of memory; names take %.0f MB, embeddings %.0f MB\n",
           seconds, resident_megabytes() - before, file_megabytes(path, "names.idx"),
           file_megabytes(path, "model.safetensors"));
    return model;
}

/* ---- New entities: the first facts of entities that have enough ---- */

static kg_request *make_requests(const kg_model *model) {
    kg_model_info about = describe(model);
    kg_request *out = must(calloc(SUBJECTS, sizeof *out));
    size_t count = 0;
    for (uint64_t i = 0; count < SUBJECTS; i++) {
        kg_error error;
        const kg_link *links = NULL;
        size_t link_count = 0;
        kg_id entity = (kg_id)kg__random_below(about.entities, 1, KG_STREAM_GENERATE_HEAD, i);
        check(kg_model_links(&links, &link_count, model, entity, &error), &error);
        if (link_count < FACTS)
            continue;
        kg_subject subject = {KG_NO_ID, links, FACTS};
        out[count] = (kg_request){.size = sizeof *out,
                                  .subject = subject,
                                  .relation = (kg_id)(count % about.relations),
                                  .tails = true};
        count++;
    }
    return out;
}

static kg_workspace *open_workspace(const kg_model *model, const char *aggregate, int threads) {
    kg_error error;
    kg_workspace *workspace = NULL;
    kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
    options.aggregate = aggregate;
    options.threads = threads;
    check(kg_workspace_open(&workspace, model, &options, &error), &error);
    return workspace;
}

static int compare(const void *one, const void *other) {
    double a = *(const double *)one;
    double b = *(const double *)other;
    return (a > b) - (a < b);
}

static void measure_embedding(const kg_model *model, const kg_request *requests,
                              const char *aggregate) {
    kg_workspace *workspace = open_workspace(model, aggregate, 1);
    double seconds[SUBJECTS];
    float vector[DIM];
    kg_error error;
    for (int round = 0; round < 2; round++) /* the first one warms up */
        for (size_t i = 0; i < SUBJECTS; i++) {
            double started = kg__seconds();
            check(kg_workspace_embed(vector, workspace, requests[i].subject, KG_NO_QUERY, &error),
                  &error);
            seconds[i] = kg__seconds() - started;
        }
    qsort(seconds, SUBJECTS, sizeof *seconds, compare);
    printf("embed, %-5s %7.1f us at the median, %.1f at the 99th percentile\n", aggregate,
           1e6 * seconds[SUBJECTS / 2], 1e6 * seconds[SUBJECTS * 99 / 100]);
    kg_workspace_close(workspace);
}

static void measure_singles(const kg_model *model, const kg_request *requests, int threads) {
    kg_workspace *workspace = open_workspace(model, "ls", threads);
    kg_model_info about = describe(model);
    double bytes = (double)about.entities * (double)(about.dim * sizeof(float));
    double seconds[SINGLES];
    double roof = 0;
    size_t count = 0;
    double started_all = kg__seconds();
    kg_answer answers[ANSWERS];
    size_t found = 0;
    kg_error error;
    check(kg_workspace_predict(answers, &found, workspace, requests, 1, ANSWERS, &error), &error);
    for (; count < SINGLES && (count < 5 || kg__seconds() - started_all < PATIENCE); count++) {
        double started = kg__seconds();
        check(
            kg_workspace_predict(answers, &found, workspace, &requests[count], 1, ANSWERS, &error),
            &error);
        seconds[count] = kg__seconds() - started;
        if (count % 10 == 0)
            roof = roof_best(roof, roof_read(kg_model_entity_vectors(model),
                                             about.entities * about.dim, threads));
    }
    qsort(seconds, count, sizeof *seconds, compare);
    double median = seconds[count / 2];
    printf("top %d       %8.3f ms at the median, %.3f at the 99th percentile of %zu, %d thread%s: "
           "%.1f GB/s, reading alone %.1f\n",
           ANSWERS, 1e3 * median, 1e3 * seconds[count * 99 / 100], count, threads,
           threads == 1 ? "" : "s", bytes / median / 1e9, roof / 1e9);
    kg_workspace_close(workspace);
}

static void measure_batches(const kg_model *model, const kg_request *requests, int threads) {
    kg_workspace *workspace = open_workspace(model, "ls", threads);
    kg_model_info about = describe(model);
    kg_answer *answers = must(malloc((size_t)SUBJECTS * ANSWERS * sizeof *answers));
    size_t found[SUBJECTS];
    double peak = 0;
    double seconds[ROUNDS];
    kg_error error;
    for (int round = 0; round < ROUNDS; round++) {
        peak = roof_best(peak, roof_flops(threads));
        double started = kg__seconds();
        check(kg_workspace_predict(answers, found, workspace, requests, SUBJECTS, ANSWERS, &error),
              &error);
        seconds[round] = kg__seconds() - started;
    }
    qsort(seconds, ROUNDS, sizeof *seconds, compare);
    double median = seconds[ROUNDS / 2];
    double flops = 2.0 * SUBJECTS * (double)about.entities * (double)about.dim / median;
    printf("batches      %8.0f lists a second at the median, %d thread%s: %.0f %% of sgemm's %.0f "
           "Gflop/s\n",
           SUBJECTS / median, threads, threads == 1 ? "" : "s", 100 * flops / peak, peak / 1e9);
    free(answers);
    kg_workspace_close(workspace);
}

static void measure(const char *path) {
    int threads = omp_get_num_procs();
    kg_model *model = measure_opening(path);
    kg_request *requests = make_requests(model);
    measure_embedding(model, requests, "eravg");
    measure_embedding(model, requests, "ls");
    measure_singles(model, requests, 1);
    measure_singles(model, requests, threads);
    measure_batches(model, requests, 1);
    measure_batches(model, requests, threads);
    free(requests);
    kg_model_close(model);
}

/* ---- With quantised rows and without ---- */

static void check_same(const kg_answer *one, size_t count, const kg_answer *other, size_t found) {
    bool is_same = count == found;
    for (size_t i = 0; i < count && is_same; i++)
        is_same = one[i].entity == other[i].entity &&
                  memcmp(&one[i].score, &other[i].score, sizeof one[i].score) == 0;
    if (is_same)
        return;
    fprintf(stderr, "bench_predict: the answers are not the same\n");
    exit(1);
}

/* Both are asked the same, in turns. */
static void compare_singles(kg_model *models[2], const kg_request *requests, int threads) {
    kg_workspace *workspaces[] = {open_workspace(models[0], "ls", threads),
                                  open_workspace(models[1], "ls", threads)};
    double seconds[2][SINGLES];
    size_t count = 0;
    double started_all = kg__seconds();
    kg_answer answers[2][ANSWERS];
    size_t found[2] = {0};
    kg_error error;
    for (; count < SINGLES && (count < 5 || kg__seconds() - started_all < PATIENCE); count++) {
        for (int i = 0; i < 2; i++) {
            double started = kg__seconds();
            check(kg_workspace_predict(answers[i], &found[i], workspaces[i], &requests[count], 1,
                                       ANSWERS, &error),
                  &error);
            seconds[i][count] = kg__seconds() - started;
        }
        check_same(answers[0], found[0], answers[1], found[1]);
    }
    for (int i = 0; i < 2; i++)
        qsort(seconds[i], count, sizeof **seconds, compare);
    double medians[] = {seconds[0][count / 2], seconds[1][count / 2]};
    printf(
        "top %d       %8.3f ms at the median of %zu, %.3f with quantised rows, %d thread%s: %.2f "
        "times as fast, the same answers\n",
        ANSWERS, 1e3 * medians[0], count, 1e3 * medians[1], threads, threads == 1 ? "" : "s",
        medians[0] / medians[1]);
    for (int i = 0; i < 2; i++)
        kg_workspace_close(workspaces[i]);
}

static void compare_copies(const char *plain, const char *indexed) {
    int threads = omp_get_num_procs();
    kg_model *models[] = {measure_opening(plain), measure_opening(indexed)};
    kg_request *requests = make_requests(models[0]);
    for (int i = 0; i < 2; i++) { /* what is read comes into memory */
        kg_workspace *workspace = open_workspace(models[i], "ls", threads);
        kg_answer answers[ANSWERS];
        size_t found = 0;
        kg_error error;
        check(kg_workspace_predict(answers, &found, workspace, requests, 1, ANSWERS, &error),
              &error);
        kg_workspace_close(workspace);
    }
    compare_singles(models, requests, 1);
    compare_singles(models, requests, threads);
    free(requests);
    for (int i = 0; i < 2; i++)
        kg_model_close(models[i]);
}

int main(int count, char **words) {
    cli_choose_kernels(words);
    if (count == 4 && strcmp(words[1], "make") == 0)
        make(words[2], words[3]);
    else if (count == 3 && strcmp(words[1], "measure") == 0)
        measure(words[2]);
    else if (count == 4 && strcmp(words[1], "compare") == 0)
        compare_copies(words[2], words[3]);
    else
        return fputs("usage: bench_predict make DATASET MODEL | measure MODEL | compare MODEL "
                     "INDEXED\n",
                     stderr) > 0
                   ? 2
                   : 1;
    return 0;
}
