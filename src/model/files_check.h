/* Is a model, data set or checkpoint on disk what was written? All bytes are held against the
 * checksums that were recorded when they were written, and all numbers must be finite. What goes
 * wrong with one file is noted, and the others are looked at. */
#ifndef KG_MODEL_FILES_CHECK_H
#define KG_MODEL_FILES_CHECK_H

#include "base/progress.h"

/* kg_files_check of the public interface. */
KG_MUST_CHECK kg_status kg__files_check(const char *path, kg_on_checked on_file, void *payload,
                                        const kg_progress *progress, kg_error *error);

#endif
