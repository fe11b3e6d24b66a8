/* kgraft info: what a model or a store is and how it came to be; or, without one, what kgraft runs
 * on. */
#include "base/cpu_name.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/thread_count.h"
#include "cli/cli.h"
#include "live/live_store.h"
#include "math/linalg.h"
#include "model/model.h"
#include "store/store.h"

struct settings {
    cli_common common;
};

static const cli_option options[] = {CLI_JSON, CLI_QUIET, CLI_END};

/* Names of a list, as an option that takes several has them. */
static void print_list(const json_t *list) {
    char shown[256];
    size_t i = 0;
    const json_t *item = NULL;
    json_array_foreach(list, i, item) {
        const char *name = json_is_string(item) ? json_string_value(item) : "?";
        printf("%s%s", i == 0 ? "" : "+", kg__show_controls(shown, sizeof shown, name));
    }
    printf("\n");
}

/* Of names, and not of what is shown elsewhere. */
static bool is_list(const json_t *value) {
    return json_is_array(value) && !json_is_object(json_array_get(value, 0));
}

/* A model may come from anywhere: its words must not steer the terminal. */
static void print_value(const char *name, const json_t *value) {
    char shown[256];
    if (json_is_string(value) || json_is_number(value) || json_is_boolean(value) || is_list(value))
        printf("  %-19s ", kg__show_controls(shown, sizeof shown, name));
    if (json_is_string(value))
        printf("%s\n", kg__show_controls(shown, sizeof shown, json_string_value(value)));
    else if (json_is_integer(value))
        printf("%" JSON_INTEGER_FORMAT "\n", json_integer_value(value));
    else if (json_is_real(value))
        printf("%g\n", json_real_value(value));
    else if (json_is_boolean(value))
        printf("%s\n", json_is_true(value) ? "yes" : "no");
    else if (is_list(value))
        print_list(value);
}

static void print_validations(const json_t *history) {
    size_t i = 0;
    bool is_first = true;
    const json_t *epoch = NULL;
    json_array_foreach(history, i, epoch) {
        const json_t *valid = json_object_get(epoch, "valid");
        const json_t *hits = json_object_get(valid, "hits");
        if (valid == NULL)
            continue;
        if (is_first)
            printf("\n%8s %10s %8s %8s %8s %8s\n", "epoch", "loss", "MRR", "Hit@1", "Hit@3",
                   "Hit@10");
        is_first = false;
        printf("%8" JSON_INTEGER_FORMAT " %10.4f %8.4f %8.4f %8.4f %8.4f\n",
               json_integer_value(json_object_get(epoch, "epoch")),
               json_number_value(json_object_get(epoch, "loss")),
               json_number_value(json_object_get(valid, "mrr")),
               json_number_value(json_object_get(hits, "1")),
               json_number_value(json_object_get(hits, "3")),
               json_number_value(json_object_get(hits, "10")));
    }
}

static void print_values(const char *title, json_t *values) {
    const char *name = NULL;
    json_t *value = NULL;
    if (!json_is_object(values))
        return;
    printf("%s\n", title);
    json_object_foreach(values, name, value) {
        print_value(name, value);
    }
}

static kg_status show_machine(const cli_context *context, kg_error *error) {
    char processor[KG_PROCESSOR_MAX];
    json_t *machine = json_pack("{ss ss ss ss* ss sI}", "version", kg_version(), "processor",
                                kg__processor_name(processor), "kernels", kg_kernels_used(),
                                "better_kernels", kg_kernels_better(), "blas", kg__linear_blas(),
                                "threads", (json_int_t)kg__threads(0));
    if (machine == NULL)
        return kg__fail_memory(error);
    if (context->common->json)
        return cli_print_json(machine, error);
    print_values("kgraft", machine);
    json_decref(machine);
    return cli_flush(error);
}

/* ---- Stores ---- */

struct counts {
    uint64_t added;
    uint64_t withdrawn;
};

static kg_status count_change(void *payload, kg_operation operation, const kg_text fact[3],
                              kg_error *error) {
    struct counts *counts = payload;
    (void)fact;
    (void)error;
    *(operation == KG_ADD ? &counts->added : &counts->withdrawn) += 1;
    return KG_OK;
}

static kg_status add_source(void *payload, kg_text name, int64_t offset, kg_error *error) {
    json_t *source = json_pack("{so sI}", "name", kg__json_text(name.bytes, name.length), "offset",
                               (json_int_t)offset);
    return json_array_append_new(payload, source) == 0 ? KG_OK : kg__fail_memory(error);
}

/* A store at one moment. */
struct moment {
    kg_model *model; /* a snapshot, of the live graph */
    kg_store_state state;
    struct counts counts; /* of changes */
};

/* How often a writer may come between the two looks before entities are shown that are a few
 * commits younger than the facts. */
#define MOST_TRIES 5

/* Whoever compacts the store may switch to the next generation between them, and remove the last
 * one: the changes must be those of the model's generation. */
static kg_status read_moment(struct moment *out, kg_store *store, const char *path,
                             kg_error *error) {
    for (int i = 0;; i++) {
        out->counts = (struct counts){0};
        KG_TRY(kg__live_open_model(&out->model, path, error));
        const kg_live_version *version = kg__live_version_of(out->model);
        kg_status status =
            kg__store_read_changes(store, &out->state, count_change, &out->counts, error);
        if (status == KG_OK && version->generation->number == out->state.generation &&
            (version->last == out->state.last || i >= MOST_TRIES))
            return KG_OK;
        kg__live_release(out->model);
        KG_TRY(status);
    }
}

/* Of what is live: facts of all relations, and entities that can be asked about. */
static kg_status describe_moment(json_t **out, json_t **config, const struct moment *moment,
                                 kg_error *error) {
    const kg_live_version *version = kg__live_version_of(moment->model);
    const kg_model *base = version->generation->base;
    const kg_store_state *state = &moment->state;
    const struct counts *counts = &moment->counts;
    uint64_t facts = base->known.link_count / 2 + counts->added - counts->withdrawn;
    *config = json_incref(base->config);
    *out =
        json_pack("{sI sI sI sI so sO sI sI sI}", "generation", (json_int_t)state->generation,
                  "added", (json_int_t)counts->added, "withdrawn", (json_int_t)counts->withdrawn,
                  "last", (json_int_t)state->last, "sources", json_array(), "model", *config,
                  "facts", (json_int_t)facts, "entities", (json_int_t)moment->model->entities.count,
                  "later_entities", (json_int_t)version->names.count);
    if (*out == NULL ||
        (state->next != 0 && json_object_set_new(*out, "next", json_integer(state->next)) != 0))
        return kg__fail_memory(error);
    return KG_OK;
}

static kg_status describe_store(json_t **out, json_t **config, kg_store *store, const char *path,
                                kg_error *error) {
    struct moment moment;
    KG_TRY(read_moment(&moment, store, path, error));
    kg_status status = describe_moment(out, config, &moment, error);
    kg__live_release(moment.model);
    KG_TRY(status);
    return kg__store_read_sources(store, add_source, json_object_get(*out, "sources"), error);
}

/* What a store is, and the config of its current generation. */
static kg_status read_store(json_t **out, json_t **config, const char *path, kg_error *error) {
    kg_store *store = NULL;
    KG_TRY(kg__store_open(&store, path, KG_STORE_READ, error));
    kg_status status = describe_store(out, config, store, path, error);
    kg__store_close(store);
    return status;
}

static void print_sources(const json_t *sources) {
    size_t i = 0;
    const json_t *source = NULL;
    json_array_foreach(sources, i, source) {
        if (i == 0)
            printf("last offsets of sources\n");
        print_value(json_string_value(json_object_get(source, "name")),
                    json_object_get(source, "offset"));
    }
}

/* ---- The command ---- */

static void print_config(json_t *config) {
    static const char *const facts[] = {"version", "entities", "relations", "epochs", "best_epoch"};
    printf("model\n");
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        print_value(facts[i], json_object_get(config, facts[i]));
    print_values("settings", json_object_get(config, "settings"));
    print_values("adopted from", json_object_get(config, "adopted"));
    print_values("trained on", json_object_get(config, "machine"));
    print_values("calibration", json_object_get(config, "calibration"));
    json_t *held = json_object_get(config, "hold_out");
    print_values("held out", held);
    print_validations(json_object_get(held, "history"));
    print_validations(json_object_get(config, "history"));
}

static kg_status run(const void *payload, cli_context *context, kg_error *error) {
    (void)payload;
    const char *path = context->arguments[0];
    json_t *store = NULL; /* NULL: it is a model */
    json_t *config = NULL;
    kg_status status = KG_OK;
    if (context->argument_count == 0)
        return show_machine(context, error);
    KG_CHECK(kg__store_exists(path) ? read_store(&store, &config, path, error)
                                    : kg__model_read_config(&config, path, error));
    if (context->common->json) {
        status = cli_print_json(json_incref(store == NULL ? config : store), error);
        goto done;
    }
    print_values("store", store);
    print_sources(json_object_get(store, "sources"));
    print_config(config);
    status = cli_flush(error);
done:
    json_decref(store);
    json_decref(config);
    return status;
}

static const struct settings defaults = {.common = {.quiet = false}};

const cli_command cli_info = {
    .name = "info",
    .usage = "[MODEL]",
    .summary = "show the settings and history of a model, or the system that kgraft runs on",
    .details = "MODEL may be a store.",
    .min_arguments = 0,
    .max_arguments = 1,
    .options = options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run,
};
