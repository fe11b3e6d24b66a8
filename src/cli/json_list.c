/* JSON lists, written entry by entry. */
#include "cli/json_list.h"

#include <string.h>

static kg_status write_text(cli_stream *stream, const char *text, kg_error *error) {
    return kg__output_write(stream->output, text, strlen(text), error);
}

static kg_status write_json(cli_stream *stream, json_t *value, kg_error *error) {
    if (value == NULL)
        return kg__fail_memory(error);
    kg_status status = kg__json_put(value, stream->output, error);
    json_decref(value);
    return status;
}

static kg_status start(cli_stream *stream, const char *kind, const char *path, kg_error *error) {
    *stream = (cli_stream){0};
    KG_TRY(kg__output_open(&stream->output, "-", "-", error));
    KG_TRY(write_text(stream, "{\"", error));
    KG_TRY(write_text(stream, kind, error));
    KG_TRY(write_text(stream, "\": ", error));
    return write_json(stream, kg__json_text(path, strlen(path)), error);
}

kg_status cli_stream_open_list(cli_stream *stream, const char *kind, const char *path,
                               const char *list, kg_error *error) {
    KG_TRY(start(stream, kind, path, error));
    KG_TRY(write_text(stream, ",\n\"", error));
    KG_TRY(write_text(stream, list, error));
    return write_text(stream, "\": [\n", error);
}

kg_status cli_stream_open(cli_stream *stream, const char *model, kg_error *error) {
    return cli_stream_open_list(stream, "model", model, "entities", error);
}

kg_status cli_stream_open_calibrated(cli_stream *stream, const char *model, json_t *calibration,
                                     kg_error *error) {
    kg_status status = start(stream, "model", model, error);
    if (status == KG_OK)
        status = write_text(stream, ",\n\"calibration\": ", error);
    if (status != KG_OK) {
        json_decref(calibration);
        return status;
    }
    KG_TRY(write_json(stream, calibration, error));
    return write_text(stream, ",\n\"entities\": [\n", error);
}

kg_status cli_stream_add(cli_stream *stream, json_t *entry, kg_error *error) {
    if (stream->entries++ > 0) {
        kg_status status = write_text(stream, ",\n", error);
        if (status != KG_OK) {
            json_decref(entry);
            return status;
        }
    }
    return write_json(stream, entry, error);
}

kg_status cli_stream_finish(cli_stream *stream, kg_error *error) {
    KG_TRY(write_text(stream, "\n]}\n", error));
    return kg__output_commit(stream->output, error);
}

void cli_stream_close(cli_stream *stream) {
    kg__output_close(stream->output);
    *stream = (cli_stream){0};
}
