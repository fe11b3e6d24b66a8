/* The facts of a planted graph. Each is a function of its relation and its number, so that they are
 * written as they are drawn, and the body of a rule is computed where its conclusion is written.
 *
 * A conclusion is a fact with the rule's confidence; otherwise a drawn one takes its place, which
 * contradicts the rule. Both are held out alike, the latter as controls: they have the same
 * relations and follow from nothing. The numbers of facts are places in a random order, so the
 * first ones are a random sample. */
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "graph/dataset_folder.h"
#include "graph/planted_plan.h"

#define CONTROL KG_PLANTED_STEPS /* the last group; those before are of rules of so many steps */
#define GROUPS (KG_PLANTED_STEPS + 1)
#define SCATTER 2654435761 /* a prime: spreads the entities of a type over all ids */

/* Facts of rules of each length that are held out, for validation as for the test; controls are as
 * many as all of these. */
#define HELD_OUT 1000
#define HELD_OUT_SHARE 10 /* at most 1 in so many of a group */

static const char *const group_names[GROUPS] = {"1 step", "2 steps", "3 steps", "control"};

struct group {
    kg_triples facts[2]; /* valid, test */
    uint32_t lengths;    /* of rules that it is about */
    uint64_t wanted;     /* held out, */
    uint64_t taken;      /* so far */
    double size;         /* expected facts of the group, */
    double seen;         /* and of the relations up to the current one */
};

struct planting {
    kg_planted_plan plan;
    struct group groups[GROUPS];
    kg_output *train;
    uint64_t train_count;
    uint64_t drawn;
    const kg_progress *progress;
};

/* ---- Drawing ---- */

static uint64_t random_position(kg_id relation, uint64_t slot) {
    return (uint64_t)relation << 32 | slot;
}

/* The slot of a relation's fact. */
static uint64_t slot_of(const kg_planted_plan *plan, kg_id id, uint64_t number) {
    const kg_planted_relation *relation = &plan->relations[id];
    uint64_t slots = plan->types[relation->source].count * relation->slots;
    return kg__random_permute(number, slots, plan->options.seed, KG_STREAM_PLANT_SOURCE, id);
}

static uint64_t source_of(const kg_planted_plan *plan, kg_id id, uint64_t slot) {
    const kg_planted_relation *relation = &plan->relations[id];
    return plan->types[relation->source].first + slot / relation->slots;
}

/* By the law, but for two places that are the next one instead. */
static uint64_t draw_target(const kg_planted_plan *plan, kg_id id, uint64_t slot,
                            const uint64_t but[2]) {
    const kg_planted_relation *relation = &plan->relations[id];
    uint64_t rank = kg__zipf_draw(&relation->law, plan->options.seed, KG_STREAM_PLANT_TARGET,
                                  random_position(id, slot));
    for (;; rank = (rank + 1) % relation->law.count) {
        uint64_t place =
            plan->types[relation->target].first + rank * relation->slots + slot % relation->slots;
        if (place != but[0] && place != but[1])
            return place;
    }
}

static uint64_t target_of(const kg_planted_plan *plan, kg_id id, uint64_t slot) {
    uint64_t source = source_of(plan, id, slot);
    return draw_target(plan, id, slot, (const uint64_t[]){source, source});
}

/* Where the body of a rule leads to. */
static uint64_t follow(const kg_planted_plan *plan, const kg_planted_rule *rule, uint64_t slot) {
    uint64_t place = target_of(plan, rule->body[0], slot);
    for (uint32_t step = 1; step < rule->steps; step++)
        place = target_of(plan, rule->body[step], place - plan->types[rule->body[step]].first);
    return place;
}

/* ---- Writing ---- */

static kg_triple make_fact(const kg_planted_plan *plan, uint64_t head, kg_id relation,
                           uint64_t tail) {
    uint64_t entities = plan->options.entities;
    return (kg_triple){(kg_id)(head * SCATTER % entities), relation,
                       (kg_id)(tail * SCATTER % entities)};
}

static kg_status write_train(struct planting *p, kg_triple fact, kg_error *error) {
    p->train_count++;
    return kg__generate_write(p->train, fact, error);
}

static kg_status tick(struct planting *p, kg_error *error) {
    return kg__generate_tick(p->progress, "drawing facts", p->drawn++, p->plan.options.facts,
                             error);
}

static kg_status write_drawn(struct planting *p, kg_id relation, kg_error *error) {
    const kg_planted_plan *plan = &p->plan;
    for (uint64_t i = 0; i < plan->relations[relation].facts; i++) {
        uint64_t slot = slot_of(plan, relation, i);
        uint64_t source = source_of(plan, relation, slot);
        KG_TRY(tick(p, error));
        KG_TRY(write_train(p, make_fact(plan, source, relation, target_of(plan, relation, slot)),
                           error));
    }
    return KG_OK;
}

/* Each relation gives its share of what is held out of a group, the rare ones first: what they
 * lack, the next ones give. At least every other fact of a relation stays. */
static bool is_held_out(const struct group *group, uint64_t number) {
    double due = group->size > 0 ? (double)group->wanted * fmin(group->seen / group->size, 1) : 0;
    return number % 2 == 1 && group->taken < (uint64_t)llround(due);
}

static kg_status write_conclusion(struct planting *p, struct group *group, uint64_t number,
                                  kg_triple fact, kg_error *error) {
    if (!is_held_out(group, number))
        return write_train(p, fact, error);
    return kg__triples_push(&group->facts[group->taken++ % 2], fact, error);
}

static kg_status write_head(struct planting *p, const kg_planted_rule *rule, kg_error *error) {
    const kg_planted_plan *plan = &p->plan;
    for (uint64_t i = 0; i < plan->relations[rule->head].facts; i++) {
        uint64_t slot = slot_of(plan, rule->body[0], i);
        uint64_t source = source_of(plan, rule->body[0], slot);
        uint64_t target = follow(plan, rule, slot);
        double unit = kg__random_unit(plan->options.seed, KG_STREAM_PLANT_FOLLOWS,
                                      random_position(rule->head, slot));
        bool follows = target != source && unit < rule->confidence;
        if (!follows)
            target = draw_target(plan, rule->head, slot, (const uint64_t[]){source, target});
        uint64_t head = rule->inverse ? target : source;
        uint64_t tail = rule->inverse ? source : target;
        KG_TRY(tick(p, error));
        KG_TRY(write_conclusion(p, &p->groups[follows ? rule->steps - 1 : CONTROL], i,
                                make_fact(plan, head, rule->head, tail), error));
    }
    return KG_OK;
}

/* The facts of a rule's head that are expected in a group. */
static double expected(const kg_planted_plan *plan, const kg_planted_rule *rule, size_t group) {
    double facts = (double)plan->relations[rule->head].facts;
    if (group == CONTROL)
        return facts * (1 - rule->confidence);
    return group + 1 == rule->steps ? facts * rule->confidence : 0;
}

static void size_groups(struct planting *p) {
    const kg_planted_plan *plan = &p->plan;
    double each = HELD_OUT;
    for (size_t g = 0; g < GROUPS; g++) {
        p->groups[g].lengths = g == CONTROL ? KG_PLANTED_STEPS : 1;
        for (uint32_t i = 0; i < plan->rule_count; i++)
            p->groups[g].size += expected(plan, &plan->rules[i], g);
        each = fmin(each, p->groups[g].size / HELD_OUT_SHARE / p->groups[g].lengths);
    }
    for (size_t g = 0; g < GROUPS; g++)
        p->groups[g].wanted = 2 * (uint64_t)each * p->groups[g].lengths;
}

static kg_status write_train_part(struct planting *p, kg_error *error) {
    const kg_planted_plan *plan = &p->plan;
    size_groups(p);
    for (kg_id r = 0; r < plan->type_count + plan->base_count; r++)
        KG_TRY(write_drawn(p, r, error));
    for (uint32_t i = plan->rule_count; i-- > 0;) {
        for (size_t g = 0; g < GROUPS; g++)
            p->groups[g].seen += expected(plan, &plan->rules[i], g);
        KG_TRY(write_head(p, &plan->rules[i], error));
    }
    return KG_OK;
}

/* ---- dataset.json ---- */

static json_t *describe_rule(const kg_planted_plan *plan, const kg_planted_rule *rule) {
    json_t *body = json_array();
    char name[16];
    for (uint32_t step = 0; step < rule->steps && body != NULL; step++) {
        snprintf(name, sizeof name, "r%u", rule->body[step]);
        if (json_array_append_new(body, json_string(name)) != 0)
            return kg__json_complete(body, false);
    }
    snprintf(name, sizeof name, "r%u", rule->head);
    return json_pack("{so ss sb sf sI}", "body", body, "head", name, "inverse", rule->inverse,
                     "confidence", rule->confidence, "facts",
                     (json_int_t)plan->relations[rule->head].facts);
}

static json_t *describe_plan(const kg_planted_plan *plan) {
    const kg_generate_options *o = &plan->options;
    json_t *rules = json_array();
    bool good = true;
    for (uint32_t i = 0; i < plan->rule_count && good; i++)
        good = json_array_append_new(rules, describe_rule(plan, &plan->rules[i])) == 0;
    return json_pack("{sI sI sI sf sI sI so}", "facts", (json_int_t)o->facts, "entities",
                     (json_int_t)o->entities, "relations", (json_int_t)o->relations, "exponent",
                     o->exponent, "seed", (json_int_t)o->seed, "types",
                     (json_int_t)plan->type_count, "rules", kg__json_complete(rules, good));
}

static json_t *describe_groups(const struct group groups[GROUPS], size_t part) {
    json_t *out = json_array();
    bool good = true;
    for (size_t g = 0; g < GROUPS && good; g++)
        good = json_array_append_new(out, json_pack("{ss sI}", "name", group_names[g], "facts",
                                                    (json_int_t)groups[g].facts[part].count)) == 0;
    return kg__json_complete(out, good);
}

static kg_status describe(kg_dataset *about, const struct planting *p, kg_error *error) {
    json_t *sources = json_pack("[{ss ss}]", "format", "generated", "name", "wikidata5m");
    json_t *groups = json_pack("{so so}", "valid", describe_groups(p->groups, 0), "test",
                               describe_groups(p->groups, 1));
    bool good = json_object_set_new(about->history, "sources", sources) == 0;
    good = json_object_set_new(about->history, "planted", describe_plan(&p->plan)) == 0 && good;
    good = json_object_set_new(about->history, "groups", groups) == 0 && good;
    return good ? KG_OK : kg__fail_memory(error);
}

/* ---- The folder ---- */

static kg_status write_held_out(kg_dataset *about, json_t *files, kg_folder *folder,
                                const struct planting *p, size_t part, kg_error *error) {
    kg_part name = part == 0 ? KG_VALID : KG_TEST;
    size_t count = 0;
    kg_output *output = NULL;
    for (size_t g = 0; g < GROUPS; g++)
        count += p->groups[g].facts[part].count;
    if (count == 0)
        return KG_OK;
    KG_TRY(kg__folder_add(folder, &output, kg__dataset_files[name], error));
    for (size_t g = 0; g < GROUPS; g++)
        for (size_t i = 0; i < p->groups[g].facts[part].count; i++)
            KG_TRY(kg__generate_write(output, p->groups[g].facts[part].items[i], error));
    about->parts[name].count = count;
    return kg__dataset_record(files, name, count, output, error);
}

static kg_status write_all(struct planting *p, kg_dataset *about, json_t *files, kg_folder *folder,
                           kg_error *error) {
    KG_TRY(kg__folder_add(folder, &p->train, kg__dataset_files[KG_TRAIN], error));
    KG_TRY(write_train_part(p, error));
    KG_TRY(kg__dataset_record(files, KG_TRAIN, p->train_count, p->train, error));
    for (size_t part = 0; part < 2; part++)
        KG_TRY(write_held_out(about, files, folder, p, part, error));
    about->parts[KG_TRAIN].count = p->train_count;
    about->relations.count = p->plan.options.relations;
    for (kg_part part = KG_VALID; part <= KG_GRAPH; part++)
        about->entities_before[part] = p->plan.options.entities;
    KG_TRY(describe(about, p, error));
    return kg__dataset_write_about(about, folder, files, error);
}

kg_status kg__generate_planted(kg_folder *folder, const kg_generate_options *options,
                               const kg_progress *progress, kg_error *error) {
    struct planting planting = {.progress = progress};
    kg_dataset about = {0}; /* counts and history alone */
    json_t *files = NULL;
    kg_status status = KG_OK;
    KG_CHECK(kg__planted_plan_make(&planting.plan, options, error));
    KG_CHECK(kg__dataset_open(&about, error));
    files = json_object();
    status =
        files == NULL ? kg__fail_memory(error) : write_all(&planting, &about, files, folder, error);
done:
    json_decref(files);
    kg__dataset_close(&about);
    for (size_t g = 0; g < GROUPS; g++)
        for (size_t part = 0; part < 2; part++)
            kg__triples_free(&planting.groups[g].facts[part]);
    kg__planted_plan_free(&planting.plan);
    return status;
}
