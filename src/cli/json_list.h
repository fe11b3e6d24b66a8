/* A result that is one long list, as JSON on stdout: an object of what it is about and the list,
 * written entry by entry, so that it is never whole in memory. */
#ifndef KG_CLI_JSON_LIST_H
#define KG_CLI_JSON_LIST_H

#include "base/json.h"

typedef struct cli_stream {
    kg_output *output;
    size_t entries;
} cli_stream;

/* {"model": MODEL, "entities": [ */
KG_MUST_CHECK kg_status cli_stream_open(cli_stream *stream, const char *model, kg_error *error);

/* {KIND: PATH, LIST: [ */
KG_MUST_CHECK kg_status cli_stream_open_list(cli_stream *stream, const char *kind, const char *path,
                                             const char *list, kg_error *error);

/* The first with "calibration" before the list; takes the reference, NULL meaning that memory is
 * short. */
KG_MUST_CHECK kg_status cli_stream_open_calibrated(cli_stream *stream, const char *model,
                                                   json_t *calibration, kg_error *error);

/* Writes an entry and takes the reference, NULL meaning that memory is short. */
KG_MUST_CHECK kg_status cli_stream_add(cli_stream *stream, json_t *entry, kg_error *error);

/* Ends list and object. */
KG_MUST_CHECK kg_status cli_stream_finish(cli_stream *stream, kg_error *error);

/* Finished or not; one that was never opened is all zeroes. */
void cli_stream_close(cli_stream *stream);

#endif
