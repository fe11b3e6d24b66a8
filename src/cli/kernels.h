/* The choice of matrix kernels. */
#ifndef KG_CLI_KERNELS_H
#define KG_CLI_KERNELS_H

/* Executes the program again, with the same arguments, where environment variables improve how
 * OpenBLAS is configured: if its kernels are not the best for this processor, or there is no memory
 * for threads of its own. Returns if nothing is to be improved, or if it cannot be. */
void cli_choose_kernels(char **words);

#endif
