/* Lines, the thread that appends them to a file, and its queue. */
#define _GNU_SOURCE /* dup3, pthread_timedjoin_np */
#include "serve/access_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"

#define MOST_WAITING ((size_t)1 << 20) /* bytes of lines */
#define CLOSE_SECONDS 2                /* that what waits may take when the server stops */

static kg_status open_file(int *out, const char *path, kg_error *error) {
    *out = strcmp(path, "-") == 0 ? dup(STDOUT_FILENO)
                                  : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    return *out >= 0 ? KG_OK : kg__fail_errno(error, path, "write it");
}

/* ---- The thread ---- */

struct serve_log_line {
    struct serve_log_line *next;
    size_t length;
    char text[];
};

/* Only here the thread can be cancelled, since it may wait for whoever reads what it writes. */
static bool write_line(int fd, const struct serve_log_line *line) {
    bool good = true;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    for (size_t done = 0; done < line->length && good;) {
        ssize_t written = write(fd, line->text + done, line->length - done);
        good = written > 0;
        done += good ? (size_t)written : 0;
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    return good;
}

/* The lock is held. */
static void remove_first(serve_access_log *log) {
    struct serve_log_line *line = log->first;
    log->first = line->next;
    if (log->first == NULL)
        log->last = NULL;
    log->waiting -= line->length;
    kg__free(line);
}

static void *work(void *payload) {
    serve_access_log *log = payload;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_mutex_lock(&log->lock);
    while (log->first != NULL || !log->is_closing) {
        const struct serve_log_line *line = log->first;
        if (line == NULL) {
            pthread_cond_wait(&log->changed, &log->lock);
            continue;
        }
        pthread_mutex_unlock(&log->lock);
        bool is_written = write_line(log->fd, line);
        pthread_mutex_lock(&log->lock);
        remove_first(log);
        if (!is_written)
            atomic_fetch_add(&log->dropped, 1);
    }
    pthread_mutex_unlock(&log->lock);
    return NULL;
}

static void add_line(serve_access_log *log, const char *text) {
    size_t length = strlen(text) + 1;
    struct serve_log_line *line = kg__alloc(1, sizeof *line + length);
    pthread_mutex_lock(&log->lock);
    bool is_taken = line != NULL && log->waiting + length <= MOST_WAITING;
    if (is_taken) {
        memcpy(line->text, text, length - 1);
        line->text[length - 1] = '\n';
        line->length = length;
        *(log->last == NULL ? &log->first : &log->last->next) = line;
        log->last = line;
        log->waiting += length;
        pthread_cond_signal(&log->changed);
    }
    pthread_mutex_unlock(&log->lock);
    if (is_taken)
        return;
    atomic_fetch_add(&log->dropped, 1);
    kg__free(line);
}

/* ---- Opening and closing ---- */

kg_status serve_access_log_open(serve_access_log *log, const char *path, kg_error *error) {
    log->fd = -1;
    if (path == NULL)
        return KG_OK;
    KG_TRY(open_file(&log->fd, path, error));
    log->path = path;
    pthread_mutex_init(&log->lock, NULL);
    pthread_cond_init(&log->changed, NULL);
    log->has_thread = pthread_create(&log->thread, NULL, work, log) == 0;
    return log->has_thread ? KG_OK : kg_fail(error, KG_SYSTEM, "cannot start a thread");
}

/* A thread that still writes after that time is cancelled. */
static void end_thread(serve_access_log *log) {
    struct timespec until;
    pthread_mutex_lock(&log->lock);
    log->is_closing = true;
    pthread_cond_signal(&log->changed);
    pthread_mutex_unlock(&log->lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += CLOSE_SECONDS;
    if (pthread_timedjoin_np(log->thread, NULL, &until) == 0)
        return;
    pthread_cancel(log->thread);
    pthread_join(log->thread, NULL);
}

void serve_access_log_close(serve_access_log *log) {
    if (log->path == NULL)
        return;
    if (log->has_thread)
        end_thread(log);
    while (log->first != NULL)
        remove_first(log);
    close(log->fd);
    pthread_cond_destroy(&log->changed);
    pthread_mutex_destroy(&log->lock);
    log->path = NULL;
}

/* The number of the descriptor stays, so that nobody writes to another file in between. */
kg_status serve_access_log_reopen(serve_access_log *log, kg_error *error) {
    int fd = -1;
    if (log->path == NULL || strcmp(log->path, "-") == 0)
        return KG_OK;
    KG_TRY(open_file(&fd, log->path, error));
    bool good = dup3(fd, log->fd, O_CLOEXEC) >= 0;
    kg_status status = good ? KG_OK : kg__fail_errno(error, log->path, "write it");
    close(fd);
    return status;
}

/* ---- Lines ---- */

static void format_time(char *out, size_t size) {
    struct timespec now;
    struct tm parts;
    char seconds[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(out, size, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
}

void serve_access_log_add(serve_access_log *log, const serve_exchange *exchange,
                          const char *operation) {
    char time[64];
    if (log->path == NULL)
        return;
    format_time(time, sizeof time);
    const char *method = exchange->request.method;
    const char *target = exchange->request.target;
    json_t *line =
        json_pack("{ss ss so so ss* si sI sI sf}", "time", time, "peer", exchange->peer, "method",
                  kg__json_text(method, strlen(method)), "path",
                  kg__json_text(target, strlen(target)), "operation", operation, "status",
                  exchange->response.status, "received", (json_int_t)exchange->request.size, "sent",
                  (json_int_t)exchange->sent, "seconds", serve_exchange_seconds(exchange));
    char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(6));
    json_decref(line);
    if (text != NULL)
        add_line(log, text);
    kg__json_free_text(text);
}
