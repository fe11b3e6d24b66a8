/* A setting by its row: its value in kg_train_options, as text and as JSON. */
#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "train/settings.h"

kg_setting_text kg__setting_key(const kg_setting *setting) {
    kg_setting_text key;
    snprintf(key.text, sizeof key.text, "%s", setting->name);
    for (char *at = key.text; *at != '\0'; at++)
        *at = *at == '-' ? '_' : *at;
    return key;
}

static size_t size_of(const kg_setting *setting) {
    static const size_t sizes[] = {
        [KG_TYPE_COUNT] = sizeof(uint64_t),  [KG_TYPE_NUMBER] = sizeof(double),
        [KG_TYPE_FLAG] = sizeof(bool),       [KG_TYPE_EITHER] = sizeof(bool),
        [KG_TYPE_CHOICE] = sizeof(unsigned), [KG_TYPE_ROW] = sizeof(void *),
        [KG_TYPE_LISTED] = sizeof(void *),   [KG_TYPE_SET] = sizeof(unsigned),
    };
    return sizes[setting->type];
}

static void *field_of(const kg_setting *setting, kg_train_options *options) {
    return (char *)options + setting->offset;
}

void kg__setting_store(const kg_setting *setting, kg_train_options *options, const void *value) {
    memcpy(field_of(setting, options), value, size_of(setting));
}

bool kg__setting_is_same(const kg_setting *setting, const kg_train_options *a,
                         const kg_train_options *b) {
    return memcmp(kg__setting_value(setting, a), kg__setting_value(setting, b), size_of(setting)) ==
           0;
}

/* ---- Choices ---- */

/* The i-th row of the choices, which begins with its name; NULL behind the last of listed ones. */
static const void *row_at(const kg_setting *setting, size_t i) {
    const char *at = (const char *)setting->choices + i * setting->choice_size;
    return setting->type == KG_TYPE_LISTED ? *(const void *const *)at : at;
}

const char *kg__setting_choice(const kg_setting *setting, size_t i) {
    const char *const *row = setting->choices == NULL ? NULL : row_at(setting, i);
    return row == NULL ? NULL : *row;
}

/* The position of a word among the choices, or how many these are. */
static size_t find_choice(const kg_setting *setting, const char *word, size_t length) {
    size_t i = 0;
    for (const char *name = NULL; (name = kg__setting_choice(setting, i)) != NULL; i++)
        if (strlen(name) == length && memcmp(name, word, length) == 0)
            break;
    return i;
}

/* What the i-th choice is in a field; of a set, it alone. */
union value {
    uint64_t count;
    unsigned number;
    bool flag;
    const void *row;
};

static union value value_of(const kg_setting *setting, size_t i) {
    const union value values[] = {
        [KG_TYPE_COUNT] = {.count = KG_ALL_ENTITIES},
        [KG_TYPE_FLAG] = {.flag = i == 0},
        [KG_TYPE_EITHER] = {.flag = i == 1},
        [KG_TYPE_CHOICE] = {.number = (unsigned)i},
        [KG_TYPE_ROW] = {.row = row_at(setting, i)},
        [KG_TYPE_LISTED] = {.row = row_at(setting, i)},
        [KG_TYPE_SET] = {.number = 1U << i},
    };
    return values[setting->type];
}

const char *kg__setting_word(const kg_setting *setting, const kg_train_options *options) {
    const void *field = kg__setting_value(setting, options);
    const char *name = NULL;
    for (size_t i = 0; (name = kg__setting_choice(setting, i)) != NULL; i++) {
        union value value = value_of(setting, i);
        if (memcmp(field, &value, size_of(setting)) == 0)
            break;
    }
    return name;
}

static unsigned get_set(const kg_setting *setting, const kg_train_options *options) {
    return *(const unsigned *)kg__setting_value(setting, options);
}

static unsigned whole_set(const kg_setting *setting) {
    return (1U << find_choice(setting, "", 0)) - 1;
}

kg_setting_text kg__setting_choices(const kg_setting *setting) {
    const char *names[KG_MOST_CHOICES + 1] = {NULL};
    kg_setting_text out = {""};
    for (size_t i = 0; i < KG_MOST_CHOICES && kg__setting_choice(setting, i) != NULL; i++)
        names[i] = kg__setting_choice(setting, i);
    kg__join_names(out.text, sizeof out.text, names, sizeof *names);
    return out;
}

/* A set as users write it, some joined by +. */
static kg_setting_text show_set(const kg_setting *setting, unsigned set) {
    kg_setting_text out = {""};
    const char *name = NULL;
    for (size_t i = 0; (name = kg__setting_choice(setting, i)) != NULL; i++) {
        size_t used = strlen(out.text);
        if ((set >> i & 1) != 0)
            snprintf(out.text + used, sizeof out.text - used, "%s%s", used == 0 ? "" : "+", name);
    }
    return out;
}

/* ---- Text ---- */

static bool parse_set(const kg_setting *setting, unsigned *out, const char *text) {
    unsigned set = strcmp(text, "all") == 0 ? whole_set(setting) : 0;
    bool is_list = set == 0 && strcmp(text, "none") != 0;
    for (const char *word = text; is_list;) {
        size_t length = strcspn(word, "+");
        size_t i = find_choice(setting, word, length);
        if (kg__setting_choice(setting, i) == NULL)
            return false;
        set |= 1U << i;
        is_list = word[length] == '+';
        word += length + 1;
    }
    *out = set;
    return true;
}

/* Returns what was expected instead, before the choices; NULL if it is a value. */
static const char *parse(const kg_setting *setting, kg_train_options *options, const char *text) {
    void *field = field_of(setting, options);
    size_t i = find_choice(setting, text, strlen(text));
    if (setting->type == KG_TYPE_SET)
        return parse_set(setting, field, text) ? NULL : "all, or some joined by + of ";
    if (kg__setting_choice(setting, i) != NULL) {
        union value value = value_of(setting, i);
        kg__setting_store(setting, options, &value);
        return NULL;
    }
    return setting->type == KG_TYPE_COUNT    ? kg__parse_count(field, text)
           : setting->type == KG_TYPE_NUMBER ? kg__parse_number(field, text)
                                             : "";
}

kg_status kg__setting_parse(const kg_setting *setting, kg_train_options *options, const char *text,
                            kg_error *error) {
    const char *wanted = parse(setting, options, text);
    if (wanted == NULL)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT, "`%s`: expected %s%s%s, found %s",
                   kg__setting_key(setting).text, wanted,
                   setting->type == KG_TYPE_COUNT && setting->choices != NULL ? ", or " : "",
                   kg__setting_choices(setting).text, kg__quote(text, strlen(text)).text);
}

void kg__setting_reset(const kg_setting *setting, kg_train_options *options,
                       kg_preset_column column) {
    parse(setting, options, setting->values[column]);
}

kg_setting_text kg__setting_text(const kg_setting *setting, const kg_train_options *options) {
    const void *field = kg__setting_value(setting, options);
    const char *word = kg__setting_word(setting, options);
    kg_setting_text out = {""};
    if (setting->type == KG_TYPE_SET && get_set(setting, options) == whole_set(setting))
        word = "all";
    if (setting->type == KG_TYPE_SET && get_set(setting, options) == 0)
        word = "none";
    if (word != NULL)
        snprintf(out.text, sizeof out.text, "%s", word);
    else if (setting->type == KG_TYPE_SET)
        out = show_set(setting, get_set(setting, options));
    else if (setting->type == KG_TYPE_COUNT)
        snprintf(out.text, sizeof out.text, "%ju", (uintmax_t) * (const uint64_t *)field);
    else
        snprintf(out.text, sizeof out.text, "%.15g", *(const double *)field);
    return out;
}

/* ---- JSON ---- */

static json_t *describe_set(const kg_setting *setting, unsigned set) {
    json_t *names = json_array();
    bool good = true;
    const char *name = NULL;
    for (size_t i = 0; (name = kg__setting_choice(setting, i)) != NULL; i++)
        if ((set >> i & 1) != 0)
            good = json_array_append_new(names, json_string(name)) == 0 && good;
    return kg__json_complete(names, good);
}

json_t *kg__setting_json(const kg_setting *setting, const kg_train_options *options) {
    const void *field = kg__setting_value(setting, options);
    const char *word = kg__setting_word(setting, options);
    if (setting->type == KG_TYPE_SET)
        return describe_set(setting, get_set(setting, options));
    if (setting->type == KG_TYPE_FLAG)
        return json_boolean(*(const bool *)field);
    if (word != NULL)
        return json_string(word);
    if (setting->type == KG_TYPE_COUNT)
        return json_integer((json_int_t) * (const uint64_t *)field);
    return json_real(*(const double *)field);
}
