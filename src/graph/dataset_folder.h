/* A data set on disk: a folder with a TSV file for each part that has facts, and dataset.json with
 * sources, counts, and a checksum of each file. Reading one and writing it again gives the same
 * bytes. */
#ifndef KG_GRAPH_DATASET_FOLDER_H
#define KG_GRAPH_DATASET_FOLDER_H

#include "base/output_folder.h"
#include "graph/reader.h"

#define KG_DATASET_JSON "dataset.json"

/* The files of a data set folder, ended by NULL: the parts in order, then dataset.json. */
extern const char *const kg__dataset_files[];

KG_MUST_CHECK kg_status kg__dataset_write(const kg_dataset *dataset, kg_folder *folder,
                                          const kg_progress *progress, kg_error *error);

/* The same piece by piece, for what is written as it is made: adds a part that is written whole to
 * the object `files`, then writes dataset.json with them. For the latter, a data set that has its
 * history and counts, but no names and facts, will do. */
KG_MUST_CHECK kg_status kg__dataset_record(json_t *files, kg_part part, size_t facts,
                                           const kg_output *output, kg_error *error);
KG_MUST_CHECK kg_status kg__dataset_write_about(const kg_dataset *dataset, kg_folder *folder,
                                                json_t *files, kg_error *error);

/* The counts that dataset.json and `kgraft stats` show, as an object; NULL if memory is short. */
json_t *kg__dataset_counts(const kg_dataset *dataset);

/* Of all names and facts: two data sets with the same checksum are the same to a model. */
kg_checksum kg__dataset_checksum(const kg_dataset *dataset);

/* dataset.json of the folder at `path`, its structure checked; NULL where there is none. */
KG_MUST_CHECK kg_status kg__dataset_json_read(json_t **out, const char *path, kg_error *error);

/* Checks a part that was read against the counts and checksum in dataset.json. */
KG_MUST_CHECK kg_status kg__dataset_json_check(const json_t *about, kg_part part,
                                               const kg_input *input, kg_error *error);

#endif
