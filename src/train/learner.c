/* Loops over touched rows. */
#include "train/learner.h"

#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "math/vector.h"

kg_status kg__learner_open(kg_learner *l, kg_learned which, kg_table *table,
                           const kg_optimizer *optimizer, int threads, kg_error *error) {
    *l = (kg_learner){.which = which, .table = table, .optimizer = optimizer, .threads = threads};
    KG_TRY(kg__touched_open(&l->touched, table->rows, error));
    l->gradients = kg__alloc((size_t)threads * table->dim, sizeof *l->gradients);
    return l->gradients == NULL ? kg__fail_memory(error) : KG_OK;
}

void kg__learner_close(kg_learner *l) {
    kg__touched_close(&l->touched);
    kg__free(l->gradients);
    *l = (kg_learner){0};
}

uint64_t kg__learner_catch_up(kg_learner *l, uint64_t step) {
    const kg_touched *touched = &l->touched;
    kg_table *table = l->table;
    uint64_t missed = 0;
#pragma omp parallel for schedule(dynamic, 64) num_threads(l->threads) reduction(+ : missed)
    for (size_t i = 0; i < touched->count; i++) {
        if (i + 1 < touched->count)
            kg__table_prefetch(table, touched->rows[i + 1]);
        missed += step - table->steps[touched->rows[i]];
        kg__table_catch_up(table, l->optimizer, touched->rows[i], step);
    }
    return missed;
}

void kg__learner_catch_up_all(kg_learner *l, size_t rows, uint64_t step) {
#pragma omp parallel for schedule(dynamic, 64) num_threads(l->threads)
    for (size_t row = 0; row < rows; row++)
        kg__table_catch_up(l->table, l->optimizer, row, step);
}

kg_status kg__learner_group(kg_learner *l, const kg_sheaf *sheaves, size_t count, kg_error *error) {
    return kg__touched_group(&l->touched, sheaves, count, l->which, l->table->dim, error);
}

/* out += the vectors that go to touched row i. */
static void add_up(const kg_learner *l, real *out, size_t i) {
    const kg_touched *touched = &l->touched;
    size_t from = touched->starts[i];
    size_t to = touched->starts[i + 1];
    kg__add_rows(out, touched->vectors + from, to - from, touched->starts[touched->count] - to,
                 l->table->dim);
}

void kg__learner_step(kg_learner *l, uint64_t step) {
    const kg_touched *touched = &l->touched;
    size_t dim = l->table->dim;
#pragma omp parallel for schedule(dynamic, 64) num_threads(l->threads)
    for (size_t i = 0; i < touched->count; i++) {
        real *gradient = l->gradients + (size_t)omp_get_thread_num() * dim;
        if (i + 1 < touched->count)
            kg__table_prefetch(l->table, touched->rows[i + 1]);
        memset(gradient, 0, dim * sizeof *gradient);
        add_up(l, gradient, i);
        kg__table_step(l->table, l->optimizer, touched->rows[i], gradient, step);
    }
}

void kg__learner_add(const kg_learner *l, real *gradients) {
    const kg_touched *touched = &l->touched;
#pragma omp parallel for schedule(dynamic, 64) num_threads(l->threads)
    for (size_t i = 0; i < touched->count; i++)
        add_up(l, gradients + touched->rows[i] * l->table->dim, i);
}
