/* Entities that share a fact with the query entity, and their answers to the query: what
 * cooccurrence.c and knn_vote.c are counted from. */
#ifndef KG_TERMS_SHARED_FACTS_H
#define KG_TERMS_SHARED_FACTS_H

#include <math.h>

#include "terms/features/extractor.h"

/* Of more entities that share a fact, every n-th is sampled; an entity with more answers is
 * ignored. Higher limits cost time and changed nothing. */
#define KG_MOST_SHARING 32
#define KG_MOST_ANSWERS 128

/* Links of one directed relation from an entity; the one to the query entity is skipped. */
typedef struct kg_run {
    const kg_link *links;
    size_t count; /* without it */
    size_t self;  /* its position, or at least `count` if there is none */
} kg_run;

static inline kg_run kg__run_find(const kg_extractor *extractor, kg_id from, kg_directed directed) {
    const kg_adjacency *graph = extractor->features->graph;
    kg_run run = {0};
    run.links = kg__links_run(kg__adjacency_links(graph, from), kg__adjacency_degree(graph, from),
                              directed, &run.count);
    run.self = kg__links_find(run.links, run.count, (kg_link){directed, extractor->self});
    run.count -= run.self < run.count;
    return run;
}

static inline kg_id kg__run_at(const kg_run *run, size_t i) {
    return run->links[i + (i >= run->self)].other;
}

/* Answers of another entity to the query. */
static inline kg_run kg__run_answers(const kg_extractor *extractor, kg_id other) {
    return kg__run_find(extractor, other, extractor->query);
}

static inline bool kg__run_answers_have(const kg_extractor *extractor, kg_id other, kg_id answer) {
    kg_run answers = kg__run_answers(extractor, other);
    for (size_t k = 0; k < answers.count && answers.count <= KG_MOST_ANSWERS; k++)
        if (kg__run_at(&answers, k) == answer)
            return true;
    return false;
}

/* Entities that share a fact, to be read with a stride; none if the fact is reflexive. */
static inline kg_run kg__run_sharing(const kg_extractor *extractor, kg_link fact) {
    if (fact.other == extractor->self)
        return (kg_run){0};
    return kg__run_find(extractor, fact.other, kg__inverse(fact.directed));
}

static inline size_t kg__run_stride(const kg_run *sharing) {
    return (sharing->count + KG_MOST_SHARING - 1) / KG_MOST_SHARING;
}

/* What a shared fact adds to similarity, in 2^-32: the less the more entities share it. */
static inline int64_t kg__run_weight(const kg_run *sharing) {
    return llround(0x1p32 / sqrt((double)sharing->count));
}

#endif
