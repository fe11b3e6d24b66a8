/* A machine that fails: a layer below SQLite counts the calls that change files, and at one of them
 * the power fails, the disk is full, or a write or a sync fails. It is that of one process; tests
 * start it in a child. */
#ifndef KG_TESTS_FAILING_MACHINE_H
#define KG_TESTS_FAILING_MACHINE_H

#include <stdbool.h>

enum fault { NO_FAULT, POWER, FULL, SYNC, WRITE };

#define POWER_FAILED 42 /* what the process then ends with */

/* For the rest of the process: the fault happens once, from the call with number `at` on, which
 * starts at 1. When the power fails, `kept` of 4 sectors that were not synced are on the disk. */
void start_machine(enum fault fault, int at, int kept);

/* Another fault from now on. */
void machine_set_fault(enum fault fault);

/* The power fails now. */
void machine_end(void);

int machine_calls(void);
bool machine_has_failed(void);

/* Keeps what is on the disk, which may be less than what the system shows, for the machine of the
 * next process; and forgets it. */
void save_disk(void);
void forget_disk(void);

#endif
