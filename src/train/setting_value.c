/* A setting by its row: its value in kg_train_options, as text and as JSON. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "train/settings.h"

kg_setting_key kg__setting_key(const kg_setting *setting) {
    kg_setting_key key;
    snprintf(key.text, sizeof key.text, "%s", setting->name);
    for (char *at = key.text; *at != '\0'; at++)
        *at = *at == '-' ? '_' : *at;
    return key;
}

/* The i-th row of the choices, which begins with its name; NULL behind the last of listed ones. */
static const void *row_at(const kg_setting *setting, size_t i) {
    const char *at = (const char *)setting->choices + i * setting->choice_size;
    return setting->type == KG_TYPE_LISTED ? *(const void *const *)at : at;
}

const char *kg__setting_choice(const kg_setting *setting, size_t i) {
    const char *const *row = row_at(setting, i);
    return row == NULL ? NULL : *row;
}

/* ---- Fields ---- */

static void *field_of(const kg_setting *setting, kg_train_options *options) {
    return (char *)options + setting->offset;
}

static uint64_t get_count(const kg_setting *setting, const kg_train_options *options) {
    return *(const uint64_t *)kg__setting_value(setting, options);
}

static double get_number(const kg_setting *setting, const kg_train_options *options) {
    return *(const double *)kg__setting_value(setting, options);
}

static unsigned get_set(const kg_setting *setting, const kg_train_options *options) {
    return *(const unsigned *)kg__setting_value(setting, options);
}

/* The position among the choices, of all types that have one. */
static size_t get_choice(const kg_setting *setting, const kg_train_options *options) {
    const void *field = kg__setting_value(setting, options);
    if (setting->type == KG_TYPE_FLAG)
        return !*(const bool *)field;
    if (setting->type == KG_TYPE_EITHER)
        return *(const bool *)field;
    if (setting->type == KG_TYPE_CHOICE)
        return *(const unsigned *)field;
    size_t i = 0;
    while (row_at(setting, i) != *(const void *const *)field)
        i++;
    return i;
}

const char *kg__setting_word(const kg_setting *setting, const kg_train_options *options) {
    return kg__setting_choice(setting, get_choice(setting, options));
}

static void set_choice(const kg_setting *setting, kg_train_options *options, size_t i) {
    void *field = field_of(setting, options);
    if (setting->type == KG_TYPE_FLAG)
        *(bool *)field = i == 0;
    else if (setting->type == KG_TYPE_EITHER)
        *(bool *)field = i == 1;
    else if (setting->type == KG_TYPE_CHOICE)
        *(unsigned *)field = (unsigned)i;
    else
        *(const void **)field = row_at(setting, i);
}

void kg__setting_store(const kg_setting *setting, kg_train_options *options, const void *value) {
    static const size_t sizes[] = {
        [KG_TYPE_COUNT] = sizeof(uint64_t),  [KG_TYPE_NUMBER] = sizeof(double),
        [KG_TYPE_FLAG] = sizeof(bool),       [KG_TYPE_EITHER] = sizeof(bool),
        [KG_TYPE_CHOICE] = sizeof(unsigned), [KG_TYPE_ROW] = sizeof(void *),
        [KG_TYPE_LISTED] = sizeof(void *),   [KG_TYPE_SET] = sizeof(unsigned),
    };
    memcpy(field_of(setting, options), value, sizes[setting->type]);
}

/* ---- Text ---- */

static kg_status refuse(const kg_setting *setting, const char *expected, const char *found,
                        kg_error *error) {
    return kg_fail(error, KG_BAD_INPUT, "`%s`: expected %s, found %s",
                   kg__setting_key(setting).text, expected, kg__quote(found, strlen(found)).text);
}

/* The position of a word among the choices, or how many these are. */
static size_t find_choice(const kg_setting *setting, const char *word, size_t length) {
    size_t i = 0;
    for (const char *name = NULL; (name = kg__setting_choice(setting, i)) != NULL; i++)
        if (strlen(name) == length && memcmp(name, word, length) == 0)
            break;
    return i;
}

static kg_status refuse_choice(const kg_setting *setting, const char *before, const char *found,
                               kg_error *error) {
    char expected[256];
    size_t used = (size_t)snprintf(expected, sizeof expected, "%s", before);
    const char *name = NULL;
    for (size_t i = 0; used < sizeof expected && (name = kg__setting_choice(setting, i)) != NULL;
         i++)
        used += (size_t)snprintf(expected + used, sizeof expected - used, " %s", name);
    return refuse(setting, expected, found, error);
}

static kg_status parse_count(const kg_setting *setting, uint64_t *out, const char *text,
                             kg_error *error) {
    char *end = NULL;
    if (setting->choices != NULL && strcmp(text, kg__setting_choice(setting, 0)) == 0) {
        *out = KG_ALL_ENTITIES;
        return KG_OK;
    }
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end != '\0')
        return refuse(setting,
                      setting->choices == NULL ? "a whole number, 0 or more"
                                               : "a whole number, 0 or more, or all",
                      text, error);
    if (errno != 0 || number > INT64_MAX)
        return refuse(setting, "a number of at most 18 digits", text, error);
    *out = number;
    return KG_OK;
}

static kg_status parse_number(const kg_setting *setting, double *out, const char *text,
                              kg_error *error) {
    char *end = NULL;
    double number = strtod(text, &end);
    if (text[0] == '\0' || isspace((unsigned char)text[0]) || *end != '\0' ||
        !__builtin_isfinite(number))
        return refuse(setting, "a number", text, error);
    *out = number;
    return KG_OK;
}

static kg_status parse_set(const kg_setting *setting, unsigned *out, const char *text,
                           kg_error *error) {
    size_t count = find_choice(setting, "", 0);
    unsigned set = strcmp(text, "all") == 0 ? (1U << count) - 1 : 0;
    bool is_list = set == 0 && strcmp(text, "none") != 0;
    for (const char *word = text; is_list;) {
        size_t length = strcspn(word, "+");
        size_t i = find_choice(setting, word, length);
        if (i == count)
            return refuse_choice(setting, "none, all, or some joined by + of", text, error);
        set |= 1U << i;
        is_list = word[length] == '+';
        word += length + 1;
    }
    *out = set;
    return KG_OK;
}

static kg_status parse_choice(const kg_setting *setting, kg_train_options *options,
                              const char *text, kg_error *error) {
    size_t i = find_choice(setting, text, strlen(text));
    if (kg__setting_choice(setting, i) == NULL)
        return refuse_choice(setting, "one of", text, error);
    set_choice(setting, options, i);
    return KG_OK;
}

kg_status kg__setting_parse(const kg_setting *setting, kg_train_options *options, const char *text,
                            kg_error *error) {
    void *field = field_of(setting, options);
    switch (setting->type) {
    case KG_TYPE_COUNT:
        return parse_count(setting, field, text, error);
    case KG_TYPE_NUMBER:
        return parse_number(setting, field, text, error);
    case KG_TYPE_SET:
        return parse_set(setting, field, text, error);
    default:
        return parse_choice(setting, options, text, error);
    }
}

/* Whether a count stands for a word. */
static bool is_word(const kg_setting *setting, const kg_train_options *options) {
    return setting->choices != NULL && get_count(setting, options) == KG_ALL_ENTITIES;
}

static void put_set(kg_setting_text *out, const kg_setting *setting, unsigned set) {
    size_t used = 0;
    bool is_whole = true;
    const char *name = NULL;
    for (size_t i = 0; used < sizeof out->text && (name = kg__setting_choice(setting, i)) != NULL;
         i++)
        if ((set >> i & 1) != 0)
            used += (size_t)snprintf(out->text + used, sizeof out->text - used, "%s%s",
                                     used == 0 ? "" : "+", name);
        else
            is_whole = false;
    if (used == 0 || is_whole)
        snprintf(out->text, sizeof out->text, "%s", used == 0 ? "none" : "all");
}

kg_setting_text kg__setting_text(const kg_setting *setting, const kg_train_options *options) {
    kg_setting_text out = {""};
    if (setting->type == KG_TYPE_SET)
        put_set(&out, setting, get_set(setting, options));
    else if (setting->type == KG_TYPE_NUMBER)
        snprintf(out.text, sizeof out.text, "%.15g", get_number(setting, options));
    else if (setting->type == KG_TYPE_COUNT && !is_word(setting, options))
        snprintf(out.text, sizeof out.text, "%ju", (uintmax_t)get_count(setting, options));
    else
        snprintf(out.text, sizeof out.text, "%s",
                 setting->type == KG_TYPE_COUNT ? kg__setting_choice(setting, 0)
                                                : kg__setting_word(setting, options));
    return out;
}

void kg__setting_reset(const kg_setting *setting, kg_train_options *options,
                       kg_preset_column column) {
    void *field = field_of(setting, options);
    const char *word = setting->words[column];
    if (setting->type == KG_TYPE_COUNT)
        *(uint64_t *)field = (uint64_t)setting->numbers[column];
    else if (setting->type == KG_TYPE_NUMBER)
        *(double *)field = setting->numbers[column];
    else if (setting->type == KG_TYPE_SET)
        *(unsigned *)field = strcmp(word, "all") == 0 ? (1U << find_choice(setting, "", 0)) - 1 : 0;
    else
        set_choice(setting, options, find_choice(setting, word, strlen(word)));
}

/* ---- JSON ---- */

static json_t *describe_set(const kg_setting *setting, unsigned set) {
    json_t *names = json_array();
    bool good = true;
    const char *name = NULL;
    for (size_t i = 0; (name = kg__setting_choice(setting, i)) != NULL; i++)
        if ((set >> i & 1) != 0)
            good = json_array_append_new(names, json_string(name)) == 0 && good;
    if (good)
        return names;
    json_decref(names);
    return NULL;
}

json_t *kg__setting_json(const kg_setting *setting, const kg_train_options *options) {
    if (setting->type == KG_TYPE_COUNT && !is_word(setting, options))
        return json_integer((json_int_t)get_count(setting, options));
    if (setting->type == KG_TYPE_NUMBER)
        return json_real(get_number(setting, options));
    if (setting->type == KG_TYPE_FLAG)
        return json_boolean(get_choice(setting, options) == 0);
    if (setting->type == KG_TYPE_SET)
        return describe_set(setting, get_set(setting, options));
    return json_string(kg__setting_text(setting, options).text);
}

static kg_status read_set(const kg_setting *setting, unsigned *out, const json_t *names,
                          kg_error *error) {
    unsigned set = 0;
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        size_t k = name == NULL ? 0 : find_choice(setting, name, strlen(name));
        if (name == NULL || kg__setting_choice(setting, k) == NULL)
            return refuse_choice(setting, "names of", name == NULL ? "" : name, error);
        set |= 1U << k;
    }
    *out = set;
    return KG_OK;
}

kg_status kg__setting_read(const kg_setting *setting, kg_train_options *options,
                           const json_t *value, kg_error *error) {
    void *field = field_of(setting, options);
    if (setting->type == KG_TYPE_COUNT && json_is_integer(value) && json_integer_value(value) >= 0)
        *(uint64_t *)field = (uint64_t)json_integer_value(value);
    else if (setting->type == KG_TYPE_NUMBER && json_is_number(value))
        *(double *)field = json_number_value(value);
    else if (setting->type == KG_TYPE_FLAG && json_is_boolean(value))
        *(bool *)field = json_is_true(value);
    else if (setting->type == KG_TYPE_SET && json_is_array(value))
        return read_set(setting, field, value, error);
    else if (setting->choices != NULL && setting->type != KG_TYPE_FLAG && json_is_string(value))
        return kg__setting_parse(setting, options, json_string_value(value), error);
    else
        return kg_fail(error, KG_BAD_INPUT, "`%s`: expected a value as kgraft writes it, found %s",
                       kg__setting_key(setting).text, "another");
    return KG_OK;
}
