/* Versions of a data structure: one writer prepares the next version while any number of readers
 * use older ones, which never change.
 *
 * A version consists of objects, which versions share: the next one has its own copies of those
 * that it changes. An object is needed from the version that it was taken in to the one before that
 * which dropped it, and is freed when none of these is held any more.
 *
 * Readers never wait. A word holds the slot of the current version and how often that was acquired:
 * one atomic addition returns the slot and counts the reader. A writer swaps the word when all of
 * its work is done. Released versions are counted by themselves, and the two counts are joined when
 * the version is current no longer. Who releases a version last frees what only that one needed,
 * unless a writer is at work, who then does it in the end. */
#ifndef KG_BASE_SNAPSHOTS_H
#define KG_BASE_SNAPSHOTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define KG_MOST_SNAPSHOTS 1024 /* that are held at the same time */

typedef struct kg_snapshot {
    void *root; /* what readers start from: an object of the version */
    uint64_t number;
    _Atomic int64_t readers;
    struct kg_snapshot *older; /* that is still held, or NULL */
    struct kg_snapshot *newer;
    struct kg_object *dropped; /* what the next one did not need */
    size_t slot;
} kg_snapshot;

typedef struct kg_snapshots {
    _Atomic uint64_t current; /* slot << 48, and how often it was acquired */
    kg_snapshot *_Atomic slots[KG_MOST_SNAPSHOTS];
    pthread_mutex_t writer;
    _Atomic bool has_garbage; /* a version was released for the last time, and is still there */
    kg_snapshot *newest;
    struct kg_object *objects;
    uint64_t number;           /* of the version that is prepared */
    struct kg_object *dropped; /* that it does not need */
    kg_snapshot *reserved;     /* for it; NULL: not yet */
    void (*free_root)(void *root);
} kg_snapshots;

/* There is no version until the first is published. Roots are objects of their versions or, unless
 * `free_root` is NULL, whatever that frees: it is called by who releases a version last, when the
 * version is current no longer. Must not be moved. */
void kg__snapshots_open(kg_snapshots *versions, void (*free_root)(void *root));

/* All versions must have been released. */
void kg__snapshots_close(kg_snapshots *versions);

/* ---- Readers ---- */

kg_snapshot *kg__snapshots_acquire(kg_snapshots *versions);
void kg__snapshots_release(kg_snapshots *versions, kg_snapshot *version);

/* ---- The writer ---- */

/* One thread at a time prepares a version; others wait here. */
void kg__snapshots_lock(kg_snapshots *versions);
void kg__snapshots_unlock(kg_snapshots *versions);

/* An object of the version that is prepared, not filled in; NULL if memory is short. */
void *kg__snapshots_take(kg_snapshots *versions, size_t count, size_t size);

/* Whether it was taken in this version, so that it may still be changed. */
bool kg__snapshots_is_own(const kg_snapshots *versions, const void *object);

/* The version does not need the object, which may be NULL. */
void kg__snapshots_drop(kg_snapshots *versions, const void *dropped);

/* Makes sure that the version that is prepared can be published: that does not fail from now on. */
KG_MUST_CHECK kg_status kg__snapshots_reserve(kg_snapshots *versions, kg_error *error);

/* Refuses (KG_BAD_INPUT) if so many versions in a row could not be published. Only the writer fills
 * what is free, so that it holds until then. */
KG_MUST_CHECK kg_status kg__snapshots_check_room(kg_snapshots *versions, size_t count,
                                                 kg_error *error);

/* Makes the version that was prepared the current one. It does not need the root of the one before.
 * `*handle`, where what kg__snapshots_release wants is written to, may be part of the root. If that
 * fails, it can be published again or abandoned. */
KG_MUST_CHECK kg_status kg__snapshots_publish(kg_snapshots *versions, void *root,
                                              kg_snapshot **handle, kg_error *error);

/* As if nothing had been taken or dropped since the last version. */
void kg__snapshots_abandon(kg_snapshots *versions);

/* The root of the newest version, for the writer. */
void *kg__snapshots_root(const kg_snapshots *versions);

/* ---- Arrays of a version ---- */

#define KG_PAGE 64 /* elements of a page */

/* Elements in pages, of which a version copies those that it changes. */
typedef struct kg_pages {
    void **pages; /* NULL: all zeroes */
    size_t count;
} kg_pages;

/* The page with an element, so that it may be changed; NULL if memory is short. Pages that were not
 * there, of KG_PAGE elements of that size, are zeroed. */
void *kg__pages_edit(kg_pages *pages, kg_snapshots *versions, size_t element, size_t size);

#endif
