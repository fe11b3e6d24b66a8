/* Lists of values to combinations, and the best of these. */
#include "experiment/choice.h"

#include <string.h>

#include "base/memory.h"
#include "experiment/grid.h"

#define EXPECTED "options with lists of values, as in \"--lr 0.1,0.01 --l2 0,0.1\""

/* An option of a grid, and its values. */
struct list {
    const char *option;
    size_t option_length;
    const char *values;
    size_t values_length;
    size_t count;
};

static const char *take_word(const char **text, size_t *length) {
    const char *word = *text + strspn(*text, " ");
    *length = strcspn(word, " ");
    *text = word + *length;
    return word;
}

/* Takes the next list; false at the end. */
static bool take_list(struct list *out, const char **text) {
    out->option = take_word(text, &out->option_length);
    out->values = take_word(text, &out->values_length);
    out->count = 1;
    for (size_t i = 0; i < out->values_length; i++)
        out->count += out->values[i] == ',';
    return out->option_length > 0;
}

static const char *find_value(const struct list *list, size_t i, size_t *length) {
    const char *value = list->values;
    for (; i > 0; i--)
        value = strchr(value, ',') + 1;
    *length = strcspn(value, ", ");
    return value;
}

static size_t count_combinations(const char *grid) {
    struct list list;
    size_t count = 1;
    while (take_list(&list, &grid) && count <= EXPERIMENT_MOST_RUNS)
        count *= list.count;
    return count;
}

static kg_status check_lists(const experiment_entry *entry, kg_error *error) {
    const char *rest = entry->grid;
    struct list list;
    while (take_list(&list, &rest))
        if (strncmp(list.option, "--", 2) != 0 || list.values_length == 0 ||
            memchr(list.option, '=', list.option_length) != NULL)
            return kg_fail_at(error, entry->name, 0, 0, "grid: expected " EXPECTED);
    size_t count = count_combinations(entry->grid);
    if (count < 2 || count > EXPERIMENT_MOST_RUNS)
        return kg_fail_at(error, entry->name, 0, 0, "grid: expected 2 to %d combinations",
                          EXPERIMENT_MOST_RUNS);
    return KG_OK;
}

/* Appends combination i: of all lists, or of those with several values. To be kg_freed; NULL if
 * memory is short. */
static char *add_combination(const char *train, const char *grid, size_t i, bool has_all) {
    size_t size = strlen(train) + strlen(grid) + 2;
    size_t left = count_combinations(grid);
    char *out = kg__resize(NULL, size, 1);
    struct list list;
    if (out == NULL)
        return NULL;
    size_t length = (size_t)snprintf(out, size, "%s", train);
    while (take_list(&list, &grid)) {
        size_t value_length = 0;
        left /= list.count;
        const char *value = find_value(&list, i / left % list.count, &value_length);
        if (has_all || list.count > 1)
            length +=
                (size_t)snprintf(out + length, size - length, "%s%.*s %.*s", length == 0 ? "" : " ",
                                 (int)list.option_length, list.option, (int)value_length, value);
    }
    return out;
}

/* ---- Requests ---- */

/* One value of an entry's option, or the only one of an entry without. */
struct place {
    const experiment_panel *panel;
    experiment_entry *entry;
    size_t value;
};

/* Calls the function for each place of the data set, or of all. */
typedef kg_status visit_place(const struct place *place, experiment_runner *runner,
                              kg_error *error);

static kg_status visit(visit_place *function, const experiment_description *e, const char *only,
                       experiment_runner *runner, kg_error *error) {
    for (size_t p = 0; p < e->panel_count; p++) {
        const experiment_panel *panel = &e->panels[p];
        if (only != NULL && strcmp(only, panel->data) != 0)
            continue;
        for (size_t i = 0; i < panel->entry_count; i++)
            for (size_t v = 0; v < experiment_value_count(&panel->entries[i]); v++) {
                struct place place = {panel, &panel->entries[i], v};
                kg_status status = function(&place, runner, error);
                if (status == KG_BAD_INPUT)
                    kg__error_locate(error, panel->entries[i].name, 0, 0);
                KG_TRY(status);
            }
    }
    return KG_OK;
}

/* With the entry's own evaluation, or NULL for one that is only trained. */
static experiment_request make_request(const struct place *place, const char *train,
                                       const char *eval) {
    const experiment_entry *entry = place->entry;
    return (experiment_request){.data = place->panel->data,
                                .train = train,
                                .option = entry->option,
                                .value = experiment_value(entry, place->value),
                                .eval = eval};
}

static kg_status check_place(const struct place *place, experiment_runner *runner,
                             kg_error *error) {
    const experiment_entry *entry = place->entry;
    char *train = NULL;
    if (entry->grid != NULL) {
        KG_TRY(check_lists(entry, error));
        train = add_combination(entry->train, entry->grid, 0, false);
        if (train == NULL)
            return kg__fail_memory(error);
    }
    experiment_request request =
        make_request(place, train == NULL ? entry->train : train, entry->eval);
    kg_status status = experiment_runner_check(runner, &request, error);
    kg__free(train);
    return status;
}

static kg_status plan_place(const struct place *place, experiment_runner *runner, kg_error *error) {
    const experiment_entry *entry = place->entry;
    size_t count = entry->grid == NULL ? 0 : count_combinations(entry->grid);
    for (size_t i = 0; i < count; i++) {
        char *train = add_combination(entry->train, entry->grid, i, true);
        if (train == NULL)
            return kg__fail_memory(error);
        experiment_request request = make_request(place, train, NULL);
        kg_status status = experiment_runner_plan(runner, &request, error);
        kg__free(train);
        KG_TRY(status);
    }
    return KG_OK;
}

/* ---- The choice ---- */

/* What came of a grid. */
struct search {
    size_t best; /* combination */
    double mrr;  /* negative: there is none */
    uint64_t epoch;
    size_t failed;
    uint64_t epochs; /* of the longest run */
    double seconds;
    json_t *processors; /* keys of an object */
};

/* Whether a run of the entry's own would validate that epoch. */
static bool is_validated(const kg_train_options *own, uint64_t epoch) {
    return epoch <= own->epochs &&
           (epoch == 1 || epoch % own->validate_every == 0 || epoch == own->epochs);
}

static kg_status take_run(struct search *search, size_t i, const experiment_run *run,
                          const kg_train_options *own, kg_error *error) {
    const json_t *machine = json_object_get(run->record, "machine");
    const char *processor = json_string_value(json_object_get(machine, "processor"));
    size_t k = 0;
    const json_t *item = NULL;
    search->seconds += run->seconds;
    search->epochs = run->epochs > search->epochs ? run->epochs : search->epochs;
    search->failed += run->state == EXPERIMENT_FAILED;
    if (processor != NULL && json_object_set_new(search->processors, processor, json_true()) != 0)
        return kg__fail_memory(error);
    json_array_foreach(json_object_get(run->record, "validations"), k, item) {
        uint64_t epoch = (uint64_t)json_integer_value(json_object_get(item, "epoch"));
        double mrr = json_number_value(json_object_get(item, "mrr"));
        if (!is_validated(own, epoch) || mrr <= search->mrr)
            continue;
        search->mrr = mrr;
        search->epoch = epoch;
        search->best = i;
    }
    return KG_OK;
}

static kg_status search_grid(struct search *search, const struct place *place,
                             experiment_runner *runner, kg_error *error) {
    const experiment_entry *entry = place->entry;
    for (size_t i = 0; i < count_combinations(entry->grid); i++) {
        char *own_train = add_combination(entry->train, entry->grid, i, false);
        char *train = add_combination(entry->train, entry->grid, i, true);
        experiment_request own_request = make_request(place, own_train, NULL);
        experiment_request request = make_request(place, train, NULL);
        const experiment_run *run = NULL;
        kg_train_options own;
        kg_status status = own_train == NULL || train == NULL ? kg__fail_memory(error) : KG_OK;
        if (status == KG_OK)
            status = experiment_runner_options_of(&own, runner, &own_request, error);
        if (status == KG_OK)
            status = experiment_runner_run(&run, runner, &request, error);
        if (status == KG_OK)
            status = take_run(search, i, run, &own, error);
        kg__free(own_train);
        kg__free(train);
        KG_TRY(status);
    }
    return KG_OK;
}

/* The chosen settings, and how they were found; NULL if memory is short. */
static json_t *describe(const struct search *search, const experiment_entry *entry) {
    size_t count = count_combinations(entry->grid);
    char *train = add_combination(entry->train, entry->grid, search->best, false);
    char *settings = add_combination("", entry->grid, search->best, false);
    json_t *out = NULL;
    if (train != NULL && settings != NULL)
        out = json_pack("{ss ss ss sI sI sI sf sO sf sI}", "train", train, "settings", settings,
                        "grid", entry->grid, "runs", (json_int_t)count, "failed",
                        (json_int_t)search->failed, "epochs", (json_int_t)search->epochs, "seconds",
                        search->seconds, "processors", search->processors, "valid_mrr", search->mrr,
                        "epoch", (json_int_t)search->epoch);
    kg__free(train);
    kg__free(settings);
    return out;
}

static kg_status choose(const struct place *place, experiment_runner *runner, kg_error *error) {
    experiment_entry *entry = place->entry;
    if (entry->grid == NULL)
        return KG_OK;
    struct search search = {.mrr = -1, .processors = json_object()};
    kg_status status = search_grid(&search, place, runner, error);
    if (status == KG_OK && search.mrr < 0)
        status = kg_fail_at(error, entry->name, 0, 0,
                            "expected a run of the grid that comes to a model, found that all of "
                            "them failed");
    if (entry->choices == NULL)
        entry->choices = json_array();
    if (status == KG_OK && json_array_append_new(entry->choices, describe(&search, entry)) != 0)
        status = kg__fail_memory(error);
    json_decref(search.processors);
    return status;
}

kg_status experiment_choice_check(const experiment_description *e, const char *only,
                                  experiment_runner *runner, kg_error *error) {
    return visit(check_place, e, only, runner, error);
}

kg_status experiment_choice_plan(const experiment_description *e, const char *only,
                                 experiment_runner *runner, kg_error *error) {
    return visit(plan_place, e, only, runner, error);
}

kg_status experiment_choice_make(experiment_description *e, const char *only,
                                 experiment_runner *runner, kg_error *error) {
    return visit(choose, e, only, runner, error);
}
