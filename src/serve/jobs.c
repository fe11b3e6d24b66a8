/* Threads and the list of jobs, and the handlers of these. */
#include "serve/jobs.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/peak_memory.h"
#include "base/text.h"
#include "serve/change_stream.h"
#include "serve/clock.h"
#include "serve/request_json.h"
#include "serve/server.h"
#include "store/backup.h"

#define MOST_JOBS 100
#define TEXT_SIZE 128

enum kind { COMPACTION, BACKUP, KIND_COUNT };

static const char *const kind_names[KIND_COUNT] = {"compaction", "backup"};

struct job {
    uint64_t id;
    enum kind kind;
    enum { RUNNING, DONE, FAILED } state;
    char stage[TEXT_SIZE];
    char unit[TEXT_SIZE];
    uint64_t done;
    uint64_t total;
    int64_t started; /* milliseconds since 1970 */
    int64_t ended;
    json_t *result;
    kg_error error;
};

/* Job i is in the ring at i modulo its size. */
struct serve_jobs {
    serve_server *server;
    pthread_mutex_t lock;
    struct job ring[MOST_JOBS];
    uint64_t count; /* of all that there were */
    bool is_running[KIND_COUNT];
    pthread_t threads[KIND_COUNT];
    bool has_thread[KIND_COUNT]; /* to be joined */
    bool is_closing;
};

static struct job *slot(serve_jobs *jobs, uint64_t id) {
    return &jobs->ring[id % MOST_JOBS];
}

/* ---- As JSON ---- */

static json_t *job_json(const struct job *job) {
    static const char *const states[] = {"running", "done", "failed"};
    serve_problem problem = {0};
    json_t *out = json_pack("{sI ss ss ss sI sI ss sI}", "id", (json_int_t)job->id, "kind",
                            kind_names[job->kind], "state", states[job->state], "stage", job->stage,
                            "done", (json_int_t)job->done, "total", (json_int_t)job->total, "unit",
                            job->unit, "started", (json_int_t)job->started);
    bool good = out != NULL;
    if (job->state != RUNNING)
        good = good && json_object_set_new(out, "ended", json_integer(job->ended)) == 0;
    if (job->result != NULL)
        good = good && json_object_set_new(out, "result", json_deep_copy(job->result)) == 0;
    if (job->state == FAILED)
        good = good &&
               json_object_set_new(out, "problem", serve_problem_json(&problem, &job->error)) == 0;
    return kg__json_complete(out, good);
}

/* ---- Work ---- */

/* What a thread works on. */
struct work {
    serve_jobs *jobs;
    uint64_t id;
};

/* Names of stages and units are shown as they are, cut if they are long. */
static bool report(void *payload, const kg_progress_report *report) {
    const struct work *work = payload;
    serve_jobs *jobs = work->jobs;
    pthread_mutex_lock(&jobs->lock);
    struct job *job = slot(jobs, work->id);
    kg__show_controls(job->stage, sizeof job->stage, report->stage);
    kg__show_controls(job->unit, sizeof job->unit, report->unit == NULL ? "" : report->unit);
    job->done = report->done;
    job->total = report->total;
    bool goes_on = !jobs->is_closing;
    pthread_mutex_unlock(&jobs->lock);
    return goes_on;
}

/* Where there was nothing to do, the generation is the one that is served. */
static void describe_served(kg_compaction *out, const kg_model *model, uint64_t facts) {
    out->facts = facts;
    out->entities = model->entities.count;
    out->relations = model->relations.count;
}

static kg_status compact(json_t **result, struct work *work, kg_error *error) {
    serve_server *server = work->jobs->server;
    kg_progress progress = {report, work};
    kg_compaction_options options = KG_COMPACTION_OPTIONS_INIT;
    kg_compaction made = KG_COMPACTION_INIT;
    options.threads = server->options.threads;
    options.progress = &progress;
    KG_TRY(kg_live_compact(&made, server->graph.live, &options, error));
    KG_TRY(serve_graph_index(&server->graph, error));
    serve_changes_notify(server->changes);
    if (made.is_new == 0) {
        serve_view view = {0};
        KG_TRY(serve_view_refresh(&view, &server->graph, error));
        describe_served(&made, view.snapshot, view.state.facts);
        serve_view_close(&view);
    }
    *result = json_pack("{sI sb sI sI sI sI sI sI}", "generation", (json_int_t)made.generation,
                        "new", made.is_new != 0, "added", (json_int_t)made.added, "removed",
                        (json_int_t)made.removed, "facts", (json_int_t)made.facts, "entities",
                        (json_int_t)made.entities, "relations", (json_int_t)made.relations,
                        "epochs", (json_int_t)made.epochs);
    return *result == NULL ? kg__fail_memory(error) : KG_OK;
}

/* DIR/NAME-GENERATION-LOG-TIME: each has a name of its own, in the order in which they were made.
 */
static kg_status back_up(json_t **result, struct work *work, kg_error *error) {
    serve_server *server = work->jobs->server;
    serve_state state = serve_graph_state(&server->graph);
    char name[512];
    snprintf(name, sizeof name, "%.200s-%jd-%jd-%jd", server->graph.name,
             (intmax_t)state.generation, (intmax_t)state.log, (intmax_t)serve_clock_date());
    char *path = kg__path_join(server->options.backup_dir, name);
    if (path == NULL)
        return kg__fail_memory(error);
    kg_status status = kg__store_backup(server->graph.path, path, error);
    if (status == KG_OK)
        *result = json_pack("{so}", "name", kg__json_text(name, strlen(name)));
    kg__free(path);
    return status;
}

static void *run(void *payload) {
    struct work *work = payload;
    serve_jobs *jobs = work->jobs;
    struct job *job = slot(jobs, work->id);
    enum kind kind = job->kind;
    json_t *result = NULL;
    kg_error error = {0};
    kg_status status =
        kind == COMPACTION ? compact(&result, work, &error) : back_up(&result, work, &error);
    kg__return_memory(); /* training takes more than anything else that the server does */
    pthread_mutex_lock(&jobs->lock);
    job->state = status == KG_OK ? DONE : FAILED;
    if (status == KG_OK)
        job->done = job->total;
    job->result = result;
    job->error = error;
    job->ended = serve_clock_date();
    jobs->is_running[kind] = false;
    pthread_mutex_unlock(&jobs->lock);
    kg__free(work);
    return NULL;
}

/* The lock is held, and no job of that kind runs. */
static kg_status start(serve_jobs *jobs, enum kind kind, kg_error *error) {
    struct work *work = kg__alloc(1, sizeof *work);
    struct job *job = slot(jobs, jobs->count + 1);
    if (work == NULL)
        return kg__fail_memory(error);
    if (jobs->has_thread[kind])
        pthread_join(jobs->threads[kind], NULL);
    json_decref(job->result);
    *job = (struct job){.id = jobs->count + 1, .kind = kind, .started = serve_clock_date()};
    *work = (struct work){jobs, job->id};
    jobs->has_thread[kind] = pthread_create(&jobs->threads[kind], NULL, run, work) == 0;
    if (!jobs->has_thread[kind]) {
        kg__free(work);
        return kg_fail(error, KG_SYSTEM, "cannot start a thread");
    }
    jobs->count++;
    jobs->is_running[kind] = true;
    return KG_OK;
}

/* ---- Handlers ---- */

static kg_status check_job(serve_call *call, enum kind kind, kg_error *error) {
    const serve_server *server = call->server;
    if (server->graph.is_read_only && kind == COMPACTION)
        return serve_refuse(call, error, 403, "this server only reads its store");
    if (server->options.backup_dir == NULL && kind == BACKUP)
        return serve_refuse(call, error, 403,
                            "this server was started without a folder for "
                            "backups");
    return KG_OK;
}

static kg_status submit(serve_call *call, enum kind kind, kg_error *error) {
    static const serve_field none[] = {{0}};
    serve_jobs *jobs = call->server->jobs;
    KG_TRY(serve_fields_read(NULL, none, call->body, "", error));
    KG_TRY(check_job(call, kind, error));
    pthread_mutex_lock(&jobs->lock);
    kg_status status = KG_OK;
    const struct job *oldest = slot(jobs, jobs->count + 1);
    bool is_full = oldest->id > 0 && oldest->state == RUNNING;
    if (jobs->is_running[COMPACTION] || jobs->is_running[BACKUP] || jobs->is_closing || is_full)
        status =
            serve_refuse(call, error, 409, "expected no compaction or backup under way, found one");
    if (status == KG_OK)
        status = start(jobs, kind, error);
    if (status == KG_OK) {
        serve_response_header(&call->exchange->response, "Location", "/v1/jobs/%ju",
                              (uintmax_t)jobs->count);
        call->answer = job_json(slot(jobs, jobs->count));
    }
    pthread_mutex_unlock(&jobs->lock);
    return status == KG_OK && call->answer == NULL ? kg__fail_memory(error) : status;
}

kg_status serve_compactions_post(serve_call *call, serve_view *view, kg_error *error) {
    (void)view;
    return submit(call, COMPACTION, error);
}

kg_status serve_backups_post(serve_call *call, serve_view *view, kg_error *error) {
    (void)view;
    return submit(call, BACKUP, error);
}

static uint64_t first_kept(const serve_jobs *jobs) {
    return jobs->count > MOST_JOBS ? jobs->count - MOST_JOBS + 1 : 1;
}

kg_status serve_jobs_get(serve_call *call, serve_view *view, kg_error *error) {
    serve_jobs *jobs = call->server->jobs;
    json_t *list = json_array();
    bool good = list != NULL;
    (void)view;
    pthread_mutex_lock(&jobs->lock);
    for (uint64_t id = jobs->count; id >= first_kept(jobs) && good; id--)
        good = json_array_append_new(list, job_json(slot(jobs, id))) == 0;
    pthread_mutex_unlock(&jobs->lock);
    call->answer = json_pack("{so}", "jobs", kg__json_complete(list, good));
    return call->answer == NULL ? kg__fail_memory(error) : KG_OK;
}

kg_status serve_job_get(serve_call *call, serve_view *view, kg_error *error) {
    serve_jobs *jobs = call->server->jobs;
    uint64_t id = 0;
    (void)view;
    const char *problem = kg__parse_count(&id, call->name);
    pthread_mutex_lock(&jobs->lock);
    bool is_there = problem == NULL && id >= first_kept(jobs) && id <= jobs->count;
    if (is_there)
        call->answer = job_json(slot(jobs, id));
    pthread_mutex_unlock(&jobs->lock);
    if (!is_there)
        return serve_refuse(call, error, 404, "expected the number of a job, found %s",
                            kg__quote(call->name, call->name_length).text);
    return call->answer == NULL ? kg__fail_memory(error) : KG_OK;
}

/* ---- Opening and closing ---- */

kg_status serve_jobs_open(serve_jobs **out, serve_server *server, kg_error *error) {
    serve_jobs *jobs = kg__alloc(1, sizeof *jobs);
    if (jobs == NULL)
        return kg__fail_memory(error);
    jobs->server = server;
    pthread_mutex_init(&jobs->lock, NULL);
    *out = jobs;
    return KG_OK;
}

void serve_jobs_close(serve_jobs *jobs) {
    if (jobs == NULL)
        return;
    pthread_mutex_lock(&jobs->lock);
    jobs->is_closing = true;
    pthread_mutex_unlock(&jobs->lock);
    for (int i = 0; i < KIND_COUNT; i++)
        if (jobs->has_thread[i])
            pthread_join(jobs->threads[i], NULL);
    for (size_t i = 0; i < MOST_JOBS; i++)
        json_decref(jobs->ring[i].result);
    pthread_mutex_destroy(&jobs->lock);
    kg__free(jobs);
}

bool serve_jobs_is_compacting(serve_jobs *jobs) {
    pthread_mutex_lock(&jobs->lock);
    bool is_running = jobs->is_running[COMPACTION];
    pthread_mutex_unlock(&jobs->lock);
    return is_running;
}
