/* Lists of queries, and their vectors by aggregation or from rows. */
#include "rank/queries.h"

#include <math.h>

#include "base/memory.h"

void kg__queries_free(kg_queries *queries) {
    kg__free(queries->list);
    kg__adjacency_free(&queries->adjacency);
    kg__adjacency_free(&queries->given);
    *queries = (kg_queries){0};
}

/* Known answers are the links of the same directed relation: consecutive, since links are sorted.
 */
static void add(kg_queries *queries, kg_id entity, kg_link target) {
    const kg_link *links = kg__adjacency_links(&queries->adjacency, entity);
    size_t count = kg__adjacency_degree(&queries->adjacency, entity);
    size_t position = kg__links_find(links, count, target);
    size_t known_count = 0;
    const kg_link *known = kg__links_run(links, count, target.directed, &known_count);
    queries->list[queries->count++] =
        (kg_query){entity, target, known, (uint32_t)known_count, (uint32_t)position};
}

static kg_status make_unseen(kg_queries *out, const kg_dataset *dataset, kg_part part,
                             kg_error *error) {
    const kg_triples *facts = &dataset->parts[part];
    KG_TRY(kg__adjacency_make(&out->adjacency, facts, dataset->entities.count, KG_WITHOUT_REFLEXIVE,
                              error));
    out->list = kg__resize(NULL, facts->count, sizeof *out->list);
    if (out->list == NULL)
        return kg__fail_memory(error);
    for (size_t v = dataset->entities_before[part]; v < dataset->entities_before[part + 1]; v++) {
        const kg_link *links = kg__adjacency_links(&out->adjacency, (kg_id)v);
        size_t count = kg__adjacency_degree(&out->adjacency, (kg_id)v);
        for (size_t i = 0; i < count; i++)
            add(out, (kg_id)v, links[i]);
    }
    return KG_OK;
}

/* All facts of the parts `from` up to `to`, each once. */
static kg_status merge_parts(kg_triples *out, const kg_dataset *dataset, kg_part from, kg_part to,
                             kg_error *error) {
    for (kg_part part = from; part <= to; part++) {
        const kg_triples *facts = &dataset->parts[part];
        KG_TRY(kg__triples_reserve(out, facts->count, error));
        for (size_t i = 0; i < facts->count; i++)
            out->items[out->count++] = facts->items[i];
    }
    size_t dropped = 0;
    return kg__triples_unique(out, &dropped, error);
}

/* Two queries for each fact of an in-sample part or of a new graph. */
static kg_status make_for_both_ends(kg_queries *out, const kg_dataset *dataset, kg_part part,
                                    kg_error *error) {
    const kg_triples *facts = &dataset->parts[part];
    kg_part from = out->new_graph ? KG_GRAPH : KG_TRAIN;
    kg_part to = out->new_graph ? KG_GRAPH_TEST : KG_TEST;
    kg_triples known = {0};
    kg_status status = merge_parts(&known, dataset, from, to, error);
    if (status == KG_OK)
        status =
            kg__adjacency_make(&out->adjacency, &known, out->candidates, KG_WITH_REFLEXIVE, error);
    kg__triples_free(&known);
    KG_TRY(status);
    if (out->new_graph)
        KG_TRY(kg__adjacency_make(&out->given, &dataset->parts[KG_GRAPH], out->candidates,
                                  KG_WITHOUT_REFLEXIVE, error));
    out->list = kg__resize(NULL, 2 * facts->count, sizeof *out->list);
    if (out->list == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < facts->count; i++) {
        kg_triple fact = facts->items[i];
        add(out, fact.head, (kg_link){kg_direct(fact.relation, KG_HEAD), fact.tail});
        add(out, fact.tail, (kg_link){kg_direct(fact.relation, KG_TAIL), fact.head});
    }
    return KG_OK;
}

kg_status kg__queries_make(kg_queries *out, const kg_dataset *dataset, kg_part part,
                           kg_error *error) {
    *out = (kg_queries){.unseen = part >= KG_UNSEEN_VALID, .new_graph = part >= KG_GRAPH};
    out->candidates =
        out->new_graph ? dataset->graph_entities.count : kg__dataset_in_sample(dataset);
    kg_status status = out->unseen && !out->new_graph
                           ? make_unseen(out, dataset, part, error)
                           : make_for_both_ends(out, dataset, part, error);
    if (status != KG_OK)
        kg__queries_free(out);
    return status;
}

/* ---- Entities that came later ---- */

static void add_later(kg_queries *queries, const kg_entity_facts *facts, kg_id entity) {
    for (uint32_t i = 0; i < facts->link_count; i++) {
        size_t known_count = 0;
        const kg_link *known =
            kg__links_run(facts->known, facts->known_count, facts->links[i].directed, &known_count);
        queries->list[queries->count++] =
            (kg_query){entity, facts->links[i], known, (uint32_t)known_count, i};
    }
}

kg_status kg__queries_make_later(kg_queries *out, const kg_model *snapshot, kg_error *error) {
    const kg_overlay *overlay = snapshot->known.overlay;
    size_t count = 0;
    *out = (kg_queries){.candidates = snapshot->entities.count, .unseen = true, .came_later = true};
    out->adjacency = (kg_adjacency){.entity_count = out->candidates, .overlay = overlay};
    for (size_t v = overlay->first; v < out->candidates; v++)
        count += kg__overlay_find(overlay, (kg_id)v)->link_count;
    out->list = kg__resize(NULL, count, sizeof *out->list);
    if (out->list == NULL)
        return kg__fail_memory(error);
    for (size_t v = overlay->first; v < out->candidates; v++)
        add_later(out, kg__overlay_find(overlay, (kg_id)v), (kg_id)v);
    return KG_OK;
}

bool kg__queries_by_facts(const kg_model *model) {
    const json_t *settings = json_object_get(model->config, "settings");
    return json_number_value(json_object_get(settings, "psi")) == 1;
}

kg_status kg__queries_give_facts(kg_queries *queries, const kg_dataset *dataset, kg_error *error) {
    return kg__adjacency_make(&queries->given, &dataset->parts[KG_TRAIN], queries->candidates,
                              KG_WITHOUT_REFLEXIVE, error);
}

kg_query_links kg__query_links(const kg_queries *queries, const kg_query *query) {
    bool is_given = queries->given.starts != NULL;
    const kg_adjacency *graph = is_given ? &queries->given : &queries->adjacency;
    kg_query_links out = {kg__adjacency_links(graph, query->entity),
                          kg__adjacency_degree(graph, query->entity), query->position};
    if (is_given)
        out.left_out = kg__links_find(out.links, out.count, query->target);
    if (out.left_out == out.count)
        out.left_out = KG_NOTHING;
    return out;
}

size_t kg__query_facts(const kg_queries *queries, const kg_query *query) {
    kg_query_links facts = kg__query_links(queries, query);
    return facts.count - (facts.left_out != KG_NOTHING);
}

kg_dropped kg__queries_drop_known(kg_queries *queries, const kg_dataset *dataset,
                                  const kg_names *known) {
    kg_dropped out = {0};
    size_t kept = 0;
    kg_id last = KG_NO_ID;
    bool drops = false;
    if (!queries->unseen || queries->new_graph)
        return out;
    for (size_t i = 0; i < queries->count; i++) {
        kg_query query = queries->list[i];
        if (query.entity != last) {
            kg_name name = kg__names_hashed(&dataset->entities, query.entity);
            drops = kg__names_find(known, name) != KG_NO_ID;
            out.entities += drops;
            last = query.entity;
        }
        if (!drops)
            queries->list[kept++] = query;
    }
    out.queries = queries->count - kept;
    queries->count = kept;
    return out;
}

void kg__queries_keep_embeddable(kg_queries *queries) {
    size_t kept = 0;
    for (size_t i = 0; i < queries->count; i++) {
        kg_query query = queries->list[i];
        if (query.target.other != query.entity && kg__query_facts(queries, &query) > 0)
            queries->list[kept++] = query;
    }
    queries->count = kept;
}

bool kg__query_is_embedded(const kg_queries *queries, const kg_query *query,
                           const kg_params *params) {
    return queries->unseen || (queries->given.starts != NULL &&
                               (params->dim == 0 || kg__query_facts(queries, query) > 0));
}

void kg__queries_sample(kg_queries *queries, double most) {
    size_t count = 0;
    size_t every = (size_t)ceil(fmax(1, (double)queries->count / most));
    for (size_t i = 0; i < queries->count; i += every)
        queries->list[count++] = queries->list[i];
    queries->count = count;
}

kg_status kg__query_embedder_open(kg_query_embedder *embedder, const kg_params *params,
                                  const kg_embedding *embedding, kg_error *error) {
    embedder->average = embedding->average;
    embedder->loaded = KG_NO_ID;
    embedder->z = kg__alloc(params->dim, sizeof *embedder->z);
    embedder->offsets = (kg_score_offsets){0};
    kg_status status = kg__scorer_open(&embedder->scorer, embedding->aggregate, params, error);
    return embedder->z == NULL ? kg__fail_memory(error) : status;
}

void kg__query_embedder_close(kg_query_embedder *embedder) {
    kg__scorer_close(&embedder->scorer);
    kg__free(embedder->z);
    kg__score_offsets_free(&embedder->offsets);
    embedder->z = NULL;
}

kg_status kg__query_embedder_embed(kg_query_embedder *embedder, const real **z,
                                   const kg_queries *queries, const kg_query *query,
                                   kg_directed relation, kg_error *error) {
    kg_id entity = query->entity;
    *z = embedder->z;
    if (!kg__query_is_embedded(queries, query, &embedder->scorer.embedder.params)) {
        *z = kg__entity_row(&embedder->scorer.embedder.params, entity);
        return KG_OK;
    }
    if (embedder->average != NULL) {
        *z = embedder->average;
        return KG_OK;
    }
    kg_query_links facts = kg__query_links(queries, query);
    if (embedder->loaded != entity) {
        embedder->loaded = KG_NO_ID;
        /* in the graph that terms see */
        bool has_id = !queries->unseen || queries->new_graph || queries->came_later;
        KG_TRY(kg__scorer_load(&embedder->scorer, has_id ? entity : KG_NO_ID, facts.links,
                               facts.count, error));
        embedder->loaded = entity;
    }
    kg__scorer_set_query(&embedder->scorer, relation);
    kg__embedder_embed(&embedder->scorer.embedder, embedder->z, facts.left_out);
    return KG_OK;
}

kg_status kg__query_embedder_offsets(kg_query_embedder *embedder, kg_score_offsets *offsets,
                                     const kg_queries *queries, const kg_query *query,
                                     kg_error *error) {
    if (!kg__query_is_embedded(queries, query, &embedder->scorer.embedder.params) ||
        embedder->average != NULL)
        return KG_OK;
    return kg__scorer_offsets(&embedder->scorer, offsets, kg__query_links(queries, query).left_out,
                              error);
}

kg_status kg__query_embedder_vectors(kg_query_embedder *embedder, real *vectors, size_t *starts,
                                     size_t *done, const kg_queries *queries, size_t from,
                                     size_t to, kg_error *error) {
    const kg_params *params = &embedder->scorer.embedder.params;
    embedder->offsets.count = 0;
    starts[0] = 0;
    for (size_t i = from; i < to && embedder->offsets.count < KG_ENOUGH_OFFSETS; i++) {
        const kg_query *query = &queries->list[i];
        const real *z = NULL;
        KG_TRY(
            kg__query_embedder_embed(embedder, &z, queries, query, query->target.directed, error));
        kg__query_vector_adjoint(params, vectors + (i - from) * params->dim, query->target.directed,
                                 z);
        KG_TRY(kg__query_embedder_offsets(embedder, &embedder->offsets, queries, query, error));
        starts[i - from + 1] = embedder->offsets.count;
        *done = i - from + 1;
    }
    return KG_OK;
}
