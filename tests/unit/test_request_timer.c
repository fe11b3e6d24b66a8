/* Requests that take too long to arrive and responses that take too long to be read, over sockets
 * of this machine. */
#include "support.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/listener.h"
#include "serve/request_timeout.h"

#define SECONDS 1
#define LONG 1000

/* Two ends of a connection. */
struct pair {
    int client;
    int server;
    serve_timed timed;
};

static void connect_pair(struct pair *out, int listener) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    out->client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(out->client, (struct sockaddr *)&address, size), 0);
    out->server = accept(listener, NULL, NULL);
    assert_true(out->server >= 0);
}

static bool is_open(const struct pair *pair) {
    struct pollfd waited = {.fd = pair->client, .events = POLLIN};
    return poll(&waited, 1, 0) == 0;
}

/* A client that sends a byte now and then is cut off, one that sends nothing or waits for its
 * answer is not. */
static void test_timer(void **state) {
    (void)state;
    enum { IDLE, SLOW, ANSWERED, NEXT, COUNT };
    struct pair pairs[COUNT];
    serve_timer *timer = NULL;
    int listener = -1;
    assert_int_equal(serve_listen(&listener, "127.0.0.1:0", NULL), KG_OK);
    assert_int_equal(serve_timer_open(&timer, SECONDS, LONG, NULL), KG_OK);
    for (int i = 0; i < COUNT; i++) {
        connect_pair(&pairs[i], listener);
        serve_timer_add(timer, &pairs[i].timed, pairs[i].server);
        assert_int_equal(i == IDLE ? 1 : write(pairs[i].client, "x", 1), 1);
    }
    serve_timer_whole(timer, &pairs[ANSWERED].timed);
    for (int i = 0; i < 1000 && is_open(&pairs[SLOW]); i++) {
        serve_timer_ended(timer, &pairs[NEXT].timed);
        assert_int_equal(usleep(10000), 0);
        if (i % 10 == 0)
            assert_int_equal(send(pairs[SLOW].client, "x", 1, MSG_NOSIGNAL), 1);
    }
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(is_open(&pairs[i]), i != SLOW);
    for (int i = 0; i < COUNT; i++) {
        serve_timer_remove(timer, &pairs[i].timed);
        close(pairs[i].client);
        close(pairs[i].server);
    }
    serve_timer_close(timer);
    close(listener);
}

/* A client that reads a byte now and then is cut off, however much of the response is left; one
 * whose answer is still made is not, nor one that has time. */
static void test_responses(void **state) {
    (void)state;
    enum { WORKED_ON, SLOW, PATIENT, COUNT };
    struct pair pairs[COUNT];
    serve_timer *timers[COUNT] = {0};
    int listener = -1;
    assert_int_equal(serve_listen(&listener, "127.0.0.1:0", NULL), KG_OK);
    for (int i = 0; i < COUNT; i++) {
        unsigned seconds = i == PATIENT ? LONG : SECONDS;
        assert_int_equal(serve_timer_open(&timers[i], LONG, seconds, NULL), KG_OK);
        connect_pair(&pairs[i], listener);
        serve_timer_add(timers[i], &pairs[i].timed, pairs[i].server);
        serve_timer_whole(timers[i], &pairs[i].timed);
        if (i != WORKED_ON)
            serve_timer_sending(timers[i], &pairs[i].timed);
    }
    bool is_cut = false;
    for (int i = 0; i < 1000 && !is_cut; i++) {
        char byte = 0;
        assert_int_equal(usleep(10000), 0);
        is_cut = send(pairs[SLOW].server, "x", 1, MSG_NOSIGNAL) != 1 ||
                 recv(pairs[SLOW].client, &byte, 1, 0) != 1;
    }
    assert_true(is_cut);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(is_open(&pairs[i]), i != SLOW);
        serve_timer_remove(timers[i], &pairs[i].timed);
        close(pairs[i].client);
        close(pairs[i].server);
        serve_timer_close(timers[i]);
    }
    close(listener);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_timer),
                                       cmocka_unit_test(test_responses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
