/* A drawing of paths as SVG 1.1: where they start on the left, where they all end on the right, and
 * between them a column for each step. What paths have in common is drawn once. */
#ifndef KG_REPORT_PATH_DRAWING_H
#define KG_REPORT_PATH_DRAWING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define REPORT_MOST_STEPS 8
#define REPORT_MOST_PATHS 16

/* Names are UTF-8; control characters become spaces. */
typedef struct report_step {
    const char *label;
    bool is_backwards; /* the arrow points to where the step comes from */
    const char *to;
} report_step;

typedef struct report_path {
    double share; /* of 1 */
    size_t count;
    report_step steps[REPORT_MOST_STEPS]; /* the last leads to the end */
} report_path;

typedef struct report_paths {
    const char *title;
    const char *start;
    const char *end;
    size_t count;
    report_path paths[REPORT_MOST_PATHS];
} report_paths;

/* The text of the file, to be freed by free(). Without any paths it says so. */
KG_MUST_CHECK kg_status report_draw_paths(char **out, size_t *size, const report_paths *paths,
                                          kg_error *error);

#endif
