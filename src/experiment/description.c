/* From JSON to an experiment. Unknown keys are refused, since they are typing errors; jansson's
 * unpacking checks the types of the others. */
#include "experiment/description.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define SUFFIX ".json"
#define MOST_FILES 64 /* compiled in */

static const char *const kinds[] = {"counts", "histograms", "tables", "curves",
                                    "bins",   "complexity", NULL};

static kg_status refuse(const experiment_description *e, const char *where,
                        const json_error_t *reason, kg_error *error) {
    return kg_fail_at(error, e->name, 0, 0,
                      "expected the description of an experiment, found %s: %s", where,
                      reason->text);
}

/* `keys` are all keys that the object may have, ended by NULL. */
static kg_status check_keys(const experiment_description *e, const char *where, json_t *object,
                            const char *const *keys, kg_error *error) {
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(object, key, value) {
        size_t i = 0;
        while (keys[i] != NULL && strcmp(keys[i], key) != 0)
            i++;
        const char *nearest = keys[i] == NULL ? kg__nearest_word(key, keys) : NULL;
        if (keys[i] == NULL)
            return kg_fail_at(error, e->name, 0, 0,
                              "expected the description of an experiment, found %s: the unknown "
                              "key %s%s%s%s",
                              where, kg__quote(key, strlen(key)).text,
                              nearest == NULL ? "" : ", did you mean '",
                              nearest == NULL ? "" : nearest, nearest == NULL ? "" : "'?");
    }
    return KG_OK;
}

static kg_status refuse_value(const experiment_description *e, const char *what,
                              const char *expected, kg_error *error) {
    return kg_fail_at(error, e->name, 0, 0, "%s: expected %s", what, expected);
}

/* Names become file names, and ids in a page. */
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#define PLAIN_NAME "a name of at most 40 letters, digits, dots, dashes and underscores"

static bool is_plain_name(const char *name) {
    size_t length = strlen(name);
    return length <= 40 && strspn(name, LETTERS) > 0 && strspn(name, LETTERS "._-") == length;
}

static bool are_strings(const json_t *list) {
    size_t i = 0;
    const json_t *item = NULL;
    json_array_foreach(list, i, item) {
        if (!json_is_string(item))
            return false;
    }
    return json_is_array(list);
}

/* At least one, and all different. */
static bool are_numerals(const json_t *list) {
    size_t i = 0;
    const json_t *item = NULL;
    json_array_foreach(list, i, item) {
        const char *text = json_string_value(item);
        char *end = NULL;
        if (text == NULL || !isfinite(strtod(text, &end)) || end == text || *end != '\0')
            return false;
        for (size_t k = 0; k < i; k++)
            if (strtod(json_string_value(json_array_get(list, k)), NULL) == strtod(text, NULL))
                return false;
    }
    return json_array_size(list) > 0;
}

static bool are_four_numbers(const json_t *list) {
    size_t i = 0;
    const json_t *item = NULL;
    json_array_foreach(list, i, item) {
        if (!json_is_number(item))
            return false;
    }
    return json_array_size(list) == 4;
}

static bool are_counts(json_t *object) {
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(object, key, value) {
        if (!json_is_integer(value))
            return false;
    }
    return json_is_object(object);
}

static kg_status read_entry(experiment_entry *entry, const experiment_panel *panel,
                            const experiment_description *e, json_t *from, kg_error *error) {
    static const char *const keys[] = {"name",   "train", "eval", "chosen_by", "grid", "option",
                                       "values", "seeds", "rule", "paper",     NULL};
    json_error_t reason;
    json_t *values = NULL;
    json_t *paper = NULL;
    json_int_t seeds = 1;
    int rule = 0;
    entry->eval = "";
    KG_TRY(check_keys(e, "in an entry", from, keys, error));
    if (json_unpack_ex(from, &reason, 0, "{ss s?s s?s s?s s?s s?s s?o s?I s?b s?o}", "name",
                       &entry->name, "train", &entry->train, "eval", &entry->eval, "chosen_by",
                       &entry->chosen_by, "grid", &entry->grid, "option", &entry->option, "values",
                       &values, "seeds", &seeds, "rule", &rule, "paper", &paper) != 0)
        return refuse(e, "in an entry", &reason, error);
    entry->values = values;
    entry->paper = paper;
    entry->seeds = (size_t)seeds;
    entry->rule = rule != 0;
    if (seeds < 1 || seeds > 1000)
        return refuse_value(e, "seeds", "1 to 1000", error);
    if (paper != NULL && !are_four_numbers(paper))
        return refuse_value(e, "paper", "[MRR, Hit@1, Hit@3, Hit@10]", error);
    bool is_curve = panel->kind == EXPERIMENT_CURVES;
    if (is_curve != (entry->option != NULL) || is_curve != (values != NULL) ||
        (is_curve && (entry->train == NULL || !are_numerals(values))))
        return refuse_value(e, entry->name,
                            "\"train\", \"option\" and a list of different numbers in quotes as "
                            "\"values\" in curves, "
                            "and the latter two nowhere else",
                            error);
    if ((panel->kind == EXPERIMENT_BINS || entry->grid != NULL) && entry->train == NULL)
        return refuse_value(e, entry->name, "\"train\"", error);
    if (entry->grid != NULL && entry->chosen_by != NULL)
        return refuse_value(e, entry->name, "\"grid\" or \"chosen_by\", not both", error);
    return KG_OK;
}

static kg_status find_kind(experiment_kind *out, const experiment_description *e, const char *name,
                           kg_error *error) {
    for (size_t i = 0; kinds[i] != NULL; i++)
        if (strcmp(kinds[i], name) == 0) {
            *out = (experiment_kind)i;
            return KG_OK;
        }
    return refuse_value(e, "kind", "counts, histograms, tables, curves, bins or complexity", error);
}

static bool is_plot(const experiment_panel *panel) {
    return panel->kind != EXPERIMENT_TABLES && panel->kind != EXPERIMENT_COUNTS;
}

/* Files of plots are named by their data sets, tables by their titles. */
static kg_status check_panel(const experiment_panel *panel, const experiment_description *e,
                             kg_error *error) {
    if (!is_plain_name(panel->data))
        return refuse_value(e, "data", PLAIN_NAME, error);
    if (panel->kind == EXPERIMENT_COMPLEXITY && e->kind != EXPERIMENT_COMPLEXITY)
        return refuse_value(e, "kind", "one that is about a data set in a panel", error);
    for (const experiment_panel *other = e->panels; other < panel; other++)
        if (strcmp(other->title, panel->title) == 0 ||
            (is_plot(other) && is_plot(panel) && strcmp(other->data, panel->data) == 0))
            return refuse_value(e, panel->data,
                                "one panel for each data set, or tables with different titles",
                                error);
    return KG_OK;
}

static kg_status read_panel(experiment_panel *panel, experiment_description *e, json_t *from,
                            kg_error *error) {
    static const char *const keys[] = {"data", "title", "kind", "entries", "paper", "most", NULL};
    json_error_t reason;
    json_t *entries = NULL;
    json_t *paper = NULL;
    const char *kind = NULL;
    json_int_t most = 0;
    KG_TRY(check_keys(e, "in a panel", from, keys, error));
    if (json_unpack_ex(from, &reason, 0, "{ss s?s s?s s?o s?o s?I}", "data", &panel->data, "title",
                       &panel->title, "kind", &kind, "entries", &entries, "paper", &paper, "most",
                       &most) != 0)
        return refuse(e, "in a panel", &reason, error);
    panel->kind = e->kind;
    if (panel->title == NULL)
        panel->title = panel->data;
    if (kind != NULL)
        KG_TRY(find_kind(&panel->kind, e, kind, error));
    KG_TRY(check_panel(panel, e, error));
    bool has_entries = panel->kind == EXPERIMENT_TABLES || panel->kind == EXPERIMENT_CURVES ||
                       panel->kind == EXPERIMENT_BINS;
    if (has_entries != (json_array_size(entries) > 0) || (entries != NULL && !has_entries))
        return refuse_value(e, "entries",
                            "a list that is not empty for tables, curves and bins, and none for "
                            "other kinds",
                            error);
    if (paper != NULL && (panel->kind != EXPERIMENT_COUNTS || !are_counts(paper)))
        return refuse_value(e, "paper", "an object of counts, in a panel of counts only", error);
    if (most < 0)
        return refuse_value(e, "most", "a number of facts", error);
    panel->paper = paper;
    panel->most = most > 0 ? (uint64_t)most : 0;
    panel->entries = kg__alloc(json_array_size(entries), sizeof *panel->entries);
    if (panel->entries == NULL)
        return kg__fail_memory(error);
    size_t i = 0;
    json_t *item = NULL;
    json_array_foreach(entries, i, item) {
        panel->entry_count++;
        KG_TRY(read_entry(&panel->entries[i], panel, e, item, error));
        if (panel->kind == EXPERIMENT_CURVES &&
            strcmp(panel->entries[i].option, panel->entries[0].option) != 0)
            return refuse_value(e, panel->entries[i].name,
                                "the same \"option\" as in the panel's other entries", error);
    }
    return KG_OK;
}

static kg_status read_experiment(experiment_description *e, kg_error *error) {
    static const char *const keys[] = {"title", "kind", "beside", "text", "panels", NULL};
    json_error_t reason;
    const char *kind = NULL;
    json_t *text = NULL;
    json_t *panels = NULL;
    KG_TRY(check_keys(e, "at its top", e->description, keys, error));
    if (json_unpack_ex(e->description, &reason, 0, "{ss ss s?s s?o s?o}", "title", &e->title,
                       "kind", &kind, "beside", &e->beside, "text", &text, "panels", &panels) != 0)
        return refuse(e, "at its top", &reason, error);
    KG_TRY(find_kind(&e->kind, e, kind, error));
    if (text != NULL && !are_strings(text))
        return refuse_value(e, "text", "a list of paragraphs", error);
    if ((e->kind == EXPERIMENT_COMPLEXITY) != (json_array_size(panels) == 0))
        return refuse_value(e, "panels", "a list that is not empty, or none for complexity", error);
    e->text = text;
    e->panels = kg__alloc(json_array_size(panels), sizeof *e->panels);
    if (e->panels == NULL)
        return kg__fail_memory(error);
    size_t i = 0;
    json_t *item = NULL;
    json_array_foreach(panels, i, item) {
        e->panel_count++;
        KG_TRY(read_panel(&e->panels[i], e, item, error));
    }
    return KG_OK;
}

/* ---- Files ---- */

static kg_status read_file(json_t **out, const char *path, kg_error *error) {
    kg_input *input = NULL;
    KG_TRY(kg__input_open(&input, path, KG_PLAIN, error));
    kg_status status = kg__json_read(out, input, error);
    kg__input_close(input);
    return status;
}

static kg_status read_built_in(json_t **out, const char *name, kg_error *error) {
    const char *names[MOST_FILES + 2] = {"all"};
    size_t count = 1;
    for (const experiment_file *d = experiment_files; d->name != NULL; d++) {
        names[count++] = d->name;
        if (strcmp(d->name, name) != 0)
            continue;
        json_error_t reason;
        *out = json_loadb(d->text, d->length, JSON_REJECT_DUPLICATES, &reason);
        if (*out == NULL)
            return kg_fail_at(error, name, (uint64_t)reason.line, 0, "%s", reason.text);
        return KG_OK;
    }
    const char *nearest = kg__nearest_word(name, names);
    return kg_fail(error, KG_BAD_INPUT,
                   "unknown experiment %s%s%s%s (kgraft reproduce --help lists them)",
                   kg__quote(name, strlen(name)).text, nearest == NULL ? "" : ", did you mean ",
                   nearest == NULL ? "" : nearest, nearest == NULL ? "" : "?");
}

bool experiment_is_file(const char *name) {
    size_t length = strlen(name);
    return length > strlen(SUFFIX) && strcmp(name + length - strlen(SUFFIX), SUFFIX) == 0;
}

/* Without folder and suffix. */
static char *make_name(const char *name) {
    const char *slash = strrchr(name, '/');
    const char *start = slash == NULL ? name : slash + 1;
    return kg__copy_string(start, strlen(start) - (experiment_is_file(name) ? strlen(SUFFIX) : 0));
}

static kg_status open_experiment(experiment_description *e, const char *name, kg_error *error) {
    e->name = make_name(name);
    if (e->name == NULL)
        return kg__fail_memory(error);
    if (!is_plain_name(e->name))
        return refuse_value(e, "the name of the experiment", PLAIN_NAME, error);
    if (experiment_is_file(name))
        KG_TRY(read_file(&e->description, name, error));
    else
        KG_TRY(read_built_in(&e->description, name, error));
    return read_experiment(e, error);
}

kg_status experiment_open(experiment_description *out, const char *name, kg_error *error) {
    *out = (experiment_description){0};
    kg_status status = open_experiment(out, name, error);
    if (status != KG_OK)
        experiment_close(out);
    return status;
}

void experiment_close(experiment_description *experiment) {
    for (size_t i = 0; i < experiment->panel_count; i++) {
        experiment_panel *panel = &experiment->panels[i];
        for (size_t k = 0; k < panel->entry_count; k++)
            json_decref(panel->entries[k].choices);
        kg__free(panel->entries);
    }
    kg__free(experiment->panels);
    kg__free(experiment->name);
    json_decref(experiment->description);
    *experiment = (experiment_description){0};
}

/* ---- Entries ---- */

size_t experiment_value_count(const experiment_entry *entry) {
    return entry->option == NULL ? 1 : json_array_size(entry->values);
}

const char *experiment_value(const experiment_entry *entry, size_t i) {
    return json_string_value(json_array_get(entry->values, i));
}

const char *experiment_entry_train(const experiment_entry *entry, size_t i) {
    const json_t *choice = json_array_get(entry->choices, i);
    return choice == NULL ? entry->train : json_string_value(json_object_get(choice, "train"));
}
