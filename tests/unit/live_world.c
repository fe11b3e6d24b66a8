#include "live_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Models ---- */

const char *const model_folders[MODELS] = {"graft", "paper", "paths"};
kg_model *models[MODELS];

kg_text name_of(size_t entity) {
    static _Thread_local char names[8][16];
    static _Thread_local size_t next;
    char *name = names[next++ % 8];
    if (entity < OWN)
        snprintf(name, 16, "a%zu", entity);
    else
        snprintf(name, 16, "b%zu", (entity - OWN) * 37 % LATER);
    return (kg_text){name, strlen(name)};
}

static kg_text relation_of(size_t relation) {
    static const char *const names[RELATIONS] = {"likes", "follows", "knows"};
    return (kg_text){names[relation], strlen(names[relation])};
}

static bool is_base_fact(size_t head, size_t relation, size_t tail) {
    if (head >= OWN || tail >= OWN)
        return false;
    return (relation == 0 && tail == (head + 1) % OWN) ||
           (relation == 1 && head == (tail + 2) % OWN) ||
           (relation == 2 && head * head % 7 == tail % 7 && tail % 3 == 0);
}

static void train(const char *folder, const char *preset, const char *terms) {
    kg_error error = {0};
    kg_training_options training = KG_TRAINING_OPTIONS_INIT;
    assert_ok(kg_training_options_init(&training, preset, NULL, &error), &error);
    training.terms = terms;
    training.dim = 8;
    training.epochs = 5;
    training.propagation_epochs = 2;
    training.threads = 1;
    assert_ok(kg_model_train(folder, "data", &training, &error), &error);
}

int open_live_world(void **state) {
    if (enter_temporary_folder(state) != 0 || mkdir("data", 0777) != 0)
        return -1;
    FILE *file = fopen("data/train.txt", "w");
    assert_non_null(file);
    for (size_t h = 0; h < OWN; h++)
        for (size_t r = 0; r < RELATIONS; r++)
            for (size_t t = 0; t < OWN; t++)
                if (is_base_fact(h, r, t))
                    fprintf(file, "%s\t%s\t%s\n", name_of(h).bytes, relation_of(r).bytes,
                            name_of(t).bytes);
    fclose(file);
    train(model_folders[0], "graft", NULL);
    train(model_folders[1], "paper", NULL);
    train(model_folders[2], "graft", "propagation");
    for (size_t i = 0; i < MODELS; i++)
        assert_ok(kg_model_open(&models[i], model_folders[i], NULL), NULL);
    return 0;
}

int close_live_world(void **state) {
    for (size_t i = 0; i < MODELS; i++)
        kg_model_close(models[i]);
    return leave_temporary_folder(state);
}

/* ---- Sets of facts ---- */

fact_set *make_base(void) {
    fact_set *out = calloc(1, sizeof *out);
    for (size_t h = 0; h < OWN; h++)
        for (size_t r = 0; r < RELATIONS; r++)
            for (size_t t = 0; t < OWN; t++)
                out->has[h][r][t] = is_base_fact(h, r, t);
    return out;
}

fact_set *make_target(uint64_t seed, size_t later) {
    fact_set *out = make_base();
    for (size_t i = 0; i < 12; i++)
        out->has[next_random(&seed) % OWN][next_random(&seed) % RELATIONS]
                [next_random(&seed) % OWN] ^= true;
    for (size_t i = 0; i < 3 * later; i++) {
        size_t a = OWN + next_random(&seed) % later;
        size_t b = next_random(&seed) % 3 != 0 ? next_random(&seed) % OWN
                                               : OWN + next_random(&seed) % later;
        bool is_head = next_random(&seed) % 2 == 0;
        out->has[is_head ? a : b][next_random(&seed) % RELATIONS][is_head ? b : a] = true;
    }
    if (later > 0)
        out->has[OWN][0][OWN] = true;
    for (size_t r = 0; r < RELATIONS && seed % 2 == 0; r++) /* one that loses all facts */
        for (size_t e = 0; e < OWN; e++)
            out->has[3][r][e] = out->has[e][r][3] = false;
    return out;
}

void change(kg_changes *changes, size_t h, size_t r, size_t t, bool is_added) {
    kg_error error = {0};
    kg_status status =
        is_added ? kg_changes_add(changes, name_of(h), relation_of(r), name_of(t), &error)
                 : kg_changes_remove(changes, name_of(h), relation_of(r), name_of(t), &error);
    assert_ok(status, &error);
}

void commit(kg_changes *changes, kg_commit *out) {
    kg_error error = {0};
    assert_ok(kg_changes_commit(out, changes, &error), &error);
}

void collect_changes(kg_changes *changes, const fact_set *from, const fact_set *to) {
    for (size_t i = 0; i < (size_t)ALL * RELATIONS * ALL; i++)
        if ((&from->has[0][0][0])[i] != (&to->has[0][0][0])[i])
            change(changes, i / ALL / RELATIONS, i / ALL % RELATIONS, i % ALL,
                   (&to->has[0][0][0])[i]);
}

void commit_randomly(kg_live *live, const fact_set *from, const fact_set *to, uint64_t seed,
                     size_t batch) {
    kg_changes *changes = NULL;
    size_t count = 0;
    size_t *order = malloc(sizeof(size_t) * ALL * RELATIONS * ALL);
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    for (size_t i = 0; i < (size_t)ALL * RELATIONS * ALL; i++)
        if ((&from->has[0][0][0])[i] != (&to->has[0][0][0])[i])
            order[count++] = i;
    for (size_t i = count; i > 1; i--) {
        size_t k = next_random(&seed) % i;
        size_t kept = order[k];
        order[k] = order[i - 1];
        order[i - 1] = kept;
    }
    for (size_t i = 0, pending = 0; i < count; i++) {
        size_t t = order[i] % ALL;
        size_t r = order[i] / ALL % RELATIONS;
        size_t h = order[i] / ALL / RELATIONS;
        bool is_added = to->has[h][r][t];
        if (next_random(&seed) % 4 == 0) { /* there and back */
            change(changes, h, r, t, is_added);
            if (next_random(&seed) % 2 == 0)
                commit(changes, NULL);
            change(changes, h, r, t, !is_added);
            if (next_random(&seed) % 2 == 0)
                commit(changes, NULL);
        }
        change(changes, h, r, t, is_added);
        if (++pending == batch) {
            commit(changes, NULL);
            pending = 0;
        }
    }
    commit(changes, NULL);
    kg_changes_close(changes);
    free(order);
}

/* ---- What is opened ---- */

kg_live *open_live(const kg_model *model) {
    kg_error error = {0};
    kg_live *live = NULL;
    kg_live_options options = KG_LIVE_OPTIONS_INIT;
    assert_ok(kg_live_open(&live, model, &options, &error), &error);
    return live;
}

kg_model *snapshot_of(kg_live *live) {
    kg_model *out = NULL;
    assert_ok(kg_live_snapshot(&out, live, NULL), NULL);
    return out;
}

kg_workspace *open_workspace(const kg_model *model, int threads) {
    kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
    kg_error error = {0};
    kg_workspace *out = NULL;
    options.threads = threads;
    assert_ok(kg_workspace_open(&out, model, &options, &error), &error);
    return out;
}

void make_store(const char *path, size_t model) {
    kg_error error = {0};
    assert_ok(kg_store_create(path, model_folders[model], &error), &error);
}

kg_live *open_store(const char *path, kg_live_options options) {
    kg_error error = {0};
    kg_live *live = NULL;
    options.size = sizeof options;
    assert_ok(kg_live_open_store(&live, path, &options, &error), &error);
    return live;
}
