/* Transactions: changes by name are collected, and when they are committed, resolved to ids. Of
 * changes of the same fact the last one counts, and none that makes no difference. */
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "base/memory.h"
#include "base/text.h"
#include "infer/name_suggestions.h"
#include "live/live_store.h"

/* Ends by their numbers among the names of the transaction. */
struct kg_named_change {
    kg_triple fact;
    bool is_added;
};

static kg_status check_changeable(const kg_live *live, kg_error *error) {
    if (live->own == NULL || live->store != NULL)
        return KG_OK;
    return kg_fail(
        error, KG_BAD_INPUT,
        "expected a live graph that can be changed, found one whose store was opened for "
        "reading only, or is closed");
}

kg_status kg__changes_open(kg_changes **out, kg_live *live, kg_error *error) {
    KG_TRY(check_changeable(live, error));
    kg_changes *changes = kg__alloc(1, sizeof *changes);
    if (changes == NULL)
        return kg__fail_memory(error);
    changes->live = live;
    *out = changes;
    return KG_OK;
}

static void clear(kg_changes *c) {
    kg__names_free(&c->names);
    kg__names_free(&c->relations);
    kg__free(c->source);
    c->source = NULL;
    c->count = 0;
    c->unknown = 0;
    c->missing = 0;
}

void kg__changes_free(kg_changes *changes) {
    clear(changes);
    kg__free(changes->items);
}

void kg__changes_close(kg_changes *changes) {
    if (changes == NULL)
        return;
    kg__changes_free(changes);
    kg__free(changes);
}

kg_status kg__changes_set_source(kg_changes *c, const char *source, int64_t offset,
                                 kg_error *error) {
    KG_TRY(kg__live_check_store(c->live, error));
    KG_TRY(kg__store_check_source(source, offset, error));
    char *copy = kg__copy_string(source, strlen(source));
    if (copy == NULL)
        return kg__fail_memory(error);
    kg__free(c->source);
    c->source = copy;
    c->offset = offset;
    return KG_OK;
}

/* ---- Collecting ---- */

static kg_status check_name(kg_text name, const char *what, kg_error *error) {
    if (name.length == 0)
        return kg_fail(error, KG_BAD_INPUT, "expected the name of %s, found an empty one", what);
    if (name.length > KG_LINE_MAX)
        return kg_fail(error, KG_BAD_INPUT, "expected a name of at most %zu bytes, found %zu",
                       KG_LINE_MAX, name.length);
    for (size_t i = 0; i < name.length; i++)
        if (name.bytes[i] == '\0' || name.bytes[i] == '\t' || name.bytes[i] == '\n')
            return kg_fail(error, KG_BAD_INPUT,
                           "expected a name without NUL, tab and newline, found one in %s",
                           kg__quote(name.bytes, name.length).text);
    return KG_OK;
}

static kg_status intern(kg_names *names, kg_id *out, kg_text name, kg_error *error) {
    return kg__names_intern(names, out, kg__name_of(name.bytes, name.length), error);
}

static kg_status collect(kg_changes *c, kg_text head, kg_id relation, kg_text tail, bool is_added,
                         kg_error *error) {
    struct kg_named_change change = {.fact.relation = relation, .is_added = is_added};
    KG_TRY(check_name(head, "an entity", error));
    KG_TRY(check_name(tail, "an entity", error));
    struct kg_named_change *items = kg__grow(c->items, &c->capacity, c->count + 1, sizeof *items);
    if (items == NULL)
        return kg__fail_memory(error);
    c->items = items;
    KG_TRY(intern(&c->names, &change.fact.head, head, error));
    KG_TRY(intern(&c->names, &change.fact.tail, tail, error));
    items[c->count++] = change;
    return KG_OK;
}

static kg_id find_relation(const kg_changes *c, kg_text relation) {
    return kg__names_find(&c->live->base->relations, kg__name_of(relation.bytes, relation.length));
}

/* A change that only a store can keep. */
static kg_status collect_unknown(kg_changes *c, kg_text head, kg_text relation, kg_text tail,
                                 bool is_added, kg_error *error) {
    kg_id id = KG_NO_ID;
    size_t known = c->live->base->relations.count;
    KG_TRY(check_name(relation, "a relation", error));
    KG_TRY(intern(&c->relations, &id, relation, error));
    if (known + id >= KG_NO_ID)
        return kg_fail(error, KG_BAD_INPUT, "more than %u relations", KG_NO_ID - 1);
    return collect(c, head, (kg_id)known + id, tail, is_added, error);
}

kg_status kg__changes_add(kg_changes *c, kg_text head, kg_text relation, kg_text tail,
                          kg_error *error) {
    kg_id id = find_relation(c, relation);
    const kg_live_options *options = &c->live->options;
    if (id != KG_NO_ID)
        return collect(c, head, id, tail, true, error);
    if (!options->skip_unknown && !options->allow_relations)
        return kg_fail(error, KG_BAD_INPUT, "expected a relation of the model, found %s%s",
                       kg__quote(relation.bytes, relation.length).text,
                       kg__suggest(&c->live->base->relations, relation).text);
    if (options->allow_relations && c->live->store != NULL)
        KG_TRY(collect_unknown(c, head, relation, tail, true, error));
    c->unknown++;
    return KG_OK;
}

kg_status kg__changes_remove(kg_changes *c, kg_text head, kg_text relation, kg_text tail,
                             kg_error *error) {
    kg_id id = find_relation(c, relation);
    if (id != KG_NO_ID)
        return collect(c, head, id, tail, false, error);
    if (c->live->store != NULL)
        KG_TRY(collect_unknown(c, head, relation, tail, false, error));
    c->missing++;
    return KG_OK;
}

kg_status kg__changes_collect(kg_changes *c, kg_operation operation, const kg_text fact[3],
                              kg_error *error) {
    kg_id id = find_relation(c, fact[1]);
    return id == KG_NO_ID ? KG_OK : collect(c, fact[0], id, fact[2], operation == KG_ADD, error);
}

static kg_text text_of(const kg_names *names, kg_id id) {
    kg_name name = kg__names_get(names, id);
    return (kg_text){name.bytes, name.length};
}

static bool is_known(const kg_changes *c, size_t i) {
    return c->items[i].fact.relation < c->live->base->relations.count;
}

kg_operation kg__changes_get(kg_text fact[3], const kg_changes *c, size_t i) {
    const struct kg_named_change *item = &c->items[i];
    const kg_names *known = &c->live->base->relations;
    kg_id relation = item->fact.relation;
    fact[0] = text_of(&c->names, item->fact.head);
    fact[1] = is_known(c, i) ? text_of(known, relation)
                             : text_of(&c->relations, relation - (kg_id)known->count);
    fact[2] = text_of(&c->names, item->fact.tail);
    return item->is_added ? KG_ADD : KG_REMOVE;
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
static kg_status resolve(struct resolved **out, size_t *count, kg_live_commit *commit,
                         const kg_changes *c, kg_error *error) {
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
    *count = 0;
    for (size_t i = 0; i < c->count; i++) {
        kg_triple fact = c->items[i].fact;
        if (is_known(c, i))
            (*out)[(*count)++] =
                (struct resolved){{ids[fact.head], fact.relation, ids[fact.tail]}, i};
    }
    qsort(*out, *count, sizeof **out, compare);
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
                                const struct resolved *resolved, size_t count, kg_error *error) {
    struct head head = {.entity = KG_NO_ID};
    commit->changes = kg__arena_take(&commit->memory, count, sizeof *commit->changes);
    if (commit->changes == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < count; i++) {
        bool is_there = false;
        bool is_added = c->items[resolved[i].position].is_added;
        if (i + 1 < count && is_same(resolved[i].fact, resolved[i + 1].fact))
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
    size_t count = 0;
    commit->before = kg__snapshots_root(&commit->live->versions);
    KG_TRY(resolve(&resolved, &count, commit, c, error));
    KG_TRY(select_changes(commit, out, c, resolved, count, error));
    KG_TRY(number_new(commit, c, error));
    if (commit->change_count > 0)
        KG_TRY(kg__live_publish(commit, error));
    out->entities_added = commit->new_count;
    out->entities_removed = commit->gone_count;
    return KG_OK;
}

kg_status kg__changes_publish(kg_commit *out, const kg_changes *c, kg_error *error) {
    kg_live_commit commit = {.live = c->live};
    *out = (kg_commit){.size = sizeof *out, .unknown = c->unknown, .missing = c->missing};
    kg__snapshots_lock(&c->live->versions);
    kg_status status = commit_locked(&commit, out, c, error);
    kg__snapshots_unlock(&c->live->versions);
    kg__arena_free(&commit.memory);
    return status;
}

kg_status kg__changes_commit(kg_commit *out, kg_changes *c, kg_error *error) {
    KG_TRY(check_changeable(c->live, error));
    KG_TRY(c->live->store == NULL ? kg__changes_publish(out, c, error)
                                  : kg__live_store_commit(out, c, error));
    clear(c);
    return KG_OK;
}
