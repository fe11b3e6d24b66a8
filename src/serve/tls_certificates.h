/* The certificate of a server and its key, by GnuTLS. They can be read again while connections are
 * served: those that come from then on get the new ones. */
#ifndef KG_SERVE_TLS_CERTIFICATES_H
#define KG_SERVE_TLS_CERTIFICATES_H

#include "base/status.h"

typedef struct serve_certificates serve_certificates;

/* Reads two files of PEM, whose paths are borrowed. */
KG_MUST_CHECK kg_status serve_certificates_open(serve_certificates **out, const char *cert,
                                                const char *key, kg_error *error);

/* When no session uses them any more. NULL is allowed. */
void serve_certificates_close(serve_certificates *certificates);

/* Reads the files again. What fails leaves those that are in use. */
KG_MUST_CHECK kg_status serve_certificates_reload(serve_certificates *certificates,
                                                  kg_error *error);

/* Makes a session, of type gnutls_session_t, use the last ones that were read. */
void serve_certificates_use(serve_certificates *certificates, void *session);

/* The first ones as text, for libmicrohttpd, which does not start without. */
char *serve_certificates_cert(const serve_certificates *certificates);
char *serve_certificates_key(const serve_certificates *certificates);

#endif
