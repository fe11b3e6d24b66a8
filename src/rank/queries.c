/* Questions, and their vectors by aggregation or from rows. */
#include "rank/queries.h"

#include "base/memory.h"

void kg__queries_free(kg_queries *questions) {
    kg__free(questions->list);
    kg__adjacency_free(&questions->adjacency);
    kg__adjacency_free(&questions->given);
    *questions = (kg_queries){0};
}

/* Known answers are the links of the same directed relation: a run, since links are sorted. */
static void add(kg_queries *questions, kg_id entity, kg_link asked) {
    const kg_link *links = kg__adjacency_links(&questions->adjacency, entity);
    size_t count = kg__adjacency_degree(&questions->adjacency, entity);
    size_t position = kg__links_find(links, count, asked);
    size_t known_count = 0;
    const kg_link *known = kg__links_run(links, count, asked.directed, &known_count);
    questions->list[questions->count++] =
        (kg_query){entity, asked, known, (uint32_t)known_count, (uint32_t)position};
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

/* All facts of the in-sample parts, each once. */
static kg_status merge_seen(kg_triples *out, const kg_dataset *dataset, kg_error *error) {
    for (kg_part part = KG_TRAIN; part <= KG_TEST; part++) {
        const kg_triples *facts = &dataset->parts[part];
        KG_TRY(kg__triples_reserve(out, facts->count, error));
        for (size_t i = 0; i < facts->count; i++)
            out->items[out->count++] = facts->items[i];
    }
    size_t dropped = 0;
    return kg__triples_unique(out, &dropped, error);
}

static kg_status make_seen(kg_queries *out, const kg_dataset *dataset, kg_part part,
                           kg_error *error) {
    const kg_triples *facts = &dataset->parts[part];
    kg_triples known = {0};
    kg_status status = merge_seen(&known, dataset, error);
    if (status == KG_OK)
        status = kg__adjacency_make(&out->adjacency, &known, kg__dataset_in_sample(dataset),
                                    KG_WITH_REFLEXIVE, error);
    kg__triples_free(&known);
    KG_TRY(status);
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
    *out = (kg_queries){.unseen = part == KG_UNSEEN_VALID || part == KG_UNSEEN_TEST};
    kg_status status =
        out->unseen ? make_unseen(out, dataset, part, error) : make_seen(out, dataset, part, error);
    if (status != KG_OK)
        kg__queries_free(out);
    return status;
}

bool kg__queries_by_facts(const kg_model *model) {
    const json_t *settings = json_object_get(model->config, "settings");
    return json_number_value(json_object_get(settings, "psi")) == 1;
}

kg_status kg__queries_give_facts(kg_queries *questions, const kg_dataset *dataset,
                                 kg_error *error) {
    return kg__adjacency_make(&questions->given, &dataset->parts[KG_TRAIN],
                              kg__dataset_in_sample(dataset), KG_WITHOUT_REFLEXIVE, error);
}

/* What an entity is embedded from. */
struct facts {
    const kg_link *links;
    size_t count;
    size_t left_out; /* the one that is asked for, or KG_NOTHING */
};

static struct facts find_facts(const kg_queries *questions, const kg_query *question) {
    bool is_given = questions->given.starts != NULL;
    const kg_adjacency *graph = is_given ? &questions->given : &questions->adjacency;
    struct facts out = {kg__adjacency_links(graph, question->entity),
                        kg__adjacency_degree(graph, question->entity), question->position};
    if (is_given)
        out.left_out = kg__links_find(out.links, out.count, question->asked);
    if (out.left_out == out.count)
        out.left_out = KG_NOTHING;
    return out;
}

size_t kg__query_facts(const kg_queries *questions, const kg_query *question) {
    struct facts facts = find_facts(questions, question);
    return facts.count - (facts.left_out != KG_NOTHING);
}

kg_dropped kg__queries_drop_known(kg_queries *questions, const kg_dataset *dataset,
                                  const kg_names *known) {
    kg_dropped out = {0};
    size_t kept = 0;
    kg_id last = KG_NO_ID;
    bool drops = false;
    for (size_t i = 0; i < questions->count && questions->unseen; i++) {
        kg_query question = questions->list[i];
        if (question.entity != last) {
            kg_name name = kg__names_get(&dataset->entities, question.entity);
            drops = kg__names_find(known, kg__name_of(name.bytes, name.length)) != KG_NO_ID;
            out.entities += drops;
            last = question.entity;
        }
        if (!drops)
            questions->list[kept++] = question;
    }
    if (questions->unseen) {
        out.queries = questions->count - kept;
        questions->count = kept;
    }
    return out;
}

void kg__queries_like_new(kg_queries *questions) {
    size_t kept = 0;
    for (size_t i = 0; i < questions->count; i++) {
        kg_query question = questions->list[i];
        if (question.asked.other != question.entity && kg__query_facts(questions, &question) > 0)
            questions->list[kept++] = question;
    }
    questions->count = kept;
}

bool kg__query_is_embedded(const kg_queries *questions, const kg_query *question) {
    return questions->unseen ||
           (questions->given.starts != NULL && kg__query_facts(questions, question) > 0);
}

kg_status kg__query_embedder_open(kg_query_embedder *asker, const kg_params *params,
                                  const kg_embedding *embedding, kg_error *error) {
    kg__embedder_open(&asker->blend, embedding->aggregate, *params);
    asker->average = embedding->average;
    asker->loaded = KG_NO_ID;
    asker->z = kg__alloc(params->dim, sizeof *asker->z);
    asker->bonuses = (kg_score_offsets){0};
    return asker->z == NULL ? kg__fail_memory(error) : KG_OK;
}

void kg__query_embedder_close(kg_query_embedder *asker) {
    kg__embedder_close(&asker->blend);
    kg__free(asker->z);
    kg__score_offsets_free(&asker->bonuses);
    asker->z = NULL;
}

kg_status kg__query_embedder_embed(kg_query_embedder *asker, const real **z,
                                   const kg_queries *questions, const kg_query *question,
                                   kg_directed asked, kg_error *error) {
    kg_id entity = question->entity;
    *z = asker->z;
    if (!kg__query_is_embedded(questions, question)) {
        *z = kg__entity_row(&asker->blend.params, entity);
        return KG_OK;
    }
    if (asker->average != NULL) {
        *z = asker->average;
        return KG_OK;
    }
    struct facts facts = find_facts(questions, question);
    if (asker->loaded != entity) {
        asker->loaded = KG_NO_ID;
        KG_TRY(kg__embedder_load(&asker->blend, questions->unseen ? KG_NO_ID : entity, facts.links,
                                 facts.count, error));
        asker->loaded = entity;
    }
    kg__embedder_ask(&asker->blend, asked);
    kg__embedder_embed(&asker->blend, asker->z, facts.left_out);
    return KG_OK;
}

kg_status kg__query_embedder_bonuses(kg_query_embedder *asker, kg_score_offsets *bonuses,
                                     const kg_queries *questions, const kg_query *question,
                                     kg_error *error) {
    if (!kg__query_is_embedded(questions, question) || asker->average != NULL)
        return KG_OK;
    return kg__embedder_bonuses(&asker->blend, bonuses, find_facts(questions, question).left_out,
                                error);
}

kg_status kg__query_embedder_ask(kg_query_embedder *asker, real *vectors, size_t *starts,
                                 const kg_queries *questions, size_t from, size_t to,
                                 kg_error *error) {
    const kg_params *params = &asker->blend.params;
    asker->bonuses.count = 0;
    starts[0] = 0;
    for (size_t i = from; i < to; i++) {
        const kg_query *question = &questions->list[i];
        const real *z = NULL;
        KG_TRY(kg__query_embedder_embed(asker, &z, questions, question, question->asked.directed,
                                        error));
        kg__query_vector_adjoint(params, vectors + (i - from) * params->dim,
                                 question->asked.directed, z);
        KG_TRY(kg__query_embedder_bonuses(asker, &asker->bonuses, questions, question, error));
        starts[i - from + 1] = asker->bonuses.count;
    }
    return KG_OK;
}
