/* The live graph by the public interface: what is answered depends on the live facts alone, is what
 * a model on the same graph made from scratch answers, and is never seen half done. */
#include "support.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "live/later_rows.h"

/* ---- Allocations that fail ---- */

static atomic_long allocations; /* so far */
static atomic_long failing;     /* the one that fails, from 1; 0: none */
static atomic_long blocks;      /* not yet freed */

void *kg__backend_resize(void *block, size_t bytes) {
    if (atomic_fetch_add(&allocations, 1) + 1 == atomic_load(&failing))
        return NULL;
    void *moved = realloc(block, bytes);
    if (moved != NULL && block == NULL)
        atomic_fetch_add(&blocks, 1);
    return moved;
}

void kg__backend_free(void *block) {
    if (block != NULL)
        atomic_fetch_sub(&blocks, 1);
    free(block);
}

/* ---- Models ---- */

#define OWN 24   /* entities of the model: a0, a1, ... */
#define LATER 66 /* that may come: more than a page of them */
#define ALL (OWN + LATER)
#define RELATIONS 3

/* By facts, with all terms; by rows; and without rows. */
static const char *const FOLDERS[] = {"graft", "paper", "paths"};
#define MODELS COUNT_OF(FOLDERS)
static kg_model *models[MODELS];

/* Names of later entities are not in the order of their numbers. */
static kg_text name_of(size_t entity) {
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

static int set_up(void **state) {
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
    train(FOLDERS[0], "graft", NULL);
    train(FOLDERS[1], "paper", NULL);
    train(FOLDERS[2], "graft", "propagation");
    for (size_t i = 0; i < MODELS; i++)
        assert_ok(kg_model_open(&models[i], FOLDERS[i], NULL), NULL);
    return 0;
}

static int tear_down(void **state) {
    for (size_t i = 0; i < MODELS; i++)
        kg_model_close(models[i]);
    return leave_temporary_folder(state);
}

/* ---- Sets of facts ---- */

typedef struct facts {
    bool has[ALL][RELATIONS][ALL];
} facts;

static facts *make_base(void) {
    facts *out = calloc(1, sizeof *out);
    for (size_t h = 0; h < OWN; h++)
        for (size_t r = 0; r < RELATIONS; r++)
            for (size_t t = 0; t < OWN; t++)
                out->has[h][r][t] = is_base_fact(h, r, t);
    return out;
}

/* Some more, some fewer; later entities with the model's own, with each other, and with themselves.
 */
static facts *make_target(uint64_t seed, size_t later) {
    facts *out = make_base();
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

static void change(kg_changes *changes, size_t h, size_t r, size_t t, bool is_added) {
    kg_error error = {0};
    kg_status status =
        is_added ? kg_changes_add(changes, name_of(h), relation_of(r), name_of(t), &error)
                 : kg_changes_remove(changes, name_of(h), relation_of(r), name_of(t), &error);
    assert_ok(status, &error);
}

static void commit(kg_changes *changes, kg_commit *out) {
    kg_error error = {0};
    assert_ok(kg_changes_commit(out, changes, &error), &error);
}

/* All that leads from one set to another. */
static void collect_changes(kg_changes *changes, const facts *from, const facts *to) {
    for (size_t i = 0; i < (size_t)ALL * RELATIONS * ALL; i++)
        if ((&from->has[0][0][0])[i] != (&to->has[0][0][0])[i])
            change(changes, i / ALL / RELATIONS, i / ALL % RELATIONS, i % ALL,
                   (&to->has[0][0][0])[i]);
}

/* From one set to another in random order, in batches; some facts come and go in between. */
static void go(kg_live *live, const facts *from, const facts *to, uint64_t seed, size_t batch) {
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

static const kg_live_options DEFAULTS = KG_LIVE_OPTIONS_INIT;

static kg_live *open_live(const kg_model *model) {
    kg_error error = {0};
    kg_live *live = NULL;
    assert_ok(kg_live_open(&live, model, &DEFAULTS, &error), &error);
    return live;
}

static kg_model *snapshot_of(kg_live *live) {
    kg_model *out = NULL;
    assert_ok(kg_live_snapshot(&out, live, NULL), NULL);
    return out;
}

/* ---- All that a model answers, as text without ids ---- */

static void write_bits(FILE *file, double value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    fprintf(file, " %016jx", (uintmax_t)bits);
}

static void write_name(FILE *file, const kg_model *model, kg_id entity) {
    kg_text name = kg_model_entity_name(model, entity);
    fprintf(file, " %.*s", (int)name.length, name.bytes);
}

static void write_answers(FILE *file, const kg_model *model, const kg_answer *answers,
                          size_t count) {
    for (size_t i = 0; i < count; i++) {
        fprintf(file, " %u", answers[i].directed);
        write_name(file, model, answers[i].entity);
        write_bits(file, (double)answers[i].score);
        write_bits(file, (double)answers[i].probability);
    }
    fputc('\n', file);
}

#define MOST 7
#define MOST_FACTS 200

static int compare_lines(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Shares are in the order of ids, so they are sorted by what they say. */
static void write_shares(FILE *file, const kg_model *model, const kg_explanation *why) {
    char *lines[MOST_FACTS];
    for (size_t i = 0; i < why->share_count; i++) {
        size_t length = 0;
        FILE *line = open_memstream(&lines[i], &length);
        fprintf(line, "%u", why->shares[i].link.directed);
        write_name(line, model, why->shares[i].link.other);
        write_bits(line, why->shares[i].weight);
        write_bits(line, why->shares[i].part);
        write_bits(line, why->shares[i].rank_without);
        for (size_t k = 0; k < why->term_count; k++)
            write_bits(line, why->shares[i].parts[k]);
        fclose(line);
    }
    qsort(lines, why->share_count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < why->share_count; i++) {
        fprintf(file, "%s\n", lines[i]);
        free(lines[i]);
    }
}

static void write_explanation(FILE *file, const kg_model *model, kg_workspace *workspace,
                              kg_subject subject, kg_link target) {
    static _Thread_local kg_share shares[MOST_FACTS];
    static _Thread_local kg_score_term terms[4];
    static _Thread_local double parts[MOST_FACTS * 4];
    static _Thread_local kg_reason reasons[12];
    kg_error error = {0};
    kg_explanation why = KG_EXPLANATION_INIT;
    const kg_link *links = NULL;
    size_t count = 0;
    assert_ok(kg_model_links(&links, &count, model, subject.entity, &error), &error);
    if (subject.entity != KG_NO_ID && count == 0)
        return;
    why.shares = shares;
    why.share_capacity = MOST_FACTS;
    why.terms = terms;
    why.term_capacity = 4;
    why.parts = parts;
    why.part_capacity = MOST_FACTS * 4;
    why.reasons = reasons;
    why.reason_capacity = 12;
    assert_ok(kg_workspace_explain(&why, workspace, subject, target, &error), &error);
    write_bits(file, why.score);
    write_bits(file, why.rank);
    for (size_t i = 0; i < why.term_count; i++) {
        write_bits(file, terms[i].part);
        write_bits(file, terms[i].rest);
    }
    for (size_t i = 0; i < why.reason_count; i++) {
        for (size_t k = 0; k < reasons[i].steps; k++) {
            fprintf(file, " %u", reasons[i].path[k].directed);
            write_name(file, model, reasons[i].path[k].other);
        }
        write_bits(file, reasons[i].share);
    }
    fputc('\n', file);
    write_shares(file, model, &why);
}

static void write_subject(FILE *file, const kg_model *model, kg_workspace *workspace,
                          kg_subject subject, size_t number, bool is_whole) {
    kg_answer answers[2 * RELATIONS * MOST];
    size_t found[2 * RELATIONS];
    kg_error error = {0};
    kg_model_info info = KG_MODEL_INFO_INIT;
    float vector[64];
    kg_request requests[2 * RELATIONS];
    assert_ok(kg_model_describe(&info, model, NULL), NULL);
    for (kg_directed d = 0; d < 2 * RELATIONS; d++) {
        requests[d] = (kg_request)KG_REQUEST_INIT;
        requests[d].subject = subject;
        requests[d].relation = d / 2;
        requests[d].heads = d % 2 == 1;
        requests[d].tails = d % 2 == 0;
        requests[d].keep_known = d == 2;
        requests[d].no_echo = d == 3;
    }
    size_t count = is_whole ? 2 * RELATIONS : 1;
    assert_ok(kg_workspace_predict(answers, found, workspace, requests, count, MOST, &error),
              &error);
    for (size_t d = 0; d < count; d++) {
        write_answers(file, model, answers + d * MOST, found[d]);
        if (is_whole && found[d] > 0 && number % 11 == d)
            write_explanation(file, model, workspace, subject,
                              (kg_link){answers[d * MOST].directed, answers[d * MOST].entity});
    }
    if (info.dim == 0 || !is_whole)
        return;
    assert_ok(kg_workspace_embed(vector, workspace, subject, 1, &error), &error);
    for (size_t i = 0; i < info.dim; i++)
        write_bits(file, (double)vector[i]);
    assert_ok(kg_workspace_neighbors(answers, found, workspace, subject, MOST, &error), &error);
    write_answers(file, model, answers, found[0]);
}

static kg_workspace *open_workspace(const kg_model *model, int threads) {
    kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
    kg_error error = {0};
    kg_workspace *out = NULL;
    options.threads = threads;
    assert_ok(kg_workspace_open(&out, model, &options, &error), &error);
    return out;
}

/* Each entity, in the order of the test's numbers, and a stranger. */
static char *read_answers(const kg_model *model, kg_workspace *workspace, bool is_whole) {
    char *answered = NULL;
    size_t length = 0;
    kg_model_info info = KG_MODEL_INFO_INIT;
    kg_link links[8];
    size_t link_count = 0;
    assert_ok(kg_model_describe(&info, model, NULL), NULL);
    FILE *file = open_memstream(&answered, &length);
    fprintf(file, "%zu entities\n", info.entities);
    for (size_t i = 0; i < ALL; i++) {
        kg_id entity = kg_model_find_entity(model, name_of(i));
        if (entity == KG_NO_ID)
            continue;
        fprintf(file, "%s\n", name_of(i).bytes);
        write_subject(file, model, workspace, (kg_subject){.entity = entity}, i, is_whole);
        if (link_count < COUNT_OF(links) && i % 5 < 2)
            links[link_count++] = (kg_link){(kg_directed)(i % 3), entity};
    }
    link_count = kg_links_sort(links, link_count);
    write_subject(file, model, workspace, (kg_subject){KG_NO_ID, links, link_count}, 0, is_whole);
    fclose(file);
    return answered;
}

static char *answers_of(const kg_model *model, int threads) {
    kg_workspace *workspace = open_workspace(model, threads);
    char *answered = read_answers(model, workspace, true);
    kg_workspace_close(workspace);
    return answered;
}

static char *live_answers(kg_live *live, int threads) {
    kg_model *snapshot = snapshot_of(live);
    char *answered = answers_of(snapshot, threads);
    kg_model_close(snapshot);
    return answered;
}

static void assert_same_text(char *a, char *b) {
    assert_string_equal(a, b);
    free(a);
    free(b);
}

/* ---- Tests ---- */

static void order_does_not_matter(void **state) {
    (void)state;
    facts *base = make_base();
    for (size_t i = 0; i < MODELS; i++)
        for (uint64_t seed = 1; seed < (IS_SANITIZED ? 2 : 4); seed++) {
            facts *target = make_target(seed, seed == 3 ? LATER : 6);
            facts *detour = make_target(seed + 10, 20);
            kg_live *one = open_live(models[i]);
            kg_live *other = open_live(models[i]);
            go(one, base, target, seed, SIZE_MAX);
            go(other, base, detour, seed + 20, 5);
            go(other, detour, target, seed + 30, 3);
            char *expected = live_answers(one, 1);
            char *bare = answers_of(models[i], 1);
            assert_string_not_equal(expected, bare);
            assert_same_text(expected, live_answers(other, 2));
            go(other, target, base, seed + 40, 4);
            assert_same_text(bare, live_answers(other, 1));
            kg_live_close(one);
            kg_live_close(other);
            free(target);
            free(detour);
        }
    free(base);
}

/* ---- A model on the same graph, made from scratch ---- */

struct twin {
    kg_model model;
    real *rows;
};

static int compare_names(const void *a, const void *b) {
    return strcmp(name_of(*(const size_t *)a).bytes, name_of(*(const size_t *)b).bytes);
}

static void number_entities(kg_id ids[ALL], kg_names *names, const kg_model *snapshot) {
    size_t later[LATER];
    size_t count = 0;
    for (size_t i = OWN; i < ALL; i++)
        if (kg_model_find_entity(snapshot, name_of(i)) != KG_NO_ID)
            later[count++] = i;
    qsort(later, count, sizeof *later, compare_names);
    for (kg_id i = 0; i < OWN; i++) { /* the model's own ids */
        kg_text name = kg_model_entity_name(snapshot, i);
        kg_id id = 0;
        assert_ok(kg__names_intern(names, &id, kg__name_of(name.bytes, name.length), NULL), NULL);
    }
    for (size_t i = 0; i < count; i++) {
        kg_text name = name_of(later[i]);
        kg_id id = 0;
        assert_ok(kg__names_intern(names, &id, kg__name_of(name.bytes, name.length), NULL), NULL);
    }
    for (size_t i = 0; i < ALL; i++) {
        kg_text name = name_of(i);
        ids[i] = kg__names_find(names, kg__name_of(name.bytes, name.length));
    }
}

/* The aggregate of facts with entities of lower levels, by what the public interface says. */
static void make_plain_rows(real *rows, const facts *live, const kg_model *model,
                            const kg_id ids[ALL]) {
    size_t dim = model->params.dim;
    int level[ALL];
    kg_workspace *workspace = NULL;
    for (size_t i = 0; i < ALL; i++)
        level[i] = i < OWN ? 0 : 99;
    for (int k = 1; k <= KG_MOST_LEVELS; k++)
        for (size_t i = OWN; i < ALL; i++)
            for (size_t j = 0; j < ALL && level[i] > k; j++)
                for (size_t r = 0; r < RELATIONS; r++)
                    if ((live->has[i][r][j] || live->has[j][r][i]) && level[j] == k - 1)
                        level[i] = k;
    for (int k = 1; k <= KG_MOST_LEVELS; k++) {
        workspace = open_workspace(model, 1);
        for (size_t i = OWN; i < ALL; i++) {
            kg_link links[MOST_FACTS];
            size_t count = 0;
            for (size_t j = 0; j < ALL && level[i] == k; j++)
                for (size_t r = 0; r < RELATIONS && level[j] < k; r++) {
                    if (live->has[i][r][j])
                        links[count++] = (kg_link){kg_direct((kg_id)r, KG_HEAD), ids[j]};
                    if (live->has[j][r][i])
                        links[count++] = (kg_link){kg_direct((kg_id)r, KG_TAIL), ids[j]};
                }
            count = kg_links_sort(links, count);
            if (count > 0)
                assert_ok(kg_workspace_embed(rows + ids[i] * dim, workspace,
                                             (kg_subject){KG_NO_ID, links, count}, KG_NO_QUERY,
                                             NULL),
                          NULL);
        }
        kg_workspace_close(workspace);
    }
}

static struct twin *open_twin(const kg_model *base, const kg_model *snapshot, const facts *live) {
    struct twin *twin = calloc(1, sizeof *twin);
    kg_model *model = &twin->model;
    kg_id ids[ALL];
    size_t dim = base->params.dim;
    kg_triples triples = {0};
    *model = *base;
    model->entities = (kg_names){0};
    number_entities(ids, &model->entities, snapshot);
    size_t count = model->entities.count;
    for (size_t h = 0; h < ALL; h++)
        for (size_t r = 0; r < RELATIONS; r++)
            for (size_t t = 0; t < ALL; t++)
                if (live->has[h][r][t])
                    assert_ok(
                        kg__triples_push(&triples, (kg_triple){ids[h], (kg_id)r, ids[t]}, NULL),
                        NULL);
    assert_ok(kg__adjacency_make(&model->listed, &triples, count, KG_WITH_REFLEXIVE, NULL), NULL);
    assert_ok(kg__adjacency_make(&model->graph, &triples, count, KG_WITHOUT_REFLEXIVE, NULL), NULL);
    kg__triples_free(&triples);
    model->known = (kg_known_facts){.links = model->listed.links,
                                    .starts = model->listed.starts,
                                    .link_count = (size_t)model->listed.starts[count],
                                    .entity_count = count,
                                    .relation_count = RELATIONS,
                                    .path = "twin"};
    if (base->params.graph != NULL)
        model->params.graph = &model->graph;
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (base->params.terms[i].counted != NULL && kg__terms[i]->move != NULL)
            assert_ok(kg__terms[i]->move(&model->params.terms[i], &base->params.terms[i],
                                         &model->graph, NULL),
                      NULL);
    if (dim == 0)
        return twin;
    twin->rows = calloc(count * dim, sizeof *twin->rows);
    memcpy(twin->rows, base->params.entities, OWN * dim * sizeof *twin->rows);
    model->params.entities = twin->rows;
    make_plain_rows(twin->rows, live, model, ids);
    return twin;
}

static void close_twin(struct twin *twin, const kg_model *base) {
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (twin->model.params.terms[i].counted != base->params.terms[i].counted)
            kg__terms[i]->close(&twin->model.params.terms[i]);
    kg__adjacency_free(&twin->model.listed);
    kg__adjacency_free(&twin->model.graph);
    kg__names_free(&twin->model.entities);
    free(twin->rows);
    free(twin);
}

/* A model that asks by rows corrects those of entities whose facts have changed: it has no twin. */
static void a_model_on_the_merged_graph_answers_the_same(void **state) {
    (void)state;
    facts *base = make_base();
    for (size_t i = 0; i < MODELS; i += 2)
        for (uint64_t seed = 1; seed < (IS_SANITIZED ? 2 : 5); seed++) {
            facts *target = make_target(seed, seed == 4 ? LATER : 5 * (seed - 1));
            kg_live *live = open_live(models[i]);
            go(live, base, target, seed + 50, 7);
            kg_model *snapshot = snapshot_of(live);
            struct twin *twin = open_twin(models[i], snapshot, target);
            char *expected = answers_of(&twin->model, 1);
            assert_same_text(expected, answers_of(snapshot, 1));
            close_twin(twin, models[i]);
            kg_model_close(snapshot);
            kg_live_close(live);
            free(target);
        }
    free(base);
}

static void workspaces_move(void **state) {
    (void)state;
    facts *base = make_base();
    for (size_t i = 0; i < MODELS; i++) {
        kg_live *live = open_live(models[i]);
        kg_model *before = snapshot_of(live);
        kg_workspace *workspace = open_workspace(before, 1);
        facts *last = make_base();
        for (uint64_t seed = 1; seed < (IS_SANITIZED ? 2 : 6); seed++) {
            facts *target = make_target(seed, seed == 3 ? LATER : 4 * seed);
            free(read_answers(before, workspace, true)); /* what it keeps is old then */
            go(live, last, target, seed, 9);
            kg_model *after = snapshot_of(live);
            assert_ok(kg_workspace_move(workspace, after, NULL), NULL);
            kg_model_close(before);
            before = after;
            assert_same_text(answers_of(after, 1), read_answers(after, workspace, true));
            free(last);
            last = target;
        }
        kg_error error = {0};
        assert_int_equal(KG_BAD_INPUT, kg_workspace_move(workspace, models[i], &error));
        kg_workspace_close(workspace);
        kg_model_close(before);
        kg_live_close(live);
        free(last);
    }
    free(base);
}

/* Lists, and for each of the facts the rank that evaluation would give it. */
static char *write_alone(const kg_model *model, kg_subject subject, const kg_link *links,
                         size_t count) {
    char *answered = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&answered, &length);
    kg_workspace *workspace = open_workspace(model, 1);
    for (kg_directed d = 0; d < 2 * RELATIONS; d++) {
        kg_answer answers[MOST];
        size_t found = 0;
        kg_request request = KG_REQUEST_INIT;
        request.subject = subject;
        request.relation = d / 2;
        request.heads = d % 2 == 1;
        request.tails = d % 2 == 0;
        assert_ok(kg_workspace_predict(answers, &found, workspace, &request, 1, MOST, NULL), NULL);
        write_answers(file, model, answers, found);
    }
    for (size_t i = 0; i < count; i++)
        write_explanation(file, model, workspace, subject, links[i]);
    kg_workspace_close(workspace);
    fclose(file);
    return answered;
}

static void alone_is_as_unseen(void **state) {
    (void)state;
    uint64_t seed = 5;
    for (size_t i = 0; i < MODELS; i++)
        for (size_t number = OWN; number < OWN + 6; number++) {
            kg_link links[6];
            size_t count = 0;
            kg_live *live = open_live(models[i]);
            kg_changes *changes = NULL;
            assert_ok(kg_changes_open(&changes, live, NULL), NULL);
            for (size_t k = 0; k < number - OWN + 1; k++) {
                size_t relation = next_random(&seed) % RELATIONS;
                size_t other = next_random(&seed) % OWN;
                bool is_head = next_random(&seed) % 2 == 0;
                change(changes, is_head ? number : other, relation, is_head ? other : number, true);
                links[count++] = (kg_link){kg_direct((kg_id)relation, is_head ? KG_HEAD : KG_TAIL),
                                           kg_model_find_entity(models[i], name_of(other))};
            }
            commit(changes, NULL);
            count = kg_links_sort(links, count);
            kg_model *snapshot = snapshot_of(live);
            kg_subject added = {.entity = kg_model_find_entity(snapshot, name_of(number))};
            char *expected =
                write_alone(models[i], (kg_subject){KG_NO_ID, links, count}, links, count);
            assert_same_text(expected, write_alone(snapshot, added, links, count));
            kg_model_close(snapshot);
            kg_changes_close(changes);
            kg_live_close(live);
        }
}

/* ---- What a commit says, and what is refused ---- */

static void commits_count(void **state) {
    (void)state;
    kg_live *live = open_live(models[0]);
    kg_changes *changes = NULL;
    kg_commit counts = KG_COMMIT_INIT;
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    change(changes, 0, 0, 1, true);   /* is there */
    change(changes, OWN, 0, 1, true); /* comes */
    change(changes, OWN, 0, 1, true); /* twice */
    change(changes, OWN + 1, 0, OWN, true);
    change(changes, OWN + 2, 1, 4, true); /* comes and goes */
    change(changes, OWN + 2, 1, 4, false);
    change(changes, 1, 0, 2, false);
    change(changes, 7, 0, 1, false); /* is not there */
    change(changes, OWN + 3, 0, OWN + 3, true);
    commit(changes, &counts);
    assert_int_equal(counts.added, 3);
    assert_int_equal(counts.removed, 1);
    assert_int_equal(counts.repeated, 1);
    assert_int_equal(counts.missing, 2);
    assert_int_equal(counts.came, 3);
    assert_int_equal(counts.went, 0);
    kg_model *old = snapshot_of(live);
    kg_model_info info = KG_MODEL_INFO_INIT;
    assert_ok(kg_model_describe(&info, old, NULL), NULL);
    assert_int_equal(info.entities, OWN + 3);
    assert_int_equal(kg_model_find_entity(old, name_of(OWN + 2)), KG_NO_ID);
    change(changes, OWN, 0, 1, false);
    change(changes, OWN + 1, 0, OWN, false);
    commit(changes, &counts);
    assert_int_equal(counts.removed, 2);
    assert_int_equal(counts.went, 2);
    kg_model *new = snapshot_of(live);
    assert_int_equal(kg_model_find_entity(new, name_of(OWN)), KG_NO_ID);
    assert_int_equal(kg_model_find_entity(new, name_of(OWN + 3)), OWN);
    const kg_link *links = NULL;
    size_t count = 0;
    assert_ok(kg_model_links(&links, &count, new, OWN, NULL), NULL);
    assert_int_equal(count, 2); /* from both ends */
    assert_true(kg_model_find_entity(old, name_of(OWN)) !=
                KG_NO_ID); /* it still shows what it did */
    commit(changes, &counts);
    assert_int_equal(counts.added + counts.removed + counts.missing + counts.repeated, 0);
    kg_model_close(new);
    kg_model_close(old);
    kg_changes_close(changes);
    kg_live_close(live);
}

static void expect_refused(kg_changes *changes, const char *head, const char *relation,
                           const char *said) {
    kg_error error = {0};
    assert_int_equal(KG_BAD_INPUT,
                     kg_changes_add(changes, (kg_text){head, strlen(head)},
                                    (kg_text){relation, strlen(relation)}, name_of(0), &error));
    assert_non_null(strstr(error.message, said));
}

static void bad_facts_are_refused(void **state) {
    (void)state;
    kg_error error = {0};
    kg_live *live = open_live(models[0]);
    kg_changes *changes = NULL;
    kg_commit counts = KG_COMMIT_INIT;
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    expect_refused(changes, "b", "like", "'like', did you mean 'likes'?");
    expect_refused(changes, "", "likes", "empty");
    expect_refused(changes, "a\tb", "likes", "tab");
    commit(changes, &counts);
    assert_int_equal(counts.added + counts.unknown, 0);
    kg_model *snapshot = snapshot_of(live);
    kg_live *second = NULL;
    assert_int_equal(KG_BAD_INPUT, kg_live_open(&second, snapshot, &DEFAULTS, &error));
    assert_null(second);
    kg_metrics metrics = KG_METRICS_INIT;
    kg_evaluation_options evaluation = KG_EVALUATION_OPTIONS_INIT;
    assert_int_equal(KG_BAD_INPUT,
                     kg_model_evaluate(&metrics, snapshot, "data", &evaluation, &error));
    kg_model_close(snapshot);
    kg_changes_close(changes);
    kg_live_close(live);

    kg_live_options options = KG_LIVE_OPTIONS_INIT;
    options.skip_unknown = true;
    assert_ok(kg_live_open(&live, models[0], &options, &error), &error);
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    kg_text like = {"like", 4};
    assert_ok(kg_changes_add(changes, name_of(0), like, name_of(OWN), NULL), NULL);
    assert_ok(kg_changes_remove(changes, name_of(0), like, name_of(OWN), NULL), NULL);
    commit(changes, &counts);
    assert_int_equal(counts.unknown, 1);
    assert_int_equal(counts.missing, 1);
    assert_int_equal(counts.came, 0);
    kg_changes_close(changes);
    kg_live_close(live);
}

/* ---- Short of memory ---- */

static void every_allocation_may_fail(void **state) {
    (void)state;
    facts *base = make_base();
    facts *first = make_target(1, 6);
    facts *second = make_target(2, 9);
    long before = atomic_load(&blocks);
    kg_live *live = open_live(models[0]);
    go(live, base, first, 1, SIZE_MAX);
    char *expected = live_answers(live, 1);
    kg_changes *changes = NULL;
    assert_ok(kg_changes_open(&changes, live, NULL), NULL);
    long tries = 0;
    for (bool has_failed = true; has_failed;) {
        kg_error error = {0};
        collect_changes(changes, first, second);
        atomic_store(&failing, atomic_load(&allocations) + ++tries);
        kg_status status = kg_changes_commit(NULL, changes, &error);
        has_failed = atomic_load(&allocations) >= atomic_load(&failing);
        atomic_store(&failing, 0);
        if (status != KG_NO_MEMORY)
            assert_ok(status, &error);
        if (status == KG_OK && has_failed) { /* it found a way around */
            collect_changes(changes, second, first);
            commit(changes, NULL);
        }
        if (has_failed && tries % 16 == 1) {
            char *now = live_answers(live, 1);
            assert_string_equal(expected, now);
            free(now);
        }
    }
    assert_true(tries > 20);
    kg_changes_close(changes);
    free(expected);
    kg_live *fresh = open_live(models[0]);
    go(fresh, base, second, 2, SIZE_MAX);
    assert_same_text(live_answers(fresh, 1), live_answers(live, 1));
    kg_live_close(fresh);
    kg_live_close(live);
    assert_int_equal(before, atomic_load(&blocks));
    kg_error error = {0};
    kg_status status = KG_NO_MEMORY;
    for (tries = 0; status == KG_NO_MEMORY;) {
        atomic_store(&failing, atomic_load(&allocations) + ++tries);
        status = kg_live_open(&live, models[0], &DEFAULTS, &error);
        atomic_store(&failing, 0);
    }
    assert_ok(status, &error);
    kg_live_close(live);
    assert_int_equal(before, atomic_load(&blocks));
    free(base);
    free(first);
    free(second);
}

/* ---- Readers beside a writer ---- */

#define READERS 2

struct shared {
    kg_live *live;
    char *expected[2]; /* what is answered before and after a transaction */
    _Atomic bool is_done;
    _Atomic bool is_wrong;
};

static void *read_live(void *payload) {
    struct shared *shared = payload;
    kg_model *snapshot = snapshot_of(shared->live);
    kg_workspace *workspace = open_workspace(snapshot, 1);
    while (!shared->is_done) {
        kg_model *next = snapshot_of(shared->live);
        if (kg_workspace_move(workspace, next, NULL) != KG_OK)
            shared->is_wrong = true;
        kg_model_close(snapshot);
        snapshot = next;
        char *answered = read_answers(snapshot, workspace, false);
        if (strcmp(answered, shared->expected[0]) != 0 &&
            strcmp(answered, shared->expected[1]) != 0)
            shared->is_wrong = true;
        free(answered);
    }
    kg_workspace_close(workspace);
    kg_model_close(snapshot);
    return NULL;
}

static void readers_see_whole_commits(void **state) {
    (void)state;
    facts *base = make_base();
    facts *target = make_target(2, 10);
    struct shared shared = {.live = open_live(models[0])};
    pthread_t threads[READERS];
    for (size_t i = 0; i < 2; i++) {
        kg_model *snapshot = snapshot_of(shared.live);
        kg_workspace *workspace = open_workspace(snapshot, 1);
        shared.expected[i] = read_answers(snapshot, workspace, false);
        kg_workspace_close(workspace);
        kg_model_close(snapshot);
        go(shared.live, i == 0 ? base : target, i == 0 ? target : base, 1, SIZE_MAX);
    }
    for (size_t i = 0; i < READERS; i++)
        assert_int_equal(0, pthread_create(&threads[i], NULL, read_live, &shared));
    kg_changes *changes = NULL;
    assert_ok(kg_changes_open(&changes, shared.live, NULL), NULL);
    for (size_t turn = 0; turn < 20; turn++) {
        collect_changes(changes, turn % 2 == 0 ? base : target, turn % 2 == 0 ? target : base);
        commit(changes, NULL);
    }
    kg_changes_close(changes);
    shared.is_done = true;
    for (size_t i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    assert_false(shared.is_wrong);
    kg_live_close(shared.live);
    free(shared.expected[0]);
    free(shared.expected[1]);
    free(base);
    free(target);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(a_model_on_the_merged_graph_answers_the_same),
        cmocka_unit_test(workspaces_move),
        cmocka_unit_test(alone_is_as_unseen),
        cmocka_unit_test(commits_count),
        cmocka_unit_test(bad_facts_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(readers_see_whole_commits),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
