/* Progress of reading. */
#include "graph/reader.h"

#include <string.h>

kg_status kg__reader_tick(const kg_reader *reader, const kg_input *input, kg_error *error) {
    char stage[96];
    const char *name = kg__input_name(input);
    const char *slash = strrchr(name, '/');
    snprintf(stage, sizeof stage, "reading %s", slash == NULL ? name : slash + 1);
    kg_progress_report report = {stage, "B", kg__input_position(input), kg__input_total(input),
                                 NULL};
    return kg__progress_tick(reader->progress, &report, error);
}
