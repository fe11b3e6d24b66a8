/* The lists of ETags that If-Match and If-None-Match have (RFC 9110, 13.1): tags with commas
 * between them, or * alone for whatever is there. */
#ifndef KG_SERVE_ETAG_LIST_H
#define KG_SERVE_ETAG_LIST_H

#include <stdbool.h>

typedef enum serve_tags {
    SERVE_TAGS_BAD, /* it is no such list */
    SERVE_TAGS_WITHOUT,
    SERVE_TAGS_WITH
} serve_tags;

/* Whether a list has a tag, which is NULL where nothing is there. A weak tag, which does not say
 * that all is the same, counts only if it may. */
serve_tags serve_tags_find(const char *list, const char *tag, bool may_be_weak);

#endif
