/* Filling a data set, with checks. */
#include "graph/dataset.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/text.h"

#define CHUNK 256
#define MANY ((size_t)4 << 20) /* facts: some 50 MB */
#define MOST_NAMED 5           /* unknown relations in a message */

const char *kg__part_name(kg_part part) {
    static const char *const names[KG_PART_COUNT] = {
        "train",         "valid",        "test",  "unseen-valid", "unseen-test",
        "between-valid", "between-test", "graph", "graph-valid",  "graph-test"};
    return names[part];
}

kg_part kg__dataset_validation(const kg_dataset *dataset, bool can_move) {
    if (can_move && dataset->parts[KG_GRAPH_VALID].count > 0)
        return KG_GRAPH_VALID;
    return dataset->parts[KG_UNSEEN_VALID].count > 0 ? KG_UNSEEN_VALID : KG_VALID;
}

kg_part kg__dataset_evaluated(const kg_dataset *dataset, bool in_sample, bool valid) {
    if (in_sample)
        return valid ? KG_VALID : KG_TEST;
    if (kg__dataset_has_graph(dataset))
        return valid ? KG_GRAPH_VALID : KG_GRAPH_TEST;
    return valid ? KG_UNSEEN_VALID : KG_UNSEEN_TEST;
}

kg_status kg__dataset_open(kg_dataset *dataset, kg_error *error) {
    *dataset = (kg_dataset){.history = json_object()};
    return dataset->history == NULL ? kg__fail_memory(error) : KG_OK;
}

kg_status kg__dataset_open_named(kg_dataset *dataset, kg_names *entities, kg_names *relations,
                                 kg_error *error) {
    kg_status status = kg__dataset_open(dataset, error);
    dataset->entities = *entities;
    dataset->relations = *relations;
    dataset->entities_before[KG_TRAIN] = entities->count;
    dataset->in_sample_relations = relations->count;
    dataset->is_named = true;
    *entities = (kg_names){0};
    *relations = (kg_names){0};
    return status;
}

void kg__dataset_close(kg_dataset *dataset) {
    kg__names_free(&dataset->entities);
    kg__names_free(&dataset->relations);
    kg__names_free(&dataset->graph_entities);
    kg__names_free(&dataset->unknown_relations);
    for (kg_part part = 0; part < KG_PART_COUNT; part++)
        kg__triples_free(&dataset->parts[part]);
    json_decref(dataset->history);
    *dataset = (kg_dataset){0};
}

static kg_status drop_repeated(kg_dataset *dataset, kg_part part, kg_error *error) {
    size_t dropped = 0;
    KG_TRY(kg__triples_unique(&dataset->parts[part], &dropped, error));
    dataset->duplicates[part] += dropped;
    return KG_OK;
}

/* Grows the current part. Beyond MANY facts, repeated ones are removed first, so that a small
 * compressed file which repeats facts a billion times takes little memory. Doubling unless half of
 * them were removed keeps the time linear in the number of facts. */
static kg_status make_room(kg_dataset *dataset, size_t more, kg_error *error) {
    kg_triples *triples = &dataset->parts[dataset->part];
    if (triples->count + more > triples->capacity && triples->capacity >= MANY) {
        KG_TRY(drop_repeated(dataset, dataset->part, error));
        if (triples->count > triples->capacity / 2)
            more += triples->capacity - triples->count;
    }
    return kg__triples_reserve(triples, more, error);
}

/* Ends the current part and the empty ones before `next`. */
static kg_status leave_parts(kg_dataset *dataset, kg_part next, kg_error *error) {
    for (; dataset->part < next; dataset->part++) {
        kg_part part = dataset->part;
        KG_TRY(drop_repeated(dataset, part, error));
        if (part < KG_GRAPH)
            dataset->entities_before[part + 1] = dataset->entities.count;
        if (part < KG_UNSEEN_VALID)
            dataset->in_sample_relations = dataset->relations.count;
    }
    return KG_OK;
}

kg_status kg__dataset_enter(kg_dataset *dataset, kg_part part, kg_error *error) {
    return leave_parts(dataset, part, error);
}

static kg_quoted quote_entity(const kg_dataset *dataset, kg_id id) {
    kg_name name = kg__names_get(&dataset->entities, id);
    return kg__quote(name.bytes, name.length);
}

static kg_quoted quote_relation(const kg_dataset *dataset, kg_id id) {
    kg_name name = kg__names_get(&dataset->relations, id);
    return kg__quote(name.bytes, name.length);
}

/* A fact of a data set whose names are given. */
static kg_status check_named(const kg_dataset *dataset, kg_triple fact, kg_error *error) {
    size_t given = dataset->entities_before[KG_TRAIN];
    if (fact.head >= given || fact.tail >= given)
        return kg_fail(error, KG_BAD_INPUT, "expected an entity that has a row, found %s",
                       quote_entity(dataset, fact.head >= given ? fact.head : fact.tail).text);
    if (fact.relation >= dataset->in_sample_relations)
        return kg_fail(error, KG_BAD_INPUT, "expected a relation that has a row, found %s",
                       quote_relation(dataset, fact.relation).text);
    return KG_OK;
}

static kg_status fail_relation(const kg_dataset *dataset, kg_id relation, kg_error *error) {
    return kg_fail(error, KG_BAD_INPUT, "expected a relation of train, found %s",
                   quote_relation(dataset, relation).text);
}

/* A fact of an unseen part: one end is in-sample, the other belongs to this part alone. */
static kg_status check_unseen(const kg_dataset *dataset, kg_triple fact, kg_error *error) {
    size_t in_sample = kg__dataset_in_sample(dataset);
    if (fact.relation >= dataset->in_sample_relations)
        return fail_relation(dataset, fact.relation, error);
    if (fact.head < in_sample && fact.tail < in_sample)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected one unseen entity, found that %s and %s both are in train",
                       quote_entity(dataset, fact.head).text,
                       quote_entity(dataset, fact.tail).text);
    if (fact.head >= in_sample && fact.tail >= in_sample)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected one entity that is in train, found that neither %s nor %s is",
                       quote_entity(dataset, fact.head).text,
                       quote_entity(dataset, fact.tail).text);
    kg_id unseen = fact.head >= in_sample ? fact.head : fact.tail;
    if (unseen < dataset->entities_before[dataset->part])
        return kg_fail(error, KG_BAD_INPUT,
                       "expected an unseen entity of its own, found that %s is in %s too",
                       quote_entity(dataset, unseen).text, kg__part_name(KG_UNSEEN_VALID));
    return KG_OK;
}

/* A fact between entities of an unseen part. */
static kg_status check_between(const kg_dataset *dataset, kg_triple fact, kg_error *error) {
    kg_part unseen = dataset->part == KG_BETWEEN_VALID ? KG_UNSEEN_VALID : KG_UNSEEN_TEST;
    kg_id ends[] = {fact.head, fact.tail};
    for (size_t i = 0; i < 2; i++)
        if (ends[i] < dataset->entities_before[unseen] ||
            ends[i] >= dataset->entities_before[unseen + 1])
            return kg_fail(error, KG_BAD_INPUT, "expected two entities of %s, found %s",
                           kg__part_name(unseen), quote_entity(dataset, ends[i]).text);
    if (fact.head == fact.tail)
        return kg_fail(error, KG_BAD_INPUT, "expected two entities of %s, found %s twice",
                       kg__part_name(unseen), quote_entity(dataset, fact.head).text);
    if (fact.relation >= dataset->in_sample_relations)
        return fail_relation(dataset, fact.relation, error);
    return KG_OK;
}

/* A fact of the new graph. One with an unknown relation is not kept, nor are its entities. */
static kg_status add_to_graph(kg_dataset *dataset, const kg_name ends[2], kg_name relation,
                              kg_error *error) {
    kg_triple fact = {.relation = kg__names_find(&dataset->relations, relation)};
    if (fact.relation == KG_NO_ID) {
        kg_id unknown = KG_NO_ID;
        dataset->unknown_facts++;
        return kg__names_intern(&dataset->unknown_relations, &unknown, relation, error);
    }
    KG_TRY(kg__names_intern(&dataset->graph_entities, &fact.head, ends[0], error));
    KG_TRY(kg__names_intern(&dataset->graph_entities, &fact.tail, ends[1], error));
    KG_TRY(make_room(dataset, 1, error));
    kg_triples *triples = &dataset->parts[dataset->part];
    triples->items[triples->count++] = fact;
    return KG_OK;
}

/* At most CHUNK facts: names to ids, ids to triples. */
static kg_status add_chunk(kg_dataset *dataset, kg_named_facts facts, size_t *added,
                           kg_error *error) {
    kg_id ends[2 * CHUNK];
    kg_id relations[CHUNK];
    kg_triples *triples = &dataset->parts[dataset->part];
    KG_TRY(kg__names_intern_all(&dataset->entities, ends, facts.ends, 2 * facts.count, error));
    KG_TRY(
        kg__names_intern_all(&dataset->relations, relations, facts.relations, facts.count, error));
    KG_TRY(make_room(dataset, facts.count, error));
    for (size_t i = 0; i < facts.count; i++) {
        kg_triple fact = {ends[2 * i], relations[i], ends[2 * i + 1]};
        if (dataset->is_named)
            KG_TRY(check_named(dataset, fact, error));
        else if (dataset->part >= KG_BETWEEN_VALID)
            KG_TRY(check_between(dataset, fact, error));
        else if (dataset->part >= KG_UNSEEN_VALID)
            KG_TRY(check_unseen(dataset, fact, error));
        triples->items[triples->count++] = fact;
        ++*added;
    }
    return KG_OK;
}

kg_status kg__dataset_add(kg_dataset *dataset, kg_named_facts facts, size_t *added,
                          kg_error *error) {
    *added = 0;
    for (; dataset->part >= KG_GRAPH && *added < facts.count; ++*added)
        KG_TRY(add_to_graph(dataset, facts.ends + 2 * *added, facts.relations[*added], error));
    while (*added < facts.count) {
        size_t left = facts.count - *added;
        kg_named_facts chunk = {facts.ends + 2 * *added, facts.relations + *added,
                                left < CHUNK ? left : CHUNK};
        KG_TRY(add_chunk(dataset, chunk, added, error));
    }
    return KG_OK;
}

kg_status kg__dataset_add_one(kg_dataset *dataset, kg_name head, kg_name relation, kg_name tail,
                              kg_error *error) {
    kg_name ends[2] = {head, tail};
    size_t added = 0;
    return kg__dataset_add(dataset, (kg_named_facts){ends, &relation, 1}, &added, error);
}

static kg_status refuse_unknown(const kg_dataset *dataset, kg_error *error) {
    const kg_names *unknown = &dataset->unknown_relations;
    char list[MOST_NAMED * (sizeof(kg_quoted) + 2)];
    size_t length = 0;
    kg_id shown = 0;
    for (; shown < unknown->count && shown < MOST_NAMED; shown++) {
        kg_name name = kg__names_get(unknown, shown);
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s",
                                   shown == 0 ? "" : ", ", kg__quote(name.bytes, name.length).text);
    }
    char more[32] = "";
    if (shown < unknown->count)
        snprintf(more, sizeof more, " and %zu more", unknown->count - shown);
    return kg_fail(error, KG_BAD_INPUT,
                   "expected known relations in the new graph, found unknown ones in %zu of its "
                   "facts: %s%s (%s)",
                   dataset->unknown_facts, list, more,
                   dataset->is_named ? "`skip_unknown` leaves these facts out"
                                     : "kgraft import leaves these facts out by `skip_unknown`");
}

static kg_status check_graph(const kg_dataset *dataset, kg_error *error) {
    bool has_any = dataset->graph_entities.count + dataset->unknown_facts > 0;
    if (dataset->unknown_facts > 0 && !dataset->skip_unknown)
        return refuse_unknown(dataset, error);
    if (has_any && dataset->parts[KG_GRAPH].count == 0)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected facts of the new graph with known relations, found none");
    return KG_OK;
}

kg_status kg__dataset_finish(kg_dataset *dataset, kg_error *error) {
    KG_TRY(leave_parts(dataset, KG_PART_COUNT, error));
    if (dataset->parts[KG_TRAIN].count == 0 && !dataset->is_named)
        return kg_fail(error, KG_BAD_INPUT, "expected facts to train on, found none");
    return check_graph(dataset, error);
}
