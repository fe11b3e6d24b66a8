/* How fast the matrix kernels are that this program comes up with: products of the shapes that
 * ranking, the softmax loss and a single entity's facts consist of, in one thread, best of rounds.
 * One line: the kernels' name, then Gflop/s of each shape. bench/kernels compares them. */
#include <stdio.h>
#include <stdlib.h>

#include "base/progress.h"
#include "cli/blas_setup.h"
#include "math/linalg.h"

#define ROUNDS 40
#define FLOPS 2e7 /* of a round, at least */

static const struct shape {
    size_t m, n, k;
    kg_transpose a, b;
} shapes[] = {
    {512, 384, 200, KG_AS_IS, KG_TRANSPOSED}, /* a tile of queries with a block of candidates */
    {256, 128, 200, KG_AS_IS, KG_TRANSPOSED}, /* queries with negatives, */
    {128, 200, 256, KG_TRANSPOSED, KG_AS_IS}, /* and its gradient */
    {10, 60, 200, KG_AS_IS, KG_TRANSPOSED},   /* queries of an entity with their candidates */
    {10, 200, 5, KG_AS_IS, KG_AS_IS},         /* weights of five facts with their vectors */
};

static float *make(size_t count) {
    float *out = malloc(count * sizeof *out);
    if (out == NULL)
        exit(1);
    for (size_t i = 0; i < count; i++)
        out[i] = (float)(i % 7) - 3;
    return out;
}

static double measure(const struct shape *s) {
    double flops = 2.0 * (double)(s->m * s->n * s->k);
    int repeats = (int)(FLOPS / flops) + 1;
    float *a = make(s->m * s->k);
    float *b = make(s->n * s->k);
    float *c = make(s->m * s->n);
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double started = kg__seconds();
        for (int i = 0; i < repeats; i++)
            kg__multiply(c, s->m, s->n, s->k, 1, a, s->a, b, s->b, 0);
        double seconds = (kg__seconds() - started) / repeats;
        best = seconds < best ? seconds : best;
    }
    free(a);
    free(b);
    free(c);
    return flops / best / 1e9;
}

int main(int count, char **words) {
    (void)count;
    cli_choose_kernels(words);
    if (kg__linear_set_up(1, NULL) != KG_OK)
        return 1;
    printf("%s", kg__linear_kernels());
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        printf(" %.1f", measure(&shapes[i]));
    printf("\n");
    return 0;
}
