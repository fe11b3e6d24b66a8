/* Progress of reading. */
#include "graph/reader.h"

#include <string.h>

kg_status kg_reader_tick(const kg_reader *reader, const kg_input *input, kg_error *error) {
    char stage[96];
    const char *name = kg_input_name(input);
    const char *slash = strrchr(name, '/');
    snprintf(stage, sizeof stage, "reading %s", slash == NULL ? name : slash + 1);
    kg_progress_report report = {stage, "B", kg_input_position(input), kg_input_total(input), NULL};
    return kg_progress_tick(reader->progress, &report, error);
}
