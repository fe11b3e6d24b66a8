/* Files that are compiled in (tools/embed-files). */
#ifndef KG_SERVE_EMBEDDED_H
#define KG_SERVE_EMBEDDED_H

#include <stddef.h>

typedef struct serve_embedded {
    const char *name;
    const char *text;
    size_t length;
} serve_embedded;

/* The files of web/, by their paths there, ended by one without name. */
extern const serve_embedded serve_web_files[];

/* serve/schemas.json. */
extern const serve_embedded serve_schemas[];

#endif
