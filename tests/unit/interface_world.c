#include "interface_world.h"

#include <stdio.h>

kg_model *model;
kg_workspace *workspace;

const kg_text rex = {"rex", 3}, likes = {"likes", 5}, e1 = {"e1", 2};

kg_training_options usual(const char *preset, const char *of) {
    kg_training_options out = KG_TRAINING_OPTIONS_INIT;
    assert_ok(kg_training_options_init(&out, preset, of, NULL), NULL);
    return out;
}

int open_interface_world(void **state) {
    if (enter_temporary_folder(state) != 0)
        return -1;
    FILE *file = fopen("g.tsv", "w");
    for (int i = 0; i < 30; i++)
        fprintf(file, "e%d\tlikes\te%d\n", i, (i + 1) % 30);
    fclose(file);
    kg_error error = {0};
    kg_training_options training = usual("paper", "distmult");
    training.dim = 4;
    training.epochs = 1;
    assert_ok(kg_model_train("model", "g.tsv", &training, &error), &error);
    kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
    assert_ok(kg_model_open(&model, "model", &error), &error);
    assert_ok(kg_workspace_open(&workspace, model, &options, &error), &error);
    return 0;
}

int close_interface_world(void **state) {
    kg_workspace_close(workspace);
    kg_model_close(model);
    return leave_temporary_folder(state);
}
