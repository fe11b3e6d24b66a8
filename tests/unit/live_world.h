/* Models of a small graph, sets of facts over it and over entities that may come, and commits that
 * lead from one set to another: for tests of the live graph by the public interface. */
#ifndef KG_TESTS_LIVE_WORLD_H
#define KG_TESTS_LIVE_WORLD_H

#include "kgraft.h"
#include "support.h"

/* ---- Models ---- */

#define OWN 24   /* entities of the models: a0, a1, ... */
#define LATER 66 /* that may come: more than a page of them */
#define ALL (OWN + LATER)
#define RELATIONS 3

/* By facts, with all terms; by rows; and without rows. */
#define MODELS 3
extern const char *const model_folders[MODELS];
extern kg_model *models[MODELS];

/* Set-up and tear-down of a group: trains and opens the models, on facts in the folder "data". */
int open_live_world(void **state);
int close_live_world(void **state);

/* Lasts for seven more calls in the same thread. Names of later entities are not in the order of
 * their numbers. */
kg_text name_of(size_t entity);

/* ---- Sets of facts ---- */

typedef struct fact_set {
    bool has[ALL][RELATIONS][ALL];
} fact_set;

/* Those of the models; the caller frees it. */
fact_set *make_base(void);

/* Some more, some fewer; later entities with the models' own, with each other, and with themselves.
 * The caller frees it. */
fact_set *make_target(uint64_t seed, size_t later);

/* Adds the fact, or removes it. */
void change(kg_changes *changes, size_t h, size_t r, size_t t, bool is_added);

/* `out` may be NULL. */
void commit(kg_changes *changes, kg_commit *out);

/* All that leads from one set to another. */
void collect_changes(kg_changes *changes, const fact_set *from, const fact_set *to);

/* From one set to another in random order, in batches; some facts come and go in between. */
void commit_randomly(kg_live *live, const fact_set *from, const fact_set *to, uint64_t seed,
                     size_t batch);

/* ---- What is opened ---- */

kg_live *open_live(const kg_model *model);
kg_model *snapshot_of(kg_live *live);
kg_workspace *open_workspace(const kg_model *model, int threads);

/* A store of one of the models, and its live graph, which the caller closes. */
void make_store(const char *path, size_t model);
kg_live *open_store(const char *path, kg_live_options options);

#endif
