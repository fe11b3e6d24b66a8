/* What a commit to the live graph counts, and which facts and uses of a snapshot are refused. */
#include "live_world.h"

#include <stdlib.h>
#include <string.h>

static void commits_count(void **state) {
    (void)state;
    kg_live *live = open_live(models[0]);
    kg_changes *changes = NULL;
    kg_commit counts = KG_COMMIT_INIT;
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    change(changes, 0, 0, 1, true);   /* is there */
    change(changes, OWN, 0, 1, true); /* comes */
    change(changes, OWN, 0, 1, true); /* twice */
    change(changes, OWN + 1, 0, OWN, true);
    change(changes, OWN + 2, 1, 4, true); /* comes and goes */
    change(changes, OWN + 2, 1, 4, false);
    change(changes, 1, 0, 2, false);
    change(changes, 7, 0, 1, false); /* is not there */
    change(changes, OWN + 3, 0, OWN + 3, true);
    commit(changes, &counts);
    assert_int_equal(counts.added, 3);
    assert_int_equal(counts.removed, 1);
    assert_int_equal(counts.repeated, 1);
    assert_int_equal(counts.missing, 2);
    assert_int_equal(counts.entities_added, 3);
    assert_int_equal(counts.entities_removed, 0);
    kg_model *old = snapshot_of(live);
    kg_model_info info = KG_MODEL_INFO_INIT;
    assert_ok(kg_model_describe(&info, old, NULL), NULL);
    assert_int_equal(info.entities, OWN + 3);
    assert_int_equal(kg_model_find_entity(old, name_of(OWN + 2)), KG_NO_ID);
    change(changes, OWN, 0, 1, false);
    change(changes, OWN + 1, 0, OWN, false);
    commit(changes, &counts);
    assert_int_equal(counts.removed, 2);
    assert_int_equal(counts.entities_removed, 2);
    kg_model *new = snapshot_of(live);
    assert_int_equal(kg_model_find_entity(new, name_of(OWN)), KG_NO_ID);
    assert_int_equal(kg_model_find_entity(new, name_of(OWN + 3)), OWN);
    const kg_link *links = NULL;
    size_t count = 0;
    assert_ok(kg_model_links(&links, &count, new, OWN, NULL), NULL);
    assert_int_equal(count, 2); /* from both ends */
    assert_true(kg_model_find_entity(old, name_of(OWN)) !=
                KG_NO_ID); /* it still shows what it did */
    commit(changes, &counts);
    assert_int_equal(counts.added + counts.removed + counts.missing + counts.repeated, 0);
    kg_model_close(new);
    kg_model_close(old);
    kg_changes_close(changes);
    kg_live_close(live);
}

static void expect_refused(kg_changes *changes, const char *head, const char *relation,
                           const char *said) {
    kg_error error = {0};
    assert_int_equal(KG_BAD_INPUT,
                     kg_changes_add(changes, (kg_text){head, strlen(head)},
                                    (kg_text){relation, strlen(relation)}, name_of(0), &error));
    assert_non_null(strstr(error.message, said));
}

static void bad_facts_are_refused(void **state) {
    (void)state;
    kg_error error = {0};
    kg_live *live = open_live(models[0]);
    kg_changes *changes = NULL;
    kg_commit counts = KG_COMMIT_INIT;
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    expect_refused(changes, "b", "like", "'like', did you mean 'likes'?");
    expect_refused(changes, "", "likes", "empty");
    expect_refused(changes, "a\tb", "likes", "tab");
    commit(changes, &counts);
    assert_int_equal(counts.added + counts.unknown, 0);
    kg_model *snapshot = snapshot_of(live);
    kg_live *second = NULL;
    kg_live_options options = KG_LIVE_OPTIONS_INIT;
    assert_int_equal(KG_BAD_INPUT, kg_live_open(&second, snapshot, &options, &error));
    assert_null(second);
    kg_metrics metrics = KG_METRICS_INIT;
    kg_evaluation_options evaluation = KG_EVALUATION_OPTIONS_INIT;
    assert_int_equal(KG_BAD_INPUT,
                     kg_model_evaluate(&metrics, snapshot, "data", &evaluation, &error));
    kg_model_close(snapshot);
    kg_changes_close(changes);
    kg_live_close(live);

    options.skip_unknown = true;
    assert_ok(kg_live_open(&live, models[0], &options, &error), &error);
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    kg_text like = {"like", 4};
    assert_ok(kg_changes_add(changes, name_of(0), like, name_of(OWN), NULL), NULL);
    assert_ok(kg_changes_remove(changes, name_of(0), like, name_of(OWN), NULL), NULL);
    commit(changes, &counts);
    assert_int_equal(counts.unknown, 1);
    assert_int_equal(counts.missing, 1);
    assert_int_equal(counts.entities_added, 0);
    kg_changes_close(changes);
    kg_live_close(live);
}

/* One of the model's own is then predicted by its row, which is not made of facts. */
static void without_live_facts_nothing_is_explained(void **state) {
    (void)state;
    kg_error error = {0};
    kg_live *live = open_live(models[0]);
    kg_changes *changes = NULL;
    fact_set *base = make_base();
    fact_set *rest = make_base();
    for (size_t r = 0; r < RELATIONS; r++)
        for (size_t other = 0; other < OWN; other++)
            rest->has[3][r][other] = rest->has[other][r][3] = false;
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    collect_changes(changes, base, rest);
    commit(changes, NULL);
    kg_model *snapshot = snapshot_of(live);
    kg_workspace *workspace = open_workspace(snapshot, 1);
    kg_request request = KG_REQUEST_INIT;
    kg_explanation explanation = KG_EXPLANATION_INIT;
    kg_answer answers[4];
    size_t found = 0;
    request.subject.entity = kg_model_find_entity(snapshot, name_of(3));
    request.relation = 0;
    request.tails = true;
    assert_ok(kg_workspace_predict(answers, &found, workspace, &request, 1, 4, &error), &error);
    assert_int_equal(found, 4);
    kg_link target = {answers[0].directed, answers[0].entity};
    assert_int_equal(KG_BAD_INPUT, kg_workspace_explain(&explanation, workspace, request.subject,
                                                        target, &error));
    assert_non_null(strstr(error.message, "live facts, found none: it is predicted by its row"));
    kg_workspace_close(workspace);
    kg_model_close(snapshot);
    kg_changes_close(changes);
    kg_live_close(live);
    free(base);
    free(rest);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commits_count),
        cmocka_unit_test(bad_facts_are_refused),
        cmocka_unit_test(without_live_facts_nothing_is_explained),
    };
    return cmocka_run_group_tests(tests, open_live_world, close_live_world);
}
