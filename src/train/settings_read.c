/* Settings of a run from config.json, where only those are written that matter to it. */
#include <math.h>
#include <string.h>

#include "train/settings.h"

/* A value as a user would give it; false if it is of no type that values have. */
static bool write_text(kg_setting_text *out, const json_t *value) {
    size_t i = 0;
    size_t used = 0;
    json_t *item = NULL;
    if (json_is_string(value))
        used = (size_t)snprintf(out->text, sizeof out->text, "%s", json_string_value(value));
    else if (json_is_boolean(value))
        used = (size_t)snprintf(out->text, sizeof out->text, json_is_true(value) ? "yes" : "no");
    else if (json_is_integer(value))
        used = (size_t)snprintf(out->text, sizeof out->text, "%jd",
                                (intmax_t)json_integer_value(value));
    else if (json_is_real(value))
        used = (size_t)snprintf(out->text, sizeof out->text, "%.17g", json_real_value(value));
    else if (json_is_array(value) && json_array_size(value) == 0)
        used = (size_t)snprintf(out->text, sizeof out->text, "none");
    json_array_foreach(value, i, item) {
        if (!json_is_string(item) || used >= sizeof out->text)
            return false;
        used += (size_t)snprintf(out->text + used, sizeof out->text - used, "%s%s",
                                 i == 0 ? "" : "+", json_string_value(item));
    }
    return used > 0 && used < sizeof out->text;
}

static kg_status read_setting(kg_train_options *out, const kg_setting *setting, const json_t *value,
                              kg_error *error) {
    kg_setting_text text;
    if (!write_text(&text, value))
        return kg_fail(error, KG_BAD_INPUT, "`%s`: expected a value, found something else",
                       kg__setting_key(setting).text);
    return kg__setting_parse(setting, out, text.text, error);
}

static kg_status read_all(kg_train_options *out, const json_t *config, kg_error *error) {
    const json_t *settings = json_object_get(config, "settings");
    const json_t *preset = json_object_get(config, "preset");
    for (size_t i = 0; i < kg__setting_count; i++) {
        const json_t *value = json_object_get(settings, kg__setting_key(&kg__settings[i]).text);
        if (value != NULL)
            KG_TRY(read_setting(out, &kg__settings[i], value, error));
    }
    if (preset != NULL)
        KG_TRY(read_setting(out, kg__setting_find("preset"), preset, error));
    if (json_object_get(settings, "lr_last") == NULL)
        out->last_rate = out->rate;
    if (json_object_get(settings, "terms") == NULL)
        out->terms = kg__train_unnamed_terms(out);
    return kg__train_check(out, error);
}

kg_status kg__train_read(kg_train_options *out, const json_t *config, const char *path,
                         kg_error *error) {
    const json_t *settings = json_object_get(config, "settings");
    const char *model = json_string_value(json_object_get(settings, "model"));
    const kg_scoring *scoring = model == NULL ? NULL : kg__scoring_find(model);
    if (json_object_get(settings, "loss") == NULL)
        return kg_fail_at(
            error, path, 0, 0,
            "expected a model that kgraft trained, found one that was made otherwise");
    *out = kg__train_defaults(KG_PAPER, scoring == NULL ? &kg__scorings[0] : scoring);
    kg_status status = read_all(out, config, error);
    if (status == KG_BAD_INPUT)
        kg__error_locate(error, path, 0, 0);
    return status;
}
