/* The fast paths of the aggregators, for learning and for answering, against their plain twin:
 * solving in the dual, leaving links out of one inverse or of one sum, hubs; every model with every
 * aggregator, on inputs that are random, repeated, zero, collinear or of very different lengths. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/embedder.h"
#include "math/linalg.h"
#include "support.h"
#include "twin.h"

/* What least squares promises on hubs, as a share of z. */
#ifdef KG_DOUBLE
#define PROMISED 1e-9
#else
#define PROMISED 1e-4
#endif

#define DIM 12
#define ENTITIES 64
#define RELATIONS 24
#define HUB 2000
#define LARGE_HUB 10000

/* ---- The world: params of both precisions with the same numbers ---- */

typedef struct variant {
    const char *aggregate;
    kg_ls_rows rows;
} variant;

static const variant variants[] = {
    {"eavg", KG_LS_NORMALIZED}, {"eravg", KG_LS_NORMALIZED}, {"ls", KG_LS_NORMALIZED},
    {"ls", KG_LS_WEIGHTED},     {"ls-u", KG_LS_NORMALIZED},
};

enum shape {
    RANDOM,
    ZERO_ROWS,      /* every third entity */
    ONLY_ZERO_ROWS, /* so that no link says anything */
    ZERO_RELATIONS, /* every second */
    COLLINEAR,      /* entities are multiples of one, all relations the same */
    EQUAL,          /* all entities are the same, all relations too */
    OPPOSITE,       /* each entity has a neighbour that undoes it */
    ONE_LONG,       /* one entity is far longer than the others */
    ONE_OTHER,      /* all links lead to the same entity */
    SHAPE_COUNT,
};

typedef struct world {
    real *entities;
    real *relations;
    double *plain_entities;
    double *plain_relations;
    size_t entity_count;
    kg_link *links;
    size_t most;
} world;

static double noise(uint64_t *state) {
    return (double)next_below(state, 1 << 20) / (1 << 19) - 1;
}

/* What the shape makes of column k of row `row`. */
static double shape_entity(enum shape shape, size_t row, size_t k, uint64_t *state) {
    uint64_t fixed = 1000 + k;
    uint64_t pair = 2000 + row / 2 * DIM + k;
    double random = noise(state);
    switch (shape) {
    case ZERO_ROWS:
        return row % 3 == 0 ? 0 : random;
    case ONLY_ZERO_ROWS:
        return 0;
    case COLLINEAR:
        return ((double)(row % 7) - 2.5) / 3 * noise(&fixed);
    case EQUAL:
        return noise(&fixed);
    case OPPOSITE:
        return (row % 2 == 0 ? 1 : -1) * noise(&pair);
    case ONE_LONG:
        return row == 1 ? 10 * random : random;
    default:
        return random;
    }
}

static double shape_relation(enum shape shape, size_t row, size_t k, uint64_t *state) {
    uint64_t fixed = 3000 + k;
    double random = noise(state);
    if (shape == ZERO_RELATIONS)
        return row % 2 == 0 ? 0 : random;
    return shape == COLLINEAR || shape == EQUAL ? noise(&fixed) : random;
}

static void open_world(world *w, enum shape shape, size_t entity_count, uint64_t seed) {
    *w = (world){.entity_count = entity_count};
    w->entities = must_allocate(entity_count * DIM, sizeof *w->entities);
    w->plain_entities = must_allocate(entity_count * DIM, sizeof *w->plain_entities);
    w->relations = must_allocate((size_t)RELATIONS * DIM, sizeof *w->relations);
    w->plain_relations = must_allocate((size_t)RELATIONS * DIM, sizeof *w->plain_relations);
    w->links = must_allocate(entity_count, sizeof *w->links);
    for (size_t i = 0; i < entity_count * DIM; i++) {
        w->entities[i] = (real)shape_entity(shape, i / DIM, i % DIM, &seed);
        w->plain_entities[i] = (double)w->entities[i];
    }
    for (size_t i = 0; i < (size_t)RELATIONS * DIM; i++) {
        w->relations[i] = (real)shape_relation(shape, i / DIM, i % DIM, &seed);
        w->plain_relations[i] = (double)w->relations[i];
    }
}

static void close_world(world *w) {
    free(w->entities);
    free(w->plain_entities);
    free(w->relations);
    free(w->plain_relations);
    free(w->links);
}

/* `count` links, sorted as adjacency has them: groups of a directed relation each, or a single
 * other end by as many directed relations. */
static void make_links(world *w, enum shape shape, size_t count) {
    for (size_t i = 0; i < count; i++)
        w->links[i] = shape == ONE_OTHER ? (kg_link){(kg_directed)i, 5}
                                         : (kg_link){(kg_directed)(i * 9 / count), (kg_id)i};
}

/* ---- One entity, several uses ---- */

typedef struct bench {
    kg_aggregate_options options;
    kg_params params;
    kg_arena arena;
    kg_aggregate aggregate;
    kg_embedder embedder;
    kg_grads grads;
    twin_model twin;
    double *rows;
    double *others; /* rows less those left out */
    size_t count;
    double scale;     /* of numbers: see load */
    double tolerance; /* of an error, as a share of that, or of z if that is larger */
} bench;

static void open_bench(bench *b, const world *w, const char *model, variant v, double lambda) {
    *b = (bench){.twin = {model, v.aggregate, v.rows == KG_LS_WEIGHTED, (double)(real)lambda, DIM,
                          w->plain_entities, w->plain_relations}};
    b->options = (kg_aggregate_options){.aggregator = kg__aggregator_find(v.aggregate),
                                        .ls_lambda = (real)lambda,
                                        .ls_rows = v.rows};
    b->params = (kg_params){.scoring = kg__scoring_find(model),
                            .entities = w->entities,
                            .relations = w->relations,
                            .dim = DIM};
    kg__embedder_open(&b->embedder, b->options, b->params);
    assert_ok(kg__grads_add_param(&b->grads, w->entity_count, DIM, NULL), NULL);
    assert_ok(kg__grads_add_param(&b->grads, RELATIONS, DIM, NULL), NULL);
    b->rows = must_allocate(w->entity_count * DIM, sizeof *b->rows);
    b->others = must_allocate(w->entity_count * DIM, sizeof *b->others);
}

static void close_bench(bench *b) {
    kg__arena_free(&b->arena);
    kg__grads_free(&b->grads);
    kg__embedder_close(&b->embedder);
    free(b->rows);
    free(b->others);
}

static bool has_equations(const bench *b) {
    return b->twin.aggregate[0] != 'e';
}

static double largest(const double *numbers, size_t count) {
    double out = 0;
    for (size_t i = 0; i < count; i++)
        out = fmax(out, fabs(numbers[i]));
    return out;
}

static double sum_of_squares(const double *numbers, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += numbers[i] * numbers[i];
    return sum;
}

/* A sum may lose half a unit with each term.
 *
 * Equations are solved until the error is that of rounding each row to a double (ridge.h), which z
 * feels at most by the condition of H, 1 + (sum of |a|^2) / lambda; or until that is less than a
 * unit of a real, to which z is rounded in the end. QuatE normalises its relations in reals: that
 * is as if other relations had been given, a unit away from these, which z feels some units by.
 * Targets may cancel: the error is a share of what z would be if they did not, for which the root
 * of (sum of b^2) / (sum of |a|^2) stands. */
static void find_tolerance(bench *b) {
    if (!has_equations(b)) {
        b->scale = largest(b->rows, b->count * DIM);
        b->tolerance = (double)KG_REAL_EPSILON * (16 + (double)b->count / 2);
        return;
    }
    double *a = must_allocate(b->count * DIM, sizeof *a);
    double *targets = must_allocate(b->count, sizeof *targets);
    double units = strcmp(b->twin.model, "quate") == 0 ? 16 : 4;
    twin_equations(&b->twin, a, targets, b->rows, b->count);
    double squares = sum_of_squares(a, b->count * DIM);
    double condition = 1 + squares / b->twin.lambda;
    b->scale = squares > 0 ? sqrt(sum_of_squares(targets, b->count) / squares) : 0;
    b->tolerance = units * (double)KG_REAL_EPSILON + 4 * DBL_EPSILON * condition;
    free(a);
    free(targets);
}

static void load(bench *b, const world *w, size_t count, size_t most_left_out) {
    b->count = count;
    twin_rows(&b->twin, b->rows, w->links, count);
    find_tolerance(b);
    kg__arena_reset(&b->arena);
    kg_aggregate_use use = {.links = w->links, .count = count, .most_left_out = most_left_out};
    assert_ok(kg__aggregate_load(&b->aggregate, &b->options, &b->params, &b->arena, &use, NULL),
              NULL);
    assert_ok(kg__embedder_load(&b->embedder, w->links, count, NULL), NULL);
}

static size_t leave_out(bench *b, kg_left_out left) {
    size_t kept = 0;
    size_t skipped = 0;
    for (size_t i = 0; i < b->count; i++)
        if (skipped < left.count && left.positions[skipped] == i)
            skipped++;
        else
            memcpy(b->others + DIM * kept++, b->rows + i * DIM, DIM * sizeof *b->rows);
    return kept;
}

static void check_z(const bench *b, const real *z, const double *expected, kg_left_out left) {
    double scale = fmax(b->scale, largest(expected, DIM));
    for (size_t k = 0; k < DIM; k++)
        if (!(fabs((double)z[k] - expected[k]) <= b->tolerance * scale))
            fail_msg("%s %s%s, %zu links, %zu left out from %zu: column %zu is %.12g, not %.12g",
                     b->twin.model, b->twin.aggregate, b->twin.is_weighted ? " weighted" : "",
                     b->count, left.count, left.count > 0 ? left.positions[0] : 0, k, (double)z[k],
                     expected[k]);
}

/* z without the links left out, for learning and for answering, is what the twin makes of the
 * others, by either way of solving. */
static void check_use(bench *b, kg_left_out left) {
    real z[DIM];
    double expected[DIM];
    size_t kept = leave_out(b, left);
    twin_combine(&b->twin, expected, b->others, kept, TWIN_PRIMAL);
    kg__aggregate_forward(&b->aggregate, z, left);
    check_z(b, z, expected, left);
    if (kept <= DIM + 4) {
        twin_combine(&b->twin, expected, b->others, kept, TWIN_DUAL);
        check_z(b, z, expected, left);
    }
    if (left.count <= 1) {
        kg__embedder_embed(&b->embedder, z, left.count == 0 ? KG_NOTHING : left.positions[0]);
        check_z(b, z, expected, left);
    }
}

/* None, about twelve alone, several at once, all. */
static void check_uses(bench *b) {
    size_t all[ENTITIES];
    for (size_t i = 0; i < b->count; i++)
        all[i] = i;
    check_use(b, (kg_left_out){NULL, 0});
    for (size_t i = 0; i < b->count; i += 1 + b->count / 13)
        check_use(b, (kg_left_out){&all[i], 1});
    for (size_t left = 2; left <= b->count; left += 1 + left / 2)
        check_use(b, (kg_left_out){all + (b->count - left) / 2, left});
    const size_t spread[] = {0, b->count / 2, b->count - 1};
    if (b->count >= 3)
        check_use(b, (kg_left_out){spread, 3});
    check_use(b, (kg_left_out){all, b->count});
}

/* Room is used again by larger and smaller entities: their order is mixed. D is 12, and the mean
 * adds up the others of at most 16. */
static const size_t counts[] = {2, 1, 13, 12, 11, 40, 3, 17, 16, 0, 24};

static void check_model(const char *model, enum shape shape, variant v, double lambda) {
    world w;
    bench b;
    open_world(&w, shape, ENTITIES, 7 + (uint64_t)shape);
    open_bench(&b, &w, model, v, lambda);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        make_links(&w, shape, counts[i]);
        load(&b, &w, counts[i], counts[i]);
        check_uses(&b);
    }
    close_bench(&b);
    close_world(&w);
}

static void test_all_shapes(void **state) {
    (void)state;
    for (const kg_scoring *kind = kg__scorings; kind->name != NULL && !kind->is_encoded; kind++)
        for (size_t v = 0; v < COUNT_OF(variants); v++)
            for (int shape = 0; shape < SHAPE_COUNT; shape++)
                check_model(kind->name, (enum shape)shape, variants[v], 0.1);
}

/* Of few links the others are added up: what is left out leaves no trace, however long it is. */
static void test_no_cancellation(void **state) {
    (void)state;
    for (size_t v = 0; v < 2; v++) {
        world w;
        bench b;
        open_world(&w, RANDOM, ENTITIES, 13);
        make_links(&w, RANDOM, 8);
        for (size_t i = 2 * DIM; i < 3 * DIM; i++) {
            w.entities[i] *= 1 << 20;
            w.plain_entities[i] *= 1 << 20;
        }
        open_bench(&b, &w, "distmult", variants[v], 1);
        load(&b, &w, 8, 1);
        const size_t position = 2;
        b.scale = 1;
        check_use(&b, (kg_left_out){&position, 1});
        close_bench(&b);
        close_world(&w);
    }
}

/* Ridges that leave the equations nearly alone, or hardly let them be heard. */
static void test_ridges(void **state) {
    (void)state;
    static const double ridges[] = {0.01, 1, 100};
    for (size_t i = 0; i < COUNT_OF(ridges); i++)
        for (size_t v = 2; v < COUNT_OF(variants); v++) {
            check_model("complex", RANDOM, variants[v], ridges[i]);
            check_model("distmult", ONE_OTHER, variants[v], ridges[i]);
        }
}

/* ---- Gradients of rows ---- */

/* The loss of several uses: the sum of z . slope, a slope for each. */
static double plain_loss(bench *b, const kg_left_out *uses, size_t use_count, const real *slopes) {
    double loss = 0;
    for (size_t u = 0; u < use_count; u++) {
        double z[DIM];
        twin_combine(&b->twin, z, b->others, leave_out(b, uses[u]), TWIN_PRIMAL);
        for (size_t k = 0; k < DIM; k++)
            loss += z[k] * (double)slopes[u * DIM + k];
    }
    return loss;
}

/* The gradient on a number of a row: what its group shares, and its own. */
static double row_gradient(const kg_aggregate *a, size_t row, size_t k) {
    double out = 0;
    if (a->group_gradients != NULL)
        out = (double)a->group_gradients[kg__aggregate_group(a, row) * a->group_stride + k];
    if (a->own != NULL && a->own[row] != NULL)
        out += (double)a->own[row][k];
    return out;
}

/* What the uses gathered, against the change of the loss when a row moves a little. */
static void check_row(bench *b, size_t row, const kg_left_out *uses, size_t use_count,
                      const real *slopes) {
    const kg_aggregate *a = &b->aggregate;
    double step = 1e-5;
    for (size_t k = 0; k < DIM; k++) {
        double *value = &b->rows[row * DIM + k];
        double saved = *value;
        *value = saved + step;
        double above = plain_loss(b, uses, use_count, slopes);
        *value = saved - step;
        double below = plain_loss(b, uses, use_count, slopes);
        *value = saved;
        double expected = (above - below) / (2 * step);
        double found = row_gradient(a, row, k);
        if (!(fabs(found - expected) <= 1e-7 + 10 * b->tolerance * (double)use_count))
            fail_msg("%s %s%s, %zu links: gradient of row %zu, column %zu is %.12g, not %.12g",
                     b->twin.model, b->twin.aggregate, b->twin.is_weighted ? " weighted" : "",
                     b->count, row, k, found, expected);
    }
}

static void check_gradients(variant v, size_t count) {
    world w;
    bench b;
    open_world(&w, RANDOM, ENTITIES, 3);
    make_links(&w, RANDOM, count);
    open_bench(&b, &w, "simple", v, 0.1);
    load(&b, &w, count, 3);
    const size_t positions[] = {0, count / 3, count - 1};
    kg_left_out uses[] = {{NULL, 0}, {positions, 1}, {positions + 2, 1}, {positions, 3}, {NULL, 0}};
    real slopes[COUNT_OF(uses) * DIM];
    uint64_t state = 17;
    for (size_t i = 0; i < COUNT_OF(slopes); i++)
        slopes[i] = (real)noise(&state);
    for (size_t u = 0; u < COUNT_OF(uses); u++) {
        real z[DIM];
        kg__aggregate_forward(&b.aggregate, z, uses[u]);
        assert_ok(kg__aggregate_backward(&b.aggregate, slopes + u * DIM, uses[u], NULL), NULL);
    }
    assert_ok(kg__aggregate_finish(&b.aggregate, &b.grads, NULL), NULL);
    for (size_t i = 0; i < 3; i++)
        check_row(&b, positions[i], uses, COUNT_OF(uses), slopes);
    check_row(&b, 1, uses, COUNT_OF(uses), slopes);
    close_bench(&b);
    close_world(&w);
}

static void test_gradients(void **state) {
    (void)state;
    static const size_t sizes[] = {3, DIM - 1, DIM, DIM + 1, 17, 60};
    for (size_t v = 0; v < COUNT_OF(variants); v++)
        for (size_t i = 0; i < COUNT_OF(sizes); i++)
            check_gradients(variants[v], sizes[i]);
}

/* A zero query vector has no gradient, however often it is used. */
static void test_zero_row_has_no_gradient(void **state) {
    (void)state;
    for (size_t v = 2; v < COUNT_OF(variants) - 1; v++)
        for (size_t count = 2; count <= DIM + 2; count += DIM) {
            world w;
            bench b;
            open_world(&w, ZERO_ROWS, ENTITIES, 5);
            make_links(&w, ZERO_ROWS, count);
            open_bench(&b, &w, "quate", variants[v], 0.1);
            load(&b, &w, count, 0);
            real z[DIM];
            kg__aggregate_forward(&b.aggregate, z, (kg_left_out){NULL, 0});
            assert_ok(kg__aggregate_backward(&b.aggregate, z, (kg_left_out){NULL, 0}, NULL), NULL);
            assert_ok(kg__aggregate_finish(&b.aggregate, &b.grads, NULL), NULL);
            assert_non_null(b.aggregate.own[1]);
            for (size_t k = 0; k < DIM; k++) {
                assert_true(isfinite(b.aggregate.own[1][k]));
                assert_true(row_gradient(&b.aggregate, 0, k) == 0);
            }
            close_bench(&b);
            close_world(&w);
        }
}

/* ---- Hubs ---- */

/* The gradient on the query vector of a row, by the formulas of ls.c, all in double precision from
 * the twin's solutions: that the formulas are right, differences show above. Returns how large its
 * terms are. */
static double expect_gradient(const bench *b, double *out, size_t row, const double *z,
                              const double *h) {
    const double *q = b->rows + row * DIM;
    double norm = sqrt(sum_of_squares(q, DIM));
    double a[DIM];
    double target = 0;
    twin_equations(&b->twin, a, &target, q, 1);
    double fit = 0;
    double beta = 0;
    for (size_t k = 0; k < DIM; k++) {
        fit += a[k] * z[k];
        beta += a[k] * h[k];
    }
    double along = 0;
    for (size_t k = 0; k < DIM; k++) {
        out[k] = (target - fit) * h[k] - beta * z[k];
        along += out[k] * a[k];
    }
    bool is_plain = strcmp(b->twin.aggregate, "ls-u") == 0;
    for (size_t k = 0; k < DIM && !is_plain; k++)
        out[k] = b->twin.is_weighted ? out[k] + beta * a[k] / norm : (out[k] - along * a[k]) / norm;
    double length = is_plain || b->twin.is_weighted ? norm : 1;
    return largest(h, DIM) * (target + length * largest(z, DIM)) *
           (is_plain || b->twin.is_weighted ? 1 : 1 / norm);
}

/* Gradients by one use, of a row that it leaves out (which has none) and of some others. */
static void check_hub_gradients(bench *b, kg_left_out left) {
    real slope[DIM];
    double g[DIM];
    double h[DIM];
    double z[DIM];
    real found[DIM];
    uint64_t state = 19;
    for (size_t k = 0; k < DIM; k++) {
        slope[k] = (real)noise(&state);
        g[k] = (double)slope[k];
    }
    size_t kept = leave_out(b, left);
    twin_combine(&b->twin, z, b->others, kept, TWIN_PRIMAL);
    twin_back(&b->twin, h, g, b->others, kept);
    kg__aggregate_forward(&b->aggregate, found, left);
    assert_ok(kg__aggregate_backward(&b->aggregate, slope, left, NULL), NULL);
    assert_ok(kg__aggregate_finish(&b->aggregate, &b->grads, NULL), NULL);
    for (size_t row = 0; row < b->count; row += 1 + b->count / 7) {
        double expected[DIM];
        if (largest(b->rows + row * DIM, DIM) == 0)
            continue;
        double terms = expect_gradient(b, expected, row, z, h);
        bool is_left_out = left.count > 0 && left.positions[0] == row;
        for (size_t k = 0; k < DIM; k++) {
            double own = row_gradient(&b->aggregate, row, k);
            double right = is_left_out ? 0 : expected[k];
            if (!(fabs(own - right) <= 4 * b->tolerance * terms))
                fail_msg("%s %s%s, %zu links: gradient of row %zu, column %zu is %.12g, not %.12g",
                         b->twin.model, b->twin.aggregate, b->twin.is_weighted ? " weighted" : "",
                         b->count, row, k, own, right);
        }
    }
}

static void check_hub(const char *model, enum shape shape, variant v, size_t count) {
    world w;
    bench b;
    open_world(&w, shape, count < ENTITIES ? ENTITIES : count, 11);
    make_links(&w, shape, count);
    open_bench(&b, &w, model, v, 0.1);
    load(&b, &w, count, 40);
    size_t some[40];
    for (size_t i = 0; i < COUNT_OF(some); i++)
        some[i] = i * i + i;
    assert_true(!has_equations(&b) || b.tolerance <= PROMISED);
    check_use(&b, (kg_left_out){NULL, 0});
    for (size_t i = 0; i < 3 && some[i] < count; i++)
        check_use(&b, (kg_left_out){&some[i], 1});
    if (some[COUNT_OF(some) - 1] < count)
        check_use(&b, (kg_left_out){some, COUNT_OF(some)});
    const size_t last[] = {count - 2, count - 1};
    if (count > 2)
        check_use(&b, (kg_left_out){last, 2});
    if (count > 1 && has_equations(&b))
        check_hub_gradients(&b, (kg_left_out){some, 1});
    close_bench(&b);
    close_world(&w);
}

/* Both sides of the dimension, and of what is solved afresh for each use. */
static void test_hub(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, DIM - 1, DIM, DIM + 1, 48, 49, 300};
    static const enum shape shapes[] = {RANDOM, COLLINEAR};
    for (const kg_scoring *kind = kg__scorings; kind->name != NULL && !kind->is_encoded; kind++)
        for (size_t v = 0; v < COUNT_OF(variants); v++)
            for (size_t shape = 0; shape < COUNT_OF(shapes); shape++)
                for (size_t i = 0; i < COUNT_OF(sizes); i++)
                    check_hub(kind->name, shapes[shape], variants[v], sizes[i]);
}

static void test_large_hub(void **state) {
    (void)state;
    static const enum shape shapes[] = {RANDOM, ZERO_ROWS, COLLINEAR, EQUAL, OPPOSITE, ONE_LONG};
    for (size_t v = 0; v < COUNT_OF(variants); v++)
        check_hub("complex", RANDOM, variants[v], HUB);
    for (size_t i = 1; i < COUNT_OF(shapes);
         i++) /* each with two of the three that solve equations */
        for (size_t v = i; v < i + 2; v++)
            check_hub("complex", shapes[i], variants[2 + v % 3], HUB);
    size_t v = 0;
    for (const kg_scoring *kind = kg__scorings; kind->name != NULL && !kind->is_encoded;
         kind++, v++)
        check_hub(kind->name, v % 2 == 0 ? RANDOM : COLLINEAR, variants[2 + v % 3], LARGE_HUB);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_shapes),
        cmocka_unit_test(test_no_cancellation),
        cmocka_unit_test(test_ridges),
        cmocka_unit_test(test_hub),
        cmocka_unit_test(test_large_hub),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_zero_row_has_no_gradient),
    };
    if (kg__linear_set_up(1, NULL) != KG_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
