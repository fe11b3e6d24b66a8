/* A model folder whose files a test changes, and what is made of it then: it is refused with a
 * message that has a place, or all that it offers can be used without harm. */
#ifndef KG_TESTS_DAMAGED_MODEL_H
#define KG_TESTS_DAMAGED_MODEL_H

#include "some_model.h"
#include "support.h"

/* All files of the folder, config.json last. */
#define FILES 7
extern const char *const files[FILES];
void path_of(char out[64], const char *file);

/* Writes a whole model with propagation and calibration to MODEL. */
void set_up_damage(world *w);

/* Whether it opens; if so, everything of it is used. */
bool opens(void);

/* It does not, with this message. */
void refuse(const char *expected);

json_t *read_config(void);
void write_config(const json_t *config);

/* Makes it a model as others write it: without checksums. */
json_t *unseal(void);

#endif
