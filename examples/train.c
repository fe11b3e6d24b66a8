/* Trains a model on a benchmark, then tells how well it answers the queries of its test part.
 * (Who wants answers and no numbers gives kg_model_train all of a graph, and goes on as predict.c
 * does.)
 *
 *     cc train.c -o train $(pkg-config --cflags --libs kgraft)
 *     ./train DATASET MODEL
 *
 * DATASET is a folder as `kgraft split` makes them, with facts of unseen entities; MODEL becomes a
 * model directory. Interrupted by Ctrl-C, the same command goes on where it was. */
#include <kgraft.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number) {
    (void)number;
    is_interrupted = 1;
}

/* Ends the program if something failed. */
static void check(kg_status status, const kg_error *error) {
    if (status == KG_OK)
        return;
    char text[KG_ERROR_TEXT_MAX];
    fprintf(stderr, "train: %s\n", kg_error_text(text, sizeof text, error));
    exit(1);
}

/* Called now and then; false asks to stop. */
static bool report(void *payload, const kg_progress_report *now) {
    (void)payload;
    fprintf(stderr, "\r%s: %llu of %llu %s ", now->stage, (unsigned long long)now->done,
            (unsigned long long)now->total, now->unit);
    return !is_interrupted;
}

int main(int count, char **words) {
    if (count != 3) {
        fprintf(stderr, "usage: train DATASET MODEL\n");
        return 2;
    }
    signal(SIGINT, interrupt);
    kg_error error;
    const kg_progress progress = {.report = report};

    kg_training_options training = KG_TRAINING_OPTIONS_INIT;
    check(kg_training_options_init(&training, "graft", "distmult", &error), &error);
    training.resume = true;
    training.progress = &progress;
    check(kg_model_train(words[2], words[1], &training, &error), &error);

    kg_model *model = NULL;
    check(kg_model_open(&model, words[2], &error), &error);

    kg_metrics metrics = KG_METRICS_INIT;
    kg_evaluation_options evaluation = KG_EVALUATION_OPTIONS_INIT;
    evaluation.progress = &progress;
    check(kg_model_evaluate(&metrics, model, words[1], &evaluation, &error), &error);
    fprintf(stderr, "\n");
    printf("queries\t%llu\n", (unsigned long long)metrics.queries);
    printf("MRR\t%.9g\n", metrics.mrr);
    printf("Hit@1\t%.9g\n", metrics.hits[0]);
    printf("Hit@3\t%.9g\n", metrics.hits[1]);
    printf("Hit@10\t%.9g\n", metrics.hits[2]);

    kg_model_close(model);
    return 0;
}
