/* From text to the options of a training run and of an evaluation. */
#include "cli/experiment_options.h"

#include <string.h>

#include "base/text.h"
#include "cli/eval_options.h"
#include "cli/option_string.h"
#include "cli/train_options.h"

/* Options that a description cannot choose: seeds are counted, the rest is up to the user. */
static const char *const not_in_train[] = {"seed",     "threads", "resume", "force", "hold-out",
                                           "no-refit", "json",    "quiet",  NULL};
static const char *const not_in_eval[] = {"ranks", "threads", "json", "quiet", NULL};

static kg_status check_refused(const cli_option_string *line, const cli_command *command,
                               const char *const *refused, kg_error *error) {
    for (size_t i = 0; refused[i] != NULL; i++) {
        cli_option option = cli_option_find(command, refused[i], strlen(refused[i]));
        if (strcmp(cli_option_text(&option, line->settings).text,
                   cli_option_text(&option, command->defaults).text) != 0)
            return kg_fail(error, KG_BAD_INPUT,
                           "expected options of kgraft %s but --%s, which a description cannot "
                           "choose",
                           command->name, option.name);
    }
    return KG_OK;
}

static kg_status set_count(kg_settings *settings, const char *name, uint64_t value,
                           kg_error *error) {
    char text[32];
    snprintf(text, sizeof text, "%ju", (uintmax_t)value);
    return kg__settings_set(settings, kg__setting_find(name), text, error);
}

/* The options of the request, then its one option and the seed. */
static kg_status read_settings(kg_settings *out, const experiment_request *request,
                               kg_error *error) {
    const char *option = request->option;
    const kg_setting *setting = option == NULL ? NULL : kg__setting_find(option);
    cli_option_string line;
    KG_TRY(cli_option_string_open(&line, &cli_train, request->train, error));
    kg_status status = check_refused(&line, &cli_train, not_in_train, error);
    if (status == KG_OK)
        *out = *cli_train_settings(line.settings);
    cli_option_string_close(&line);
    KG_TRY(status);
    if (option != NULL && strcmp(option, "seed") == 0)
        return kg_fail(error, KG_BAD_INPUT, "option: expected any but seed, found seed");
    if (option != NULL && setting == NULL)
        return kg_fail(error, KG_BAD_INPUT,
                       "option: expected one of kgraft train that takes a value, found %s",
                       kg__quote(option, strlen(option)).text);
    if (setting != NULL)
        KG_TRY(kg__settings_set(out, setting, request->value, error));
    return set_count(out, "seed", request->seed, error);
}

static kg_status read_training(experiment_run *out, const experiment_request *request,
                               const kg_dataset *dataset, uint64_t threads, kg_error *error) {
    kg_settings settings;
    KG_TRY(read_settings(&settings, request, error));
    KG_TRY(kg__settings_adapt(&settings, dataset, error));
    out->options = kg__settings_complete(&settings);
    KG_TRY(experiment_train_name(&out->name, &out->options, error));
    KG_TRY(set_count(&settings, "threads", threads, error));
    return cli_train_options(&out->options, &settings, error);
}

static kg_status read_evaluation(experiment_eval_options *out, experiment_run_name *name,
                                 const experiment_request *request, uint64_t threads,
                                 kg_error *error) {
    cli_option_string line;
    kg_status status = KG_OK;
    KG_TRY(cli_option_string_open(&line, &cli_eval, request->eval, error));
    KG_CHECK(check_refused(&line, &cli_eval, not_in_eval, error));
    KG_CHECK(cli_settings_name(name, &cli_eval, line.settings, cli_eval.defaults, error));
    KG_CHECK(cli_eval_options(out, line.settings, error));
    out->threads = threads;
done:
    cli_option_string_close(&line);
    return status;
}

const experiment_parser cli_experiment_parser = {.read_training = read_training,
                                                 .read_evaluation = read_evaluation};
