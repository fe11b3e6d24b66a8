/* The model directories of a store: generation-1, generation-2, ... */
#ifndef KG_STORE_GENERATION_FOLDER_H
#define KG_STORE_GENERATION_FOLDER_H

#include "base/status.h"

/* STORE/generation-N, to be kg_freed; NULL if memory is short. */
char *kg__generation_path(const char *store, int64_t number);

/* Makes it of the model directory `model`, durably, by links, or by copies on another file system;
 * what a killed process left of doing so is replaced. */
KG_MUST_CHECK kg_status kg__generation_fill(const char *store, int64_t number, const char *model,
                                            kg_error *error);

/* Removes those that are neither `one` nor `other`: a killed process may have left them. What is
 * mapped by readers stays with them. Failing to do so does no harm. */
void kg__generation_sweep(const char *store, int64_t one, int64_t other);

#endif
