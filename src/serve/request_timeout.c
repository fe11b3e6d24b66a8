/* A list of connections and the thread that looks at it. Whether bytes have come is asked of the
 * kernel, since libmicrohttpd does not tell before the first line of a request is there. */
#include "serve/request_timeout.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/memory.h"
#include "serve/clock.h"

struct serve_timer {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    serve_timed list; /* a ring, whose first one is no connection */
    time_t request_seconds;
    time_t response_seconds;
    bool is_closing;
};

static uint64_t received_bytes(int fd) {
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_received : 0;
}

/* The library closes the connection when it reads its end. */
static void check(const serve_timer *timer, serve_timed *timed, time_t now) {
    bool is_sending = timed->phase == SERVE_SENDING;
    if (timed->phase == SERVE_WORKED_ON)
        return;
    if (!is_sending && timed->received == received_bytes(timed->fd))
        timed->since = now;
    else if (now - timed->since > (is_sending ? timer->response_seconds : timer->request_seconds))
        shutdown(timed->fd, SHUT_RDWR);
}

static void *work(void *payload) {
    serve_timer *timer = payload;
    pthread_mutex_lock(&timer->lock);
    while (!timer->is_closing) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&timer->changed, &timer->lock, &until);
        time_t now = serve_clock_seconds();
        for (serve_timed *at = timer->list.next; at != &timer->list; at = at->next)
            check(timer, at, now);
    }
    pthread_mutex_unlock(&timer->lock);
    return NULL;
}

kg_status serve_timer_open(serve_timer **out, unsigned request_seconds, unsigned response_seconds,
                           kg_error *error) {
    serve_timer *timer = kg__alloc(1, sizeof *timer);
    if (timer == NULL)
        return kg__fail_memory(error);
    pthread_mutex_init(&timer->lock, NULL);
    pthread_cond_init(&timer->changed, NULL);
    timer->list.next = timer->list.before = &timer->list;
    timer->request_seconds = (time_t)request_seconds;
    timer->response_seconds = (time_t)response_seconds;
    if (pthread_create(&timer->thread, NULL, work, timer) == 0) {
        *out = timer;
        return KG_OK;
    }
    kg__free(timer);
    return kg_fail(error, KG_SYSTEM, "cannot start a thread");
}

void serve_timer_close(serve_timer *timer) {
    if (timer == NULL)
        return;
    pthread_mutex_lock(&timer->lock);
    timer->is_closing = true;
    pthread_cond_signal(&timer->changed);
    pthread_mutex_unlock(&timer->lock);
    pthread_join(timer->thread, NULL);
    pthread_cond_destroy(&timer->changed);
    pthread_mutex_destroy(&timer->lock);
    kg__free(timer);
}

static void set_idle(serve_timed *timed) {
    timed->phase = SERVE_ARRIVING;
    timed->since = serve_clock_seconds();
    timed->received = received_bytes(timed->fd);
}

/* What came before it was added counts as a request's. */
void serve_timer_add(serve_timer *timer, serve_timed *timed, int fd) {
    pthread_mutex_lock(&timer->lock);
    *timed = (serve_timed){
        .fd = fd, .since = serve_clock_seconds(), .next = timer->list.next, .before = &timer->list};
    timed->next->before = timed;
    timer->list.next = timed;
    pthread_mutex_unlock(&timer->lock);
}

void serve_timer_remove(serve_timer *timer, serve_timed *timed) {
    pthread_mutex_lock(&timer->lock);
    timed->before->next = timed->next;
    timed->next->before = timed->before;
    pthread_mutex_unlock(&timer->lock);
}

void serve_timer_whole(serve_timer *timer, serve_timed *timed) {
    pthread_mutex_lock(&timer->lock);
    timed->phase = SERVE_WORKED_ON;
    pthread_mutex_unlock(&timer->lock);
}

void serve_timer_sending(serve_timer *timer, serve_timed *timed) {
    pthread_mutex_lock(&timer->lock);
    timed->phase = SERVE_SENDING;
    timed->since = serve_clock_seconds();
    pthread_mutex_unlock(&timer->lock);
}

void serve_timer_ended(serve_timer *timer, serve_timed *timed) {
    pthread_mutex_lock(&timer->lock);
    set_idle(timed);
    pthread_mutex_unlock(&timer->lock);
}
