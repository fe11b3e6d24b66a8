/* /v1/entities: completion of names, and the facts of an entity as a resource, whose ETag is that
 * of the set of its facts. */
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/memory.h"
#include "base/text.h"
#include "live/live_store.h"
#include "report/answer_json.h"
#include "serve/commit_call.h"
#include "serve/etag_list.h"
#include "serve/limits.h"
#include "serve/question.h"
#include "serve/server.h"

/* ---- Completion ---- */

static json_t *similar_json(const kg_model *model, kg_text word) {
    serve_problem problem = {0};
    serve_problem_suggest(&problem, &model->entities, word);
    return problem.similar;
}

kg_status serve_entities_list(serve_call *call, serve_view *view, kg_error *error) {
    serve_graph *graph = &call->server->graph;
    serve_completion found[SERVE_MOST_COMPLETIONS];
    const char *given = serve_call_text(call, "prefix");
    kg_text prefix = {given == NULL ? "" : given, given == NULL ? 0 : strlen(given)};
    KG_TRY(serve_view_refresh(view, graph, error));
    serve_name_index *index = serve_graph_hold_index(graph);
    size_t count = serve_name_index_find(found, (size_t)serve_call_count(call, "limit"), index,
                                         view->snapshot, view->state.generation, prefix);
    serve_graph_drop_index(graph, index);
    json_t *list = json_array();
    bool good = list != NULL;
    for (size_t i = 0; i < count && good; i++) {
        kg_text name = kg_model_entity_name(view->snapshot, found[i].entity);
        good = json_array_append_new(list, json_pack("{so sI}", "name",
                                                     kg__json_text(name.bytes, name.length),
                                                     "facts", (json_int_t)found[i].facts)) == 0;
    }
    json_t *similar = count == 0 ? similar_json(view->snapshot, prefix) : NULL;
    call->answer =
        serve_state_json(view->state, json_pack("{so so*}", "entities",
                                                kg__json_complete(list, good), "similar", similar));
    return call->answer == NULL ? kg__fail_memory(error) : KG_OK;
}

/* ---- An entity ---- */

struct entity {
    kg_model *snapshot;
    kg_text name;
    kg_id id;             /* KG_NO_ID: there is none */
    const kg_link *links; /* each fact once */
    size_t count;
    kg_link *owned; /* the links, if they are not the snapshot's; or NULL */
    char etag[64];
};

/* The names of a fact end to end, in a buffer that grows. */
static bool join_names(char **buffer, size_t *capacity, size_t *size, const report_fact *fact) {
    *size = 0;
    for (size_t i = 0; i < 3; i++) {
        kg_text name = fact->names[i];
        char *grown = kg__grow(*buffer, capacity, *size + name.length + 1, 1);
        if (grown == NULL)
            return false;
        *buffer = grown;
        memcpy(grown + *size, name.bytes, name.length);
        grown[*size + name.length] = '\t';
        *size += name.length + 1;
    }
    return true;
}

/* A sum of checksums does not depend on the order of facts, which differs between snapshots. */
static kg_status make_etag(struct entity *entity, kg_error *error) {
    uint64_t sums[2] = {0};
    char *buffer = NULL;
    size_t capacity = 0;
    bool good = true;
    for (size_t i = 0; i < entity->count && good; i++) {
        report_fact fact = report_fact_of(entity->snapshot, entity->name, entity->links[i]);
        size_t size = 0;
        char half[17] = {0};
        good = join_names(&buffer, &capacity, &size, &fact);
        kg_checksum sum = kg__checksum_of(good ? buffer : "", good ? size : 0);
        for (size_t k = 0; k < 2; k++) {
            memcpy(half, sum.text + 16 * k, 16);
            sums[k] += strtoull(half, NULL, 16);
        }
    }
    kg__free(buffer);
    snprintf(entity->etag, sizeof entity->etag, "\"%zx-%016jx%016jx\"", entity->count,
             (uintmax_t)sums[0], (uintmax_t)sums[1]);
    return good ? KG_OK : kg__fail_memory(error);
}

static void close_entity(struct entity *entity) {
    kg__free(entity->owned);
    entity->owned = NULL;
}

/* A fact of an entity with itself is two of its links: the one at the tail is left out. */
static bool is_second(const struct entity *entity, kg_link link) {
    return link.other == entity->id && kg_directed_end(link.directed) == KG_TAIL;
}

static kg_status drop_second_links(struct entity *entity, kg_error *error) {
    size_t kept = 0;
    for (size_t i = 0; i < entity->count; i++)
        kept += !is_second(entity, entity->links[i]);
    if (kept == entity->count)
        return KG_OK;
    entity->owned = kg__alloc(kept, sizeof *entity->owned);
    if (entity->owned == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0, at = 0; i < entity->count; i++)
        if (!is_second(entity, entity->links[i]))
            entity->owned[at++] = entity->links[i];
    entity->links = entity->owned;
    entity->count = kept;
    return KG_OK;
}

/* To be closed, also where it failed. */
static kg_status find(struct entity *out, const serve_call *call, kg_model *snapshot,
                      kg_error *error) {
    *out = (struct entity){.snapshot = snapshot, .name = {call->name, call->name_length}};
    out->id = kg_model_find_entity(snapshot, out->name);
    if (out->id == KG_NO_ID)
        return KG_OK;
    KG_TRY(kg_model_links(&out->links, &out->count, snapshot, out->id, error));
    KG_TRY(drop_second_links(out, error));
    return make_etag(out, error);
}

static kg_status refuse_unknown(serve_call *call, const kg_model *model, kg_error *error) {
    kg_text name = {call->name, call->name_length};
    return serve_refuse(call, error, 404, "expected an entity of the graph, found %s%s",
                        kg__quote(name.bytes, name.length).text,
                        serve_problem_suggest(&call->problem, &model->entities, name).text);
}

/* Whether a condition that the call has lists the entity's tag; false where it has none. */
static kg_status find_tag(bool *out, serve_call *call, serve_header condition,
                          const struct entity *entity, kg_error *error) {
    const char *list = serve_call_header(call, condition);
    const char *tag = entity->id == KG_NO_ID ? NULL : entity->etag;
    *out = false;
    if (list == NULL)
        return KG_OK;
    serve_tags found = serve_tags_find(list, tag, condition == SERVE_IF_NONE_MATCH);
    *out = found == SERVE_TAGS_WITH;
    if (found != SERVE_TAGS_BAD)
        return KG_OK;
    return serve_refuse(call, error, 400,
                        "%s: expected * alone, or tags in quotes with commas between them, found "
                        "%s",
                        serve_header_names[condition], kg__quote(list, strlen(list)).text);
}

static kg_status show(serve_call *call, const struct entity *entity, const serve_view *view,
                      kg_error *error) {
    size_t limit = (size_t)serve_call_count(call, "limit");
    size_t offset = (size_t)serve_call_count(call, "offset");
    bool is_had = false;
    if (entity->id == KG_NO_ID)
        return refuse_unknown(call, view->snapshot, error);
    KG_TRY(find_tag(&is_had, call, SERVE_IF_NONE_MATCH, entity, error));
    serve_response_header(&call->exchange->response, "ETag", "%s", entity->etag);
    if (is_had) {
        call->status = 304;
        return KG_OK;
    }
    size_t from = offset < entity->count ? offset : entity->count;
    size_t shown = entity->count - from < limit ? entity->count - from : limit;
    bool is_known = entity->id < kg__model_own_entities(view->snapshot);
    call->answer = serve_state_json(
        view->state,
        json_pack("{so sb sI so}", "entity", serve_name_json(entity->name), "known", is_known,
                  "facts", (json_int_t)entity->count, "links",
                  serve_links_json(view->snapshot, entity->name, entity->links, from, shown)));
    return call->answer == NULL ? kg__fail_memory(error) : KG_OK;
}

kg_status serve_entity_get(serve_call *call, serve_view *view, kg_error *error) {
    struct entity entity;
    KG_TRY(serve_view_refresh(view, &call->server->graph, error));
    kg_status status = find(&entity, call, view->snapshot, error);
    if (status == KG_OK)
        status = show(call, &entity, view, error);
    close_entity(&entity);
    return status;
}

/* ---- Changes ---- */

static kg_status check_conditions(serve_call *call, const struct entity *entity, kg_error *error) {
    bool is_match = false;
    bool is_none = false;
    KG_TRY(find_tag(&is_match, call, SERVE_IF_MATCH, entity, error));
    KG_TRY(find_tag(&is_none, call, SERVE_IF_NONE_MATCH, entity, error));
    if (serve_call_header(call, SERVE_IF_MATCH) != NULL && !is_match)
        return entity->id == KG_NO_ID
                   ? serve_refuse(call, error, 412,
                                  "If-Match: expected an entity that is there, found none")
                   : serve_refuse(call, error, 412, "If-Match: expected %s, found another",
                                  entity->etag);
    if (is_none)
        return serve_refuse(call, error, 412,
                            "If-None-Match: expected an entity that is not there, found one");
    return KG_OK;
}

/* Members of PUT and PATCH. */
struct edit {
    const json_t *facts;
    const json_t *add;
    const json_t *remove;
};

#define EDITED(name) offsetof(struct edit, name)

static const serve_field put_fields[] = {
    {"facts", SERVE_FACTS, EDITED(facts), 0, SERVE_MOST_CHANGES},
    {0},
};

static const serve_field patch_fields[] = {
    {"add", SERVE_FACTS, EDITED(add), 0, SERVE_MOST_CHANGES},
    {"remove", SERVE_FACTS, EDITED(remove), 0, SERVE_MOST_CHANGES},
    {0},
};

static bool is_name(kg_text name, const serve_call *call) {
    return name.length == call->name_length && memcmp(name.bytes, call->name, name.length) == 0;
}

/* JSON cannot name the entity if its name is not UTF-8. */
static kg_status check_path(const serve_call *call, kg_error *error) {
    kg_status status = serve_name_check((kg_text){call->name, call->name_length}, error);
    if (status != KG_OK)
        serve_error_prefix(error, "path: ");
    return status;
}

/* Each fact must have the entity at an end. */
static kg_status check_ends(const serve_call *call, const json_t *facts, const char *member,
                            kg_error *error) {
    for (size_t i = 0; i < json_array_size(facts); i++) {
        kg_text names[3];
        serve_fact_names(names, json_array_get(facts, i));
        if (!is_name(names[0], call) && !is_name(names[2], call))
            return kg_fail(error, KG_BAD_INPUT,
                           "`%s[%zu]`: expected a fact with %s at one end, found none", member, i,
                           kg__quote(call->name, call->name_length).text);
    }
    return KG_OK;
}

/* The facts of a list, for comparison: their names end to end. */
static kg_status collect_facts(kg_names *out, const json_t *facts, kg_error *error) {
    char *buffer = NULL;
    size_t capacity = 0;
    kg_status status = KG_OK;
    for (size_t i = 0; i < json_array_size(facts) && status == KG_OK; i++) {
        report_fact fact = {0};
        size_t size = 0;
        kg_id id = KG_NO_ID;
        serve_fact_names(fact.names, json_array_get(facts, i));
        status = join_names(&buffer, &capacity, &size, &fact)
                     ? kg__names_intern(out, &id, kg__name_of(buffer, size), error)
                     : kg__fail_memory(error);
    }
    kg__free(buffer);
    return status;
}

/* Removing the facts of an entity that are not among those that it is to have: facts that stay are
 * not part of the log. */
struct removal {
    const serve_changing *changing;
    const kg_names *kept;
    char *buffer;
    size_t capacity;
};

static kg_status remove_other(void *payload, kg_operation operation, const kg_text names[3],
                              kg_error *error) {
    struct removal *removal = payload;
    report_fact fact = {.names = {names[0], names[1], names[2]}};
    size_t size = 0;
    (void)operation;
    if (!join_names(&removal->buffer, &removal->capacity, &size, &fact))
        return kg__fail_memory(error);
    if (kg__names_find(removal->kept, kg__name_of(removal->buffer, size)) != KG_NO_ID)
        return KG_OK;
    return serve_change_fact(removal->changing, false, names, error);
}

/* Also those of relations that the model does not know yet, which are not among the links. */
static kg_status remove_others(const serve_changing *changing, const struct entity *entity,
                               const kg_names *kept, kg_error *error) {
    struct removal removal = {changing, kept, NULL, 0};
    kg_status status = KG_OK;
    for (size_t i = 0; i < entity->count && status == KG_OK; i++) {
        report_fact fact = report_fact_of(entity->snapshot, entity->name, entity->links[i]);
        status = remove_other(&removal, KG_REMOVE, fact.names, error);
    }
    if (status == KG_OK)
        status =
            kg__live_read_dormant(entity->snapshot, entity->name, remove_other, &removal, error);
    kg__free(removal.buffer);
    return status;
}

static kg_status replace(const serve_changing *changing, const struct entity *entity,
                         const json_t *facts, kg_error *error) {
    kg_names kept = {0};
    kg_status status = collect_facts(&kept, facts, error);
    if (status == KG_OK)
        status = remove_others(changing, entity, &kept, error);
    kg__names_free(&kept);
    return status;
}

static kg_status fill(const serve_changing *changing, const struct entity *entity,
                      const struct edit *edit, bool replaces, kg_error *error) {
    if (replaces)
        KG_TRY(replace(changing, entity, edit->facts, error));
    KG_TRY(serve_changes_read(changing, false, edit->remove, "remove", error));
    KG_TRY(serve_changes_read(changing, true, edit->add, "add", error));
    return serve_changes_read(changing, true, edit->facts, "facts", error);
}

/* The tag of what the entity has become, if it is still there. */
static void add_etag(serve_call *call) {
    struct entity entity;
    kg_model *after = NULL;
    if (kg_live_snapshot(&after, call->server->graph.live, NULL) != KG_OK)
        return;
    if (find(&entity, call, after, NULL) == KG_OK && entity.id != KG_NO_ID)
        serve_response_header(&call->exchange->response, "ETag", "%s", entity.etag);
    close_entity(&entity);
    kg_model_close(after);
}

static kg_status commit(serve_call *call, const struct entity *entity, const struct edit *edit,
                        bool replaces, kg_error *error) {
    kg_changes *changes = NULL;
    kg_commit done;
    KG_TRY(serve_call_change(call, &changes, error));
    serve_changing changing = {changes, entity->snapshot, &call->problem};
    kg_status status = fill(&changing, entity, edit, replaces, error);
    if (status != KG_OK) {
        kg_changes_close(changes);
        return serve_call_failed(call, status);
    }
    KG_TRY(serve_call_commit(call, changes, 0, &done, error));
    if (edit->facts != NULL && entity->id == KG_NO_ID && done.added > 0)
        call->status = 201;
    add_etag(call);
    return KG_OK;
}

static kg_status note_fact(void *payload, kg_operation operation, const kg_text fact[3],
                           kg_error *error) {
    (void)operation;
    (void)fact;
    (void)error;
    *(bool *)payload = true;
    return KG_OK;
}

/* What is deleted must be there, if only with facts of relations that the model does not know.
 * Where nothing can be changed, that is what the client is told. */
static kg_status check_deleted(serve_call *call, const struct entity *entity, kg_error *error) {
    const serve_graph *graph = &call->server->graph;
    bool is_there = false;
    if (entity->id != KG_NO_ID || graph->is_read_only || serve_graph_has_failed(graph))
        return KG_OK;
    kg_status status =
        kg__live_read_dormant(entity->snapshot, entity->name, note_fact, &is_there, error);
    if (status != KG_OK)
        return serve_call_failed(call, status);
    return is_there ? KG_OK : refuse_unknown(call, entity->snapshot, error);
}

static kg_status change(serve_call *call, const struct edit *edit, bool replaces, kg_model *before,
                        kg_error *error) {
    struct entity entity;
    bool is_delete = edit->facts == NULL && edit->add == NULL && edit->remove == NULL;
    kg_status status = find(&entity, call, before, error);
    if (status == KG_OK && is_delete)
        status = check_deleted(call, &entity, error);
    if (status == KG_OK)
        status = check_conditions(call, &entity, error);
    if (status == KG_OK)
        status = commit(call, &entity, edit, replaces, error);
    close_entity(&entity);
    return status;
}

/* Whether a change failed before its commit since a compaction has made another generation the
 * current one: facts of unknown relations can only be read of that one. What the store itself
 * refuses has a status of HTTP. */
static bool is_outdated(const serve_call *call, kg_status status, const serve_view *view) {
    return view->snapshot != NULL && status == KG_SYSTEM && call->problem.status == 0 &&
           serve_graph_state(&call->server->graph).generation != view->state.generation;
}

/* With the graph's other writers locked out: what is compared is what is changed. */
static kg_status try_change(serve_call *call, const struct edit *edit, bool replaces,
                            bool *is_behind, kg_error *error) {
    serve_graph *graph = &call->server->graph;
    serve_view view = {0};
    pthread_rwlock_wrlock(&graph->writers);
    kg_status status = serve_view_refresh(&view, graph, error);
    if (status == KG_OK)
        status = change(call, edit, replaces, view.snapshot, error);
    pthread_rwlock_unlock(&graph->writers);
    *is_behind = is_outdated(call, status, &view);
    serve_view_close(&view);
    return status;
}

/* A compaction does not wait for the lock: then the change is made again, by its generation. */
static kg_status change_alone(serve_call *call, const struct edit *edit, bool replaces,
                              kg_error *error) {
    kg_status status = KG_OK;
    bool is_behind = false;
    do
        status = try_change(call, edit, replaces, &is_behind, error);
    while (is_behind);
    return status;
}

kg_status serve_entity_put(serve_call *call, serve_view *view, kg_error *error) {
    struct edit edit = {0};
    (void)view;
    KG_TRY(serve_fields_read(&edit, put_fields, call->body, "", error));
    if (edit.facts == NULL)
        return kg_fail(error, KG_BAD_INPUT, "expected `facts`, found none");
    KG_TRY(check_path(call, error));
    KG_TRY(check_ends(call, edit.facts, "facts", error));
    return change_alone(call, &edit, true, error);
}

kg_status serve_entity_patch(serve_call *call, serve_view *view, kg_error *error) {
    struct edit edit = {0};
    (void)view;
    KG_TRY(serve_fields_read(&edit, patch_fields, call->body, "", error));
    if (edit.add == NULL && edit.remove == NULL)
        return kg_fail(error, KG_BAD_INPUT, "expected `add` or `remove`, found neither");
    KG_TRY(check_path(call, error));
    KG_TRY(check_ends(call, edit.add, "add", error));
    KG_TRY(check_ends(call, edit.remove, "remove", error));
    return change_alone(call, &edit, false, error);
}

kg_status serve_entity_delete(serve_call *call, serve_view *view, kg_error *error) {
    struct edit edit = {0};
    (void)view;
    return change_alone(call, &edit, true, error);
}
