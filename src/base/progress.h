/* Progress and cancellation. Long work reports to a kg_progress, a callback with its payload, which
 * cancels the work by returning false. */
#ifndef KG_BASE_PROGRESS_H
#define KG_BASE_PROGRESS_H

#include "base/status.h"

/* KG_CANCELLED if the callback returns false. `progress` may be NULL: then nothing is reported. */
KG_MUST_CHECK kg_status kg__progress_tick(const kg_progress *progress,
                                          const kg_progress_report *report, kg_error *error);

/* Seconds of a monotonic clock. */
double kg__seconds(void);

#endif
