/* The choice of kernels for matrix products, by environment variables of OpenBLAS. */
#ifndef KG_CLI_BLAS_SETUP_H
#define KG_CLI_BLAS_SETUP_H

/* Executes the program again, with the same arguments, where environment variables improve how
 * OpenBLAS is configured: if its kernels are not the best for this processor, or there is no memory
 * for threads of its own. Returns if nothing is to be improved, or if it cannot be. */
void cli_choose_kernels(char **words);

#endif
