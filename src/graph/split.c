/* The six steps, one function each. Entities are sampled by giving each candidate a random number
 * and taking the smallest, so a sample depends on the seed and the entities' ids alone. No fact is
 * copied or removed: which of them are left follows from the roles of their entities. */
#include "graph/split.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"

/* The part that an entity is assigned to. */
enum role { IN_SAMPLE, UNSEEN, IN_VALID, IN_TEST, REMOVED };

struct split {
    const kg_dataset *from;
    const kg_split_options *options;
    kg_split_report *report;
    const kg_triples *facts; /* all of them: those of the only part that has some, or */
    kg_triples merged;
    bool is_sifted;       /* step 3: facts between unseen entities are removed */
    bool is_known;        /* step 4: so are those of relations without a training fact */
    uint8_t *roles;       /* per entity */
    uint32_t *degrees;    /* per entity: facts that it is in */
    bool *relation_known; /* per relation: whether it is in a training fact */
};

struct draw {
    uint64_t number;
    kg_id entity;
};

static int by_number(const void *left, const void *right) {
    const struct draw *a = left;
    const struct draw *b = right;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->entity < b->entity ? -1 : a->entity > b->entity;
}

static kg_status check_options(const kg_split_options *options, kg_error *error) {
    if (!(options->unseen > 0 && options->unseen < 1))
        return kg_fail(error, KG_BAD_INPUT,
                       "expected a share of unseen entities in (0, 1), found %g", options->unseen);
    if (!(options->valid_share >= 0 && options->valid_share <= 1))
        return kg_fail(error, KG_BAD_INPUT, "expected a share for validation in [0, 1], found %g",
                       options->valid_share);
    if (options->min_facts < 2)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected at least 2 facts of an unseen entity (one as the query, one to "
                       "embed it from), "
                       "found %ju",
                       (uintmax_t)options->min_facts);
    return KG_OK;
}

/* The only part that has facts, each of them once; NULL if there are several. */
static const kg_triples *only_part(const kg_dataset *dataset) {
    const kg_triples *only = NULL;
    for (kg_part part = 0; part < KG_GRAPH; part++) {
        if (dataset->parts[part].count == 0)
            continue;
        if (only != NULL)
            return NULL;
        only = &dataset->parts[part];
    }
    return only;
}

/* 1. All facts of all parts but a new graph, which has other entities. */
static kg_status merge(struct split *split, kg_error *error) {
    size_t repeated = 0;
    split->facts = only_part(split->from);
    for (kg_part part = 0; part < KG_GRAPH && split->facts == NULL; part++) {
        const kg_triples *facts = &split->from->parts[part];
        KG_TRY(kg__triples_reserve(&split->merged, facts->count, error));
        for (size_t i = 0; i < facts->count; i++)
            split->merged.items[split->merged.count++] = facts->items[i];
    }
    KG_TRY(kg__triples_unique(&split->merged, &repeated, error));
    if (split->facts == NULL)
        split->facts = &split->merged;
    split->report->repeated_facts = repeated;
    split->report->merged_facts = split->facts->count;
    return KG_OK;
}

static bool is_unseen(const struct split *split, kg_id entity) {
    return split->roles[entity] == UNSEEN || split->roles[entity] == IN_VALID ||
           split->roles[entity] == IN_TEST;
}

static bool is_between(const struct split *split, kg_triple fact) {
    return is_unseen(split, fact.head) && is_unseen(split, fact.tail);
}

/* Whether the steps so far have left a fact. */
static bool is_left(const struct split *split, kg_triple fact) {
    return split->roles[fact.head] != REMOVED && split->roles[fact.tail] != REMOVED &&
           !(split->is_sifted && is_between(split, fact)) &&
           !(split->is_known && !split->relation_known[fact.relation]);
}

static size_t count_left(const struct split *split) {
    size_t count = 0;
    for (size_t i = 0; i < split->facts->count; i++)
        count += is_left(split, split->facts->items[i]);
    return count;
}

static void count_degrees(struct split *split) {
    for (size_t i = 0; i < split->from->entities.count; i++)
        split->degrees[i] = 0;
    for (size_t i = 0; i < split->facts->count; i++) {
        kg_triple fact = split->facts->items[i];
        if (!is_left(split, fact))
            continue;
        split->degrees[fact.head]++;
        if (fact.tail != fact.head)
            split->degrees[fact.tail]++;
    }
}

static bool is_candidate(const struct split *split, kg_id id) {
    uint64_t most = split->options->most_facts;
    return split->degrees[id] >= split->options->min_facts &&
           (most == 0 || split->degrees[id] <= most);
}

/* Assigns `role` to a share of the entities whose role is `among` and which have enough facts, and
 * not too many; returns the number of candidates and of those taken. */
static kg_status draw(struct split *split, enum role among, enum role role, double share,
                      kg_stream stream, uint64_t *candidates, uint64_t *taken, kg_error *error) {
    size_t count = split->from->entities.count;
    struct draw *draws = kg__alloc(count, sizeof *draws);
    if (draws == NULL)
        return kg__fail_memory(error);
    size_t draw_count = 0;
    for (kg_id id = 0; id < count; id++)
        if (split->roles[id] == among && is_candidate(split, id))
            draws[draw_count++] = (struct draw){kg__random(split->options->seed, stream, id), id};
    qsort(draws, draw_count, sizeof *draws, by_number);
    *candidates = draw_count;
    /* Rounded down in decimal: 0.29 of 100 is 29, despite binary rounding. */
    *taken = (uint64_t)(share * (double)draw_count * (1 + 1e-12) + 1e-9);
    for (size_t i = 0; i < *taken; i++)
        split->roles[draws[i].entity] = (uint8_t)role;
    kg__free(draws);
    return KG_OK;
}

/* 2. A share of the entities with enough facts becomes unseen. */
static kg_status draw_unseen(struct split *split, kg_error *error) {
    count_degrees(split);
    return draw(split, IN_SAMPLE, UNSEEN, split->options->unseen, KG_STREAM_SPLIT_UNSEEN,
                &split->report->candidates, &split->report->drawn, error);
}

static bool is_training(const struct split *split, kg_triple fact) {
    return split->roles[fact.head] == IN_SAMPLE && split->roles[fact.tail] == IN_SAMPLE;
}

static void put_in_sample(struct split *split, kg_id entity) {
    split->report->drawn -= split->roles[entity] == UNSEEN;
    split->roles[entity] = IN_SAMPLE;
}

/* Of each relation without a training fact, the first fact becomes one. */
static void keep_all_relations(struct split *split) {
    for (size_t i = 0; i < split->facts->count; i++)
        if (is_training(split, split->facts->items[i]))
            split->relation_known[split->facts->items[i].relation] = true;
    for (size_t i = 0; i < split->facts->count; i++) {
        kg_triple fact = split->facts->items[i];
        if (split->relation_known[fact.relation])
            continue;
        put_in_sample(split, fact.head);
        put_in_sample(split, fact.tail);
        split->relation_known[fact.relation] = true;
    }
}

/* 3. Facts between unseen entities are removed, including those of an unseen entity with itself. */
static void drop_between_unseen(struct split *split) {
    for (size_t i = 0; i < split->facts->count; i++) {
        kg_triple fact = split->facts->items[i];
        bool removed = is_between(split, fact);
        split->report->between_unseen += removed;
        split->report->reflexive += removed && fact.head == fact.tail;
    }
    split->is_sifted = true;
}

/* Marks what is in a training fact: the degrees of in-sample entities become their number of
 * training facts. */
static void mark_training(struct split *split) {
    for (size_t i = 0; i < split->from->entities.count; i++)
        split->degrees[i] = 0;
    for (size_t i = 0; i < split->facts->count; i++) {
        kg_triple fact = split->facts->items[i];
        if (!is_training(split, fact))
            continue;
        split->degrees[fact.head]++;
        split->degrees[fact.tail]++;
        split->relation_known[fact.relation] = true;
    }
}

/* 4. In-sample entities and relations without a training fact are removed with their facts. Those
 * facts all have an unseen end, so no training fact is removed and one pass is enough. */
static void drop_lost(struct split *split) {
    size_t before = count_left(split);
    mark_training(split);
    for (size_t i = 0; i < split->from->entities.count; i++) {
        if (split->roles[i] == IN_SAMPLE && split->degrees[i] == 0) {
            split->roles[i] = REMOVED;
            split->report->lost_entities++;
        }
    }
    for (size_t i = 0; i < split->from->relations.count; i++)
        split->report->lost_relations += !split->relation_known[i];
    split->is_known = true;
    split->report->lost_facts = before - count_left(split);
}

/* 5. Unseen entities left with too few facts are removed. */
static void drop_sparse(struct split *split) {
    size_t before = count_left(split);
    count_degrees(split);
    for (size_t i = 0; i < split->from->entities.count; i++) {
        if (split->roles[i] == UNSEEN && split->degrees[i] < split->options->min_facts) {
            split->roles[i] = REMOVED;
            split->report->sparse_unseen++;
        }
    }
    split->report->sparse_facts = before - count_left(split);
}

/* 6. A share of the unseen entities is assigned to validation, the others to test. */
static kg_status draw_valid(struct split *split, kg_error *error) {
    uint64_t unseen = 0;
    KG_TRY(draw(split, UNSEEN, IN_VALID, split->options->valid_share, KG_STREAM_SPLIT_VALID,
                &unseen, &split->report->valid_entities, error));
    split->report->test_entities = unseen - split->report->valid_entities;
    if (unseen == 0)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected a graph from which entities can be taken out, found that none of "
                       "%ju drawn keeps %ju facts",
                       (uintmax_t)split->report->drawn, (uintmax_t)split->options->min_facts);
    for (size_t i = 0; i < split->from->entities.count; i++)
        if (split->roles[i] == UNSEEN)
            split->roles[i] = IN_TEST;
    return KG_OK;
}

static kg_part part_of(const struct split *split, kg_triple fact) {
    uint8_t head = split->roles[fact.head];
    uint8_t tail = split->roles[fact.tail];
    if (head == IN_SAMPLE && tail == IN_SAMPLE)
        return KG_TRAIN;
    return head == IN_VALID || tail == IN_VALID ? KG_UNSEEN_VALID : KG_UNSEEN_TEST;
}

static kg_status write_fact(const struct split *split, kg_dataset *out, kg_triple fact,
                            kg_error *error) {
    const kg_names *entities = &split->from->entities;
    return kg__dataset_add_one(out, kg__names_hashed(entities, fact.head),
                               kg__names_hashed(&split->from->relations, fact.relation),
                               kg__names_hashed(entities, fact.tail), error);
}

/* Those of step 3 between entities that are left, and of the same part. */
static kg_status write_between(const struct split *split, kg_dataset *out, kg_part part,
                               enum role role, kg_error *error) {
    KG_TRY(kg__dataset_enter(out, part, error));
    for (size_t i = 0; i < split->facts->count && split->options->keep_between; i++) {
        kg_triple fact = split->facts->items[i];
        if (split->roles[fact.head] != role || split->roles[fact.tail] != role ||
            fact.head == fact.tail || !split->relation_known[fact.relation])
            continue;
        KG_TRY(write_fact(split, out, fact, error));
        split->report->kept_between++;
    }
    return KG_OK;
}

static kg_status write_parts(const struct split *split, kg_dataset *out, kg_error *error) {
    static const kg_part parts[] = {KG_TRAIN, KG_UNSEEN_VALID, KG_UNSEEN_TEST};
    if (split->options->keep_relations)
        KG_TRY(kg__names_add(&out->relations, NULL, &split->from->relations, error));
    for (size_t p = 0; p < 3; p++) {
        KG_TRY(kg__dataset_enter(out, parts[p], error));
        for (size_t i = 0; i < split->facts->count; i++)
            if (is_left(split, split->facts->items[i]) &&
                part_of(split, split->facts->items[i]) == parts[p])
                KG_TRY(write_fact(split, out, split->facts->items[i], error));
    }
    KG_TRY(write_between(split, out, KG_BETWEEN_VALID, IN_VALID, error));
    KG_TRY(write_between(split, out, KG_BETWEEN_TEST, IN_TEST, error));
    return kg__dataset_finish(out, error);
}

static kg_status run_steps(struct split *split, kg_dataset *out, kg_error *error) {
    split->roles = kg__alloc(split->from->entities.count, sizeof *split->roles);
    split->degrees = kg__alloc(split->from->entities.count, sizeof *split->degrees);
    split->relation_known = kg__alloc(split->from->relations.count, sizeof *split->relation_known);
    if (split->roles == NULL || split->degrees == NULL || split->relation_known == NULL)
        return kg__fail_memory(error);
    KG_TRY(merge(split, error));
    KG_TRY(draw_unseen(split, error));
    if (split->options->keep_relations)
        keep_all_relations(split);
    drop_between_unseen(split);
    drop_lost(split);
    drop_sparse(split);
    KG_TRY(draw_valid(split, error));
    return write_parts(split, out, error);
}

/* Says that facts between unseen entities are kept, where they are. */
static json_t *add_kept(json_t *out, const kg_split_options *options, const kg_split_report *r) {
    if (out == NULL || !options->keep_between)
        return out;
    if (json_object_set_new(out, "keep_between", json_true()) == 0 &&
        json_object_set_new(json_object_get(out, "steps"), "kept_between",
                            json_integer((json_int_t)r->kept_between)) == 0)
        return out;
    json_decref(out);
    return NULL;
}

static json_t *describe(const kg_split_options *options, const kg_split_report *r) {
    json_t *out = json_pack(
        "{sI sf sf sI s{sI sI sI sI sI sI sI sI sI sI sI sI sI}}", "seed",
        (json_int_t)options->seed, "unseen", options->unseen, "valid_share", options->valid_share,
        "min_facts", (json_int_t)options->min_facts, "steps", "merged_facts",
        (json_int_t)r->merged_facts, "repeated_facts", (json_int_t)r->repeated_facts, "candidates",
        (json_int_t)r->candidates, "drawn", (json_int_t)r->drawn, "between_unseen",
        (json_int_t)r->between_unseen, "reflexive", (json_int_t)r->reflexive, "lost_entities",
        (json_int_t)r->lost_entities, "lost_relations", (json_int_t)r->lost_relations, "lost_facts",
        (json_int_t)r->lost_facts, "sparse_unseen", (json_int_t)r->sparse_unseen, "sparse_facts",
        (json_int_t)r->sparse_facts, "valid_entities", (json_int_t)r->valid_entities,
        "test_entities", (json_int_t)r->test_entities);
    return add_kept(out, options, r);
}

/* The history of the new data set: that of the old one, and this split. */
static kg_status record(kg_dataset *out, const struct split *split, kg_error *error) {
    if (json_object_update(out->history, split->from->history) != 0 ||
        json_object_set_new(out->history, "split", describe(split->options, split->report)) != 0)
        return kg__fail_memory(error);
    return KG_OK;
}

kg_status kg__split(kg_dataset *out, kg_split_report *report, const kg_dataset *from,
                    const kg_split_options *options, kg_error *error) {
    KG_TRY(check_options(options, error));
    *report = (kg_split_report){0};
    struct split split = {.from = from, .options = options, .report = report};
    kg_status status = run_steps(&split, out, error);
    if (status == KG_OK)
        status = record(out, &split, error);
    kg__triples_free(&split.merged);
    kg__free(split.roles);
    kg__free(split.degrees);
    kg__free(split.relation_known);
    return status;
}
