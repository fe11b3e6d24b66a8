/* Addresses, resolved and bound. */
#include "serve/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"

#define BACKLOG 1024

/* The store, files of a compaction, bodies of other formats, streams that read the log, metrics. */
#define RESERVED_FILES 256

struct parts {
    char host[256];
    char port[8];
};

static kg_status split(struct parts *out, const char *address, kg_error *error) {
    const char *colon = strrchr(address, ':');
    bool is_bracketed = address[0] == '[' && colon != NULL && colon[-1] == ']';
    const char *host = address + (is_bracketed ? 1 : 0);
    size_t length = colon == NULL ? 0 : (size_t)(colon - host) - (is_bracketed ? 1 : 0);
    bool is_host = length > 0 && length < sizeof out->host &&
                   (is_bracketed || memchr(host, ':', length) == NULL);
    uint64_t port = 0;
    if (!is_host || kg__parse_count(&port, colon + 1) != NULL || port > 65535)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected HOST:PORT, as in 127.0.0.1:8080 or [::1]:8080, found %s",
                       kg__quote(address, strlen(address)).text);
    snprintf(out->host, sizeof out->host, "%.*s", (int)length, host);
    snprintf(out->port, sizeof out->port, "%u", (unsigned)port);
    return KG_OK;
}

static kg_status resolve(struct addrinfo **out, const char *address, kg_error *error) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct parts parts;
    KG_TRY(split(&parts, address, error));
    int failure = getaddrinfo(parts.host, parts.port, &hints, out);
    if (failure != 0)
        return kg_fail(error, KG_BAD_INPUT, "expected an address of this machine, found %s: %s",
                       kg__quote(address, strlen(address)).text, gai_strerror(failure));
    return KG_OK;
}

static kg_status fail(kg_error *error, const char *address, const char *action) {
    return kg_fail(error, KG_SYSTEM, "cannot %s %s: %s", action, address, strerror(errno));
}

kg_status serve_listen(int *out, const char *address, kg_error *error) {
    struct addrinfo *found = NULL;
    const int on = 1;
    KG_TRY(resolve(&found, address, error));
    int type = found->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK;
    int fd = socket(found->ai_family, type, found->ai_protocol);
    kg_status status = KG_OK;
    if (fd < 0)
        status = fail(error, address, "open a socket for");
    else if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
             bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0)
        status = fail(error, address, "listen on");
    freeaddrinfo(found);
    if (status == KG_OK)
        *out = fd;
    else if (fd >= 0)
        close(fd);
    return status;
}

unsigned serve_connection_limit(unsigned most) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return most;
    rlim_t reserve = limit.rlim_cur / 2 < RESERVED_FILES ? limit.rlim_cur / 2 : RESERVED_FILES;
    rlim_t left = limit.rlim_cur - reserve;
    return left < most ? (unsigned)left : most;
}

static unsigned port_of(const struct sockaddr *address) {
    if (address->sa_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)(const void *)address)->sin6_port);
    return ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
}

unsigned serve_listener_port(int fd) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return 0;
    return port_of((const struct sockaddr *)&address);
}

static bool is_loopback(const struct sockaddr *address) {
    if (address->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(
            &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
    uint32_t host = ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr);
    return address->sa_family == AF_INET && host >> 24 == 127;
}

kg_status serve_is_loopback(bool *out, const char *address, kg_error *error) {
    struct addrinfo *found = NULL;
    KG_TRY(resolve(&found, address, error));
    *out = is_loopback(found->ai_addr);
    freeaddrinfo(found);
    return KG_OK;
}

void serve_show_peer(char *out, size_t size, const struct sockaddr *address) {
    char host[INET6_ADDRSTRLEN] = "";
    const void *bytes =
        address->sa_family == AF_INET6
            ? (const void *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr
            : &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    bool is_six = address->sa_family == AF_INET6;
    if (inet_ntop(address->sa_family, bytes, host, sizeof host) == NULL)
        host[0] = '\0';
    snprintf(out, size, is_six ? "[%s]:%u" : "%s:%u", host, port_of(address));
}
