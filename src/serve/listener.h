/* Sockets that listen: an address as users write it, and where it turned out to be. */
#ifndef KG_SERVE_LISTENER_H
#define KG_SERVE_LISTENER_H

#include <stdbool.h>

#include "base/status.h"

/* Listens on HOST:PORT; HOST is a name or an address, one of IPv6 in brackets. Port 0 is any. */
KG_MUST_CHECK kg_status serve_listen(int *out, const char *address, kg_error *error);

/* The port of a socket. */
unsigned serve_listener_port(int fd);

/* How many connections, of at most `most`, leave enough of the files that the process may open to
 * all else: what that needs, or half of them where there are few. */
unsigned serve_connection_limit(unsigned most);

/* Whether an address can be reached from this machine alone. Refuses what is no address. */
KG_MUST_CHECK kg_status serve_is_loopback(bool *out, const char *address, kg_error *error);

/* "127.0.0.1:4711", of a socket address. */
struct sockaddr;
void serve_show_peer(char *out, size_t size, const struct sockaddr *address);

#endif
