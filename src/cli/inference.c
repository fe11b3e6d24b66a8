/* Opening what commands about new entities work with. */
#include "cli/inference.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/thread_count.h"
#include "infer/new_entities.h"
#include "infer/workspace.h"
#include "live/live_store.h"
#include "model/model.h"

static kg_text text_of(const char *string) {
    return (kg_text){string, strlen(string)};
}

static kg_id look_up(const kg_names *names, const char *name) {
    return kg__names_find(names, kg__name_of(name, strlen(name)));
}

static kg_status find(kg_id *out, const cli_prefixes *prefixes, const kg_names *names,
                      const char *what, const char *option, const char *name, kg_error *error) {
    char *whole = NULL;
    *out = look_up(names, name);
    if (*out == KG_NO_ID)
        KG_TRY(cli_prefixes_expand(prefixes, &whole, name, error));
    if (whole != NULL)
        *out = look_up(names, whole);
    kg__free(whole);
    if (*out != KG_NO_ID)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT, "--%s: expected %s that the model knows, found %s%s",
                   option, what, kg__quote(name, strlen(name)).text,
                   kg__suggest(names, text_of(name)).text);
}

kg_status cli_inference_find_entity(const cli_inference *inference, kg_id *out, const char *option,
                                    const char *name, kg_error *error) {
    kg_status status = find(out, &inference->prefixes, &inference->model->entities, "an entity",
                            option, name, error);
    if (status != KG_BAD_INPUT || !kg__live_is_dormant(inference->model, text_of(name)))
        return status;
    return kg_fail(
        error, KG_BAD_INPUT,
        "--%s: expected an entity that the model knows, found %s, all of whose facts are "
        "of relations that the model will know after kgraft compact",
        option, kg__quote(name, strlen(name)).text);
}

kg_status cli_inference_find_relation(const cli_inference *inference, kg_id *out,
                                      const char *option, const char *name, kg_error *error) {
    return find(out, &inference->prefixes, &inference->model->relations, "a relation", option, name,
                error);
}

kg_status cli_check_answers(uint64_t k, kg_error *error) {
    if (k >= 1 && k <= CLI_MOST_ANSWERS)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT, "-k: expected 1 to %d, found %ju", CLI_MOST_ANSWERS,
                   (uintmax_t)k);
}

/* ---- The entities that a command is about ---- */

static void say_what_is_left_out(const cli_context *context, const kg_left_out_facts *left) {
    const struct {
        size_t count;
        const char *one;
        const char *many;
    } rows[] = {
        {left->unknown, "fact with unknown names", "facts with unknown names"},
        {left->repeated, "repeated fact", "repeated facts"},
        {left->reflexive, "fact of an entity with itself", "facts of entities with themselves"},
        {left->literals, "fact with a value that the model does not know",
         "facts with values that the model does not know"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].count > 0)
            cli_say(context, "%s left out",
                    report_counted(rows[i].count, rows[i].one, rows[i].many).text);
}

/* Takes the model to another graph. */
static kg_status open_graph(cli_inference *inference, const cli_inference_options *settings,
                            const cli_context *context, kg_error *error) {
    kg_graph_options options = {.size = sizeof options,
                                .skip_unknown = settings->skip_unknown,
                                .progress = &context->progress};
    kg_left_out_facts left = KG_LEFT_OUT_FACTS_INIT;
    const char *given = cli_overrides_given(&settings->overrides);
    if (given != NULL)
        return kg_fail(error, KG_BAD_INPUT,
                       "%s: expected the graph that the model was trained on, found --graph, whose "
                       "entities have no embeddings",
                       given);
    inference->trained = inference->model;
    inference->model = NULL;
    KG_TRY(kg_model_open_on_graph(&inference->model, &left, inference->trained, settings->graph,
                                  &options, error));
    say_what_is_left_out(context, &left);
    return KG_OK;
}

/* The new entity of the option, or all. */
static kg_status select_entities(cli_inference *inference, const char *entity, kg_error *error) {
    size_t count = kg_new_entities_count(inference->entities);
    inference->count = entity == NULL ? count : 1;
    if (entity == NULL)
        return KG_OK;
    char *whole = NULL;
    inference->first = kg_new_entities_find(inference->entities, text_of(entity));
    if (inference->first == count)
        KG_TRY(cli_prefixes_expand(&inference->prefixes, &whole, entity, error));
    if (whole != NULL)
        inference->first = kg_new_entities_find(inference->entities, text_of(whole));
    kg__free(whole);
    if (inference->first < count)
        return KG_OK;
    bool is_known = kg_model_find_entity(inference->model, text_of(entity)) != KG_NO_ID;
    return kg_fail(error, KG_BAD_INPUT,
                   "--entity: expected one that is new in the facts, found %s%s",
                   kg__quote(entity, strlen(entity)).text,
                   is_known ? ", which the model knows (to ask about it, leave the facts out)"
                            : kg__new_entities_suggest(inference->entities, text_of(entity)).text);
}

/* The facts that are wrong, of which the first are shown, in the order of their lines. */
#define MOST_SHOWN 20
struct problems {
    kg_error shown[MOST_SHOWN];
    size_t count; /* of all */
};

static void add_problem(void *payload, const kg_error *problem) {
    struct problems *problems = payload;
    size_t place = problems->count < MOST_SHOWN ? problems->count : MOST_SHOWN;
    for (; place > 0 && problems->shown[place - 1].line > problem->line; place--)
        if (place < MOST_SHOWN)
            problems->shown[place] = problems->shown[place - 1];
    if (place < MOST_SHOWN)
        problems->shown[place] = *problem;
    problems->count++;
}

/* A fact that is wrong is an error, also for those who want no summary. */
static void print_problems(const struct problems *problems) {
    for (size_t i = 0; i < problems->count && i < MOST_SHOWN; i++)
        cli_print_error(&problems->shown[i]);
    if (problems->count > MOST_SHOWN)
        fprintf(stderr, "kgraft: and %s\n",
                report_counted(problems->count - MOST_SHOWN, "more wrong line", "more wrong lines")
                    .text);
}

static kg_status read_entities(cli_inference *inference, const cli_inference_options *settings,
                               const char *path, const cli_context *context, kg_error *error) {
    bool skips = strcmp(settings->on_error, "skip") == 0;
    struct problems problems = {.count = 0};
    kg_new_entities_options options = {.size = sizeof options,
                                       .skip_unknown = settings->skip_unknown,
                                       .entity = settings->entity,
                                       .report = skips ? add_problem : NULL,
                                       .payload = &problems};
    kg_left_out_facts left = KG_LEFT_OUT_FACTS_INIT;
    KG_TRY(kg_new_entities_open(&inference->entities, inference->model, &options, error));
    kg_status status = kg_new_entities_read(inference->entities, path, error);
    if (status == KG_OK)
        status = kg_new_entities_finish(&left, inference->entities, error);
    print_problems(&problems);
    if (status == KG_BAD_INPUT)
        kg__error_locate(error, kg__input_title(path), 0, 0);
    inference->wrong = left.wrong;
    if (status == KG_OK)
        say_what_is_left_out(context, &left);
    return status == KG_OK ? select_entities(inference, settings->entity, error) : status;
}

/* Options about facts that are not there would be ignored, which is a misunderstanding. */
static kg_status check_known(const cli_inference_options *settings, kg_error *error) {
    const char *given = cli_overrides_given(&settings->overrides);
    if (settings->known_by_facts)
        given = NULL;
    if (given == NULL && settings->skip_unknown && settings->graph == NULL)
        given = "--skip-unknown";
    if (settings->entity == NULL)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected FACTS about new entities, or --entity with one that the model "
                       "knows, found neither");
    if (given != NULL)
        return kg_fail(error, KG_BAD_INPUT,
                       "%s: expected FACTS about new entities, found none: a known entity needs "
                       "no embedding",
                       given);
    return KG_OK;
}

/* ---- Opening ---- */

static kg_status open_workspace(cli_inference *inference, const cli_inference_options *settings,
                                size_t answers, kg_error *error) {
    kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
    size_t entities = kg__model_describe(inference->model).entities;
    options.aggregate = settings->overrides.aggregate;
    options.ls_rows = settings->overrides.ls_rows;
    options.ls_lambda = settings->overrides.ls_lambda;
    options.ials_alpha = settings->overrides.ials_alpha;
    options.ials_lambda = settings->overrides.ials_lambda;
    options.threads = settings->threads == 0 ? kg__threads(0) : (int)settings->threads;
    options.answers = answers < entities ? answers : entities;
    return kg_workspace_open(&inference->workspace, inference->model, &options, error);
}

static kg_status check(const cli_inference_options *settings, kg_error *error) {
    if (settings->threads > 1024)
        return kg_fail(error, KG_BAD_INPUT, "--threads: expected 1 to 1024, found %ju",
                       (uintmax_t)settings->threads);
    return KG_OK;
}

static kg_status fill(cli_inference *inference, const cli_inference_options *settings,
                      size_t answers, const cli_context *context, kg_error *error) {
    bool has_facts = context->argument_count > 1;
    KG_TRY(check(settings, error));
    if (!has_facts)
        KG_TRY(check_known(settings, error));
    KG_TRY(kg_model_open(&inference->model, context->arguments[0], error));
    if (settings->graph != NULL)
        KG_TRY(open_graph(inference, settings, context, error));
    json_t *data = json_object_get(inference->model->config, "data");
    KG_TRY(cli_prefixes_open(&inference->prefixes, &settings->prefixes,
                             json_object_get(data, "prefixes"), error));
    if (has_facts)
        KG_TRY(read_entities(inference, settings, context->arguments[1], context, error));
    else
        KG_TRY(cli_inference_find_entity(inference, &inference->entity, "entity", settings->entity,
                                         error));
    return open_workspace(inference, settings, answers, error);
}

kg_status cli_inference_open(cli_inference *out, const cli_inference_options *settings,
                             size_t answers, const cli_context *context, kg_error *error) {
    *out = (cli_inference){.entity = KG_NO_ID, .count = 1};
    kg_status status = fill(out, settings, answers, context, error);
    if (status != KG_OK)
        cli_inference_close(out);
    return status;
}

void cli_inference_close(cli_inference *inference) {
    kg_workspace_close(inference->workspace);
    kg_new_entities_close(inference->entities);
    cli_prefixes_close(&inference->prefixes);
    kg_model_close(inference->model);
    kg_model_close(inference->trained);
    *inference = (cli_inference){0};
}

/* ---- Calibration ---- */

void cli_inference_check_calibration(const cli_inference *inference, const cli_context *context) {
    const char *used = inference->workspace->scorer.embedder.options.aggregator->name;
    const char *made = report_calibrated_for(inference->model);
    bool is_other = strcmp(used, made) != 0;
    if (inference->model->calibration == NULL || kg_workspace_is_calibrated(inference->workspace))
        return;
    if (!kg__model_calibrated_here(inference->model)) {
        cli_warn(context,
                 "probabilities do not hold: the model is calibrated for %s graph, where it has "
                 "%s terms",
                 inference->trained == NULL ? "a new" : "its own",
                 inference->trained == NULL ? "fewer" : "more");
        return;
    }
    cli_warn(context,
             "probabilities do not hold: the model is calibrated for --aggregate %s%s, not for %s "
             "(kgraft calibrate MODEL DATASET --aggregate %s makes it so)",
             kg__quote(made, strlen(made)).text, is_other ? "" : " with other settings",
             is_other ? used : "these", used);
}

kg_status cli_inference_subject(const cli_inference *inference, size_t i, cli_subject *out,
                                kg_error *error) {
    *out = (cli_subject){.subject.entity = inference->entity};
    if (inference->entities == NULL) {
        const kg_link *links = NULL;
        out->name = kg_model_entity_name(inference->model, inference->entity);
        KG_TRY(kg_model_links(&links, &out->links, inference->model, inference->entity, error));
        out->facts = kg__links_facts(links, out->links, inference->entity);
        return KG_OK;
    }
    size_t place = inference->first + i;
    out->name = kg_new_entities_name(inference->entities, place);
    out->subject.links = kg_new_entities_links(&out->subject.count, inference->entities, place);
    out->links = out->facts = out->subject.count;
    return KG_OK;
}

kg_status cli_inference_end(const cli_inference *inference, kg_error *error) {
    if (inference->wrong == 0)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT, "%s left out, as reported above",
                   report_counted(inference->wrong, "wrong fact", "wrong facts").text);
}

/* ---- Names ---- */

/* Three texts as one; frees the one in the middle, which may be NULL. */
static char *join(const char *before, char *text, const char *behind) {
    size_t size = text == NULL ? 0 : strlen(before) + strlen(text) + strlen(behind) + 1;
    char *out = text == NULL ? NULL : kg__alloc(size, 1);
    if (out != NULL)
        snprintf(out, size, "%s%s%s", before, text, behind);
    kg__free(text);
    return out;
}

char *cli_inference_show(const cli_inference *inference, kg_text name, const char *behind) {
    return join("", cli_prefixes_show(&inference->prefixes, name), behind);
}

char *cli_inference_arrow(const cli_inference *inference, kg_directed directed) {
    kg_text name = kg_model_relation_name(inference->model, kg_directed_relation(directed));
    bool is_head = kg_directed_end(directed) == KG_HEAD;
    return join(is_head ? "-" : "<-", cli_prefixes_show(&inference->prefixes, name),
                is_head ? "->" : "-");
}
