/* POST /v1/missing: what is usually known of entities like this one, and not of it.
 *
 * Entities are like it that share a link with it, the same directed relation to the same entity:
 * first those of its rarest links, which say most. Of the directed relations that they have and it
 * has not, those come first that most of them have. */
#include <stdlib.h>

#include "base/memory.h"
#include "graph/adjacency.h"
#include "report/answer_json.h"
#include "serve/limits.h"
#include "serve/question.h"
#include "serve/server.h"

#define MOST_SIMILAR 200
#define MOST_EXAMPLES 3

/* A link of the subject, and the entities that have it. */
struct shared_link {
    kg_link link;
    const kg_link *others;
    size_t count;
};

/* A directed relation and who has it among the similar. */
struct usual {
    kg_directed directed;
    size_t count;
    kg_id examples[MOST_EXAMPLES];
};

struct search {
    const kg_model *model;
    kg_id subject; /* KG_NO_ID: a new one */
    const kg_link *links;
    size_t link_count;
    kg_id similar[MOST_SIMILAR];
    size_t similar_count;
    struct usual *usual; /* of each directed relation */
};

static int compare_shared(const void *a, const void *b) {
    const struct shared_link *one = a;
    const struct shared_link *other = b;
    if (one->count != other->count)
        return one->count < other->count ? -1 : 1;
    if (one->link.directed != other->link.directed)
        return one->link.directed < other->link.directed ? -1 : 1;
    return (one->link.other > other->link.other) - (one->link.other < other->link.other);
}

static kg_status find_sharing(struct shared_link *out, const struct search *search, kg_link link,
                              kg_error *error) {
    const kg_link *links = NULL;
    size_t count = 0;
    KG_TRY(kg_model_links(&links, &count, search->model, link.other, error));
    out->link = link;
    out->others = kg__links_run(links, count, kg__inverse(link.directed), &out->count);
    return KG_OK;
}

static void add_similar(struct search *search, kg_id entity) {
    for (size_t i = 0; i < search->similar_count; i++)
        if (search->similar[i] == entity)
            return;
    if (entity != search->subject)
        search->similar[search->similar_count++] = entity;
}

static kg_status find_similar(struct search *search, kg_error *error) {
    struct shared_link *shared = kg__alloc(search->link_count, sizeof *shared);
    kg_status status = shared == NULL ? kg__fail_memory(error) : KG_OK;
    for (size_t i = 0; i < search->link_count && status == KG_OK; i++)
        status = find_sharing(&shared[i], search, search->links[i], error);
    if (status == KG_OK)
        qsort(shared, search->link_count, sizeof *shared, compare_shared);
    for (size_t i = 0; i < search->link_count && status == KG_OK; i++)
        for (size_t k = 0; k < shared[i].count && search->similar_count < MOST_SIMILAR; k++)
            add_similar(search, shared[i].others[k].other);
    kg__free(shared);
    return status;
}

static void count_relation(struct search *search, kg_directed directed, kg_id entity) {
    struct usual *usual = &search->usual[directed];
    if (usual->count < MOST_EXAMPLES)
        usual->examples[usual->count] = entity;
    usual->count++;
}

static kg_status count_relations(struct search *search, kg_error *error) {
    for (size_t i = 0; i < search->similar_count; i++) {
        const kg_link *links = NULL;
        size_t count = 0;
        KG_TRY(kg_model_links(&links, &count, search->model, search->similar[i], error));
        for (size_t k = 0; k < count; k = kg__group_end(links, count, k))
            count_relation(search, links[k].directed, search->similar[i]);
    }
    for (size_t i = 0; i < search->link_count; i++)
        search->usual[search->links[i].directed].count = 0;
    return KG_OK;
}

static int compare_usual(const void *a, const void *b) {
    const struct usual *one = a;
    const struct usual *other = b;
    if (one->count != other->count)
        return one->count > other->count ? -1 : 1;
    return one->directed < other->directed ? -1 : one->directed > other->directed;
}

/* ---- As JSON ---- */

static json_t *usual_json(const struct search *search, const struct usual *usual) {
    kg_id relation = kg_directed_relation(usual->directed);
    bool is_head = kg_directed_end(usual->directed) == KG_HEAD;
    json_t *examples = json_array();
    bool good = examples != NULL;
    for (size_t i = 0; i < usual->count && i < MOST_EXAMPLES && good; i++)
        good = json_array_append_new(examples, serve_name_json(kg_model_entity_name(
                                                   search->model, usual->examples[i]))) == 0;
    return json_pack("{so ss so sI so}", "relation",
                     serve_name_json(kg_model_relation_name(search->model, relation)), "side",
                     is_head ? "tail" : "head", "share",
                     report_number_json((double)usual->count / (double)search->similar_count),
                     "similar", (json_int_t)search->similar_count, "examples",
                     kg__json_complete(examples, good));
}

static json_t *missing_json(const struct search *search, size_t most) {
    size_t directed_count = 2 * search->model->relations.count;
    json_t *out = json_array();
    bool good = out != NULL;
    for (size_t i = 0; i < directed_count && i < most && search->usual[i].count > 0 && good; i++)
        good = json_array_append_new(out, usual_json(search, &search->usual[i])) == 0;
    return kg__json_complete(out, good);
}

static kg_status search_missing(struct search *search, kg_error *error) {
    size_t directed_count = 2 * search->model->relations.count;
    search->usual = kg__alloc(directed_count, sizeof *search->usual);
    if (search->usual == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < directed_count; i++)
        search->usual[i].directed = (kg_directed)i;
    KG_TRY(find_similar(search, error));
    KG_TRY(count_relations(search, error));
    qsort(search->usual, directed_count, sizeof *search->usual, compare_usual);
    return KG_OK;
}

static const serve_field fields[] = {SERVE_SUBJECT_FIELDS, SERVE_K_FIELD, {0}};

kg_status serve_missing_post(serve_call *call, serve_view *view, kg_error *error) {
    serve_question question = serve_question_defaults;
    serve_subject subject = {0};
    KG_TRY(serve_fields_read(&question, fields, call->body, "", error));
    KG_TRY(serve_view_refresh(view, &call->server->graph, error));
    KG_TRY(serve_subject_open(&subject, &call->problem, &question, view->snapshot, error));
    struct search search = {.model = view->snapshot,
                            .subject = subject.subject.entity,
                            .links = subject.subject.links,
                            .link_count = subject.subject.count};
    kg_status status = KG_OK;
    if (!subject.is_new)
        status = kg_model_links(&search.links, &search.link_count, view->snapshot, search.subject,
                                error);
    if (status == KG_OK)
        status = search_missing(&search, error);
    if (status == KG_OK)
        call->answer = serve_state_json(
            view->state, json_pack("{so so}", "entity", serve_name_json(subject.name), "missing",
                                   missing_json(&search, (size_t)question.k)));
    if (status == KG_OK && call->answer == NULL)
        status = kg__fail_memory(error);
    kg__free(search.usual);
    serve_subject_close(&subject);
    return status;
}
