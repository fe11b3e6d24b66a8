/* The live graph by the public interface: what is answered depends on the live facts alone, in
 * whatever order they came, and is what a model on the same graph made from scratch answers. */
#include "answer_text.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "live/later_rows.h"

static void order_does_not_matter(void **state) {
    (void)state;
    fact_set *base = make_base();
    for (size_t i = 0; i < MODELS; i++)
        for (uint64_t seed = 1; seed < (IS_SANITIZED ? 2 : 4); seed++) {
            fact_set *target = make_target(seed, seed == 3 ? LATER : 6);
            fact_set *detour = make_target(seed + 10, 20);
            kg_live *one = open_live(models[i]);
            kg_live *other = open_live(models[i]);
            commit_randomly(one, base, target, seed, SIZE_MAX);
            commit_randomly(other, base, detour, seed + 20, 5);
            commit_randomly(other, detour, target, seed + 30, 3);
            char *expected = live_answers(one, 1);
            char *bare = answers_of(models[i], 1);
            assert_string_not_equal(expected, bare);
            assert_same_text(expected, live_answers(other, 2));
            commit_randomly(other, target, base, seed + 40, 4);
            assert_same_text(bare, live_answers(other, 1));
            kg_live_close(one);
            kg_live_close(other);
            free(target);
            free(detour);
        }
    free(base);
}

/* ---- Rows of what came later ---- */

/* Levels by what is linked with what; those without one are 99. */
static void find_levels(int level[ALL], const fact_set *live) {
    for (size_t i = 0; i < ALL; i++)
        level[i] = i < OWN ? 0 : 99;
    for (int k = 1; k <= KG_MOST_LEVELS; k++)
        for (size_t i = OWN; i < ALL; i++)
            for (size_t j = 0; j < ALL && level[i] > k; j++)
                for (size_t r = 0; r < RELATIONS; r++)
                    if ((live->has[i][r][j] || live->has[j][r][i]) && level[j] == k - 1)
                        level[i] = k;
}

/* The facts of an entity with those of lower levels, or of the model's own with each other; at most
 * so many, at equal distances. */
static size_t list_facts(kg_link *out, const fact_set *facts, const int level[ALL],
                         const kg_model *snapshot, size_t i, size_t most) {
    size_t count = 0;
    for (size_t j = 0; j < ALL; j++)
        for (size_t r = 0; r < RELATIONS && j != i && (level[j] < level[i] || (i < OWN && j < OWN));
             r++) {
            kg_id id = kg_model_find_entity(snapshot, name_of(j));
            if (facts->has[i][r][j])
                out[count++] = (kg_link){kg_direct((kg_id)r, KG_HEAD), id};
            if (facts->has[j][r][i])
                out[count++] = (kg_link){kg_direct((kg_id)r, KG_TAIL), id};
        }
    count = kg_links_sort(out, count);
    kg__links_order(out, count, &snapshot->entities);
    size_t kept = 0;
    for (size_t k = 0; k < count; k += (count + most - 1) / most)
        out[kept++] = out[k];
    return kept;
}

struct rows_world {
    const kg_model *snapshot;
    kg_workspace *workspace;
    const fact_set *kept; /* facts of the model that are live */
    const fact_set *live;
    int level[ALL];
};

static size_t number_of(const kg_model *snapshot, kg_id id) {
    size_t i = 0;
    while (kg_model_find_entity(snapshot, name_of(i)) != id)
        i++;
    return i;
}

/* What the other end of a link asks; false if it has no facts to ask by. */
static bool ask(real *vector, const struct rows_world *world, kg_link link) {
    const kg_params *params = &world->snapshot->params;
    kg_link facts[MOST_FACTS];
    float z[MOST_FACTS];
    size_t who = number_of(world->snapshot, link.other);
    size_t count = list_facts(facts, who < OWN ? world->kept : world->live, world->level,
                              world->snapshot, who, KG_MOST_ASKING);
    count = kg_links_sort(facts, count);
    kg_subject subject = {KG_NO_ID, facts, count};
    const real *asking = kg__entity_row(params, link.other);
    if (kg__live_generation(world->snapshot->live)->row_fit.is_by_facts) {
        if (count == 0)
            return false;
        assert_ok(kg_workspace_embed(z, world->workspace, subject, link.directed ^ 1, NULL), NULL);
        asking = z;
    }
    kg__query_vector_adjoint(params, vector, link.directed ^ 1, asking);
    return true;
}

/* Where the sum of squares is least, its gradient is 0. */
static void assert_fitted(const struct rows_world *world, size_t i) {
    const kg_row_fit *fit = &kg__live_generation(world->snapshot->live)->row_fit;
    size_t dim = world->snapshot->params.dim;
    kg_id id = kg_model_find_entity(world->snapshot, name_of(i));
    const real *row = kg__entity_row(&world->snapshot->params, id);
    kg_text name = name_of(i);
    uint64_t bits = kg__random(kg__name_of(name.bytes, name.length).hash, KG_STREAM_LATER_ROWS, 0);
    kg_link links[MOST_FACTS];
    real vector[MOST_FACTS];
    double gradient[MOST_FACTS];
    double scale = 0;
    for (size_t k = 0; k < dim; k++)
        gradient[k] =
            fit->ridge * ((double)row[k] - ((bits >> k & 1) != 0 ? fit->size : -fit->size));
    size_t count = list_facts(links, world->live, world->level, world->snapshot, i, KG_MOST_FITTED);
    for (size_t f = 0; f < count; f++) {
        double error = fit->target;
        if (!ask(vector, world, links[f]))
            continue;
        for (size_t k = 0; k < dim; k++)
            error -= (double)vector[k] * (double)row[k];
        for (size_t k = 0; k < dim; k++) {
            gradient[k] -= error * (double)vector[k];
            scale = fmax(scale, fabs(fit->target * (double)vector[k]));
        }
    }
    for (size_t k = 0; k < dim; k++)
        assert_true(fabs(gradient[k]) <= 1e-4 * scale);
}

static void rows_fit_the_questions_that_facts_answer(void **state) {
    (void)state;
    fact_set *base = make_base();
    fact_set *target = make_target(2, 20);
    fact_set *kept = make_base();
    for (size_t i = 0; i < (size_t)ALL * RELATIONS * ALL; i++)
        (&kept->has[0][0][0])[i] &= (&target->has[0][0][0])[i];
    for (size_t i = 0; i < 2; i++) { /* by facts, and by rows */
        kg_live *live = open_live(models[i]);
        commit_randomly(live, base, target, 7, 9);
        kg_model *snapshot = snapshot_of(live);
        struct rows_world world = {snapshot, open_workspace(snapshot, 1), kept, target, {0}};
        size_t fitted = 0;
        find_levels(world.level, target);
        for (size_t v = OWN; v < ALL; v++)
            if (world.level[v] < 99) {
                assert_fitted(&world, v);
                fitted++;
            }
        assert_true(kg__live_generation(live)->row_fit.ridge > 0 && fitted > 10);
        kg_workspace_close(world.workspace);
        kg_model_close(snapshot);
        kg_live_close(live);
    }
    free(kept);
    free(target);
    free(base);
}

/* ---- Facts about the model's own ---- */

/* Of a fact with relation 0, whether it is known or not. */
static float score_of(const kg_model *model, size_t head, size_t tail) {
    kg_workspace *workspace = open_workspace(model, 1);
    kg_request request = KG_REQUEST_INIT;
    kg_answer answers[OWN];
    size_t found = 0;
    request.subject.entity = kg_model_find_entity(model, name_of(head));
    request.relation = 0;
    request.tails = request.keep_known = true;
    assert_ok(kg_workspace_predict(answers, &found, workspace, &request, 1, OWN, NULL), NULL);
    kg_workspace_close(workspace);
    for (size_t i = 0; i < found; i++)
        if (answers[i].entity == kg_model_find_entity(model, name_of(tail)))
            return answers[i].score;
    fail_msg("a%zu has no score", tail);
    return 0;
}

/* Models that ask by rows, too. What is added scores higher than before, what is withdrawn lower.
 */
static void rows_follow_facts(void **state) {
    (void)state;
    const kg_model *model = models[1];
    kg_live *live = open_live(model);
    kg_changes *changes = NULL;
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    fact_set *base = make_base();
    size_t gone = 0;
    while (!base->has[5][0][gone])
        gone++;
    change(changes, 5, 0, 17, true);
    change(changes, 5, 0, gone, false);
    commit(changes, NULL);
    kg_model *snapshot = snapshot_of(live);
    assert_true(score_of(snapshot, 5, 17) > score_of(model, 5, 17));
    assert_true(score_of(snapshot, 5, gone) < score_of(model, 5, gone));
    kg_model_close(snapshot);
    kg_changes_close(changes);
    kg_live_close(live);
    free(base);
}

/* ---- A model on the same graph, made from scratch ---- */

struct twin {
    kg_model model;
    real *rows;
};

static int compare_names(const void *a, const void *b) {
    return strcmp(name_of(*(const size_t *)a).bytes, name_of(*(const size_t *)b).bytes);
}

static void number_entities(kg_id ids[ALL], kg_names *names, const kg_model *snapshot) {
    size_t later[LATER];
    size_t count = 0;
    for (size_t i = OWN; i < ALL; i++)
        if (kg_model_find_entity(snapshot, name_of(i)) != KG_NO_ID)
            later[count++] = i;
    qsort(later, count, sizeof *later, compare_names);
    for (kg_id i = 0; i < OWN; i++) { /* the model's own ids */
        kg_text name = kg_model_entity_name(snapshot, i);
        kg_id id = 0;
        assert_ok(kg__names_intern(names, &id, kg__name_of(name.bytes, name.length), NULL), NULL);
    }
    for (size_t i = 0; i < count; i++) {
        kg_text name = name_of(later[i]);
        kg_id id = 0;
        assert_ok(kg__names_intern(names, &id, kg__name_of(name.bytes, name.length), NULL), NULL);
    }
    for (size_t i = 0; i < ALL; i++) {
        kg_text name = name_of(i);
        ids[i] = kg__names_find(names, kg__name_of(name.bytes, name.length));
    }
}

static struct twin *open_twin(const kg_model *base, const kg_model *snapshot,
                              const fact_set *live) {
    struct twin *twin = calloc(1, sizeof *twin);
    kg_model *model = &twin->model;
    kg_id ids[ALL];
    size_t dim = base->params.dim;
    kg_triples triples = {0};
    *model = *base;
    model->entities = (kg_names){0};
    number_entities(ids, &model->entities, snapshot);
    size_t count = model->entities.count;
    for (size_t h = 0; h < ALL; h++)
        for (size_t r = 0; r < RELATIONS; r++)
            for (size_t t = 0; t < ALL; t++)
                if (live->has[h][r][t])
                    assert_ok(
                        kg__triples_push(&triples, (kg_triple){ids[h], (kg_id)r, ids[t]}, NULL),
                        NULL);
    assert_ok(kg__adjacency_make(&model->listed, &triples, count, KG_WITH_REFLEXIVE, NULL), NULL);
    assert_ok(kg__adjacency_make(&model->graph, &triples, count, KG_WITHOUT_REFLEXIVE, NULL), NULL);
    kg__triples_free(&triples);
    model->known = (kg_known_facts){.links = model->listed.links,
                                    .starts = model->listed.starts,
                                    .link_count = (size_t)model->listed.starts[count],
                                    .entity_count = count,
                                    .relation_count = RELATIONS,
                                    .path = "twin"};
    if (base->params.graph != NULL)
        model->params.graph = &model->graph;
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (base->params.terms[i].counted != NULL && kg__terms[i]->move != NULL)
            assert_ok(kg__terms[i]->move(&model->params.terms[i], &base->params.terms[i],
                                         &model->graph, NULL),
                      NULL);
    if (dim == 0)
        return twin;
    twin->rows = calloc(count * dim, sizeof *twin->rows);
    for (size_t i = 0; i < ALL; i++)
        if (ids[i] != KG_NO_ID)
            memcpy(twin->rows + ids[i] * dim,
                   kg__entity_row(&snapshot->params, kg_model_find_entity(snapshot, name_of(i))),
                   dim * sizeof *twin->rows);
    model->params.entities = twin->rows;
    return twin;
}

static void close_twin(struct twin *twin, const kg_model *base) {
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (twin->model.params.terms[i].counted != base->params.terms[i].counted)
            twin->model.params.terms[i].learned->close(&twin->model.params.terms[i]);
    kg__adjacency_free(&twin->model.listed);
    kg__adjacency_free(&twin->model.graph);
    kg__names_free(&twin->model.entities);
    free(twin->rows);
    free(twin);
}

/* A model that asks by rows corrects those of entities whose facts have changed: it has no twin. */
static void a_model_on_the_merged_graph_answers_the_same(void **state) {
    (void)state;
    fact_set *base = make_base();
    for (size_t i = 0; i < MODELS; i += 2)
        for (uint64_t seed = 1; seed < (IS_SANITIZED ? 2 : 5); seed++) {
            fact_set *target = make_target(seed, seed == 4 ? LATER : 5 * (seed - 1));
            kg_live *live = open_live(models[i]);
            commit_randomly(live, base, target, seed + 50, 7);
            kg_model *snapshot = snapshot_of(live);
            struct twin *twin = open_twin(models[i], snapshot, target);
            char *expected = answers_of(&twin->model, 1);
            assert_same_text(expected, answers_of(snapshot, 1));
            close_twin(twin, models[i]);
            kg_model_close(snapshot);
            kg_live_close(live);
            free(target);
        }
    free(base);
}

static void workspaces_move(void **state) {
    (void)state;
    fact_set *base = make_base();
    for (size_t i = 0; i < MODELS; i++) {
        kg_live *live = open_live(models[i]);
        kg_model *before = snapshot_of(live);
        kg_workspace *workspace = open_workspace(before, 1);
        fact_set *last = make_base();
        for (uint64_t seed = 1; seed < (IS_SANITIZED ? 2 : 6); seed++) {
            fact_set *target = make_target(seed, seed == 3 ? LATER : 4 * seed);
            free(read_answers(before, workspace, true)); /* what it keeps is old then */
            commit_randomly(live, last, target, seed, 9);
            kg_model *after = snapshot_of(live);
            assert_ok(kg_workspace_move(workspace, after, NULL), NULL);
            kg_model_close(before);
            before = after;
            assert_same_text(answers_of(after, 1), read_answers(after, workspace, true));
            free(last);
            last = target;
        }
        kg_error error = {0};
        assert_int_equal(KG_BAD_INPUT, kg_workspace_move(workspace, models[i], &error));
        kg_workspace_close(workspace);
        kg_model_close(before);
        kg_live_close(live);
        free(last);
    }
    free(base);
}

static size_t ask_about(kg_answer *answers, kg_workspace *workspace, kg_id entity) {
    kg_request request = KG_REQUEST_INIT;
    size_t found = 0;
    request.subject.entity = entity;
    request.relation = 1;
    request.tails = true;
    assert_ok(kg_workspace_predict(answers, &found, workspace, &request, 1, OWN, NULL), NULL);
    return found;
}

/* What is kept of an entity for the next query about it is of one snapshot: a fact of others makes
 * another answer, as soon as the workspace has moved. */
static void workspaces_move_while_one_entity_is_asked(void **state) {
    (void)state;
    fact_set *base = make_base();
    for (size_t i = 0; i < MODELS; i++) {
        kg_live *live = open_live(models[i]);
        kg_model *before = snapshot_of(live);
        kg_workspace *workspace = open_workspace(before, 1);
        for (size_t e = 0; e < OWN; e++) {
            kg_answer expected[OWN];
            kg_answer found[OWN];
            kg_changes *changes = NULL;
            size_t other = (e + 2) % OWN;
            ask_about(found, workspace, kg_model_find_entity(before, name_of(e)));
            assert_ok(kg_changes_open(&changes, live, NULL), NULL);
            change(changes, (e + 1) % OWN, 0, other, !base->has[(e + 1) % OWN][0][other]);
            commit(changes, NULL);
            kg_changes_close(changes);
            kg_model *after = snapshot_of(live);
            assert_ok(kg_workspace_move(workspace, after, NULL), NULL);
            kg_model_close(before);
            before = after;
            kg_workspace *fresh = open_workspace(after, 1);
            size_t count = ask_about(expected, fresh, kg_model_find_entity(after, name_of(e)));
            assert_int_equal(count,
                             ask_about(found, workspace, kg_model_find_entity(after, name_of(e))));
            assert_memory_equal(found, expected, count * sizeof *found);
            kg_workspace_close(fresh);
        }
        kg_workspace_close(workspace);
        kg_model_close(before);
        kg_live_close(live);
    }
    free(base);
}

/* Lists, and for each of the facts the rank that evaluation would give it. */
static char *write_alone(const kg_model *model, kg_subject subject, const kg_link *links,
                         size_t count) {
    char *answered = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&answered, &length);
    kg_workspace *workspace = open_workspace(model, 1);
    for (kg_directed d = 0; d < 2 * RELATIONS; d++) {
        kg_answer answers[MOST];
        size_t found = 0;
        kg_request request = request_for(subject, d);
        assert_ok(kg_workspace_predict(answers, &found, workspace, &request, 1, MOST, NULL), NULL);
        write_answers(file, model, answers, found);
    }
    for (size_t i = 0; i < count; i++)
        write_explanation(file, model, workspace, subject, links[i]);
    kg_workspace_close(workspace);
    fclose(file);
    return answered;
}

static void alone_is_as_unseen(void **state) {
    (void)state;
    uint64_t seed = 5;
    for (size_t i = 0; i < MODELS; i++)
        for (size_t number = OWN; number < OWN + 6; number++) {
            kg_link links[6];
            size_t count = 0;
            kg_live *live = open_live(models[i]);
            kg_changes *changes = NULL;
            assert_ok(kg_changes_open(&changes, live, NULL), NULL);
            for (size_t k = 0; k < number - OWN + 1; k++) {
                size_t relation = next_random(&seed) % RELATIONS;
                size_t other = next_random(&seed) % OWN;
                bool is_head = next_random(&seed) % 2 == 0;
                change(changes, is_head ? number : other, relation, is_head ? other : number, true);
                links[count++] = (kg_link){kg_direct((kg_id)relation, is_head ? KG_HEAD : KG_TAIL),
                                           kg_model_find_entity(models[i], name_of(other))};
            }
            commit(changes, NULL);
            count = kg_links_sort(links, count);
            kg_model *snapshot = snapshot_of(live);
            kg_subject added = {.entity = kg_model_find_entity(snapshot, name_of(number))};
            char *expected =
                write_alone(models[i], (kg_subject){KG_NO_ID, links, count}, links, count);
            assert_same_text(expected, write_alone(snapshot, added, links, count));
            kg_model_close(snapshot);
            kg_changes_close(changes);
            kg_live_close(live);
        }
}

/* ---- Many rows at once ---- */

#define MANY 700

static kg_text many_name(size_t i) {
    static _Thread_local char names[2][16];
    char *name = names[i % 2];
    snprintf(name, 16, "many%zu", i);
    return (kg_text){name, strlen(name)};
}

/* In transactions of so many entities, some of which hang on others. */
static kg_live *add_many(size_t batch) {
    kg_live *live = open_live(models[0]);
    kg_changes *changes = NULL;
    const kg_text likes = {"likes", 5};
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    for (size_t i = 0; i < MANY; i++) {
        kg_text other = i % 4 == 0 ? name_of(i * 7 % OWN) : many_name(i - 1);
        assert_ok(kg_changes_add(changes, many_name(i), likes, other, NULL), NULL);
        if (i % batch == batch - 1 || i == MANY - 1)
            commit(changes, NULL);
    }
    kg_changes_close(changes);
    return live;
}

/* Threads share rows of one commit, and make the rows of many. */
static void threads_make_the_same_rows(void **state) {
    (void)state;
    int before = omp_get_max_threads();
    kg_live *few = add_many(50);
    omp_set_num_threads(3);
    kg_live *many = add_many(MANY);
    omp_set_num_threads(before);
    kg_model *one = snapshot_of(few);
    kg_model *other = snapshot_of(many);
    for (size_t i = 0; i < MANY; i++) {
        kg_id a = kg_model_find_entity(one, many_name(i));
        kg_id b = kg_model_find_entity(other, many_name(i));
        assert_true(a != KG_NO_ID && b != KG_NO_ID);
        assert_memory_equal(kg__entity_row(&one->params, a), kg__entity_row(&other->params, b),
                            one->params.dim * sizeof(real));
    }
    kg_model_close(one);
    kg_model_close(other);
    kg_live_close(few);
    kg_live_close(many);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_make_the_same_rows),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(rows_fit_the_questions_that_facts_answer),
        cmocka_unit_test(rows_follow_facts),
        cmocka_unit_test(a_model_on_the_merged_graph_answers_the_same),
        cmocka_unit_test(workspaces_move),
        cmocka_unit_test(workspaces_move_while_one_entity_is_asked),
        cmocka_unit_test(alone_is_as_unseen),
    };
    return cmocka_run_group_tests(tests, open_live_world, close_live_world);
}
