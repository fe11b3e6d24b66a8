/* Workers that take one job after the other; the calling thread is one of them. */
#include "experiment/runs_at_once.h"

#include <pthread.h>

#include "base/memory.h"
#include "base/memory_limit.h"
#include "base/thread_count.h"
#include "experiment/runs_progress.h"
#include "train/training_memory.h"

/* Of all memory, since the estimate is rough and there are other processes. */
#define MEMORY_SHARE 0.8

/* What the workers share, under the lock. */
struct pool {
    const experiment_runs_options *options;
    const experiment_job *jobs;
    size_t count;
    size_t next;
    size_t at_once;
    uint64_t threads; /* of a run */
    experiment_runs_progress progress;
    kg_status status; /* the first that was not OK; it stops all */
    kg_error *error;
    pthread_mutex_t lock;
};

/* A run under way. */
struct work {
    struct pool *pool;
    experiment_run_progress progress;
};

static bool report(void *payload, const kg_progress_report *report) {
    struct work *work = payload;
    struct pool *pool = work->pool;
    pthread_mutex_lock(&pool->lock);
    bool goes_on =
        pool->status == KG_OK && experiment_runs_progress_report(&work->progress, report);
    pthread_mutex_unlock(&pool->lock);
    return goes_on;
}

/* The job is done, or was stopped; what its error says counts if it is the first. */
static void end(struct pool *pool, struct work *work, const experiment_job *job, kg_status status,
                const kg_error *reason) {
    kg_error ending = *reason;
    if (status == KG_OK)
        experiment_runs_progress_end(&work->progress,
                                     kg__train_work(&job->run->options, job->dataset));
    if (status == KG_OK || (status == KG_CANCELLED && pool->status == KG_OK)) {
        kg_error failure = {0};
        kg_status told = pool->options->on_end(pool->options->payload, job, status, &failure);
        if (told != KG_OK) {
            status = told;
            ending = failure;
        }
    }
    if (status == KG_OK || pool->status != KG_OK)
        return;
    pool->status = status;
    *pool->error = ending;
}

static void *run_jobs(void *payload) {
    struct pool *pool = payload;
    pthread_mutex_lock(&pool->lock);
    while (pool->status == KG_OK && pool->next < pool->count) {
        const experiment_job *job = &pool->jobs[pool->next++];
        struct work work = {
            pool, {.runs = &pool->progress, .number = job->number, .name = job->run->name.text}};
        kg_progress progress = {report, &work};
        kg_error reason = {0};
        pthread_mutex_unlock(&pool->lock);
        job->run->options.threads = pool->threads;
        kg_status status =
            experiment_run_train(job->run, job->dataset, pool->at_once > 1, &progress, &reason);
        pthread_mutex_lock(&pool->lock);
        end(pool, &work, job, status, &reason);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static size_t find_most(const experiment_job *jobs, size_t count, double memory) {
    double most = 1;
    for (size_t i = 0; i < count; i++) {
        kg_memory_counts counts = kg__memory_counts(jobs[i].dataset, false);
        kg_memory_needs needs = kg__training_memory(&jobs[i].run->options, &counts);
        most = kg__memory_total(&needs) > most ? kg__memory_total(&needs) : most;
    }
    double fitting = memory / most;
    return fitting < 1 ? 1 : fitting < (double)count ? (size_t)fitting : count;
}

/* Threads that cannot be created are those of other runs: there is always the calling one. */
static void run_pool(struct pool *pool, pthread_t *threads) {
    size_t started = 0;
    while (started + 1 < pool->at_once &&
           pthread_create(&threads[started], NULL, run_jobs, pool) == 0)
        started++;
    run_jobs(pool);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

kg_status experiment_runs_train(const experiment_job *jobs, size_t count,
                                const experiment_runs_options *options, kg_error *error) {
    struct pool pool = {.options = options,
                        .jobs = jobs,
                        .count = count,
                        .error = error,
                        .progress = {.stage = options->stage,
                                     .progress = options->progress,
                                     .run_count = options->run_count}};
    uint64_t all = (uint64_t)kg__threads(options->threads);
    uint64_t wanted = options->at_once > 0 ? options->at_once : all;
    size_t most = find_most(jobs, count, MEMORY_SHARE * (double)kg__memory_limit());
    if (count == 0)
        return KG_OK;
    for (size_t i = 0; i < count; i++)
        pool.progress.total += kg__train_work(&jobs[i].run->options, jobs[i].dataset);
    pool.at_once = wanted < most ? (size_t)wanted : most;
    pool.threads = all / pool.at_once > 0 ? all / pool.at_once : 1;
    pthread_t *threads = kg__alloc(pool.at_once, sizeof *threads);
    if (threads == NULL)
        return kg__fail_memory(error);
    if (pthread_mutex_init(&pool.lock, NULL) != 0) {
        kg__free(threads);
        return kg__fail_memory(error);
    }
    run_pool(&pool, threads);
    pthread_mutex_destroy(&pool.lock);
    kg__free(threads);
    return pool.status;
}
