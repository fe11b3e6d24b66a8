/* From requests to calls: routes, rights, parameters, types and sizes are checked by the table of
 * routes, and the call is given to the threads of its kind. */
#ifndef KG_SERVE_ROUTER_H
#define KG_SERVE_ROUTER_H

#include "serve/server.h"

/* The application of the server's own port. */
serve_app serve_router_app(serve_server *server);

/* Refuses, with its connection, a request that two readers may take for different ones, or whose
 * body has no length. */
KG_MUST_CHECK kg_status serve_framing_check(serve_exchange *exchange, serve_problem *problem,
                                            kg_error *error);

/* The number of a route, for metrics; one more for what has no route. */
size_t serve_route_index(const serve_route *route);

/* The route of a method and a path, where HEAD is GET. `*parameter` as in serve_path_matches.
 * `allowed`, of 64 bytes, has the methods that the path has, "" if it has none. */
const serve_route *serve_route_find(const char *method, const char *path, const char **parameter,
                                    char *allowed);

#endif
