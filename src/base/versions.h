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
#ifndef KG_BASE_VERSIONS_H
#define KG_BASE_VERSIONS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define KG_MOST_VERSIONS 1024 /* that are held at the same time */

typedef struct kg_snapshot {
    void *root; /* what readers start from: an object of the version */
    uint64_t number;
    _Atomic int64_t readers;
    struct kg_snapshot *older; /* that is still held, or NULL */
    struct kg_snapshot *newer;
    struct kg_object *dropped; /* what the next one did not need */
    size_t slot;
} kg_snapshot;

typedef struct kg_versions {
    _Atomic uint64_t current; /* slot << 48, and how often it was acquired */
    kg_snapshot *_Atomic slots[KG_MOST_VERSIONS];
    pthread_mutex_t writer;
    kg_snapshot *newest;
    struct kg_object *objects;
    uint64_t number;           /* of the version that is prepared */
    struct kg_object *dropped; /* that it does not need */
} kg_versions;

/* There is no version until the first is published. Must not be moved. */
void kg__versions_open(kg_versions *versions);

/* All versions must have been released. */
void kg__versions_close(kg_versions *versions);

/* ---- Readers ---- */

kg_snapshot *kg__versions_acquire(kg_versions *versions);
void kg__versions_release(kg_versions *versions, kg_snapshot *version);

/* ---- The writer ---- */

/* One thread at a time prepares a version; others wait here. */
void kg__versions_lock(kg_versions *versions);
void kg__versions_unlock(kg_versions *versions);

/* An object of the version that is prepared, not filled in; NULL if memory is short. */
void *kg__versions_take(kg_versions *versions, size_t count, size_t size);

/* Whether it was taken in this version, so that it may still be changed. */
bool kg__versions_is_own(const kg_versions *versions, const void *object);

/* The version does not need the object, which may be NULL. */
void kg__versions_drop(kg_versions *versions, const void *dropped);

/* Makes the version that was prepared the current one. It does not need the root of the one before.
 * `*handle`, where what kg__versions_release wants is written to, may be part of the root. If that
 * fails, it can be published again or abandoned. */
KG_MUST_CHECK kg_status kg__versions_publish(kg_versions *versions, void *root,
                                             kg_snapshot **handle, kg_error *error);

/* As if nothing had been taken or dropped since the last version. */
void kg__versions_abandon(kg_versions *versions);

/* The root of the newest version, for the writer. */
void *kg__versions_root(const kg_versions *versions);

/* ---- Arrays of a version ---- */

#define KG_PAGE 64 /* elements of a page */

/* Elements in pages, of which a version copies those that it changes. */
typedef struct kg_pages {
    void **pages; /* NULL: all zeroes */
    size_t count;
} kg_pages;

/* The page with an element, so that it may be changed; NULL if memory is short. Pages that were not
 * there, of KG_PAGE elements of that size, are zeroed. */
void *kg__pages_edit(kg_pages *pages, kg_versions *versions, size_t element, size_t size);

#endif
