/* /metrics, on a port of its own, so that whoever may ask the server need not see them. */
#ifndef KG_SERVE_METRICS_PORT_H
#define KG_SERVE_METRICS_PORT_H

#include "serve/server.h"

/* Opens `server->metrics_http`. */
KG_MUST_CHECK kg_status serve_metrics_open(serve_server *server, kg_error *error);

#endif
