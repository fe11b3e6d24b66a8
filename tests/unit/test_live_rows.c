/* Which rows of entities that came later a commit makes, and what it reads for that: all that it
 * has to, as a graph with the same facts shows that was made in one commit, and little else. */
#include "live_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/later_rows.h"

/* ---- All that it has to ---- */

/* Facts that come and go: most between entities that came later, so that all levels are there. */
#define POOL 130
#define STEPS 150

static void make_pool(size_t pool[POOL][3], const fact_set *base, uint64_t *seed) {
    for (size_t i = 0; i < POOL; i++) {
        size_t *fact = pool[i];
        do {
            bool is_own = i < 30;
            fact[0] = is_own ? next_below(seed, OWN) : OWN + next_below(seed, LATER);
            fact[1] = next_below(seed, RELATIONS);
            fact[2] = i < 38 ? next_below(seed, OWN) : OWN + next_below(seed, LATER);
        } while (i < 25 && !base->has[fact[0]][fact[1]][fact[2]]);
    }
}

static size_t compare_with_fresh(const kg_model *snapshot, const kg_model *model,
                                 const fact_set *base, const fact_set *now) {
    kg_live *fresh = open_live(model);
    kg_changes *changes = NULL;
    size_t high = 0;
    assert_ok(kg_changes_open(&changes, fresh, NULL), NULL);
    collect_changes(changes, base, now);
    commit(changes, NULL);
    kg_model *expected = snapshot_of(fresh);
    for (size_t i = OWN; i < ALL; i++) {
        kg_id a = kg_model_find_entity(snapshot, name_of(i));
        kg_id b = kg_model_find_entity(expected, name_of(i));
        assert_int_equal(a == KG_NO_ID, b == KG_NO_ID);
        if (a == KG_NO_ID)
            continue;
        uint8_t level = kg__overlay_find(snapshot->graph.overlay, a)->level;
        assert_int_equal(level, kg__overlay_find(expected->graph.overlay, b)->level);
        assert_memory_equal(kg__entity_row(&snapshot->params, a),
                            kg__entity_row(&expected->params, b), model->params.dim * sizeof(real));
        high += level == KG_MOST_LEVELS;
    }
    kg_model_close(expected);
    kg_changes_close(changes);
    kg_live_close(fresh);
    return high;
}

static void rows_are_those_of_a_fresh_graph(void **state) {
    (void)state;
    uint64_t seed = 3;
    fact_set *base = make_base();
    for (size_t m = 0; m < 2; m++) { /* by facts, and by rows */
        size_t pool[POOL][3];
        fact_set *now = make_base();
        kg_live *live = open_live(models[m]);
        kg_changes *changes = NULL;
        size_t high = 0;
        make_pool(pool, base, &seed);
        assert_ok(kg_changes_open(&changes, live, NULL), NULL);
        for (size_t step = 0; step < STEPS; step++) {
            size_t flips = step == 0 ? POOL : 1 + next_below(&seed, 4);
            for (size_t i = 0; i < flips; i++) {
                const size_t *fact = pool[next_below(&seed, POOL)];
                bool *has = &now->has[fact[0]][fact[1]][fact[2]];
                *has = !*has;
                change(changes, fact[0], fact[1], fact[2], *has);
            }
            commit(changes, NULL);
            kg_model *snapshot = snapshot_of(live);
            high += compare_with_fresh(snapshot, models[m], base, now);
            kg_model_close(snapshot);
        }
        assert_true(high > STEPS);
        kg_changes_close(changes);
        kg_live_close(live);
        free(now);
    }
    free(base);
}

/* All facts of an entity of the model, but for what came later. */
static void change_base(kg_live *live, size_t entity, bool is_added) {
    fact_set *base = make_base();
    kg_changes *changes = NULL;
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    for (size_t r = 0; r < RELATIONS; r++)
        for (size_t other = 0; other < OWN; other++) {
            if (base->has[entity][r][other])
                change(changes, entity, r, other, is_added);
            if (base->has[other][r][entity])
                change(changes, other, r, entity, is_added);
        }
    commit(changes, NULL);
    kg_changes_close(changes);
    free(base);
}

static void copy_row(real *out, kg_live *live, size_t entity) {
    kg_model *snapshot = snapshot_of(live);
    kg_id id = kg_model_find_entity(snapshot, name_of(entity));
    assert_true(id != KG_NO_ID);
    memcpy(out, kg__entity_row(&snapshot->params, id), snapshot->params.dim * sizeof *out);
    kg_model_close(snapshot);
}

/* An entity without live facts asks nothing, so that the row of what hangs on it is as it starts;
 * facts that come again count as before, and others of such an entity do not. */
static void withdrawn_facts_ask_nothing(void **state) {
    (void)state;
    kg_live *live = open_live(models[0]);
    const kg_row_fit *fit = &kg__live_generation(live)->row_fit;
    size_t dim = models[0]->params.dim;
    kg_changes *changes = NULL;
    real before[64];
    real after[64];
    assert_true(dim <= 64);
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    change(changes, OWN, 0, 5, true);
    commit(changes, NULL);
    copy_row(before, live, OWN);
    change_base(live, 5, false);
    copy_row(after, live, OWN);
    for (size_t k = 0; k < dim; k++) {
        real size = (real)fit->size;
        assert_true(before[k] != after[k]);
        assert_true(after[k] == size || after[k] == -size);
    }
    change_base(live, 5, true);
    copy_row(after, live, OWN);
    assert_memory_equal(before, after, dim * sizeof *before);
    change(changes, 5, 1, 5 + OWN / 2, true);
    commit(changes, NULL);
    copy_row(after, live, OWN);
    assert_memory_equal(before, after, dim * sizeof *before);
    kg_changes_close(changes);
    kg_live_close(live);
}

/* ---- Little else ---- */

#define LEAVES (10 * KG_PAGE)

static void add_leaf(kg_changes *changes, size_t i) {
    char name[16];
    int length = snprintf(name, sizeof name, "leaf%zu", i);
    const kg_text hub = {"hub", 3};
    const kg_text likes = {"likes", 5};
    assert_ok(kg_changes_add(changes, (kg_text){name, (size_t)length}, likes, hub, NULL), NULL);
}

/* A hub that came later, with some facts, and what hangs on it alone. */
static kg_live *add_leaves(kg_changes **changes) {
    kg_live *live = open_live(models[0]);
    const kg_text hub = {"hub", 3};
    const kg_text knows = {"knows", 5};
    assert_ok(kg_changes_open(changes, live, NULL), NULL);
    for (size_t i = 0; i < 12; i++)
        assert_ok(kg_changes_add(*changes, hub, knows, name_of(i), NULL), NULL);
    for (size_t i = 0; i < LEAVES; i++)
        add_leaf(*changes, i);
    commit(*changes, NULL);
    return live;
}

/* Pages of rows that versions share are of rows that were not made again. */
static size_t count_new_pages(const kg_model *before, const kg_model *after) {
    const kg_pages *was = &before->params.later->rows;
    const kg_pages *is = &after->params.later->rows;
    size_t count = 0;
    for (size_t i = 0; i < is->count; i++)
        count += i >= was->count || was->pages[i] != is->pages[i];
    return count;
}

static void one_more_leaf_leaves_others_alone(void **state) {
    (void)state;
    kg_changes *changes = NULL;
    kg_live *live = add_leaves(&changes);
    kg_model *before = snapshot_of(live);
    assert_true(before->params.later->rows.count >= LEAVES / KG_PAGE);
    add_leaf(changes, LEAVES);
    commit(changes, NULL);
    kg_model *after = snapshot_of(live);
    assert_int_equal(count_new_pages(before, after), 1);
    kg_model_close(before);
    before = after;
    const kg_text hub = {"hub", 3};
    assert_ok(kg_changes_add(changes, hub, (kg_text){"knows", 5}, name_of(20), NULL), NULL);
    commit(changes, NULL);
    after = snapshot_of(live); /* what all of them are made of has changed */
    assert_true(count_new_pages(before, after) >= LEAVES / KG_PAGE);
    kg_model_close(before);
    kg_model_close(after);
    kg_changes_close(changes);
    kg_live_close(live);
}

static void a_hub_is_read_once(void **state) {
    (void)state;
    kg_changes *changes = NULL;
    kg_live *live = add_leaves(&changes);
    const kg_generation *generation = kg__live_generation(live);
    size_t base_links = generation->base->known.link_count;
    assert_true(generation->asking_read >= LEAVES);
    assert_true(generation->asking_read <= LEAVES + 12 + 3 * base_links);
    kg_changes_close(changes);
    kg_live_close(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_a_fresh_graph),
        cmocka_unit_test(withdrawn_facts_ask_nothing),
        cmocka_unit_test(one_more_leaf_leaves_others_alone),
        cmocka_unit_test(a_hub_is_read_once),
    };
    return cmocka_run_group_tests(tests, open_live_world, close_live_world);
}
