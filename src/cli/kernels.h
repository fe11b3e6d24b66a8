/* Which matrix kernels the tool runs with. */
#ifndef KG_CLI_KERNELS_H
#define KG_CLI_KERNELS_H

/* Starts the program again, with the same words, where OpenBLAS came up in a way that an
 * environment would better: with kernels that are not the best for this processor, or with threads
 * of its own that there is no memory for. Returns if it came up well, or if this cannot be mended.
 */
void cli_choose_kernels(char **words);

#endif
