/* Reports, and the clock. */
#include "base/progress.h"

#include <time.h>

kg_status kg__progress_tick(const kg_progress *progress, const kg_progress_report *report,
                            kg_error *error) {
    if (progress == NULL || progress->report == NULL || progress->report(progress->payload, report))
        return KG_OK;
    return kg_fail(error, KG_CANCELLED, "stopped while %s", report->stage);
}

double kg__seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
