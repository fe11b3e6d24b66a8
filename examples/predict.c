/* What else is true of something new? Reads facts about entities that a model does not know, and
 * prints the best links of each: head, relation, tail, score and probability, separated by tabs.
 *
 *     cc predict.c -o predict $(pkg-config --cflags --libs kgraft)
 *     ./predict MODEL FACTS             links of any relation; the model must be calibrated
 *     ./predict MODEL FACTS RELATION    tails of one relation
 *
 * FACTS is TSV: head, relation, tail. One end of each fact is known to the model, the other new. */
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
    fprintf(stderr, "predict: %s\n", kg_error_text(text, sizeof text, error));
    exit(1);
}

static kg_id find_relation(const kg_model *model, const char *name) {
    kg_id id = kg_model_find_relation(model, (kg_text){name, strlen(name)});
    if (id == KG_NO_ID) {
        fprintf(stderr, "predict: the model has no relation %s\n", name);
        exit(1);
    }
    return id;
}

/* The answer as a fact, of which the new entity is the head or the tail. */
static void print_answer(const kg_model *model, kg_text new_entity, kg_answer answer) {
    kg_text relation = kg_model_relation_name(model, kg_directed_relation(answer.directed));
    kg_text other = kg_model_entity_name(model, answer.entity);
    bool is_head = kg_directed_end(answer.directed) == KG_HEAD;
    kg_text head = is_head ? new_entity : other;
    kg_text tail = is_head ? other : new_entity;
    printf("%.*s\t%.*s\t%.*s\t%.9g\t%.9g\n", (int)head.length, head.bytes, (int)relation.length,
           relation.bytes, (int)tail.length, tail.bytes, (double)answer.score,
           (double)answer.probability);
}

int main(int count, char **words) {
    if (count != 3 && count != 4) {
        fprintf(stderr, "usage: predict MODEL FACTS [RELATION]\n");
        return 2;
    }
    kg_error error;
    kg_model *model = NULL;
    check(kg_model_open(&model, words[1], &error), &error);

    kg_new_entities *new_entities = NULL;
    const kg_new_entities_options reading = KG_NEW_ENTITIES_OPTIONS_INIT;
    check(kg_new_entities_open(&new_entities, model, &reading, &error), &error);
    check(kg_new_entities_read(new_entities, words[2], &error), &error);
    check(kg_new_entities_finish(NULL, new_entities, &error), &error);

    kg_workspace *workspace = NULL; /* in a program with threads, each has its own */
    const kg_workspace_options working = KG_WORKSPACE_OPTIONS_INIT;
    check(kg_workspace_open(&workspace, model, &working, &error), &error);

    kg_request request = KG_REQUEST_INIT;
    request.tails = true;
    if (count == 4)
        request.relation = find_relation(model, words[3]);
    else
        request.heads = true;

    /* Many requests in one call would be faster, since they share the work. */
    for (size_t i = 0; i < kg_new_entities_count(new_entities); i++) {
        kg_answer answers[MOST];
        size_t found = 0;
        request.subject.links = kg_new_entities_links(&request.subject.count, new_entities, i);
        check(kg_workspace_predict(answers, &found, workspace, &request, 1, MOST, &error), &error);
        for (size_t k = 0; k < found; k++)
            print_answer(model, kg_new_entities_name(new_entities, i), answers[k]);
    }

    kg_workspace_close(workspace);
    kg_new_entities_close(new_entities);
    kg_model_close(model);
    return 0;
}
