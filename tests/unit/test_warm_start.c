/* A warm start: what the model has learned is found by name, on a graph where everything has other
 * ids; what it does not know starts at random; and a model of another shape is refused. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "aggregate/graft_aggregate.h"
#include "kgraft.h"
#include "train/warm_start.h"

/* A ring: everybody likes the next one, who knows him. Fact i is written at `out`. */
static size_t write_fact(char *out, size_t size, int i) {
    return (size_t)snprintf(out, size, "e%d\tlikes\te%d\ne%d\tknows\te%d\n", i, (i + 1) % 40,
                            (i + 1) % 40, i);
}

static void train_model(const char *terms) {
    char facts[4096] = "";
    size_t length = 0;
    kg_training_options training = KG_TRAINING_OPTIONS_INIT;
    kg_error error = {0};
    for (int i = 0; i < 40; i++)
        length += write_fact(facts + length, sizeof facts - length, i);
    write_file("g.tsv", text_of(facts));
    assert_ok(kg_training_options_init(&training, NULL, NULL, &error), &error);
    training.terms = terms;
    training.dim = 8;
    training.epochs = 2;
    training.replace = true;
    assert_ok(kg_model_train("m", "g.tsv", &training, &error), &error);
}

/* The same facts in reverse, with one more entity and relation. */
static void make_later(kg_dataset *out) {
    char facts[4096] = "e3 sees new\n";
    for (int i = 39; i >= 0; i--) {
        size_t length = strlen(facts);
        write_fact(facts + length, sizeof facts - length, i);
    }
    for (char *c = facts; *c != '\0'; c++)
        *c = *c == '\t' ? ' ' : *c;
    make_dataset(out, facts);
}

static kg_train_options later_options(const kg_model *model) {
    kg_train_options options;
    kg_error error = {0};
    assert_ok(kg__train_read(&options, model->config, "m", &error), &error);
    options.threads = 1;
    return options;
}

static kg_id find_in(const kg_names *names, const kg_names *of, kg_id id) {
    return kg__names_find(names, kg__names_hashed(of, id));
}

/* How many rows of `each` numbers are those of the model. */
static size_t count_same(const kg_param *param, const real *rows, size_t each,
                         const kg_names *names, const kg_names *known) {
    size_t count = 0;
    for (kg_id i = 0; i < names->count; i++) {
        kg_id found = find_in(known, names, i);
        count += found != KG_NO_ID &&
                 memcmp(param->values + i * each, rows + found * each, each * sizeof *rows) == 0;
    }
    return count;
}

static kg_directed map(const kg_model *model, const kg_dataset *data, kg_directed directed) {
    kg_id found = find_in(&model->relations, &data->relations, directed / 2);
    return found == KG_NO_ID ? KG_MOST_DIRECTED : kg_direct(found, kg_directed_end(directed));
}

static void check_pairs(const kg_param *param, const kg_pairs *pairs, const real *values,
                        const kg_pairs *known, const kg_model *model, const kg_dataset *data) {
    size_t found = 0;
    for (kg_directed query = 0; query < pairs->directed_count; query++)
        for (size_t i = pairs->starts[query]; i < pairs->starts[query + 1]; i++) {
            uint32_t pair =
                kg__pairs_find(known, map(model, data, query), map(model, data, pairs->given[i]));
            if (pair == KG_NO_PAIR)
                continue;
            assert_true(param->values[i] == values[pair]);
            found++;
        }
    assert_true(found > 3);
}

static void test_by_name(void **state) {
    (void)state;
    kg_model model;
    kg_dataset data;
    kg_trainer *trainer = NULL;
    kg_error error = {0};
    train_model("embedding+echo");
    assert_ok(kg__model_open(&model, "m", &error), &error);
    make_later(&data);
    kg_train_options options = later_options(&model);
    assert_ok(kg__trainer_open(&trainer, &options, &data, NULL, &error), &error);
    const kg_params *from = &model.params;
    const kg_param *params = trainer->list.items;
    assert_int_equal(count_same(&params[0], from->entities, 8, &data.entities, &model.entities), 0);
    assert_ok(kg__warm_start(trainer, &model, &error), &error);
    assert_int_equal(count_same(&params[0], from->entities, 8, &data.entities, &model.entities),
                     40);
    assert_int_equal(count_same(&params[1], from->relations, 16, &data.relations, &model.relations),
                     2);
    assert_int_equal(
        count_same(&params[2], from->aggregate_relations, 16, &data.relations, &model.relations),
        2);
    const kg_term_view *view = &trainer->terms[KG_TERM_EMBEDDING];
    const kg_relation_weights *weights = view->counted;
    check_pairs(&params[view->param], &weights->param.pairs,
                from->terms[KG_TERM_EMBEDDING].values[0], &kg__relation_weights(from)->param.pairs,
                &model, &data);
    assert_true(kg__warm_propagation(&model, &data) == false);
    kg__trainer_close(trainer);
    kg__dataset_close(&data);
    kg__model_close(&model);
}

static void test_other_shape(void **state) {
    (void)state;
    kg_model model;
    kg_dataset data;
    kg_trainer *trainer = NULL;
    kg_error error = {0};
    train_model("embedding");
    assert_ok(kg__model_open(&model, "m", &error), &error);
    make_later(&data);
    kg_train_options options = later_options(&model);
    options.dim = 4;
    assert_ok(kg__trainer_open(&trainer, &options, &data, NULL, &error), &error);
    assert_int_equal(kg__warm_start(trainer, &model, &error), KG_BAD_INPUT);
    kg__trainer_close(trainer);
    kg__dataset_close(&data);
    kg__model_close(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_in_folder(test_by_name),
        test_in_folder(test_other_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
