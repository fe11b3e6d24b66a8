/* Name interning: byte strings to dense ids, in order of first appearance.
 *
 * Names are stored end to end in one block; `starts` holds where each begins. The index is an
 * open-addressing table of (hash, id) pairs over xxHash, at most half full, so that looking up a
 * name touches one slot and then the name itself. A name is any string of bytes; which bytes are
 * allowed is for the readers to decide.
 *
 * A table may also be a view of a mapped file that has not been verified. So looking up names and
 * getting them ends, and stays within the table, whatever its contents; only adding trusts it. */
#ifndef KG_BASE_NAMES_H
#define KG_BASE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/output.h"
#include "base/snapshots.h"
#include "base/status.h"

/* A name with its hash, which a reader can compute in another thread. Borrows the bytes. */
typedef struct kg_name {
    const char *bytes;
    uint32_t length;
    uint32_t hash;
} kg_name;

typedef struct kg_names_slot {
    uint32_t hash;
    kg_id id; /* KG_NO_ID where the slot is free */
} kg_names_slot;

/* Names with ids from `first` on that came later, in versions (base/snapshots.h): those of each id,
 * and buckets to find them by hash. */
typedef struct kg_names_bucket {
    uint32_t count;
    kg_names_slot slots[];
} kg_names_bucket;

typedef struct kg_later_names {
    size_t first;
    size_t count;
    kg_pages names;            /* kg_name, by id - first */
    kg_names_bucket **buckets; /* by hash; NULL: empty */
    size_t bucket_count;       /* a power of two */
} kg_later_names;

typedef struct kg_names {
    char *bytes;
    size_t bytes_capacity;
    uint64_t *starts; /* count + 1 of them: name i is bytes[starts[i] .. starts[i + 1]) */
    size_t starts_capacity;
    kg_names_slot *slots;
    size_t slot_count; /* a power of two */
    size_t count;
    const kg_later_names *later; /* counted, too; NULL: none. Such a table is not added to */
} kg_names;

kg_name kg__name_of(const char *bytes, size_t length);

/* An empty table is all zeroes. */
void kg__names_free(kg_names *names);

/* The id of a name; a new name gets the next one. */
KG_MUST_CHECK kg_status kg__names_intern(kg_names *names, kg_id *out, kg_name name,
                                         kg_error *error);

/* The ids of many names in turn: the same result, with memory prefetched. */
KG_MUST_CHECK kg_status kg__names_intern_all(kg_names *names, kg_id *out, const kg_name *list,
                                             size_t count, kg_error *error);

/* The ids of the names of another table, in `ids` unless it is NULL. */
KG_MUST_CHECK kg_status kg__names_add(kg_names *names, kg_id *ids, const kg_names *others,
                                      kg_error *error);

/* The id of a name, or KG_NO_ID. */
kg_id kg__names_find(const kg_names *names, kg_name name);

/* The same of many names, with memory prefetched. */
void kg__names_find_all(const kg_names *names, kg_id *out, const kg_name *list, size_t count);

/* The name of an id below `count`. It stays valid until the next name is added. Its hash is not
 * filled in. In the view of a damaged file, a name that is not within it is empty. */
static inline kg_name kg__names_get(const kg_names *names, kg_id id) {
    if (names->later != NULL && id >= names->later->first) {
        size_t i = id - names->later->first;
        return ((const kg_name *)names->later->names.pages[i / KG_PAGE])[i % KG_PAGE];
    }
    uint64_t start = names->starts[id];
    uint64_t end = names->starts[id + 1];
    if (start > end || end > names->bytes_capacity)
        return (kg_name){"", 0, 0};
    return (kg_name){names->bytes + start, (uint32_t)(end - start), 0};
}

/* Whether an id comes before another one, in an order that does not depend on when they came: those
 * that came later follow the others, by name. */
bool kg__names_before(const kg_names *names, kg_id a, kg_id b);

/* The same with its hash, to be looked up in another table. */
kg_name kg__names_hashed(const kg_names *names, kg_id id);

/* A table of the first `count` names of another one, whose bytes it borrows: `slots` alone is its
 * own, and borrowed, too, if these are all. */
KG_MUST_CHECK kg_status kg__names_first(kg_names *out, const kg_names *names, size_t count,
                                        kg_error *error);
void kg__names_first_close(kg_names *first, const kg_names *names);

/* Writes the first `count` names, one on each line. */
KG_MUST_CHECK kg_status kg__names_write(kg_output *output, const kg_names *names, size_t count,
                                        kg_error *error);

#endif
