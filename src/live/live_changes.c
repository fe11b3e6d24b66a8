/* Transactions: changes by name are collected, and when they are committed, resolved to ids. Of
 * changes of the same fact the last one counts, and none that makes no difference. */
#include <string.h>

#include "base/memory.h"
#include "base/radix_sort.h"
#include "base/text.h"
#include "base/thread_count.h"
#include "infer/name_suggestions.h"
#include "live/live_store.h"

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

void kg__changes_free(kg_changes *c) {
    kg__change_list_free(&c->list);
    kg__free(c->source);
    c->source = NULL;
    c->unknown = 0;
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

static kg_name name_of(kg_text text) {
    return kg__name_of(text.bytes, text.length);
}

static kg_id find_relation(const kg_model *model, kg_text relation) {
    return kg__names_find(&model->relations, name_of(relation));
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
    const kg_text fact[] = {head, relation, tail};
    return is_left_out ? KG_OK : kg__change_list_add(&c->list, KG_ADD, fact, error);
}

kg_status kg__changes_remove(kg_changes *c, kg_text head, kg_text relation, kg_text tail,
                             kg_error *error) {
    return kg__change_list_add(&c->list, KG_REMOVE, (const kg_text[]){head, relation, tail}, error);
}

/* ---- Resolving ---- */

/* A change with its position, since the last one counts. */
struct resolved {
    kg_triple fact;
    size_t position;
};

/* By fact; changes of the same fact stay in the order of their positions. */
static void sort(struct resolved *changes, struct resolved *spare, size_t count) {
    const size_t keys[] = {offsetof(struct resolved, fact.tail),
                           offsetof(struct resolved, fact.relation),
                           offsetof(struct resolved, fact.head)};
    for (size_t i = 0; i < 3; i++)
        kg__radix_sort(changes, spare, count, sizeof *spare, keys[i]);
}

static bool is_same(kg_triple a, kg_triple b) {
    return a.head == b.head && a.relation == b.relation && a.tail == b.tail;
}

/* Facts by the numbers of their names in the order in which these come. */
static kg_status number_names(struct resolved *out, const kg_change_list *list, kg_error *error) {
    kg_names names = {
        0}; /* those of relations among them: all that matters is which are the same */
    kg_status status = KG_OK;
    for (size_t i = 0; i < list->count && status == KG_OK; i++) {
        kg_text fact[3];
        kg_id ids[3];
        kg__change_list_get(fact, list, i);
        for (int k = 0; k < 3 && status == KG_OK; k++)
            status = kg__names_intern(&names, &ids[k], name_of(fact[k]), error);
        if (status == KG_OK)
            out[i] = (struct resolved){{ids[0], ids[1], ids[2]}, i};
    }
    kg__names_free(&names);
    return status;
}

kg_status kg__changes_keep_last(kg_changes *c, kg_error *error) {
    size_t count = c->list.count;
    size_t kept = 0;
    kg_status status = KG_OK;
    struct resolved *sorted = kg__alloc(2 * count, sizeof *sorted);
    bool *is_last = kg__alloc(count, sizeof *is_last);
    KG_CHECK(sorted == NULL || is_last == NULL ? kg__fail_memory(error) : KG_OK);
    KG_CHECK(number_names(sorted, &c->list, error));
    sort(sorted, sorted + count, count);
    for (size_t i = 0; i < count; i++)
        is_last[sorted[i].position] =
            i + 1 == count || !is_same(sorted[i].fact, sorted[i + 1].fact);
    for (size_t i = 0; i < count; i++)
        if (is_last[i])
            c->list.items[kept++] = c->list.items[i];
    c->list.count = kept;
done:
    kg__free(sorted);
    kg__free(is_last);
    return status;
}

/* Facts whose names are looked up together, and those that are not worth a second thread. */
#define GROUP 16
#define FEW 512

/* The ids of a group of changes, KG_NO_ID for names that are not known. */
static void find_group(struct resolved *out, const kg_model *known, const kg_change_list *list,
                       size_t from) {
    size_t count = list->count - from < GROUP ? list->count - from : GROUP;
    kg_name names[2 * GROUP] = {0};
    kg_id ids[2 * GROUP];
    for (size_t i = 0; i < count; i++) {
        kg_text fact[3];
        kg__change_list_get(fact, list, from + i);
        names[2 * i] = name_of(fact[0]);
        names[2 * i + 1] = name_of(fact[2]);
        out[from + i] =
            (struct resolved){.fact.relation = find_relation(known, fact[1]), .position = from + i};
    }
    kg__names_find_all(&known->entities, ids, names, 2 * count);
    for (size_t i = 0; i < count; i++) {
        out[from + i].fact.head = ids[2 * i];
        out[from + i].fact.tail = ids[2 * i + 1];
    }
}

/* Where there are many, as when a store is opened, threads share them. */
static void find_all(struct resolved *out, const kg_model *known, const kg_change_list *list) {
    int threads = list->count > FEW ? kg__threads(0) : 1;
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (size_t from = 0; from < list->count; from += GROUP)
        find_group(out, known, list, from);
}

/* Entities that the version does not have get ids behind its own for now. */
static kg_status number_unknown(kg_id *end, kg_live_commit *commit, kg_text name, kg_error *error) {
    size_t known = commit->before->model.entities.count;
    kg_id number = 0;
    if (*end != KG_NO_ID)
        return KG_OK;
    KG_TRY(kg__names_intern(&commit->unknown, &number, name_of(name), error));
    if (number >= KG_NO_ID - 1 - known)
        return kg_fail(error, KG_BAD_INPUT, "more than %u entities", KG_NO_ID - 1);
    *end = (kg_id)known + number;
    return KG_OK;
}

/* Changes with relations that the generation knows, and counts of the others. */
static kg_status resolve(struct resolved **out, size_t *count, kg_commit *counts,
                         kg_live_commit *commit, const kg_changes *c, kg_error *error) {
    struct resolved *spare = kg__arena_take(&commit->memory, c->list.count, sizeof *spare);
    *out = kg__arena_take(&commit->memory, c->list.count, sizeof **out);
    if (spare == NULL || *out == NULL)
        return kg__fail_memory(error);
    find_all(*out, &commit->before->model, &c->list);
    *count = 0;
    for (size_t i = 0; i < c->list.count; i++) {
        struct resolved change = (*out)[i];
        kg_text fact[3];
        bool is_added = kg__change_list_get(fact, &c->list, i) == KG_ADD;
        if (change.fact.relation == KG_NO_ID) {
            *(is_added ? &counts->unknown : &counts->missing) += 1;
            continue;
        }
        KG_TRY(number_unknown(&change.fact.head, commit, fact[0], error));
        KG_TRY(number_unknown(&change.fact.tail, commit, fact[2], error));
        (*out)[(*count)++] = change;
    }
    sort(*out, spare, *count);
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
        bool is_added = c->list.items[resolved[i].position].operation == KG_ADD;
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

/* New entities get consecutive ids: of those that were not known, those that have facts now. */
static kg_status number_new(kg_live_commit *commit, kg_error *error) {
    size_t unknown = commit->unknown.count;
    kg_id end = (kg_id)commit->before->model.entities.count;
    kg_id *numbers = kg__arena_take(&commit->memory, unknown, sizeof *numbers);
    kg_name *names = kg__arena_take(&commit->memory, unknown, sizeof *names);
    if (numbers == NULL || names == NULL)
        return kg__fail_memory(error);
    memset(numbers, 0xff, unknown * sizeof *numbers); /* all KG_NO_ID */
    for (size_t i = 0; i < commit->change_count; i++) {
        kg_id *ends[] = {&commit->changes[i].fact.head, &commit->changes[i].fact.tail};
        for (size_t k = 0; k < 2; k++) {
            if (*ends[k] < end)
                continue;
            kg_id name = *ends[k] - end;
            if (numbers[name] == KG_NO_ID) {
                names[commit->new_count] = kg__names_hashed(&commit->unknown, name);
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
    KG_TRY(number_new(commit, error));
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
    kg__arena_free(&commit.scratch);
    kg__names_free(&commit.unknown);
    return status;
}

kg_status kg__changes_commit(kg_commit *out, kg_changes *c, kg_error *error) {
    kg_live *live = c->live;
    KG_TRY(check_changeable(live, error));
    KG_TRY(live->store == NULL ? kg__changes_publish(out, c, kg__live_generation(live), 0, error)
                               : kg__live_store_commit(out, c, error));
    kg__changes_free(c);
    return KG_OK;
}
