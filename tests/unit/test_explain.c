/* Explaining against the plain way: parts sum to the score, and ranks without a fact are those of
 * an entity that never had it. */
#include <math.h>
#include <stdlib.h>

#include "workspace_world.h"

/* The answer's realistic rank in the plain list. */
static double plain_rank(const kg_candidate *list, size_t count, kg_id answer) {
    size_t higher = 0;
    size_t equal = 0;
    real score = (real)NAN;
    for (size_t i = 0; i < count; i++)
        if (list[i].entity == answer)
            score = list[i].score;
    for (size_t i = 0; i < count; i++) {
        higher += list[i].score > score;
        equal += list[i].score == score;
    }
    return (double)(higher + 1) + (double)(equal - 1) / 2;
}

static void check_explain(const struct world *world, const char *aggregate, kg_link asked) {
    kg_workspace *workspace = open_workspace(world, aggregate, 1);
    kg_error error = {0};
    kg_explanation explanation;
    kg_share shares[LINKS];
    kg_candidate *list = must_allocate(ENTITIES, sizeof *list);
    float z[DIM];
    assert_ok(explain(&explanation, shares, workspace, new_entity(world), asked, &error), &error);
    double sum = 0;
    double magnitude = 0;
    for (size_t i = 0; i < LINKS; i++) {
        sum += shares[i].part;
        magnitude += fabs(shares[i].part);
        assert_int_equal(shares[i].link.directed, world->links[i].directed);
        assert_int_equal(shares[i].link.other, world->links[i].other);
    }
    assert_true(fabs(sum - explanation.score) <= 1e-9 * magnitude);

    /* Without each fact, and with all of them: as a fresh embedding ranks it, which never has the
     * fact that is asked for. */
    for (size_t left_out = 0; left_out <= LINKS; left_out++) {
        kg_link kept[LINKS];
        size_t count = 0;
        for (size_t i = 0; i < LINKS; i++)
            if (i != left_out &&
                !is_known(&asked, 1, world->links[i].directed, world->links[i].other))
                kept[count++] = world->links[i];
        kg_subject subject = {KG_NO_ID, kept, count};
        kg_end end = kg_directed_end(asked.directed);
        kg_request request = {sizeof(kg_request),
                              subject,
                              asked.directed / 2,
                              end == KG_TAIL,
                              end == KG_HEAD,
                              false,
                              false};
        assert_ok(kg_workspace_embed(z, workspace, subject, KG_NO_QUERY, &error), &error);
        size_t all = expect_answers(list, world, workspace, z, &request, kept, count);
        double expected = plain_rank(list, all, asked.other);
        double rank = left_out == LINKS ? explanation.rank : shares[left_out].rank_without;
        assert_true(rank == expected);
        real vector[DIM];
        kg__query_vector_adjoint(&world->model.params, vector, asked.directed, z);
        if (left_out == LINKS)
            assert_true(fabs((double)kg__dot(world->entities + asked.other * DIM, vector, DIM) -
                             explanation.score) < 1e-5);
    }
    free(list);
    kg_workspace_close(workspace);
}

static void test_explain(void **state) {
    (void)state;
    static const char *const models[] = {"distmult", "simple", "complex", "quate"};
    static const char *const aggregates[] = {"eavg", "eravg", "ls", "ls-u", "ials"};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        struct world *world = make_world(models[i]);
        for (size_t k = 0; k < COUNT_OF(aggregates); k++) {
            check_explain(world, aggregates[k], (kg_link){5, 42});
            check_explain(world, aggregates[k], (kg_link){0, 20}); /* ties with a known answer */
            check_explain(world, aggregates[k], (kg_link){8, 600});
            check_explain(world, aggregates[k], (kg_link){4, 88}); /* which is given */
        }
        free_world(world);
    }
}

static void test_single_fact(void **state) {
    (void)state;
    struct world *world = make_world("distmult");
    kg_workspace *workspace = open_workspace(world, "ls", 1);
    kg_error error = {0};
    kg_explanation explanation;
    kg_share share;
    kg_subject subject = {KG_NO_ID, world->links, 1};
    assert_ok(explain(&explanation, &share, workspace, subject, (kg_link){5, 42}, &error), &error);
    assert_true(isnan(share.rank_without) != 0);
    assert_true(fabs(share.part - explanation.score) <= 1e-12 * fabs(share.part));
    /* If that one is asked for, nothing is known. */
    assert_ok(explain(&explanation, &share, workspace, subject, world->links[0], &error), &error);
    assert_true(explanation.score == 0 && share.part == 0);
    assert_true(share.rank_without == explanation.rank);
    kg_workspace_close(workspace);
    free_world(world);
}

/* ---- Terms ---- */

/* Parts come to the score, those of a fact to its part, and those of a term to that of the term. */
static void check_parts(const kg_explanation *why) {
    double sum = 0;
    for (size_t i = 0; i < why->share_count; i++) {
        double own = 0;
        for (size_t k = 0; k < why->term_count; k++)
            own += why->shares[i].parts[k];
        assert_true(fabs(own - why->shares[i].part) < 1e-12);
        sum += why->shares[i].part;
    }
    for (size_t k = 0; k < why->term_count; k++) {
        const kg_score_term *term = &why->terms[k];
        double through = term->rest;
        for (size_t i = 0; i < why->share_count; i++)
            through += why->shares[i].parts[k];
        assert_true(fabs(through - term->part) < 1e-12);
        sum += term->rest;
    }
    assert_true(fabs(sum - why->score) < 1e-12);
}

/* Parts of an answer; and its rank without each fact, as if that had never been. */
static void check_answer(const struct grafted *grafted, kg_workspace *workspace, kg_link asked) {
    const struct world *world = grafted->world;
    kg_explanation why;
    kg_share shares[LINKS];
    kg_error error = {0};
    assert_ok(explain(&why, shares, workspace, new_entity(world), asked, &error), &error);
    check_parts(&why);

    double offsets[ENTITIES];
    double echoes = 0;
    expect_offsets(offsets, grafted, KG_NO_ID, world->links, LINKS,
                   kg__links_find(world->links, LINKS, asked), asked.directed);
    for (size_t i = 0; i < LINKS; i++)
        echoes += shares[i].parts[1];
    assert_true(fabs(offsets[asked.other] - echoes) < 1e-5);

    for (size_t left_out = 0; left_out < LINKS; left_out++) {
        kg_link kept[LINKS];
        kg_share others[LINKS];
        kg_explanation fresh;
        size_t count = 0;
        for (size_t i = 0; i < LINKS; i++)
            if (i != left_out)
                kept[count++] = world->links[i];
        kg_subject subject = {KG_NO_ID, kept, count};
        assert_ok(explain(&fresh, others, workspace, subject, asked, &error), &error);
        assert_true(fresh.rank == shares[left_out].rank_without);
        if (is_known(&world->links[left_out], 1, asked.directed, asked.other)) {
            assert_true(fresh.score == why.score && fresh.rank == why.rank);
            assert_true(shares[left_out].part == 0);
        }
    }
}

/* An entity of the model: what it is explained by is what it is predicted by, its facts; and a fact
 * as if it were not one. */
static void check_known(const struct grafted *grafted, kg_workspace *workspace, kg_id v,
                        kg_link asked) {
    size_t degree = kg__adjacency_degree(&grafted->some.graph, v);
    const kg_link *links = kg__adjacency_links(&grafted->some.graph, v);
    bool is_fact = is_known(links, degree, asked.directed, asked.other);
    kg_share *shares = must_allocate(degree, sizeof *shares);
    kg_answer *answers = must_allocate(ENTITIES, sizeof *answers);
    size_t found = 0;
    kg_explanation why;
    kg_error error = {0};
    kg_subject subject = {v, NULL, 0};
    assert_ok(explain(&why, shares, workspace, subject, asked, &error), &error);
    check_parts(&why);
    kg_end end = kg_directed_end(asked.directed);
    kg_request request = {sizeof(kg_request),
                          subject,
                          asked.directed / 2,
                          end == KG_TAIL,
                          end == KG_HEAD,
                          is_fact,
                          false};
    assert_ok(kg_workspace_predict(answers, &found, workspace, &request, 1, ENTITIES, &error),
              &error);
    double above = 0;
    double equal = 0;
    float score = NAN;
    for (size_t i = 0; i < found; i++)
        if (answers[i].entity == asked.other)
            score = answers[i].score;
    assert_true(fabs((double)score - why.score) < 1e-5);
    for (size_t i = 0; i < found; i++) {
        bool is_other = is_known(links, degree, asked.directed, answers[i].entity) ||
                        answers[i].entity == v || answers[i].entity == asked.other;
        above += !is_other && answers[i].score > score;
        equal += !is_other && answers[i].score == score;
    }
    /* Of a fact, others were scored with it; one that is not a number is not listed. */
    double rank = above + equal / 2 + 1;
    assert_true(is_fact || why.rank == rank || why.rank == rank + 1);
    for (size_t i = 0; i < degree; i++) {
        bool is_asked = is_known(&asked, 1, links[i].directed, links[i].other);
        assert_int_equal(shares[i].link.other, links[i].other);
        assert_true(!is_asked || (shares[i].part == 0 && shares[i].rank_without == why.rank));
    }
    free(answers);
    free(shares);
}

static void test_known_entities_are_explained(void **state) {
    (void)state;
    struct grafted *grafted = make_grafted(true);
    kg_workspace *workspace = open_workspace(grafted->world, "graft", 1);
    size_t facts = 0;
    for (kg_id v = 1; v < ENTITIES; v += 90) {
        const kg_link *links = kg__adjacency_links(&grafted->some.graph, v);
        size_t degree = kg__adjacency_degree(&grafted->some.graph, v);
        for (size_t i = 0; i < degree && i < 4; i++) {
            check_known(grafted, workspace, v, links[i]);
            kg_link other = {links[i].directed, (links[i].other + 7) % ENTITIES};
            if (other.other != v && !is_known(links, degree, other.directed, other.other))
                check_known(grafted, workspace, v, other);
            facts++;
        }
    }
    assert_true(facts > 10);
    kg_workspace_close(workspace);
    free_grafted(grafted);
}

static void test_echo_is_explained(void **state) {
    (void)state;
    struct grafted *grafted = make_grafted(false);
    kg_workspace *workspace = open_workspace(grafted->world, "graft", 1);
    size_t echoed = 0;
    for (kg_directed asked = 0; asked < 2 * RELATIONS; asked++) {
        double offsets[ENTITIES];
        expect_offsets(offsets, grafted, KG_NO_ID, grafted->world->links, LINKS, KG_NOTHING, asked);
        for (kg_id u = 5; u < ENTITIES; u += 41) {
            echoed += offsets[u] != 0;
            check_answer(grafted, workspace, (kg_link){asked, u});
        }
        for (kg_id u = 0; u < 12; u += 5) /* some of whom many facts lead to */
            check_answer(grafted, workspace, (kg_link){asked, u});
    }
    for (size_t i = 0; i < LINKS; i++) /* as if they were not given */
        check_answer(grafted, workspace, grafted->world->links[i]);
    assert_true(echoed > 0);
    kg_workspace_close(workspace);
    free_grafted(grafted);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_explain),
        cmocka_unit_test(test_single_fact),
        cmocka_unit_test(test_echo_is_explained),
        cmocka_unit_test(test_known_entities_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
