/* Why an answer? Splits the score of a link of a new entity over the facts that are known about it,
 * and tells where the answer would rank without each of them. What no fact accounts for is
 * told apart, by the name of the term.
 *
 *     cc explain.c -o explain $(pkg-config --cflags --libs kgraft)
 *     ./explain MODEL FACTS RELATION ANSWER
 *
 * FACTS is TSV: head, relation, tail. The first entity in it that is new to the model is the head
 * of the link, ANSWER is its tail. */
#include <kgraft.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program if something failed. */
static void check(kg_status status, const kg_error *error) {
    if (status == KG_OK)
        return;
    char text[KG_ERROR_TEXT_MAX];
    fprintf(stderr, "explain: %s\n", kg_error_text(text, sizeof text, error));
    exit(1);
}

/* Ends the program if the model does not know a name. */
static kg_id check_known(kg_id id, const char *name) {
    if (id != KG_NO_ID)
        return id;
    fprintf(stderr, "explain: the model does not know %s\n", name);
    exit(1);
}

/* What a fact does for the score: its part, the rank without it, and the fact, in which a star
 * stands for the new entity. */
static void print_share(const kg_model *model, const kg_share *share) {
    kg_text relation = kg_model_relation_name(model, kg_directed_relation(share->link.directed));
    kg_text other = kg_model_entity_name(model, share->link.other);
    bool is_head = kg_directed_end(share->link.directed) == KG_HEAD;
    kg_text star = {"*", 1};
    kg_text head = is_head ? star : other;
    kg_text tail = is_head ? other : star;
    printf("%.9g\t%.9g\t%.*s\t%.*s\t%.*s\n", share->part, share->rank_without, (int)head.length,
           head.bytes, (int)relation.length, relation.bytes, (int)tail.length, tail.bytes);
}

int main(int count, char **words) {
    if (count != 5) {
        fprintf(stderr, "usage: explain MODEL FACTS RELATION ANSWER\n");
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

    kg_text relation = {words[3], strlen(words[3])};
    kg_text answer = {words[4], strlen(words[4])};
    kg_link asked = {
        .directed =
            kg_direct(check_known(kg_model_find_relation(model, relation), words[3]), KG_HEAD),
        .other = check_known(kg_model_find_entity(model, answer), words[4]),
    };
    kg_subject subject = {.entity = KG_NO_ID};
    subject.links = kg_new_entities_links(&subject.count, new_entities, 0);

    kg_workspace *workspace = NULL;
    const kg_workspace_options working = KG_WORKSPACE_OPTIONS_INIT;
    check(kg_workspace_open(&workspace, model, &working, &error), &error);

    kg_model_info info = KG_MODEL_INFO_INIT;
    check(kg_model_describe(&info, model, &error), &error);
    kg_explanation explanation = KG_EXPLANATION_INIT;
    explanation.share_capacity = subject.count; /* one for each fact */
    explanation.shares = calloc(subject.count, sizeof *explanation.shares);
    explanation.term_capacity = info.terms;
    explanation.terms = calloc(info.terms, sizeof *explanation.terms);
    if (explanation.shares == NULL || explanation.terms == NULL) {
        fprintf(stderr, "explain: out of memory\n");
        return 1;
    }
    check(kg_workspace_explain(&explanation, workspace, subject, asked, &error), &error);
    printf("%.9g\t%.9g\tscore and rank\n", explanation.score, explanation.rank);
    for (size_t i = 0; i < explanation.share_count; i++)
        print_share(model, &explanation.shares[i]);
    for (size_t i = 0; i < explanation.term_count; i++)
        if (explanation.terms[i].rest != 0)
            printf("%.9g\trest: %s\n", explanation.terms[i].rest, explanation.terms[i].name);

    free(explanation.shares);
    free(explanation.terms);
    kg_workspace_close(workspace);
    kg_new_entities_close(new_entities);
    kg_model_close(model);
    return 0;
}
