/* Questions, and their vectors by aggregation or from rows. */
#include "rank/questions.h"

#include "base/memory.h"

void kg_questions_free(kg_questions *questions) {
    kg_free(questions->list);
    kg_adjacency_free(&questions->adjacency);
    kg_adjacency_free(&questions->given);
    *questions = (kg_questions){0};
}

/* Known answers are the links of the same directed relation: a run, since links are sorted. */
static void add(kg_questions *questions, kg_id entity, kg_link asked) {
    const kg_link *links = kg_adjacency_links(&questions->adjacency, entity);
    size_t count = kg_adjacency_degree(&questions->adjacency, entity);
    size_t position = kg_links_find(links, count, asked);
    size_t known_count = 0;
    const kg_link *known = kg_links_run(links, count, asked.directed, &known_count);
    questions->list[questions->count++] =
        (kg_question){entity, asked, known, (uint32_t)known_count, (uint32_t)position};
}

static kg_status make_unseen(kg_questions *out, const kg_dataset *dataset, kg_part part,
                             kg_error *error) {
    const kg_triples *facts = &dataset->parts[part];
    KG_TRY(kg_adjacency_make(&out->adjacency, facts, dataset->entities.count, KG_WITHOUT_REFLEXIVE,
                             error));
    out->list = kg_resize(NULL, facts->count, sizeof *out->list);
    if (out->list == NULL)
        return kg_fail_memory(error);
    for (size_t v = dataset->entities_before[part]; v < dataset->entities_before[part + 1]; v++) {
        const kg_link *links = kg_adjacency_links(&out->adjacency, (kg_id)v);
        size_t count = kg_adjacency_degree(&out->adjacency, (kg_id)v);
        for (size_t i = 0; i < count; i++)
            add(out, (kg_id)v, links[i]);
    }
    return KG_OK;
}

/* All facts of the in-sample parts, each once. */
static kg_status merge_seen(kg_triples *out, const kg_dataset *dataset, kg_error *error) {
    for (kg_part part = KG_TRAIN; part <= KG_TEST; part++) {
        const kg_triples *facts = &dataset->parts[part];
        KG_TRY(kg_triples_reserve(out, facts->count, error));
        for (size_t i = 0; i < facts->count; i++)
            out->items[out->count++] = facts->items[i];
    }
    size_t dropped = 0;
    return kg_triples_unique(out, &dropped, error);
}

static kg_status make_seen(kg_questions *out, const kg_dataset *dataset, kg_part part,
                           kg_error *error) {
    const kg_triples *facts = &dataset->parts[part];
    kg_triples known = {0};
    kg_status status = merge_seen(&known, dataset, error);
    if (status == KG_OK)
        status = kg_adjacency_make(&out->adjacency, &known, kg_dataset_in_sample(dataset),
                                   KG_WITH_REFLEXIVE, error);
    kg_triples_free(&known);
    KG_TRY(status);
    out->list = kg_resize(NULL, 2 * facts->count, sizeof *out->list);
    if (out->list == NULL)
        return kg_fail_memory(error);
    for (size_t i = 0; i < facts->count; i++) {
        kg_triple fact = facts->items[i];
        add(out, fact.head, (kg_link){kg_direct(fact.relation, KG_HEAD), fact.tail});
        add(out, fact.tail, (kg_link){kg_direct(fact.relation, KG_TAIL), fact.head});
    }
    return KG_OK;
}

kg_status kg_questions_make(kg_questions *out, const kg_dataset *dataset, kg_part part,
                            kg_error *error) {
    *out = (kg_questions){.unseen = part == KG_UNSEEN_VALID || part == KG_UNSEEN_TEST};
    kg_status status =
        out->unseen ? make_unseen(out, dataset, part, error) : make_seen(out, dataset, part, error);
    if (status != KG_OK)
        kg_questions_free(out);
    return status;
}

bool kg_asks_by_facts(const kg_model *model) {
    const json_t *settings = json_object_get(model->config, "settings");
    return json_number_value(json_object_get(settings, "psi")) == 1;
}

kg_status kg_questions_give_facts(kg_questions *questions, const kg_dataset *dataset,
                                  kg_error *error) {
    return kg_adjacency_make(&questions->given, &dataset->parts[KG_TRAIN],
                             kg_dataset_in_sample(dataset), KG_WITHOUT_REFLEXIVE, error);
}

/* What an entity is embedded from. */
struct facts {
    const kg_link *links;
    size_t count;
    size_t left_out; /* the one that is asked for, or KG_NOTHING */
};

static struct facts find_facts(const kg_questions *questions, const kg_question *question) {
    bool is_given = questions->given.starts != NULL;
    const kg_adjacency *graph = is_given ? &questions->given : &questions->adjacency;
    struct facts out = {kg_adjacency_links(graph, question->entity),
                        kg_adjacency_degree(graph, question->entity), question->position};
    if (is_given)
        out.left_out = kg_links_find(out.links, out.count, question->asked);
    if (out.left_out == out.count)
        out.left_out = KG_NOTHING;
    return out;
}

size_t kg_question_facts(const kg_questions *questions, const kg_question *question) {
    struct facts facts = find_facts(questions, question);
    return facts.count - (facts.left_out != KG_NOTHING);
}

kg_dropped kg_questions_drop_known(kg_questions *questions, const kg_dataset *dataset,
                                   const kg_names *known) {
    kg_dropped out = {0};
    size_t kept = 0;
    kg_id last = KG_NO_ID;
    bool drops = false;
    for (size_t i = 0; i < questions->count && questions->unseen; i++) {
        kg_question question = questions->list[i];
        if (question.entity != last) {
            kg_name name = kg_names_get(&dataset->entities, question.entity);
            drops = kg_names_find(known, kg_name_of(name.bytes, name.length)) != KG_NO_ID;
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

void kg_questions_like_new(kg_questions *questions) {
    size_t kept = 0;
    for (size_t i = 0; i < questions->count; i++) {
        kg_question question = questions->list[i];
        if (question.asked.other != question.entity && kg_question_facts(questions, &question) > 0)
            questions->list[kept++] = question;
    }
    questions->count = kept;
}

bool kg_question_is_embedded(const kg_questions *questions, const kg_question *question) {
    return questions->unseen ||
           (questions->given.starts != NULL && kg_question_facts(questions, question) > 0);
}

kg_status kg_asker_open(kg_asker *asker, const kg_tables *tables, const kg_embedding *embedding,
                        kg_error *error) {
    kg_blend_open(&asker->blend, embedding->aggregate, *tables);
    asker->average = embedding->average;
    asker->loaded = KG_NO_ID;
    asker->z = kg_alloc(tables->dim, sizeof *asker->z);
    asker->bonuses = (kg_bonuses){0};
    return asker->z == NULL ? kg_fail_memory(error) : KG_OK;
}

void kg_asker_close(kg_asker *asker) {
    kg_blend_close(&asker->blend);
    kg_free(asker->z);
    kg_bonuses_free(&asker->bonuses);
    asker->z = NULL;
}

kg_status kg_asker_embed(kg_asker *asker, const real **z, const kg_questions *questions,
                         const kg_question *question, kg_directed asked, kg_error *error) {
    kg_id entity = question->entity;
    *z = asker->z;
    if (!kg_question_is_embedded(questions, question)) {
        *z = kg_entity_row(&asker->blend.tables, entity);
        return KG_OK;
    }
    if (asker->average != NULL) {
        *z = asker->average;
        return KG_OK;
    }
    struct facts facts = find_facts(questions, question);
    if (asker->loaded != entity) {
        asker->loaded = KG_NO_ID;
        KG_TRY(kg_blend_load(&asker->blend, questions->unseen ? KG_NO_ID : entity, facts.links,
                             facts.count, error));
        asker->loaded = entity;
    }
    kg_blend_ask(&asker->blend, asked);
    kg_blend_embed(&asker->blend, asker->z, facts.left_out);
    return KG_OK;
}

kg_status kg_asker_bonuses(kg_asker *asker, kg_bonuses *bonuses, const kg_questions *questions,
                           const kg_question *question, kg_error *error) {
    if (!kg_question_is_embedded(questions, question) || asker->average != NULL)
        return KG_OK;
    return kg_blend_bonuses(&asker->blend, bonuses, find_facts(questions, question).left_out,
                            error);
}

kg_status kg_asker_ask(kg_asker *asker, real *vectors, size_t *starts,
                       const kg_questions *questions, size_t from, size_t to, kg_error *error) {
    const kg_tables *tables = &asker->blend.tables;
    asker->bonuses.count = 0;
    starts[0] = 0;
    for (size_t i = from; i < to; i++) {
        const kg_question *question = &questions->list[i];
        const real *z = NULL;
        KG_TRY(kg_asker_embed(asker, &z, questions, question, question->asked.directed, error));
        kg_query_adjoint(tables, vectors + (i - from) * tables->dim, question->asked.directed, z);
        KG_TRY(kg_asker_bonuses(asker, &asker->bonuses, questions, question, error));
        starts[i - from + 1] = asker->bonuses.count;
    }
    return KG_OK;
}
