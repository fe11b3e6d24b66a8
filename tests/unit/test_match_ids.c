/* Models and data sets with other ids: data sets are renumbered, or rows copied. */
#include <string.h>

#include "model/match_ids.h"
#include "some_model.h"
#include "support.h"

static void write_propagated(world *w) {
    open_world(w);
    give_propagation(&w->params, &w->propagation);
    write_model(w, w->calibration);
}

static void assert_same_terms(const kg_aligned *aligned, const kg_model *model) {
    assert_memory_equal(aligned->params.terms, model->params.terms, sizeof model->params.terms);
    assert_ptr_equal(aligned->params.graph, model->params.graph);
}

/* As facts read. */
static void assert_same_facts(const kg_dataset *found, const kg_dataset *expected) {
    for (kg_part part = 0; part < KG_PART_COUNT; part++) {
        assert_int_equal(found->parts[part].count, expected->parts[part].count);
        for (size_t i = 0; i < expected->parts[part].count; i++) {
            kg_triple one = found->parts[part].items[i];
            kg_triple other = expected->parts[part].items[i];
            assert_same_name(&found->entities, one.head, &expected->entities, other.head);
            assert_same_name(&found->relations, one.relation, &expected->relations, other.relation);
            assert_same_name(&found->entities, one.tail, &expected->entities, other.tail);
        }
    }
}

/* A model keeps its ids, so a data set that has others gets them. */
static void test_alignment(void **state) {
    (void)state;
    static const char *const others[] = {"b r a\nb r c\nc s a\nd s e\na s e\n",
                                         "a s b\nb r c\nc s a\nd s e\na s e\n"};
    kg_error error = {0};
    kg_aligned aligned;
    kg_model model;
    world w;
    write_propagated(&w);
    assert_ok(kg__model_open(&model, MODEL, &error), &error);
    assert_ok(kg__model_align(&aligned, &model, &w.dataset, KG_UNSEEN_TEST, &error), &error);
    assert_same_terms(&aligned, &model);
    assert_ptr_equal(aligned.dataset, &w.dataset);
    kg__aligned_free(&aligned);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        kg_dataset other;
        make_dataset(&other, others[i]);
        assert_ok(kg__model_align(&aligned, &model, &other, KG_UNSEEN_TEST, &error), &error);
        assert_same_terms(&aligned, &model);
        assert_ptr_equal(aligned.params.entities, model.params.entities);
        assert_ptr_equal(aligned.dataset, &aligned.renumbered);
        assert_names(&aligned.dataset->entities, &model.entities, ENTITIES);
        assert_names(&aligned.dataset->relations, &model.relations, RELATIONS);
        assert_int_equal(kg__dataset_in_sample(aligned.dataset), ENTITIES);
        assert_same_facts(aligned.dataset, &other);
        kg__aligned_free(&aligned);
        kg__dataset_close(&other);
    }
    kg__model_close(&model);
    close_world(&w);
}

/* Entities that only the model knows are no candidates: the data set's come first, in its order. */
static void test_alignment_of_rows(void **state) {
    (void)state;
    static const size_t ids[] = {2, 0, 1}; /* the model's, of c, a and b */
    kg_error error = {0};
    kg_aligned aligned;
    kg_dataset other;
    kg_model model;
    world w;
    open_world(&w);
    write_model(&w, NULL);
    make_dataset(&other, "c s a\nb r a\na s b\n");
    assert_ok(kg__model_open(&model, MODEL, &error), &error);
    assert_ok(kg__model_align(&aligned, &model, &other, KG_UNSEEN_TEST, &error), &error);
    assert_int_equal(kg__dataset_in_sample(aligned.dataset), 3);
    assert_names(&aligned.dataset->entities, &other.entities, 3);
    assert_names(&aligned.dataset->relations, &model.relations, RELATIONS);
    assert_same_facts(aligned.dataset, &other);
    for (kg_id i = 0; i < 3; i++)
        assert_memory_equal(kg__entity_row(&aligned.params, i), w.entities + ids[i] * DIM,
                            DIM * sizeof *w.entities);
    assert_ptr_equal(aligned.params.relations, model.params.relations);
    kg__aligned_free(&aligned);
    kg__dataset_close(&other);
    kg__model_close(&model);
    close_world(&w);
}

/* A graph has its own ids, also of entities that only the model knows. */
static void test_alignment_of_fewer(void **state) {
    (void)state;
    kg_error error = {0};
    kg_aligned aligned;
    kg_dataset other;
    kg_model model;
    world w;
    write_propagated(&w);
    assert_ok(kg__model_open(&model, MODEL, &error), &error);
    make_dataset(&other, "b r a\nb r c\nc s a\n");
    assert_status(kg__model_align(&aligned, &model, &other, KG_UNSEEN_TEST, &error), KG_BAD_INPUT,
                  NULL);
    assert_error_text(&error,
                      "expected a data set of the model's 5 entities, since it has a graph of "
                      "them and the data set another order, found 3 of them");
    kg__dataset_close(&other);
    make_dataset(&other, "a r b\nb r f\nc s a\n");
    assert_status(kg__model_align(&aligned, &model, &other, KG_UNSEEN_TEST, &error), KG_BAD_INPUT,
                  NULL);
    assert_error_text(&error, "expected a model that knows the data set's entities, found that it "
                              "lacks 'f'");
    kg__dataset_close(&other);
    kg__model_close(&model);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_in_folder(test_alignment),
        test_in_folder(test_alignment_of_rows),
        test_in_folder(test_alignment_of_fewer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
