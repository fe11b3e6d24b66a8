/* Appending to a file. */
#define _GNU_SOURCE /* dup3 */
#include "serve/access_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"

static kg_status open_file(int *out, const char *path, kg_error *error) {
    *out = strcmp(path, "-") == 0 ? dup(STDOUT_FILENO)
                                  : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    return *out >= 0 ? KG_OK : kg__fail_errno(error, path, "write it");
}

kg_status serve_access_log_open(serve_access_log *log, const char *path, kg_error *error) {
    int fd = -1;
    atomic_store(&log->fd, -1);
    log->path = path;
    if (path == NULL)
        return KG_OK;
    KG_TRY(open_file(&fd, path, error));
    atomic_store(&log->fd, fd);
    return KG_OK;
}

void serve_access_log_close(serve_access_log *log) {
    if (log->path != NULL && atomic_load(&log->fd) >= 0)
        close(atomic_load(&log->fd));
    log->path = NULL;
}

/* The number of the descriptor stays, so that nobody writes to another file in between. */
kg_status serve_access_log_reopen(serve_access_log *log, kg_error *error) {
    int fd = -1;
    if (log->path == NULL || strcmp(log->path, "-") == 0)
        return KG_OK;
    KG_TRY(open_file(&fd, log->path, error));
    bool good = dup3(fd, atomic_load(&log->fd), O_CLOEXEC) >= 0;
    kg_status status = good ? KG_OK : kg__fail_errno(error, log->path, "write it");
    close(fd);
    return status;
}

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
    int fd = log->path == NULL ? -1 : atomic_load(&log->fd);
    if (fd < 0)
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
    if (text == NULL)
        return;
    size_t length = strlen(text);
    text[length] = '\n'; /* in place of its end: one write is one line */
    ssize_t written = write(fd, text, length + 1);
    (void)written; /* nobody to tell */
    kg__json_free_text(text);
}
