/* A model on a graph that it never saw: prints the best tails of an entity's relation there, with
 * their scores, separated by tabs.
 *
 *     cc other_graph.c -o other_graph $(pkg-config --cflags --libs kgraft)
 *     ./other_graph MODEL GRAPH ENTITY RELATION
 *
 * MODEL has propagation among its terms. GRAPH is anything that kgraft import takes, such as TSV of
 * head, relation and tail; its relations are known to the model, its entities need not be. */
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
    fprintf(stderr, "other_graph: %s\n", kg_error_text(text, sizeof text, error));
    exit(1);
}

static kg_id must_know(kg_id id, const char *name) {
    if (id == KG_NO_ID) {
        fprintf(stderr, "other_graph: %s is not known\n", name);
        exit(1);
    }
    return id;
}

int main(int count, char **words) {
    if (count != 5) {
        fprintf(stderr, "usage: other_graph MODEL GRAPH ENTITY RELATION\n");
        return 2;
    }
    kg_error error;
    kg_model *trained = NULL;
    kg_model *model = NULL; /* entities, facts and answers are those of the graph */
    const kg_graph_options reading = KG_GRAPH_OPTIONS_INIT;
    check(kg_model_open(&trained, words[1], &error), &error);
    check(kg_model_open_on_graph(&model, NULL, trained, words[2], &reading, &error), &error);

    kg_workspace *workspace = NULL;
    const kg_workspace_options working = KG_WORKSPACE_OPTIONS_INIT;
    check(kg_workspace_open(&workspace, model, &working, &error), &error);

    kg_text entity = {words[3], strlen(words[3])};
    kg_text relation = {words[4], strlen(words[4])};
    kg_request request = KG_REQUEST_INIT;
    request.subject.entity = must_know(kg_model_find_entity(model, entity), words[3]);
    request.relation = must_know(kg_model_find_relation(model, relation), words[4]);
    request.tails = true;

    kg_answer answers[MOST];
    size_t found = 0;
    check(kg_workspace_predict(answers, &found, workspace, &request, 1, MOST, &error), &error);
    for (size_t k = 0; k < found; k++) {
        kg_text name = kg_model_entity_name(model, answers[k].entity);
        printf("%.*s\t%.9g\n", (int)name.length, name.bytes, (double)answers[k].score);
    }

    kg_workspace_close(workspace);
    kg_model_close(model); /* before the one that it was made of */
    kg_model_close(trained);
    return 0;
}
