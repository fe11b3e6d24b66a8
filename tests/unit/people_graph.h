/* A data set with a new graph of the same kind as the training graph, for tests that train on it.
 */
#ifndef KG_TESTS_PEOPLE_GRAPH_H
#define KG_TESTS_PEOPLE_GRAPH_H

#include <stdio.h>

#include "support.h"

/* Everyone likes the next, and who is two places on follows back. */
static inline void write_people(const char *path, const char *prefix, int people, int from,
                                int to) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = from; i < to; i++) {
        fprintf(file, "%s%d\tlikes\t%s%d\n", prefix, i, prefix, (i + 1) % people);
        fprintf(file, "%s%d\tfollows\t%s%d\n", prefix, (i + 2) % people, prefix, i);
    }
    fclose(file);
}

/* Into the folder `data`: t0, t1, ... to train on; n0, n1, ... in the new graph, of which the facts
 * of the first `held` are its validation part, those of as many behind them its test part. */
static inline void write_people_data(int people, int held) {
    write_people("data/train.txt", "t", people, 0, people);
    write_people("data/inference.txt", "n", people, 2 * held, people);
    write_people("data/inference_validation.txt", "n", people, 0, held);
    write_people("data/inference_test.txt", "n", people, held, 2 * held);
}

#endif
