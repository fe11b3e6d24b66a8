#include "workspace_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "give_term.h"

static void fill(real *values, double *wide, size_t count, uint64_t seed) {
    for (size_t i = 0; i < count; i++) {
        values[i] = (real)(2 * kg__random_unit(seed, KG_STREAM_GENERATE_TAIL, i) - 1);
        wide[i] = (double)values[i];
    }
}

struct world *make_world(const char *model) {
    struct world *world = must_allocate(1, sizeof *world);
    fill(world->entities, world->wide_entities, ENTITIES * DIM, 1);
    fill(world->relations, world->wide_relations, RELATIONS * DIM, 2);
    for (size_t i = 0; i < DIM; i++)
        world->entities[ZEROS * DIM + i] = 0;
    memset(world->wide_entities + ZEROS * DIM, 0, DIM * sizeof(double));
    memcpy(world->entities + 20 * DIM, world->entities + 10 * DIM, DIM * sizeof(real)); /* a tie */
    memcpy(world->wide_entities + 20 * DIM, world->wide_entities + 10 * DIM, DIM * sizeof(double));
    for (size_t i = 0; i < 2 * RELATIONS; i++) {
        world->calibration[2 * i] = (real)(0.5 + 0.3 * (double)(i % 3));
        world->calibration[2 * i + 1] = (real)(-1 - 0.7 * (double)(i % 4));
    }
    static const kg_link links[LINKS] = {{0, 3},  {0, 10}, {1, 7},  {3, 10}, {4, 88},
                                         {4, 90}, {7, 5},  {8, 11}, {9, 500}};
    memcpy(world->links, links, sizeof links);
    kg_error error = {0};
    for (size_t i = 0; i < ENTITIES + RELATIONS; i++) {
        char name[16];
        kg_id id = 0;
        kg_names *names = i < ENTITIES ? &world->model.entities : &world->model.relations;
        int length = snprintf(name, sizeof name, "%zu", i);
        assert_ok(kg__names_intern(names, &id, kg__name_of(name, (size_t)length), &error), &error);
    }
    world->model.config = json_pack("{s{ss}}", "settings", "aggregate", "eravg");
    world->model.params = (kg_params){.scoring = kg__scoring_find(model),
                                      .entities = world->entities,
                                      .relations = world->relations,
                                      .dim = DIM};
    world->model.calibration = world->calibration;
    world->twin = (twin_model){.model = model,
                               .aggregate = "eravg",
                               .lambda = 0.1,
                               .dim = DIM,
                               .entities = world->wide_entities,
                               .relations = world->wide_relations};
    return world;
}

void free_world(struct world *world) {
    kg__names_free(&world->model.entities);
    kg__names_free(&world->model.relations);
    json_decref(world->model.config);
    free(world);
}

kg_workspace *open_workspace(const struct world *world, const char *aggregate, int threads) {
    kg_workspace_options options = KG_WORKSPACE_OPTIONS_INIT;
    kg_workspace *workspace = NULL;
    kg_error error = {0};
    options.aggregate = aggregate;
    options.threads = threads;
    assert_ok(kg_workspace_open(&workspace, &world->model, &options, &error), &error);
    return workspace;
}

kg_subject new_entity(const struct world *world) {
    return (kg_subject){KG_NO_ID, world->links, LINKS};
}

kg_status explain(kg_explanation *out, kg_share *shares, kg_workspace *workspace,
                  kg_subject subject, kg_link asked, kg_error *error) {
    enum { FACTS = 2000, TERMS = 9 };
    static _Thread_local kg_score_term terms[TERMS];
    static _Thread_local double parts[FACTS * TERMS];
    static _Thread_local kg_reason reasons[8 * TERMS];
    *out = (kg_explanation){.size = sizeof *out,
                            .shares = shares,
                            .share_capacity = FACTS,
                            .terms = terms,
                            .term_capacity = TERMS,
                            .parts = parts,
                            .part_capacity = COUNT_OF(parts),
                            .reasons = reasons,
                            .reason_capacity = COUNT_OF(reasons)};
    return kg_workspace_explain(out, workspace, subject, asked, error);
}

/* ---- The plain way ---- */

bool is_known(const kg_link *links, size_t count, kg_directed directed, kg_id entity) {
    for (size_t i = 0; i < count; i++)
        if (links[i].directed == directed && links[i].other == entity)
            return true;
    return false;
}

static int compare(const void *one, const void *other) {
    const kg_candidate *a = one;
    const kg_candidate *b = other;
    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    if (a->directed != b->directed)
        return a->directed < b->directed ? -1 : 1;
    return a->entity < b->entity ? -1 : 1;
}

static size_t keep_others(kg_link *kept, const kg_link *links, size_t count, kg_link missing) {
    size_t kept_count = 0;
    for (size_t i = 0; i < count; i++)
        if (links[i].directed != missing.directed || links[i].other != missing.other)
            kept[kept_count++] = links[i];
    return kept_count;
}

void query_plainly(real vector[DIM], kg_workspace *workspace, const kg_link *links, size_t count,
                   kg_directed asked) {
    float z[DIM] = {0};
    kg_error error = {0};
    kg_subject subject = {KG_NO_ID, links, count};
    if (count > 0)
        assert_ok(kg_workspace_embed(z, workspace, subject, asked, &error), &error);
    kg__query_vector_adjoint(&workspace->model->params, vector, asked, z);
}

size_t expect_answers(kg_candidate *out, const struct world *world, kg_workspace *workspace,
                      const float *z, const kg_request *request, const kg_link *known,
                      size_t known_count) {
    size_t count = 0;
    bool is_single = request->relation != KG_NO_ID && request->heads != request->tails;
    for (kg_directed d = 0; d < 2 * RELATIONS; d++) {
        real vector[DIM];
        bool is_wanted = (request->relation == KG_NO_ID || request->relation == d / 2) &&
                         (kg_directed_end(d) == KG_HEAD ? request->tails : request->heads);
        kg__query_vector_adjoint(&world->model.params, vector, d, z);
        for (kg_id u = 0; u < ENTITIES && is_wanted; u++) {
            real score = kg__dot(world->entities + u * DIM, vector, DIM);
            if (is_known(known, known_count, d, u)) {
                kg_link kept[LINKS];
                real without[DIM];
                size_t kept_count = keep_others(kept, known, known_count, (kg_link){d, u});
                query_plainly(without, workspace, kept, kept_count, d);
                score = kg__dot(world->entities + u * DIM, without, DIM);
            }
            real odds = world->calibration[2 * d] * score + world->calibration[2 * d + 1];
            bool is_echo = false;
            for (size_t i = 0; i < known_count; i++)
                is_echo = is_echo || (known[i].other == u && known[i].directed != d);
            if (isnan((double)score) == 0 && u != request->subject.entity &&
                !(is_echo && request->no_echo) &&
                (request->keep_known || !is_known(known, known_count, d, u)))
                out[count++] = (kg_candidate){d, u, score, is_single ? score : odds};
        }
    }
    qsort(out, count, sizeof *out, compare);
    return count;
}

/* ---- Terms ---- */

struct grafted *make_grafted(bool has_propagation) {
    struct grafted *out = must_allocate(1, sizeof *out);
    kg_model *model = NULL;
    out->world = make_world("complex");
    model = &out->world->model;
    make_propagation(&out->some, ENTITIES, RELATIONS, 2000);
    out->has_propagation = has_propagation;
    for (size_t i = 0; i < COUNT_OF(out->values); i++)
        out->values[i] = (real)(i % 7) / 8;
    out->relation_weights = (kg_relation_weights){.power = 0.5};
    assert_ok(
        kg__pairs_make(&out->relation_weights.param.pairs, &out->some.graph, 2 * RELATIONS, NULL),
        NULL);
    assert_ok(kg__pairs_make_echoes(&out->echo.pairs, &out->some.graph, 2 * RELATIONS, 1, 0, NULL),
              NULL);
    json_object_set_new(json_object_get(model->config, "settings"), "psi", json_real(1));
    json_object_set_new(json_object_get(model->config, "settings"), "aggregate",
                        json_string("graft"));
    give_weights(&model->params, &out->relation_weights, out->values, 0);
    if (has_propagation)
        give_propagation(&model->params, &out->some);
    give_term(&model->params, &kg__term_echo, &out->echo, out->values, 0);
    model->known = (kg_known_facts){out->some.graph.links,
                                    out->some.graph.starts,
                                    (size_t)out->some.graph.starts[ENTITIES],
                                    ENTITIES,
                                    RELATIONS,
                                    "known",
                                    NULL};
    return out;
}

void free_grafted(struct grafted *grafted) {
    kg__pairs_free(&grafted->relation_weights.param.pairs);
    kg__pairs_free(&grafted->echo.pairs);
    free_propagation(&grafted->some);
    free_world(grafted->world);
    free(grafted);
}

void expect_offsets(double offsets[ENTITIES], const struct grafted *grafted, kg_id self,
                    const kg_link *links, size_t count, size_t left_out, kg_directed asked) {
    memset(offsets, 0, ENTITIES * sizeof *offsets);
    if (grafted->has_propagation)
        propagate_plainly(offsets, &grafted->some, self, links, count, left_out, asked);
    for (size_t i = 0; i < count; i++) {
        uint32_t pair = kg__pairs_find(&grafted->echo.pairs, asked, links[i].directed);
        if (pair != KG_NO_PAIR && i != left_out)
            offsets[links[i].other] += (double)grafted->values[pair];
    }
}
