/* Ask, change, and compact now and then. */
#define _GNU_SOURCE
#include "experiment/replay.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "aggregate/aggregate_options.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/random.h"
#include "live/compaction.h"
#include "live/live_store.h"
#include "rank/rank.h"
#include "store/store.h"

struct replay {
    const experiment_replay_options *options;
    experiment_replay *out;
    kg_triples stream;
    size_t *live_facts; /* of the stream that are live */
    size_t live_count;
    double started;

    kg_model model; /* unless there is a store */
    bool has_model;
    char *folder; /* of the store; NULL: there is none */
    char *store;
    uint64_t generation;
    kg_live *live;
    kg_changes *changes;
    kg_aggregate_options aggregate;
    kg_adjacency base; /* facts of the live graph's model */

    /* Of a transaction: */
    kg_query *list;
    bool *is_known; /* whether the answer of each is an in-sample entity of the data set */
    double *ranks;
    experiment_window *window;
};

/* ---- The graph ---- */

static void close_live(struct replay *r) {
    kg__changes_close(r->changes);
    kg__live_close(r->live);
    kg__adjacency_free(&r->base);
    r->changes = NULL;
    r->live = NULL;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *place) {
    (void)info;
    (void)type;
    (void)place;
    return remove(path);
}

static void close_replay(struct replay *r) {
    close_live(r);
    if (r->has_model)
        kg__model_close(&r->model);
    if (r->folder != NULL)
        nftw(r->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    kg__free(r->folder);
    kg__free(r->store);
    kg__free(r->live_facts);
    kg__free(r->list);
    kg__free(r->is_known);
    kg__free(r->ranks);
    kg__triples_free(&r->stream);
}

static kg_status open_live(struct replay *r, kg_error *error) {
    kg_live_options options = KG_LIVE_OPTIONS_INIT;
    const kg_aggregate_overrides as_trained = {0};
    options.skip_unknown = true;
    KG_TRY(r->store == NULL ? kg__live_open(&r->live, &r->model, &options, error)
                            : kg__live_open_store(&r->live, r->store, &options, error));
    KG_TRY(kg__changes_open(&r->changes, r->live, error));
    const kg_model *base = kg__live_generation(r->live)->base;
    KG_TRY(kg__aggregate_choose(&r->aggregate, &as_trained, base, error));
    return kg__known_facts_copy(&r->base, &base->known, error);
}

static kg_status make_store(struct replay *r, kg_error *error) {
    const char *place = getenv("TMPDIR");
    char *folder =
        kg__path_join(place == NULL || place[0] == '\0' ? "/tmp" : place, "kgraft-replay-XXXXXX");
    if (folder == NULL)
        return kg__fail_memory(error);
    if (mkdtemp(folder) == NULL) {
        kg_status status = kg__fail_errno(error, folder, "create it");
        kg__free(folder);
        return status;
    }
    r->folder = folder;
    r->store = kg__path_join(folder, "store");
    return r->store == NULL ? kg__fail_memory(error)
                            : kg__store_create(r->store, r->options->model, error);
}

static kg_status open_graph(struct replay *r, kg_error *error) {
    r->generation = 1;
    if (r->options->compact_every > 0)
        KG_TRY(make_store(r, error));
    else
        KG_TRY(kg__model_open(&r->model, r->options->model, error));
    r->has_model = r->store == NULL;
    return open_live(r, error);
}

static kg_status compact(struct replay *r, kg_error *error) {
    kg_train_watcher watcher = {.progress = r->options->progress};
    kg_compact_options options = {
        .store = r->store, .threads = (uint64_t)r->options->threads, .watcher = &watcher};
    kg_compact_result result;
    close_live(r);
    KG_TRY(kg__compact(&result, &options, error));
    r->generation = (uint64_t)result.generation;
    return open_live(r, error);
}

/* ---- The stream ---- */

static kg_status make_stream(struct replay *r, kg_error *error) {
    const kg_dataset *dataset = r->options->dataset;
    size_t count = 0;
    size_t i = 0;
    for (kg_part part = KG_VALID; part < KG_GRAPH; part++)
        count += dataset->parts[part].count;
    if (count == 0)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected a data set with facts beside the training facts, found none");
    KG_TRY(kg__triples_reserve(&r->stream, count, error));
    r->stream.count = count;
    for (kg_part part = KG_VALID; part < KG_GRAPH; part++)
        for (size_t k = 0; k < dataset->parts[part].count; k++)
            r->stream.items[kg__random_permute(i++, count, r->options->seed, KG_STREAM_REPLAY, 0)] =
                dataset->parts[part].items[k];
    r->live_facts = kg__alloc(count, sizeof *r->live_facts);
    r->list = kg__alloc(2 * r->options->batch, sizeof *r->list);
    r->is_known = kg__alloc(2 * r->options->batch, sizeof *r->is_known);
    r->ranks = kg__alloc(2 * r->options->batch, sizeof *r->ranks);
    bool good = r->live_facts != NULL && r->list != NULL && r->is_known != NULL && r->ranks != NULL;
    return good ? KG_OK : kg__fail_memory(error);
}

/* Until fact number `from` is due. */
static kg_status wait(const struct replay *r, size_t from, kg_error *error) {
    const struct timespec pause = {.tv_nsec = 20000000};
    kg_progress_report report = {
        .stage = "replaying", .unit = "facts", .done = from, .total = r->stream.count};
    KG_TRY(kg__progress_tick(r->options->progress, &report, error));
    while (r->options->rate > 0 && kg__seconds() < r->started + (double)from / r->options->rate) {
        nanosleep(&pause, NULL);
        KG_TRY(kg__progress_tick(r->options->progress, &report, error));
    }
    return KG_OK;
}

/* ---- Asking ---- */

static kg_id find(const kg_names *names, const kg_names *of, kg_id id) {
    return kg__names_find(names, kg__names_hashed(of, id));
}

/* A fact by the ids of a snapshot, KG_NO_ID for what is not there. */
static kg_triple find_fact(const struct replay *r, const kg_model *snapshot, size_t number) {
    const kg_dataset *dataset = r->options->dataset;
    kg_triple fact = r->stream.items[number];
    return (kg_triple){find(&snapshot->entities, &dataset->entities, fact.head),
                       find(&snapshot->relations, &dataset->relations, fact.relation),
                       find(&snapshot->entities, &dataset->entities, fact.tail)};
}

/* Adds a query if it can be asked. */
static kg_status add_query(struct replay *r, kg_queries *queries, const kg_model *snapshot,
                           kg_id entity, kg_link target, bool is_known, kg_error *error) {
    const kg_link *links = NULL;
    size_t count = 0;
    size_t known_count = 0;
    bool is_there = entity != KG_NO_ID && target.other != KG_NO_ID && entity != target.other;
    size_t degree = is_there ? kg__adjacency_degree(&queries->adjacency, entity) : 0;
    if (degree == 0) {
        r->window->unasked++;
        r->out->total.unasked++;
        return KG_OK;
    }
    KG_TRY(kg__live_known(&links, &count, snapshot, entity, error));
    const kg_link *known = kg__links_run(links, count, target.directed, &known_count);
    r->is_known[queries->count] = is_known;
    queries->list[queries->count++] =
        (kg_query){entity, target, known, (uint32_t)known_count, (uint32_t)degree};
    return KG_OK;
}

static kg_status has_fact(bool *out, const kg_model *snapshot, kg_triple fact, kg_error *error) {
    const kg_link *links = NULL;
    size_t count = 0;
    *out = false;
    if (fact.head == KG_NO_ID || fact.relation == KG_NO_ID || fact.tail == KG_NO_ID)
        return KG_OK;
    KG_TRY(kg__live_known(&links, &count, snapshot, fact.head, error));
    *out = kg__links_find(links, count, (kg_link){kg_direct(fact.relation, KG_HEAD), fact.tail}) <
           count;
    return KG_OK;
}

/* Facts that are there or that the model cannot know are not asked about, and not of the stream
 * from then on. */
static kg_status make_queries(struct replay *r, kg_queries *queries, const kg_model *snapshot,
                              size_t from, size_t to, kg_error *error) {
    size_t in_sample = kg__dataset_in_sample(r->options->dataset);
    for (size_t i = from; i < to; i++) {
        kg_triple fact = find_fact(r, snapshot, i);
        bool is_there = false;
        KG_TRY(has_fact(&is_there, snapshot, fact, error));
        r->out->repeated += is_there;
        r->out->unknown += fact.relation == KG_NO_ID;
        if (is_there || fact.relation == KG_NO_ID)
            continue;
        r->live_facts[r->live_count++] = i;
        kg_triple ids = r->stream.items[i];
        KG_TRY(add_query(r, queries, snapshot, fact.head,
                         (kg_link){kg_direct(fact.relation, KG_HEAD), fact.tail},
                         ids.tail < in_sample, error));
        KG_TRY(add_query(r, queries, snapshot, fact.tail,
                         (kg_link){kg_direct(fact.relation, KG_TAIL), fact.head},
                         ids.head < in_sample, error));
    }
    return KG_OK;
}

static void add_rank(experiment_window *window, double rank, bool is_known) {
    kg__metrics_add(&window->all, rank);
    kg__metrics_add(is_known ? &window->known : &window->later, rank);
}

static kg_status ask_snapshot(struct replay *r, const kg_model *snapshot, size_t from, size_t to,
                              kg_error *error) {
    kg_rank_options options = {
        .embedding.aggregate = r->aggregate, .ties = KG_REALISTIC, .threads = r->options->threads};
    kg_queries queries = {.list = r->list,
                          .candidates = snapshot->entities.count,
                          .unseen = true,
                          .came_later = true,
                          .adjacency = r->base};
    queries.adjacency.overlay = snapshot->known.overlay;
    queries.adjacency.entity_count = snapshot->entities.count;
    KG_TRY(make_queries(r, &queries, snapshot, from, to, error));
    KG_TRY(kg__rank(r->ranks, &queries, &snapshot->params, &options, error));
    for (size_t i = 0; i < queries.count; i++) {
        add_rank(r->window, r->ranks[i], r->is_known[i]);
        add_rank(&r->out->total, r->ranks[i], r->is_known[i]);
    }
    return KG_OK;
}

static kg_status ask(struct replay *r, size_t from, size_t to, kg_error *error) {
    kg_model *snapshot = kg__live_snapshot(r->live);
    kg_status status = ask_snapshot(r, snapshot, from, to, error);
    kg__live_release(snapshot);
    return status;
}

/* ---- Changing ---- */

static kg_text text_of(const kg_names *names, kg_id id) {
    kg_name name = kg__names_get(names, id);
    return (kg_text){name.bytes, name.length};
}

static kg_status change_fact(struct replay *r, size_t number, bool adds, kg_error *error) {
    const kg_dataset *dataset = r->options->dataset;
    kg_triple fact = r->stream.items[number];
    kg_text texts[] = {text_of(&dataset->entities, fact.head),
                       text_of(&dataset->relations, fact.relation),
                       text_of(&dataset->entities, fact.tail)};
    return adds ? kg__changes_add(r->changes, texts[0], texts[1], texts[2], error)
                : kg__changes_remove(r->changes, texts[0], texts[1], texts[2], error);
}

/* One of those that came before, with the probability that was chosen; `before` of them did before
 * this transaction. The last one takes its place. */
static kg_status withdraw(struct replay *r, size_t number, size_t *before, kg_error *error) {
    const experiment_replay_options *o = r->options;
    if (*before == 0 || kg__random_unit(o->seed, KG_STREAM_WITHDRAW, 2 * number) >= o->withdraw)
        return KG_OK;
    size_t place = (size_t)kg__random_below(*before, o->seed, KG_STREAM_WITHDRAW, 2 * number + 1);
    KG_TRY(change_fact(r, r->live_facts[place], false, error));
    r->live_facts[place] = r->live_facts[--*before];
    r->live_facts[*before] = r->live_facts[--r->live_count];
    r->out->withdrawn++;
    return KG_OK;
}

/* Adds what was asked about, which is behind `before`. */
static kg_status change(struct replay *r, size_t before, kg_error *error) {
    kg_commit commit;
    for (size_t i = before; i < r->live_count; i++)
        KG_TRY(change_fact(r, r->live_facts[i], true, error));
    for (size_t i = r->live_count - before; i > 0; i--)
        KG_TRY(withdraw(r, r->out->total.facts + i - 1, &before, error));
    return kg__changes_commit(&commit, r->changes, error);
}

/* ---- All of it ---- */

static void end_window(struct replay *r, experiment_window *window) {
    kg_model *snapshot = kg__live_snapshot(r->live);
    window->facts = r->out->total.facts;
    window->entities = snapshot->entities.count;
    window->generation = r->generation;
    kg__metrics_mean(&window->all);
    kg__metrics_mean(&window->known);
    kg__metrics_mean(&window->later);
    kg__live_release(snapshot);
}

static kg_status replay_batch(struct replay *r, size_t from, size_t to, kg_error *error) {
    const uint64_t every = r->options->compact_every;
    size_t before = r->live_count;
    KG_TRY(wait(r, from, error));
    KG_TRY(ask(r, from, to, error));
    KG_TRY(change(r, before, error));
    r->out->total.facts = to;
    return every > 0 && to / every > from / every && to < r->stream.count ? compact(r, error)
                                                                          : KG_OK;
}

static kg_status replay_all(struct replay *r, kg_error *error) {
    experiment_replay *out = r->out;
    size_t count = r->stream.count;
    size_t ended = 0; /* of the windows that there would be with transactions of one fact */
    for (size_t from = 0; from < count;) {
        size_t to = from + r->options->batch < count ? from + r->options->batch : count;
        r->window = &out->windows[out->count];
        KG_TRY(replay_batch(r, from, to, error));
        if (to * EXPERIMENT_WINDOWS >= count * (ended + 1)) {
            end_window(r, r->window);
            out->count++;
            ended = to * EXPERIMENT_WINDOWS / count;
        }
        from = to;
    }
    end_window(r, &out->total);
    return KG_OK;
}

kg_status experiment_replay_run(experiment_replay *out, const experiment_replay_options *options,
                                kg_error *error) {
    struct replay replay = {.options = options, .out = out};
    kg_status status = KG_OK;
    *out = (experiment_replay){0};
    KG_CHECK(make_stream(&replay, error));
    KG_CHECK(open_graph(&replay, error));
    replay.started = kg__seconds();
    KG_CHECK(replay_all(&replay, error));
    out->seconds = kg__seconds() - replay.started;
done:
    close_replay(&replay);
    return status;
}

/* ---- JSON ---- */

static json_t *window_json(const experiment_window *window) {
    return json_pack("{sI sI sI sI so so so}", "facts", (json_int_t)window->facts, "entities",
                     (json_int_t)window->entities, "generation", (json_int_t)window->generation,
                     "unasked", (json_int_t)window->unasked, "all", kg__metrics_json(&window->all),
                     "known", kg__metrics_json(&window->known), "later",
                     kg__metrics_json(&window->later));
}

json_t *experiment_replay_json(const experiment_replay *replay) {
    json_t *windows = json_array();
    bool good = true;
    for (size_t i = 0; i < replay->count && good; i++)
        good = json_array_append_new(windows, window_json(&replay->windows[i])) == 0;
    return json_pack("{sI sI sI so so sf}", "repeated", (json_int_t)replay->repeated, "unknown",
                     (json_int_t)replay->unknown, "withdrawn", (json_int_t)replay->withdrawn,
                     "total", window_json(&replay->total), "windows",
                     kg__json_complete(windows, good), "seconds", replay->seconds);
}
