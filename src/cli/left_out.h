/* What commands that read a graph leave out of it, for people to see. */
#ifndef KG_CLI_LEFT_OUT_H
#define KG_CLI_LEFT_OUT_H

#include "cli/cli.h"
#include "graph/reader.h"

/* Facts that stood in a part more than once. */
uint64_t cli_count_repeated(const kg_dataset *dataset);

/* A line for each kind of thing. `keeper` is said before the options that would keep it: the
 * command that has them, and a space, if it is another one. */
void cli_say_left_out(const cli_context *context, const kg_dataset *dataset,
                      const kg_read_counts *counts, const char *keeper);

#endif
