/* All that a model of the live world answers, as text without ids, so that models which number
 * entities differently can be compared bit by bit. */
#ifndef KG_TESTS_ANSWER_TEXT_H
#define KG_TESTS_ANSWER_TEXT_H

#include <stdio.h>

#include "live_world.h"

#define MOST 7         /* answers to a request */
#define MOST_FACTS 200 /* of an entity */

/* Each entity, in the order of the test's numbers, and a new one; only a list of answers each
 * unless `is_whole`. The caller frees it, as with the next two. */
char *read_answers(const kg_model *model, kg_workspace *workspace, bool is_whole);

/* With a workspace of its own; and of a snapshot of its own. */
char *answers_of(const kg_model *model, int threads);
char *live_answers(kg_live *live, int threads);

/* What a store answers to those who only read it. */
char *stored_answers(const char *path);

/* Frees both. */
void assert_same_text(char *a, char *b);

/* ---- Parts of it ---- */

kg_request request_for(kg_subject subject, kg_directed asked);
void write_answers(FILE *file, const kg_model *model, const kg_answer *answers, size_t count);

/* Nothing about a known entity without facts. */
void write_explanation(FILE *file, const kg_model *model, kg_workspace *workspace,
                       kg_subject subject, kg_link target);

#endif
