/* kgraft log: what was added to a store and removed from it, when, and by which source. */
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/json_list.h"
#include "store/store.h"

struct settings {
    cli_common common;
    const char *since;
    const char *source;
    bool forget;
};

#define SETTING(name) offsetof(struct settings, name)

static const cli_option options[] = {
    {.name = "since",
     .argument = "N|TIME",
     .kind = CLI_TEXT,
     .offset = SETTING(since),
     .help = "only entries with numbers above this one, or from this time (UTC) on"},
    {.name = "source",
     .argument = "NAME",
     .kind = CLI_TEXT,
     .offset = SETTING(source),
     .help = "only entries of this source"},
    {.name = "forget",
     .kind = CLI_FLAG,
     .offset = SETTING(forget),
     .help = "remove withdrawn facts from the log, without a trace"},
    CLI_JSON,
    CLI_QUIET,
    CLI_END,
};

/* A time as 2026-01-31T12:00:00.123Z. */
struct moment {
    char text[64];
};

static struct moment show_time(int64_t milliseconds) {
    struct moment out;
    struct tm parts = {0};
    char seconds[40];
    time_t whole = (time_t)(milliseconds / 1000);
    if (gmtime_r(&whole, &parts) == NULL ||
        strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &parts) == 0)
        snprintf(seconds, sizeof seconds, "?");
    snprintf(out.text, sizeof out.text, "%s.%03dZ", seconds, (int)(milliseconds % 1000));
    return out;
}

static int digits(const char *text, int count) {
    int number = 0;
    for (int i = 0; i < count; i++)
        number = 10 * number + (text[i] - '0');
    return number;
}

/* A time as it is shown, where the Z, and what follows the day, the minutes or the seconds, may be
 * missing. Whether it is one, digits and all, is seen from how it would be shown. */
static bool read_time(int64_t *out, const char *text) {
    static const char rest[] = "0000-00-00T00:00:00.000Z";
    char full[sizeof rest];
    size_t length = strlen(text);
    length -= length > 0 && text[length - 1] == 'Z';
    if (length != strlen("0000-00-00") && length != strlen("0000-00-00T00:00") &&
        length != strlen("0000-00-00T00:00:00") && length != strlen("0000-00-00T00:00:00.000"))
        return false;
    memcpy(full, text, length);
    memcpy(full + length, rest + length, sizeof rest - length);
    struct tm parts = {.tm_year = digits(full, 4) - 1900,
                       .tm_mon = digits(full + 5, 2) - 1,
                       .tm_mday = digits(full + 8, 2),
                       .tm_hour = digits(full + 11, 2),
                       .tm_min = digits(full + 14, 2),
                       .tm_sec = digits(full + 17, 2)};
    *out = (int64_t)timegm(&parts) * 1000 + digits(full + 20, 3);
    return strcmp(show_time(*out).text, full) == 0;
}

/* What is listed, and where. */
struct listing {
    uint64_t since; /* the number of an entry, */
    int64_t from;   /* or milliseconds since 1970 */
    cli_stream stream;
};

static kg_status read_since(struct listing *out, const char *since, kg_error *error) {
    *out = (struct listing){.from = INT64_MIN};
    if (since == NULL || kg__parse_count(&out->since, since) == NULL ||
        read_time(&out->from, since))
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "`since`: expected the number of an entry or a time such as 2026-01-31 or "
                   "2026-01-31T12:00:00Z, found %s",
                   kg__quote(since, strlen(since)).text);
}

static json_t *name_json(kg_text name) {
    return kg__json_text(name.bytes, name.length);
}

static kg_status add_entry(void *payload, const kg_log_entry *entry, kg_error *error) {
    struct listing *listing = payload;
    if (entry->time < listing->from)
        return KG_OK;
    bool has_source = entry->source.bytes != NULL;
    json_t *out =
        json_pack("{sI ss ss so so so}", "number", (json_int_t)entry->number, "time",
                  show_time(entry->time).text, "operation",
                  entry->operation == KG_ADD ? "add" : "remove", "head", name_json(entry->fact[0]),
                  "relation", name_json(entry->fact[1]), "tail", name_json(entry->fact[2]));
    if (out != NULL && has_source &&
        (json_object_set_new(out, "source", name_json(entry->source)) != 0 ||
         json_object_set_new(out, "offset", json_integer((json_int_t)entry->offset)) != 0)) {
        json_decref(out);
        out = NULL;
    }
    return cli_stream_add(&listing->stream, out, error);
}

/* Names are as long as they are; a control character becomes four. */
static kg_status print_name(kg_text name, char end, kg_error *error) {
    size_t size = 4 * name.length + 1;
    char *shown = kg__resize(NULL, size + name.length + 1, 1);
    if (shown == NULL)
        return kg__fail_memory(error);
    char *text = shown + size;
    memcpy(text, name.bytes, name.length);
    text[name.length] = '\0';
    printf("%s%c", kg__show_controls(shown, size, text), end);
    kg__free(shown);
    return KG_OK;
}

static kg_status print_entry(void *payload, const kg_log_entry *entry, kg_error *error) {
    const struct listing *listing = payload;
    if (entry->time < listing->from)
        return KG_OK;
    printf("%jd\t%s\t%c\t", (intmax_t)entry->number, show_time(entry->time).text,
           (char)entry->operation);
    KG_TRY(print_name(entry->fact[0], '\t', error));
    KG_TRY(print_name(entry->fact[1], '\t', error));
    KG_TRY(print_name(entry->fact[2], entry->source.bytes == NULL ? '\n' : '\t', error));
    if (entry->source.bytes == NULL)
        return KG_OK;
    KG_TRY(print_name(entry->source, '\t', error));
    printf("%jd\n", (intmax_t)entry->offset);
    return KG_OK;
}

static kg_status list(const struct settings *settings, cli_context *context, kg_store *store,
                      kg_error *error) {
    bool is_json = context->common->json;
    struct listing listing;
    kg_status status = KG_OK;
    KG_TRY(read_since(&listing, settings->since, error));
    if (is_json)
        KG_CHECK(cli_stream_open_list(&listing.stream, "store", context->arguments[0], "entries",
                                      error));
    KG_CHECK(kg__store_read_log(store, (int64_t)listing.since, settings->source,
                                is_json ? add_entry : print_entry, &listing, error));
    status = is_json ? cli_stream_finish(&listing.stream, error) : cli_flush(error);
done:
    cli_stream_close(&listing.stream);
    return status;
}

static kg_status forget(const cli_context *context, kg_store *store, kg_error *error) {
    kg_forgotten found;
    KG_TRY(kg__store_forget(store, &found, error));
    cli_say(context, "forgotten: %s", report_counted(found.entries, "entry", "entries").text);
    if (found.gave_up)
        cli_say(context, "the unfinished compaction, which held withdrawn facts, was given up");
    if (found.in_base > 0)
        cli_say(
            context,
            "%s that the model was trained on: in its files until kgraft compact has replaced it",
            report_counted(found.in_base, "withdrawn fact", "withdrawn facts").text);
    if (!context->common->json)
        return KG_OK;
    return cli_print_json(json_pack("{sI sI sb}", "forgotten", (json_int_t)found.entries, "in_base",
                                    (json_int_t)found.in_base, "gave_up", found.gave_up),
                          error);
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    const struct settings *settings = payload;
    kg_store *store = NULL;
    if (settings->forget && (settings->since != NULL || settings->source != NULL))
        return kg_fail(error, KG_BAD_INPUT,
                       "expected `forget` without `since` and `source`: it is about all withdrawn "
                       "facts");
    KG_TRY(kg__store_open(&store, context->arguments[0],
                          settings->forget ? KG_STORE_WRITE : KG_STORE_READ, error));
    kg_status status =
        settings->forget ? forget(context, store, error) : list(settings, context, store, error);
    kg__store_close(store);
    return status;
}

static const struct settings defaults = {.since = NULL};

const cli_command cli_log = {
    .name = "log",
    .usage = "STORE",
    .summary = "list what was added to a store and removed from it, or forget it",
    .min_arguments = 1,
    .max_arguments = 1,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
