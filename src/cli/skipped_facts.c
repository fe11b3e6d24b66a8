/* Counts that are not zero, one to a line. */
#include "cli/skipped_facts.h"

uint64_t cli_count_repeated(const kg_dataset *dataset) {
    uint64_t count = 0;
    for (kg_part part = 0; part < KG_PART_COUNT; part++)
        count += dataset->duplicates[part];
    return count;
}

static void print_count(const cli_context *context, uint64_t count, const char *one,
                        const char *many) {
    if (count > 0)
        cli_say(context, "left out: %s", report_counted(count, one, many).text);
}

static void say_kept_by(const cli_context *context, uint64_t count, const char *one,
                        const char *many, const char *keeper, const char *option) {
    if (count > 0)
        cli_say(context, "left out: %s (%s%s keep takes them)",
                report_counted(count, one, many).text, keeper, option);
}

void cli_say_left_out(const cli_context *context, const kg_dataset *dataset,
                      const kg_read_counts *counts, const char *keeper) {
    print_count(context, cli_count_repeated(dataset), "repeated fact", "repeated facts");
    say_kept_by(context, counts->literals, "fact about a literal", "facts about literals", keeper,
                "--literals");
    say_kept_by(context, counts->inverses, "inverse fact", "inverse facts", keeper, "--inverses");
    print_count(context, counts->comments, "comment", "comments");
    print_count(context, counts->blank_lines, "blank line", "blank lines");
    print_count(context, dataset->unknown_facts, "fact of the new graph with an unknown relation",
                "facts of the new graph with unknown relations");
    print_count(context, counts->unused_names, "name without a fact", "names without a fact");
}
