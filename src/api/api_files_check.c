/* Checks of what is on disk, as users of the library see them. */
#include "model/files_check.h"

kg_status kg_files_check(const char *path, kg_on_checked on_file, void *payload,
                         const kg_progress *progress, kg_error *error) {
    KG_NEED(path);
    return kg__files_check(path, on_file, payload, progress, error);
}
