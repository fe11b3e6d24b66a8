/* Training, as users of the library see it. */
#include <omp.h>
#include <string.h>

#include "api/sized.h"
#include "base/text.h"
#include "graph/dataset_source.h"
#include "train/hold_out.h"
#include "train/training_run.h"

/* The settings that users of the library choose by fields of kg_training_options. Names are texts,
 * or NULL where none is given; the others are of the types that settings have. */
struct field {
    const char *key; /* of the setting, and of the field, so that messages name it */
    size_t offset;
};

#define FIELD(name) offsetof(kg_training_options, name)
#define ROW(name) \
    { #name, FIELD(name) }

static const struct field fields[] = {
    ROW(preset),    ROW(model),   ROW(aggregate),
    ROW(optimizer), ROW(dim),     ROW(psi),
    ROW(negatives), ROW(batch),   ROW(epochs),
    ROW(lr),        ROW(l2),      ROW(dropout),
    ROW(seed),      ROW(threads), ROW(validate_every),
    ROW(patience),  ROW(terms),   ROW(propagation_epochs),
};
#define FIELD_COUNT (sizeof fields / sizeof *fields)

/* The row with a key, or NULL. */
static const kg_setting *find_key(const char *key, size_t length) {
    for (size_t i = 0; i < kg__setting_count; i++) {
        kg_setting_text known = kg__setting_key(&kg__settings[i]);
        if (strlen(known.text) == length && memcmp(known.text, key, length) == 0)
            return &kg__settings[i];
    }
    return NULL;
}

static const kg_setting *setting_of(const struct field *field) {
    return find_key(field->key, strlen(field->key));
}

/* Names in kg_training_options are texts; its counts and numbers have the type of the setting. */
static bool is_name(const kg_setting *setting) {
    return setting->type != KG_TYPE_COUNT && setting->type != KG_TYPE_NUMBER;
}

static kg_status set_name(kg_settings *out, const char *setting, const char *name,
                          kg_error *error) {
    return name == NULL ? KG_OK : kg__settings_set(out, kg__setting_find(setting), name, error);
}

/* NULL stands for the usual ones. */
static kg_status make_defaults(kg_training_options *out, const char *preset, const char *model,
                               kg_error *error) {
    kg_settings given = {0};
    KG_TRY(set_name(&given, "preset", preset, error));
    KG_TRY(set_name(&given, "model", model, error));
    kg_train_options usual = kg__settings_complete(&given);
    *out =
        (kg_training_options){.size = sizeof *out, .hold_out = KG_DEFAULT_HOLD_OUT, .refit = true};
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const kg_setting *setting = setting_of(&fields[i]);
        void *field = (char *)out + fields[i].offset;
        if (is_name(setting))
            *(const char **)field = kg__setting_word(setting, &usual);
        else
            memcpy(field, kg__setting_value(setting, &usual), sizeof(double));
    }
    out->preset = preset;
    out->terms = NULL;
    out->model = model == NULL ? out->model : model;
    return KG_OK;
}

kg_status kg_training_options_init(kg_training_options *out, const char *preset, const char *model,
                                   kg_error *error) {
    kg_training_options whole;
    KG_CHECK_SIZE(out);
    KG_TRY(make_defaults(&whole, preset, model, error));
    kg__sized_write(out, &whole, sizeof whole);
    return KG_OK;
}

/* A caller's settings. Those that it does not have are as usual for its preset and model. */
static kg_status read_settings(kg_training_options *out, const kg_training_options *options,
                               kg_error *error) {
    kg_training_options named = KG_TRAINING_OPTIONS_INIT;
    KG_READ(&named, options);
    KG_TRY(make_defaults(out, named.preset, named.model, error));
    KG_READ(out, options);
    return KG_OK;
}

/* Settings as text: name=value, separated by blanks. */
static kg_status read_text(kg_settings *out, const char *text, kg_error *error) {
    for (const char *at = text + strspn(text, " "); *at != '\0'; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        size_t name = strcspn(at, "= ");
        const kg_setting *setting = find_key(at, name);
        kg_setting_text value;
        if (setting == NULL || name == length || length - name > sizeof value.text)
            return kg_fail(error, KG_BAD_INPUT,
                           "`settings`: expected the name of a setting, = and its value, found %s",
                           kg__quote(at, length).text);
        snprintf(value.text, sizeof value.text, "%.*s", (int)(length - name - 1), at + name + 1);
        KG_TRY(kg__settings_set(out, setting, value.text, error));
        at += length;
    }
    return KG_OK;
}

/* A field counts as given unless it is what it would be by the fields before it, preset and model
 * being the first: those who only fill in the usual values have not chosen them. */
static kg_status read_field(kg_settings *out, const struct field *from,
                            const kg_training_options *options, kg_error *error) {
    const kg_setting *setting = setting_of(from);
    const void *field = (const char *)options + from->offset;
    const char *name = is_name(setting) ? *(const char *const *)field : NULL;
    bool is_optional = from->offset == FIELD(preset) || from->offset == FIELD(terms);
    kg_train_options usual = kg__settings_complete(out);
    kg_settings with = *out;
    if (!is_name(setting))
        kg__settings_store(&with, setting, field);
    else if (name != NULL)
        KG_TRY(kg__settings_set(&with, setting, name, error));
    else if (!is_optional)
        return kg_fail(error, KG_BAD_INPUT, "`%s`: expected a name, found NULL",
                       kg__setting_key(setting).text);
    if (is_optional || !kg__setting_is_same(setting, &with.options, &usual))
        *out = with;
    return KG_OK;
}

/* A user's settings: by fields, and by name. */
struct given {
    kg_settings settings; /* all of them */
    uint64_t by_name;     /* those that have to have an effect; fields always have some value */
};

static kg_status make_settings(struct given *out, const kg_training_options *from,
                               kg_error *error) {
    kg_settings named = {0};
    *out = (struct given){0};
    for (size_t i = 0; i < FIELD_COUNT; i++)
        KG_TRY(read_field(&out->settings, &fields[i], from, error));
    if (from->hold_out != KG_DEFAULT_HOLD_OUT)
        kg__settings_store(&out->settings, kg__setting_find("hold-out"), &from->hold_out);
    if (from->settings != NULL)
        KG_TRY(read_text(&named, from->settings, error));
    for (size_t i = 0; i < kg__setting_count; i++)
        if ((named.given >> i & 1) != 0)
            kg__settings_store(&out->settings, &kg__settings[i],
                               kg__setting_value(&kg__settings[i], &named.options));
    out->by_name = named.given;
    return KG_OK;
}

/* What is not among a user's settings is as usual. */
static kg_status complete(kg_train_options *out, const struct given *given, kg_error *error) {
    *out = kg__settings_complete(&given->settings);
    KG_TRY(kg__settings_check(&given->settings, given->by_name, error));
    return kg__train_check(out, error);
}

kg_status kg_model_train(const char *path, const char *dataset, const kg_training_options *options,
                         kg_error *error) {
    KG_NEED(path);
    KG_NEED(dataset);
    kg_training_options whole;
    struct given given;
    kg_train_options settings;
    KG_TRY(read_settings(&whole, options, error));
    KG_TRY(make_settings(&given, &whole, error));
    KG_TRY(complete(&settings, &given, error));
    int threads = omp_get_max_threads();
    kg_reader reader = {.options.folder_first = true, .progress = whole.progress};
    kg_train_watcher watcher = {.progress = whole.progress};
    kg_dataset data = {0};
    kg_training_run_result result;
    kg_status status = KG_OK;
    kg_training_run_options run = {.options = &settings,
                                   .dataset = &data,
                                   .path = path,
                                   .hold_out = kg__settings_hold_out(&given.settings),
                                   .refit = whole.refit,
                                   .resume = whole.resume,
                                   .force = whole.replace,
                                   .watcher = &watcher};
    omp_set_num_threads((int)settings.threads); /* of the calling thread alone */
    KG_CHECK(kg__dataset_open(&data, error));
    KG_CHECK(kg__source_read(&data, &reader, &dataset, 1, error));
    KG_CHECK(kg__settings_adapt(&given.settings, &data, error));
    KG_CHECK(complete(&settings, &given, error));
    status = kg__training_run(&result, &run, error);
done:
    omp_set_num_threads(threads);
    kg__dataset_close(&data);
    return status;
}
