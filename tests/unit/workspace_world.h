/* A model that nobody trained, with and without terms beside the embedding, facts of a new entity,
 * and plain ways to answer about it: for tests of workspaces. */
#ifndef KG_TESTS_WORKSPACE_WORLD_H
#define KG_TESTS_WORKSPACE_WORLD_H

#include "aggregate/graft_aggregate.h"
#include "infer/workspace.h"
#include "some_propagation.h"
#include "support.h"
#include "terms/echo.h"
#include "twin.h"

#define ENTITIES 900
#define RELATIONS 6
#define DIM 16
#define LINKS 9
#define ZEROS 4 /* an entity whose row has no direction */

struct world {
    kg_model model;
    real entities[ENTITIES * DIM];
    real relations[RELATIONS * DIM];
    real calibration[4 * RELATIONS];
    double wide_entities[ENTITIES * DIM];
    double wide_relations[RELATIONS * DIM];
    kg_link links[LINKS]; /* of the new entity */
    twin_model twin;
};

/* With a scoring function. Rows 10 and 20 are the same. */
struct world *make_world(const char *model);
void free_world(struct world *world);

kg_workspace *open_workspace(const struct world *world, const char *aggregate, int threads);
kg_subject new_entity(const struct world *world);

/* With the largest arrays that a test needs, but for those of shares; what is in them lasts until
 * the thread's next call. */
kg_status explain(kg_explanation *out, kg_share *shares, kg_workspace *workspace,
                  kg_subject subject, kg_link asked, kg_error *error);

/* ---- The plain way ---- */

bool is_known(const kg_link *links, size_t count, kg_directed directed, kg_id entity);

/* The vector of a query about a new entity with these facts, 0 if there are none. */
void query_plainly(real vector[DIM], kg_workspace *workspace, const kg_link *links, size_t count,
                   kg_directed asked);

/* All answers to the request, the best first. `z` is as the library has it: this is about order. */
size_t expect_answers(kg_candidate *out, const struct world *world, kg_workspace *workspace,
                      const float *z, const kg_request *request, const kg_link *known,
                      size_t known_count);

/* ---- Terms ---- */

/* A model of graft, whose training facts are those that propagation goes over. */
struct grafted {
    struct world *world;
    struct some_propagation some; /* which the model need not have */
    bool has_propagation;
    kg_relation_weights relation_weights;
    kg_pair_param echo;
    real values[4 * RELATIONS * RELATIONS];
};

struct grafted *make_grafted(bool has_propagation);
void free_grafted(struct grafted *grafted);

/* The score offsets of all answers to a query about an entity, by its facts but one. */
void expect_offsets(double offsets[ENTITIES], const struct grafted *grafted, kg_id self,
                    const kg_link *links, size_t count, size_t left_out, kg_directed asked);

#endif
