/* Messages about what commands leave out of a graph that they read. */
#ifndef KG_CLI_SKIPPED_FACTS_H
#define KG_CLI_SKIPPED_FACTS_H

#include "cli/cli.h"
#include "graph/reader.h"

/* Repeated facts of the parts. */
uint64_t cli_count_repeated(const kg_dataset *dataset);

/* A line for each kind. `keeper` is put before the options that would keep it: the name of the
 * command that has them, and a space, if it is another one. */
void cli_say_left_out(const cli_context *context, const kg_dataset *dataset,
                      const kg_read_counts *counts, const char *keeper);

#endif
