#include "step_bench.h"

#include <stdlib.h>
#include <string.h>

#include "give_term.h"
#include "terms/echo.h"

/* Whom an item is about, and its query. */
struct entry {
    kg_id entity;
    kg_train_query query;
};

static int compare_entries(const void *a, const void *b) {
    const struct entry *x = a;
    const struct entry *y = b;
    if (x->entity != y->entity)
        return x->entity < y->entity ? -1 : 1;
    if (x->query.target.directed != y->query.target.directed)
        return x->query.target.directed < y->query.target.directed ? -1 : 1;
    return x->query.number < y->query.number ? -1 : 1;
}

kg_batch make_batch(const step_item *items, size_t count) {
    kg_batch out = {0};
    struct entry *entries = must_allocate(count, sizeof *entries);
    for (size_t i = 0; i < count; i++) {
        kg_triple t = items[i].triple;
        kg_end end = items[i].unseen == UNSEEN_TAIL ? KG_TAIL : KG_HEAD;
        entries[i].entity = end == KG_HEAD ? t.head : t.tail;
        entries[i].query =
            (kg_train_query){{kg_direct(t.relation, end), end == KG_HEAD ? t.tail : t.head},
                             items[i].label,
                             items[i].unseen != UNSEEN_NONE,
                             (uint32_t)i};
    }
    qsort(entries, count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < count; i++)
        assert_ok(kg__batch_add(&out, entries[i].entity, false, entries[i].query, NULL), NULL);
    free(entries);
    return out;
}

void open_bench_params(step_bench *b, const step_bench_options *o) {
    *b = (step_bench){.list = {.method = o->method, .threads = o->step.threads}};
    kg_param entities = {.name = "entities",
                         .rows = o->entity_rows,
                         .columns = o->dim,
                         .trained_rows = o->trained_entities,
                         .rate = 1,
                         .has_l2 = true,
                         .is_computed = o->computed != NULL};
    kg_param relations = {.name = "relations",
                          .rows = o->relation_rows,
                          .columns = o->dim,
                          .trained_rows = o->trained_relations,
                          .rate = 1,
                          .has_l2 = true};
    assert_ok(kg__param_list_add(&b->list, &entities, (kg_param_start){0}, NULL), NULL);
    assert_ok(kg__param_list_add(&b->list, &relations, (kg_param_start){0}, NULL), NULL);
    if (o->echo == NULL)
        return;
    kg_param echoes = {.name = "echoes",
                       .rows = o->echo->pairs.count,
                       .columns = 1,
                       .trained_rows = o->echo->pairs.count,
                       .rate = 1,
                       .is_read_whole = true};
    assert_ok(kg__param_list_add(&b->list, &echoes, (kg_param_start){0}, NULL), NULL);
}

void open_bench_step(step_bench *b, const step_bench_options *o, const kg_adjacency *graph) {
    assert_ok(kg__param_list_open_optimizers(&b->list, o->rates, o->l2, o->steps, NULL), NULL);
    kg_step_options step = o->step;
    step.loss = &kg__loss_softplus;
    kg_step_parts parts = {.list = &b->list,
                           .params = {.scoring = o->scoring,
                                      .entities = bench_entities(b)->values,
                                      .relations = bench_relations(b)->values,
                                      .dim = o->dim},
                           .graph = graph,
                           .most_queries = o->most_items,
                           .computed = o->computed};
    if (o->echo != NULL)
        give_term(&parts.params, &kg__term_echo, o->echo, bench_echoes(b)->values, BENCH_ECHOES);
    assert_ok(kg__step_open(&b->step, &step, &parts, NULL), NULL);
}

void open_step_bench(step_bench *b, const step_bench_options *o, const kg_adjacency *graph) {
    open_bench_params(b, o);
    open_bench_step(b, o, graph);
}

void close_step_bench(step_bench *b) {
    kg__step_close(b->step);
    kg__param_list_close(&b->list);
}

void take_item_step(step_bench *b, const step_item *items, size_t count, uint64_t number,
                    double *loss) {
    kg_batch batch = make_batch(items, count);
    assert_ok(kg__step_take(b->step, &batch, number, loss, NULL), NULL);
    kg__batch_free(&batch);
}
