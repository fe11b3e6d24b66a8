/* Transactions: changes by name are collected, and when they are committed, resolved to ids. Of
 * changes of the same fact the last one counts, and none that makes no difference. */
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "base/memory.h"
#include "base/text.h"
#include "infer/name_suggestions.h"
#include "live/live_store.h"

/* Ends and relation by their numbers among the names of the transaction. */
struct kg_named_change {
    kg_triple fact;
    bool is_added;
};

static kg_status check_changeable(const kg_live *live, kg_error *error) {
    if (live->path == NULL || live->store != NULL)
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

static kg_status intern(kg_names *names, kg_id *out, kg_text name, kg_error *error) {
    return kg__names_intern(names, out, kg__name_of(name.bytes, name.length), error);
}

kg_status kg__changes_collect(kg_changes *c, kg_operation operation, const kg_text fact[3],
                              kg_error *error) {
    struct kg_named_change change = {.is_added = operation == KG_ADD};
    for (int i = 0; i < 3; i++)
        KG_TRY(kg__check_name(fact[i], error));
    struct kg_named_change *items = kg__grow(c->items, &c->capacity, c->count + 1, sizeof *items);
    if (items == NULL)
        return kg__fail_memory(error);
    c->items = items;
    KG_TRY(intern(&c->names, &change.fact.head, fact[0], error));
    KG_TRY(intern(&c->relations, &change.fact.relation, fact[1], error));
    KG_TRY(intern(&c->names, &change.fact.tail, fact[2], error));
    items[c->count++] = change;
    return KG_OK;
}

static kg_id find_relation(const kg_model *model, kg_text relation) {
    return kg__names_find(&model->relations, kg__name_of(relation.bytes, relation.length));
}

/* Whether a fact that is added has to be left out, which may be refused. */
static kg_status check_relation(const kg_changes *c, bool *is_left_out, kg_text relation,
                                kg_error *error) {
    const kg_live_options *options = &c->live->options;
    bool keeps = options->allow_relations && c->live->store != NULL;
    kg_status status = KG_OK;
    kg_model *snapshot = kg__live_snapshot(c->live);
    bool is_known = find_relation(snapshot, relation) != KG_NO_ID;
    if (!is_known && !options->skip_unknown && !options->allow_relations)
        status = kg_fail(error, KG_BAD_INPUT, "expected a relation of the model, found %s%s",
                         kg__quote(relation.bytes, relation.length).text,
                         kg__suggest(&snapshot->relations, relation).text);
    kg__live_release(snapshot);
    *is_left_out = !is_known && !keeps;
    return status;
}

kg_status kg__changes_add(kg_changes *c, kg_text head, kg_text relation, kg_text tail,
                          kg_error *error) {
    bool is_left_out = false;
    KG_TRY(check_relation(c, &is_left_out, relation, error));
    c->unknown += is_left_out;
    return is_left_out
               ? KG_OK
               : kg__changes_collect(c, KG_ADD, (const kg_text[]){head, relation, tail}, error);
}

kg_status kg__changes_remove(kg_changes *c, kg_text head, kg_text relation, kg_text tail,
                             kg_error *error) {
    return kg__changes_collect(c, KG_REMOVE, (const kg_text[]){head, relation, tail}, error);
}

static kg_text text_of(const kg_names *names, kg_id id) {
    kg_name name = kg__names_get(names, id);
    return (kg_text){name.bytes, name.length};
}

kg_operation kg__changes_get(kg_text fact[3], const kg_changes *c, size_t i) {
    const struct kg_named_change *item = &c->items[i];
    fact[0] = text_of(&c->names, item->fact.head);
    fact[1] = text_of(&c->relations, item->fact.relation);
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

kg_status kg__changes_keep_last(kg_changes *c, kg_error *error) {
    struct resolved *sorted = kg__alloc(c->count, sizeof *sorted);
    bool *is_last = kg__alloc(c->count, sizeof *is_last);
    bool good = sorted != NULL && is_last != NULL;
    for (size_t i = 0; i < c->count && good; i++)
        sorted[i] = (struct resolved){c->items[i].fact, i};
    if (good)
        qsort(sorted, c->count, sizeof *sorted, compare);
    for (size_t i = 0; i < c->count && good; i++)
        is_last[sorted[i].position] =
            i + 1 == c->count || !is_same(sorted[i].fact, sorted[i + 1].fact);
    size_t kept = 0;
    for (size_t i = 0; i < c->count && good; i++)
        if (is_last[i])
            c->items[kept++] = c->items[i];
    if (good)
        c->count = kept;
    kg__free(sorted);
    kg__free(is_last);
    return good ? KG_OK : kg__fail_memory(error);
}

/* The ids of names, KG_NO_ID for those that are not known; NULL if memory is short. */
static kg_id *find_ids(kg_arena *memory, const kg_names *known, const kg_names *wanted) {
    kg_id *ids = kg__arena_take(memory, wanted->count, sizeof *ids);
    if (ids != NULL)
        kg__names_find_all(known, ids, wanted);
    return ids;
}

/* Changes with relations that the generation knows, and counts of the others. Entities that the
 * version does not have get ids behind its own for now. */
static kg_status resolve(struct resolved **out, size_t *count, kg_commit *counts,
                         kg_live_commit *commit, const kg_changes *c, kg_error *error) {
    const kg_model *known = &commit->before->model;
    kg_id *ids = find_ids(&commit->memory, &known->entities, &c->names);
    const kg_id *relations = find_ids(&commit->memory, &known->relations, &c->relations);
    *out = kg__arena_take(&commit->memory, c->count, sizeof **out);
    if (ids == NULL || relations == NULL || *out == NULL)
        return kg__fail_memory(error);
    for (kg_id i = 0; i < c->names.count; i++)
        if (ids[i] == KG_NO_ID)
            ids[i] = (kg_id)known->entities.count + i;
    if (known->entities.count + c->names.count >= KG_NO_ID)
        return kg_fail(error, KG_BAD_INPUT, "more than %u entities", KG_NO_ID - 1);
    *count = 0;
    for (size_t i = 0; i < c->count; i++) {
        kg_triple fact = c->items[i].fact;
        kg_id relation = relations[fact.relation];
        if (relation != KG_NO_ID)
            (*out)[(*count)++] = (struct resolved){{ids[fact.head], relation, ids[fact.tail]}, i};
        else
            *(c->items[i].is_added ? &counts->unknown : &counts->missing) += 1;
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
    commit->before = kg__generation_newest(commit->generation);
    KG_TRY(resolve(&resolved, &count, out, commit, c, error));
    KG_TRY(select_changes(commit, out, c, resolved, count, error));
    KG_TRY(number_new(commit, c, error));
    if (commit->change_count > 0 || commit->last > commit->before->last)
        KG_TRY(kg__live_publish(commit, error));
    out->entities_added = commit->new_count;
    out->entities_removed = commit->gone_count;
    return KG_OK;
}

kg_status kg__changes_publish(kg_commit *out, const kg_changes *c, kg_generation *generation,
                              int64_t last, kg_error *error) {
    kg_live_commit commit = {.generation = generation, .last = last};
    *out = (kg_commit){.size = sizeof *out, .unknown = c->unknown, .last = last};
    kg__snapshots_lock(&generation->versions);
    kg_status status = commit_locked(&commit, out, c, error);
    if (out->unknown > c->unknown)
        atomic_store(&generation->has_dormant, true);
    kg__snapshots_unlock(&generation->versions);
    kg__arena_free(&commit.memory);
    return status;
}

kg_status kg__changes_commit(kg_commit *out, kg_changes *c, kg_error *error) {
    kg_live *live = c->live;
    KG_TRY(check_changeable(live, error));
    KG_TRY(live->store == NULL ? kg__changes_publish(out, c, kg__live_generation(live), 0, error)
                               : kg__live_store_commit(out, c, error));
    clear(c);
    return KG_OK;
}
