#include "rank_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

static void add_fact(kg_dataset *dataset, const char *head, uint64_t relation, const char *tail) {
    char name[32];
    snprintf(name, sizeof name, "r%ju", (uintmax_t)relation);
    assert_int_equal(kg__dataset_add_one(dataset, kg__name_of(head, strlen(head)),
                                         kg__name_of(name, strlen(name)),
                                         kg__name_of(tail, strlen(tail)), NULL),
                     KG_OK);
}

static uint64_t draw(uint64_t limit, uint64_t *position) {
    return kg__random_below(limit, 7, KG_STREAM_GENERATE_TAIL, (*position)++);
}

static real value(enum filling filling, size_t row, uint64_t *position) {
    if (filling == CONSTANTS)
        return 1;
    if (filling == HOLES && row % 17 == 3)
        return row % 2 == 0 ? (real)NAN : (real)INFINITY;
    if (filling == REALS)
        return (real)(2 * kg__random_unit(7, KG_STREAM_GENERATE_TAIL, (*position)++) - 1);
    return (real)draw(5, position) - 2; /* small whole numbers: every product is exact */
}

void make_world(struct world *world, size_t entities, size_t dim, enum filling filling) {
    static const size_t sizes[KG_GRAPH] = {600, 40, 40, 60, 60};
    kg_dataset *dataset = &world->dataset;
    uint64_t position = 0;
    *world = (struct world){0};
    assert_int_equal(kg__dataset_open(dataset, NULL), KG_OK);
    for (kg_part part = 0; part < KG_GRAPH; part++) {
        assert_int_equal(kg__dataset_enter(dataset, part, NULL), KG_OK);
        for (size_t i = 0; i < sizes[part]; i++) {
            char head[32];
            char tail[32];
            bool unseen = part >= KG_UNSEEN_VALID;
            size_t known = unseen ? kg__dataset_in_sample(dataset) : entities;
            snprintf(head, sizeof head, "e%ju",
                     (uintmax_t)(i < entities ? i : draw(known, &position)));
            if (unseen)
                snprintf(head, sizeof head, "u%d-%zu", (int)part, i / 6);
            uint64_t other = draw(known, &position);
            if (unseen) {
                kg_name name = kg__names_get(&dataset->entities, (kg_id)other);
                snprintf(tail, sizeof tail, "%.*s", (int)name.length, name.bytes);
            } else {
                snprintf(tail, sizeof tail, "e%ju", (uintmax_t)other);
            }
            bool turned = draw(2, &position) == 0;
            add_fact(dataset, turned ? tail : head, part == KG_TRAIN ? i % 3 : draw(3, &position),
                     turned ? head : tail);
        }
    }
    assert_int_equal(kg__dataset_finish(dataset, NULL), KG_OK);
    size_t rows = kg__dataset_in_sample(dataset);
    world->entities = calloc(rows * dim, sizeof *world->entities);
    world->relations = calloc(dataset->relations.count * dim, sizeof *world->relations);
    for (size_t i = 0; i < rows * dim; i++)
        world->entities[i] = value(filling, i / dim, &position);
    for (size_t i = 0; i < dataset->relations.count * dim; i++)
        world->relations[i] = value(filling == HOLES ? INTEGERS : filling, i / dim, &position);
    world->params = (kg_params){.scoring = kg__scoring_find("distmult"),
                                .entities = world->entities,
                                .relations = world->relations,
                                .dim = dim};
}

void free_world(struct world *world) {
    kg__dataset_close(&world->dataset);
    free(world->entities);
    free(world->relations);
}

size_t keep_others(kg_link *others, const kg_queries *queries, const kg_query *query) {
    const kg_link *links = kg__adjacency_links(&queries->adjacency, query->entity);
    size_t count = 0;
    for (size_t i = 0; i <= kg__query_facts(queries, query); i++)
        if (i != query->position)
            others[count++] = links[i];
    return count;
}
