/* Transactions: changes by name are collected, and when they are committed, resolved to ids. Of
 * changes of the same fact the last one counts, and none that makes no difference. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "infer/name_suggestions.h"
#include "live/live.h"

/* Ends by their numbers among the names of the transaction. */
struct kg_named_change {
    kg_triple fact;
    bool is_added;
};

kg_status kg__changes_open(kg_changes **out, kg_live *live, kg_error *error) {
    kg_changes *changes = kg__alloc(1, sizeof *changes);
    if (changes == NULL)
        return kg__fail_memory(error);
    changes->live = live;
    *out = changes;
    return KG_OK;
}

void kg__changes_clear(kg_changes *changes) {
    kg__names_free(&changes->names);
    changes->count = 0;
    changes->unknown = 0;
    changes->missing = 0;
}

void kg__changes_close(kg_changes *changes) {
    if (changes == NULL)
        return;
    kg__changes_clear(changes);
    kg__free(changes->items);
    kg__free(changes);
}

/* ---- Collecting ---- */

static kg_status check_name(kg_text name, kg_error *error) {
    if (name.length == 0)
        return kg_fail(error, KG_BAD_INPUT, "expected the name of an entity, found an empty one");
    if (name.length >= UINT32_MAX)
        return kg_fail(error, KG_BAD_INPUT, "expected a name of less than 4 GB, found %zu bytes",
                       name.length);
    for (size_t i = 0; i < name.length; i++)
        if (name.bytes[i] == '\0' || name.bytes[i] == '\t' || name.bytes[i] == '\n')
            return kg_fail(error, KG_BAD_INPUT,
                           "expected a name without NUL, tab and newline, found one in %s",
                           kg__quote(name.bytes, name.length).text);
    return KG_OK;
}

static kg_status collect(kg_changes *c, kg_text head, kg_id relation, kg_text tail, bool is_added,
                         kg_error *error) {
    struct kg_named_change change = {.fact.relation = relation, .is_added = is_added};
    KG_TRY(check_name(head, error));
    KG_TRY(check_name(tail, error));
    struct kg_named_change *items = kg__grow(c->items, &c->capacity, c->count + 1, sizeof *items);
    if (items == NULL)
        return kg__fail_memory(error);
    c->items = items;
    KG_TRY(kg__names_intern(&c->names, &change.fact.head, kg__name_of(head.bytes, head.length),
                            error));
    KG_TRY(kg__names_intern(&c->names, &change.fact.tail, kg__name_of(tail.bytes, tail.length),
                            error));
    items[c->count++] = change;
    return KG_OK;
}

static kg_id find_relation(const kg_changes *c, kg_text relation) {
    return kg__names_find(&c->live->base->relations, kg__name_of(relation.bytes, relation.length));
}

kg_status kg__changes_add(kg_changes *c, kg_text head, kg_text relation, kg_text tail,
                          kg_error *error) {
    kg_id id = find_relation(c, relation);
    if (id != KG_NO_ID)
        return collect(c, head, id, tail, true, error);
    c->unknown++;
    if (c->live->options.skip_unknown)
        return KG_OK;
    c->unknown--;
    return kg_fail(error, KG_BAD_INPUT, "expected a relation of the model, found %s%s",
                   kg__quote(relation.bytes, relation.length).text,
                   kg__suggest(&c->live->base->relations, relation).text);
}

kg_status kg__changes_remove(kg_changes *c, kg_text head, kg_text relation, kg_text tail,
                             kg_error *error) {
    kg_id id = find_relation(c, relation);
    if (id != KG_NO_ID)
        return collect(c, head, id, tail, false, error);
    c->missing++;
    return KG_OK;
}

/* ---- Resolving ---- */

/* A change with its position, since the last one counts. */
struct resolved {
    kg_triple fact;
    size_t position;
};

static int compare(const void *a, const void *b) {
    const struct resolved *x = a;
    const struct resolved *y = b;
    if (x->fact.head != y->fact.head)
        return x->fact.head < y->fact.head ? -1 : 1;
    if (x->fact.relation != y->fact.relation)
        return x->fact.relation < y->fact.relation ? -1 : 1;
    if (x->fact.tail != y->fact.tail)
        return x->fact.tail < y->fact.tail ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

static bool is_same(kg_triple a, kg_triple b) {
    return a.head == b.head && a.relation == b.relation && a.tail == b.tail;
}

/* Names that the version does not have get ids behind its own for now. */
static kg_status resolve(struct resolved **out, kg_live_commit *commit, const kg_changes *c,
                         kg_error *error) {
    const kg_names *known = &commit->before->model.entities;
    kg_id *ids = kg__arena_take(&commit->memory, c->names.count, sizeof *ids);
    *out = kg__arena_take(&commit->memory, c->count, sizeof **out);
    if (ids == NULL || *out == NULL)
        return kg__fail_memory(error);
    for (kg_id i = 0; i < c->names.count; i++) {
        ids[i] = kg__names_find(known, kg__names_hashed(&c->names, i));
        if (ids[i] == KG_NO_ID)
            ids[i] = (kg_id)known->count + i;
    }
    if (known->count + c->names.count >= KG_NO_ID)
        return kg_fail(error, KG_BAD_INPUT, "more than %u entities", KG_NO_ID - 1);
    for (size_t i = 0; i < c->count; i++) {
        kg_triple fact = c->items[i].fact;
        (*out)[i] = (struct resolved){{ids[fact.head], fact.relation, ids[fact.tail]}, i};
    }
    qsort(*out, c->count, sizeof **out, compare);
    return KG_OK;
}

/* The facts of the head that changes are at: they are sorted by head, and to list facts takes a
 * pass over them. */
struct head {
    kg_id entity; /* KG_NO_ID: none yet */
    const kg_link *links;
    size_t count;
};

/* Whether the version has a fact. */
static kg_status has_fact(bool *out, struct head *head, const kg_live_version *version,
                          kg_triple fact, kg_error *error) {
    *out = false;
    if (fact.head >= version->model.entities.count || fact.tail >= version->model.entities.count)
        return KG_OK;
    if (head->entity != fact.head)
        KG_TRY(kg__live_known(&head->links, &head->count, &version->model, fact.head, error));
    head->entity = fact.head;
    kg_link link = {kg_direct(fact.relation, KG_HEAD), fact.tail};
    *out = kg__links_find(head->links, head->count, link) < head->count;
    return KG_OK;
}

/* Those that make a difference. */
static kg_status select_changes(kg_live_commit *commit, kg_commit *out, const kg_changes *c,
                                const struct resolved *resolved, kg_error *error) {
    struct head head = {.entity = KG_NO_ID};
    commit->changes = kg__arena_take(&commit->memory, c->count, sizeof *commit->changes);
    if (commit->changes == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < c->count; i++) {
        bool is_there = false;
        bool is_added = c->items[resolved[i].position].is_added;
        if (i + 1 < c->count && is_same(resolved[i].fact, resolved[i + 1].fact))
            continue;
        KG_TRY(has_fact(&is_there, &head, commit->before, resolved[i].fact, error));
        if (is_there == is_added)
            *(is_added ? &out->repeated : &out->missing) += 1;
        else
            commit->changes[commit->change_count++] = (kg_fact_change){resolved[i].fact, is_added};
        *(is_added ? &out->added : &out->removed) += is_there != is_added;
    }
    return KG_OK;
}

/* New entities get consecutive ids: of names in the transaction, those that have facts now. */
static kg_status number_new(kg_live_commit *commit, const kg_changes *c, kg_error *error) {
    kg_id end = (kg_id)commit->before->model.entities.count;
    kg_id *numbers = kg__arena_take(&commit->memory, c->names.count, sizeof *numbers);
    kg_name *names = kg__arena_take(&commit->memory, c->names.count, sizeof *names);
    if (numbers == NULL || names == NULL)
        return kg__fail_memory(error);
    memset(numbers, 0xff, c->names.count * sizeof *numbers); /* all KG_NO_ID */
    for (size_t i = 0; i < commit->change_count; i++) {
        kg_id *ends[] = {&commit->changes[i].fact.head, &commit->changes[i].fact.tail};
        for (size_t k = 0; k < 2; k++) {
            if (*ends[k] < end)
                continue;
            kg_id name = *ends[k] - end;
            if (numbers[name] == KG_NO_ID) {
                names[commit->new_count] = kg__names_hashed(&c->names, name);
                numbers[name] = end + (kg_id)commit->new_count++;
            }
            *ends[k] = numbers[name];
        }
    }
    commit->new_names = names;
    return KG_OK;
}

/* ---- Committing ---- */

static kg_status commit_locked(kg_live_commit *commit, kg_commit *out, const kg_changes *c,
                               kg_error *error) {
    struct resolved *resolved = NULL;
    commit->before = kg__versions_root(&commit->live->versions);
    KG_TRY(resolve(&resolved, commit, c, error));
    KG_TRY(select_changes(commit, out, c, resolved, error));
    KG_TRY(number_new(commit, c, error));
    if (commit->change_count > 0)
        KG_TRY(kg__live_publish(commit, error));
    out->came = commit->new_count;
    out->went = commit->gone_count;
    return KG_OK;
}

kg_status kg__changes_commit(kg_commit *out, kg_changes *c, kg_error *error) {
    kg_live_commit commit = {.live = c->live};
    *out = (kg_commit){.size = sizeof *out, .unknown = c->unknown, .missing = c->missing};
    kg__versions_lock(&c->live->versions);
    kg_status status = commit_locked(&commit, out, c, error);
    kg__versions_unlock(&c->live->versions);
    kg__arena_free(&commit.memory);
    if (status == KG_OK)
        kg__changes_clear(c);
    return status;
}
