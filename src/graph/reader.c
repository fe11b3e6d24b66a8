/* Progress of reading. */
#include "graph/reader.h"

#include <string.h>

kg_status kg__reader_tick(const kg_reader *reader, const kg_input *input, kg_error *error) {
    char stage[96];
    const char *name = kg__input_name(input);
    const char *slash = strrchr(name, '/');
    snprintf(stage, sizeof stage, "reading %s", slash == NULL ? name : slash + 1);
    kg_progress_report report = {.stage = stage,
                                 .unit = "B",
                                 .done = kg__input_position(input),
                                 .total = kg__input_total(input)};
    return kg__progress_tick(reader->progress, &report, error);
}
