/* Facts that come and go, on disk. Adds a fact about an entity to a store, asks what else is true
 * of it, withdraws the fact, and asks again: the tails of the relation and their scores, separated
 * by tabs, each time below a line with the number of the store's last change.
 *
 *     cc live.c -o live $(pkg-config --cflags --libs kgraft)
 *     ./live STORE HEAD RELATION TAIL
 *
 * A store is made by `kgraft store MODEL STORE`. HEAD may be new to it. */
#include <kgraft.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 10 };

/* Ends the program if something failed. */
static void check(kg_status status, const kg_error *error) {
    if (status == KG_OK)
        return;
    char text[KG_ERROR_TEXT_MAX];
    fprintf(stderr, "live: %s\n", kg_error_text(text, sizeof text, error));
    exit(1);
}

static kg_text text_of(const char *name) {
    return (kg_text){name, strlen(name)};
}

/* When this returns, the change is on disk. */
static void commit(kg_changes *changes) {
    kg_error error;
    kg_commit done = KG_COMMIT_INIT;
    check(kg_changes_commit(&done, changes, &error), &error);
    printf("change %lld\n", (long long)done.last);
}

/* A snapshot shows the graph as it is now, and never changes. */
static void ask(kg_live *live, const char *entity, const char *relation) {
    kg_error error;
    kg_model *model = NULL;
    kg_workspace *workspace = NULL;
    kg_answer answers[MOST];
    size_t found = 0;
    check(kg_live_snapshot(&model, live, &error), &error);
    kg_request request = KG_REQUEST_INIT;
    request.subject.entity = kg_model_find_entity(model, text_of(entity));
    request.relation = kg_model_find_relation(model, text_of(relation));
    request.tails = true;
    if (request.subject.entity == KG_NO_ID) {
        printf("no facts\n");
    } else {
        const kg_workspace_options working = KG_WORKSPACE_OPTIONS_INIT;
        check(kg_workspace_open(&workspace, model, &working, &error), &error);
        check(kg_workspace_predict(answers, &found, workspace, &request, 1, MOST, &error), &error);
    }
    for (size_t k = 0; k < found; k++) {
        kg_text name = kg_model_entity_name(model, answers[k].entity);
        printf("%.*s\t%.9g\n", (int)name.length, name.bytes, (double)answers[k].score);
    }
    kg_workspace_close(workspace);
    kg_model_close(model);
}

int main(int count, char **words) {
    if (count != 5) {
        fprintf(stderr, "usage: live STORE HEAD RELATION TAIL\n");
        return 2;
    }
    kg_error error;
    kg_live *live = NULL;
    const kg_live_options opening = KG_LIVE_OPTIONS_INIT;
    check(kg_live_open_store(&live, words[1], &opening, &error), &error);

    kg_changes *changes = NULL;
    kg_text head = text_of(words[2]);
    kg_text relation = text_of(words[3]);
    kg_text tail = text_of(words[4]);
    check(kg_changes_open(&changes, live, &error), &error);
    check(kg_changes_add(changes, head, relation, tail, &error), &error);
    commit(changes);
    ask(live, words[2], words[3]);
    check(kg_changes_remove(changes, head, relation, tail, &error), &error);
    commit(changes);
    ask(live, words[2], words[3]);

    kg_changes_close(changes);
    kg_live_close(live);
    return 0;
}
