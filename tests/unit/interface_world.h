/* A small model with a workspace, and a check that a call is refused: for tests of the public
 * interface. */
#ifndef KG_TESTS_INTERFACE_WORLD_H
#define KG_TESTS_INTERFACE_WORLD_H

#include <string.h>

#include "kgraft.h"
#include "support.h"

/* Of a ring, in which each of e0 to e29 likes the next; its facts are in g.tsv. */
extern kg_model *model;
extern kg_workspace *workspace;

/* An entity that the model does not have, its relation, and one of its entities. */
extern const kg_text rex, likes, e1;

/* Set-up and tear-down of a group, in a temporary folder. */
int open_interface_world(void **state);
int close_interface_world(void **state);

/* The settings of a preset, of a scoring function, unchanged. */
kg_training_options usual(const char *preset, const char *of);

/* A call that is refused, with a message that starts like this, and without anyone to tell. */
#define REFUSED(start, call)                                             \
    do {                                                                 \
        kg_error refusal = {0};                                          \
        kg_error *error = &refusal;                                      \
        assert_status((call), KG_BAD_INPUT, error);                      \
        if (strncmp(refusal.message, (start), strlen(start)) != 0)       \
            fail_msg("expected %s, found %s", (start), refusal.message); \
        error = NULL;                                                    \
        assert_status((call), KG_BAD_INPUT, error);                      \
    } while (0)

#endif
