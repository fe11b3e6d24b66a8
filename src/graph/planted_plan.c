/* The numbers of a planted graph: all of them follow from those of its facts, entities and
 * relations, so that what is planted adds up exactly. */
#include "graph/planted_plan.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"

#define RELATIONS_PER_TYPE 16
#define RELATIONS_PER_RULE 20 /* of each kind */
#define TYPE_MIN 8            /* entities */
#define TARGETS_PER_SLOT 4    /* at least, so that there are others than the right one */

/* What rules say of x, y, z, w, by their first relation a, links b and c, and their head h. */
enum kind {
    EQUIVALENT,  /* a(x, y) => h(x, y) */
    INVERSE,     /* a(x, y) => h(y, x) */
    TWO_STEPS,   /* a(x, y), b(y, z) => h(x, z) */
    THREE_STEPS, /* a(x, y), b(y, z), c(z, w) => h(x, w) */
    KINDS,
};

static const double confidences[] = {0.6, 0.7, 0.8, 0.9, 1};
#define CONFIDENCES (sizeof confidences / sizeof *confidences)

static kg_status check_options(const kg_generate_options *o, kg_error *error) {
    if (o->relations < RELATIONS_PER_RULE || o->relations > INT32_MAX / RELATIONS_PER_RULE)
        return kg_fail(error, KG_BAD_INPUT, "expected %d to %d relations, found %ju",
                       RELATIONS_PER_RULE, INT32_MAX / RELATIONS_PER_RULE, (uintmax_t)o->relations);
    if (o->entities < 10 * o->relations || o->entities > INT32_MAX)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected at least 10 entities for each relation, and at most %d; found %ju",
                       INT32_MAX, (uintmax_t)o->entities);
    if (o->facts < 2 * o->entities || o->facts > INT32_MAX)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected at least 2 facts for each entity, and at most %d; found %ju",
                       INT32_MAX, (uintmax_t)o->facts);
    return kg__generate_check_exponent(o, error);
}

static double weight(const kg_planted_plan *plan, uint64_t rank) {
    return pow((double)rank + 1, -plan->options.exponent);
}

static void make_types(kg_planted_plan *plan) {
    uint64_t entities = plan->options.entities;
    uint64_t left = entities - (uint64_t)plan->type_count * TYPE_MIN;
    uint64_t rest = entities;
    double sum = 0;
    for (uint32_t t = 0; t < plan->type_count; t++)
        sum += weight(plan, t);
    for (uint32_t t = 1; t < plan->type_count; t++) {
        plan->types[t].count = TYPE_MIN + (uint64_t)((double)left * (weight(plan, t) / sum));
        rest -= plan->types[t].count;
    }
    plan->types[0].count = rest;
    for (uint32_t t = 1; t < plan->type_count; t++)
        plan->types[t].first = plan->types[t - 1].first + plan->types[t - 1].count;
}

/* The base relation that a rule begins with: rules are spread over the more frequent ones. */
static uint32_t first_of(const kg_planted_plan *plan, uint32_t rule) {
    return 1 + rule * ((plan->base_count - 1) / plan->rule_count);
}

/* The number of a fact's copies: its own, and the conclusion of a rule. */
static uint32_t *count_copies(const kg_planted_plan *plan) {
    uint32_t *copies = kg__alloc(plan->base_count, sizeof *copies);
    for (uint32_t k = 0; copies != NULL && k < plan->base_count; k++)
        copies[k] = 1;
    for (uint32_t i = 0; copies != NULL && i < plan->rule_count; i++)
        copies[first_of(plan, i)]++;
    return copies;
}

/* Facts of the links are as many as entities; all others are divided by Zipf's law among the base
 * relations, and the first of these, with which no rule begins, has what is left by rounding. */
static kg_status divide_facts(kg_planted_plan *plan, kg_error *error) {
    kg_planted_relation *base = plan->relations + plan->type_count;
    uint32_t *copies = count_copies(plan);
    if (copies == NULL)
        return kg__fail_memory(error);
    uint64_t rest = plan->options.facts - plan->options.entities;
    double divided = (double)(rest - (plan->base_count + plan->rule_count));
    double sum = 0;
    for (uint32_t k = 0; k < plan->base_count; k++)
        sum += weight(plan, k) * copies[k];
    for (uint32_t k = 1; k < plan->base_count; k++) {
        base[k].facts = 1 + (uint64_t)(divided * (weight(plan, k) / sum));
        rest -= base[k].facts * copies[k];
    }
    base[0].facts = rest;
    kg__free(copies);
    return KG_OK;
}

/* The type with the most entities per fact that it has so far, among those that have as many
 * entities as the relation has facts; or else the largest. */
static uint32_t choose_source(const kg_planted_plan *plan, const double *assigned, uint64_t facts) {
    uint32_t best = 0;
    double most = -INFINITY;
    double per_entity = (double)plan->options.facts / (double)plan->options.entities;
    for (uint32_t t = 0; t < plan->type_count; t++) {
        double room = (double)plan->types[t].count * per_entity - assigned[t];
        if (plan->types[t].count < facts || room <= most)
            continue;
        best = t;
        most = room;
    }
    return best;
}

static uint32_t random_type(const kg_planted_plan *plan, kg_id relation) {
    const kg_generate_options *o = &plan->options;
    uint64_t place = kg__random_below(o->entities, o->seed, KG_STREAM_PLANT_TYPE, relation);
    uint32_t t = plan->type_count - 1;
    while (plan->types[t].first > place)
        t--;
    return t;
}

/* Fills in what follows from the types and the number of facts. */
static kg_status complete(const kg_planted_plan *plan, kg_planted_relation *relation,
                          kg_error *error) {
    relation->slots = (relation->facts - 1) / plan->types[relation->source].count + 1;
    uint64_t targets = plan->types[relation->target].count / relation->slots;
    if (targets < TARGETS_PER_SLOT) {
        relation->target = 0;
        targets = plan->types[0].count / relation->slots;
    }
    if (targets < TARGETS_PER_SLOT)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected fewer facts for each entity: a relation has %ju for each of "
                       "its type",
                       (uintmax_t)relation->slots);
    relation->law = kg__zipf_make(targets, plan->options.exponent);
    return KG_OK;
}

static kg_status make_relations(kg_planted_plan *plan, kg_error *error) {
    double *assigned = kg__alloc(plan->type_count, sizeof *assigned);
    kg_status status = assigned == NULL ? kg__fail_memory(error) : divide_facts(plan, error);
    kg_id end = plan->type_count + plan->base_count;
    for (kg_id r = 0; r < end && status == KG_OK; r++) {
        kg_planted_relation *relation = &plan->relations[r];
        if (r < plan->type_count)
            relation->facts = plan->types[r].count;
        relation->source =
            r < plan->type_count ? r : choose_source(plan, assigned, relation->facts);
        relation->target = random_type(plan, r);
        assigned[relation->source] += (double)relation->facts;
        status = complete(plan, relation, error);
    }
    kg__free(assigned);
    return status;
}

static kg_status make_rule(kg_planted_plan *plan, uint32_t number, kg_error *error) {
    enum kind kind = number % KINDS;
    kg_planted_rule *rule = &plan->rules[number];
    kg_id head = plan->type_count + plan->base_count + number;
    kg_planted_relation *conclusions = &plan->relations[head];
    *rule = (kg_planted_rule){.head = head,
                              .steps = kind < TWO_STEPS ? 1 : (uint32_t)kind,
                              .inverse = kind == INVERSE,
                              .confidence = confidences[number / KINDS % CONFIDENCES]};
    rule->body[0] = plan->type_count + first_of(plan, number);
    *conclusions = plan->relations[rule->body[0]];
    if (rule->steps > 1 && conclusions->slots > 1)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected fewer facts for each entity: a rule begins with a relation that "
                       "has %ju for each of its type",
                       (uintmax_t)conclusions->slots);
    for (uint32_t step = 1; step < rule->steps; step++) {
        rule->body[step] = conclusions->target; /* the link of this type */
        conclusions->target = plan->relations[rule->body[step]].target;
    }
    return complete(plan, conclusions, error);
}

kg_status kg__planted_plan_make(kg_planted_plan *out, const kg_generate_options *options,
                                kg_error *error) {
    *out = (kg_planted_plan){.options = *options};
    KG_TRY(check_options(options, error));
    uint32_t relations = (uint32_t)options->relations;
    out->type_count = 1 + (relations - 1) / RELATIONS_PER_TYPE;
    out->rule_count = relations / RELATIONS_PER_RULE * KINDS;
    out->base_count = relations - out->type_count - out->rule_count;
    out->types = kg__alloc(out->type_count, sizeof *out->types);
    out->relations = kg__alloc(relations, sizeof *out->relations);
    out->rules = kg__alloc(out->rule_count, sizeof *out->rules);
    kg_status status = KG_OK;
    if (out->types == NULL || out->relations == NULL || out->rules == NULL)
        status = kg__fail_memory(error);
    if (status == KG_OK) {
        make_types(out);
        status = make_relations(out, error);
    }
    for (uint32_t i = 0; i < out->rule_count && status == KG_OK; i++)
        status = make_rule(out, i, error);
    if (status != KG_OK)
        kg__planted_plan_free(out);
    return status;
}

void kg__planted_plan_free(kg_planted_plan *plan) {
    kg__free(plan->types);
    kg__free(plan->relations);
    kg__free(plan->rules);
    *plan = (kg_planted_plan){0};
}
