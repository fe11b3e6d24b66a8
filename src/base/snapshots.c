/* Objects with a header in front. All are in one list, the newest first, so that those of the
 * version that is prepared are its beginning; of each held version, those that it was the last to
 * need are in a list of their own. */
#include "base/snapshots.h"

#include <string.h>

#include "base/memory.h"

typedef struct kg_object {
    struct kg_object *before; /* among all */
    struct kg_object *behind;
    struct kg_object *next;  /* among those that a version dropped */
    uint64_t born : 63;      /* number of the version that took it, */
    uint64_t is_dropped : 1; /* and dropped it itself */
} kg_object;

/* Bytes in front of an object, which keep it aligned like any block. */
#define HEADER ((sizeof(kg_object) + 15) / 16 * 16)

#define SLOT_SHIFT 48
#define COUNT_MASK ((UINT64_C(1) << SLOT_SHIFT) - 1)

/* What the readers of a version are counted from while it is current, so that 0 means that it is
 * neither current nor held. */
#define CURRENT (INT64_C(1) << 62)

static kg_object *object_of(const void *object) {
    return (kg_object *)(void *)((char *)(void *)object - HEADER);
}

static void free_object(kg_snapshots *v, kg_object *object) {
    if (object->before == NULL)
        v->objects = object->behind;
    else
        object->before->behind = object->behind;
    if (object->behind != NULL)
        object->behind->before = object->before;
    kg__free(object);
}

void kg__snapshots_open(kg_snapshots *v, void (*free_root)(void *root)) {
    memset(v, 0, sizeof *v);
    v->number = 1;
    v->free_root = free_root;
    pthread_mutex_init(&v->writer, NULL);
}

static void free_version(const kg_snapshots *v, kg_snapshot *version) {
    if (v->free_root != NULL)
        v->free_root(version->root);
    kg__free(version);
}

void kg__snapshots_close(kg_snapshots *v) {
    while (v->objects != NULL)
        free_object(v, v->objects);
    for (kg_snapshot *version = v->newest, *older = NULL; version != NULL; version = older) {
        older = version->older;
        free_version(v, version);
    }
    kg__free(v->reserved);
    pthread_mutex_destroy(&v->writer);
}

/* ---- Versions that nobody holds ---- */

/* Objects that an older version needs as well are dropped by that one now. */
static void reclaim(kg_snapshots *v, kg_snapshot *version) {
    kg_snapshot *older = version->older;
    for (kg_object *object = version->dropped, *next = NULL; object != NULL; object = next) {
        next = object->next;
        if (older != NULL && object->born <= older->number) {
            object->next = older->dropped;
            older->dropped = object;
        } else {
            free_object(v, object);
        }
    }
    if (older != NULL)
        older->newer = version->newer;
    version->newer->older = older;
    atomic_store(&v->slots[version->slot], NULL);
    free_version(v, version);
}

/* The newest is the current one. */
static void reclaim_all(kg_snapshots *v) {
    kg_snapshot *version = v->newest == NULL ? NULL : v->newest->older;
    while (version != NULL) {
        kg_snapshot *older = version->older;
        if (atomic_load(&version->readers) == 0)
            reclaim(v, version);
        version = older;
    }
}

/* ---- Readers ---- */

kg_snapshot *kg__snapshots_acquire(kg_snapshots *v) {
    uint64_t word = atomic_fetch_add(&v->current, 1);
    return atomic_load(&v->slots[word >> SLOT_SHIFT]);
}

/* If the mutex is locked, who unlocks it does this. */
static void collect_garbage(kg_snapshots *v) {
    while (atomic_load(&v->has_garbage) && pthread_mutex_trylock(&v->writer) == 0) {
        atomic_store(&v->has_garbage, false);
        reclaim_all(v);
        pthread_mutex_unlock(&v->writer);
    }
}

void kg__snapshots_release(kg_snapshots *v, kg_snapshot *version) {
    if (atomic_fetch_sub(&version->readers, 1) != 1)
        return;
    atomic_store(&v->has_garbage, true);
    collect_garbage(v);
}

/* ---- The writer ---- */

void kg__snapshots_lock(kg_snapshots *v) {
    pthread_mutex_lock(&v->writer);
}

void kg__snapshots_unlock(kg_snapshots *v) {
    pthread_mutex_unlock(&v->writer);
    collect_garbage(v);
}

void *kg__snapshots_take(kg_snapshots *v, size_t count, size_t size) {
    if (size != 0 && count > (SIZE_MAX - HEADER) / size)
        return NULL;
    kg_object *object = kg__resize(NULL, HEADER + count * size, 1);
    if (object == NULL)
        return NULL;
    *object = (kg_object){.behind = v->objects, .born = v->number & INT64_MAX};
    if (v->objects != NULL)
        v->objects->before = object;
    v->objects = object;
    return (char *)object + HEADER;
}

bool kg__snapshots_is_own(const kg_snapshots *v, const void *object) {
    return object_of(object)->born == v->number;
}

void kg__snapshots_drop(kg_snapshots *v, const void *dropped) {
    if (dropped == NULL)
        return;
    kg_object *object = object_of(dropped);
    if (object->born == v->number) {
        object->is_dropped = true;
        return;
    }
    object->next = v->dropped;
    v->dropped = object;
}

static void free_own_dropped(kg_snapshots *v) {
    kg_object *object = v->objects;
    while (object != NULL && object->born == v->number) {
        kg_object *behind = object->behind;
        if (object->is_dropped)
            free_object(v, object);
        object = behind;
    }
}

static size_t find_slot(kg_snapshots *v) {
    size_t slot = 0;
    while (slot < KG_MOST_SNAPSHOTS && atomic_load(&v->slots[slot]) != NULL)
        slot++;
    return slot;
}

kg_status kg__snapshots_check_room(kg_snapshots *v, size_t count, kg_error *error) {
    size_t room = 0;
    for (size_t slot = 0; slot < KG_MOST_SNAPSHOTS && room < count; slot++)
        room += atomic_load(&v->slots[slot]) == NULL;
    if (room == count)
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "expected fewer than %d versions of a graph to be in use at a time",
                   KG_MOST_SNAPSHOTS);
}

/* Only the writer fills slots, so one that is free stays so. */
kg_status kg__snapshots_reserve(kg_snapshots *v, kg_error *error) {
    KG_TRY(kg__snapshots_check_room(v, 1, error));
    if (v->reserved == NULL)
        v->reserved = kg__alloc(1, sizeof *v->reserved);
    if (v->reserved == NULL)
        return kg__fail_memory(error);
    v->reserved->slot = find_slot(v);
    return KG_OK;
}

kg_status kg__snapshots_publish(kg_snapshots *v, void *root, kg_snapshot **handle,
                                kg_error *error) {
    kg_snapshot *before = v->newest;
    if (v->reserved == NULL)
        KG_TRY(kg__snapshots_reserve(v, error));
    kg_snapshot *version = v->reserved;
    size_t slot = version->slot;
    v->reserved = NULL;
    *version = (kg_snapshot){.root = root, .number = v->number, .older = before, .slot = slot};
    atomic_init(&version->readers, CURRENT);
    *handle = version;
    free_own_dropped(v);
    atomic_store(&v->slots[slot], version);
    uint64_t word = atomic_exchange(&v->current, (uint64_t)slot << SLOT_SHIFT);
    v->number++;
    v->newest = version;
    if (before != NULL) {
        if (v->free_root == NULL)
            kg__snapshots_drop(v, before->root);
        before->newer = version;
        before->dropped = v->dropped;
        v->dropped = NULL;
        atomic_fetch_add(&before->readers, (int64_t)(word & COUNT_MASK) - CURRENT);
    }
    reclaim_all(v);
    return KG_OK;
}

void kg__snapshots_abandon(kg_snapshots *v) {
    while (v->objects != NULL && v->objects->born == v->number)
        free_object(v, v->objects);
    v->dropped = NULL;
}

void *kg__snapshots_root(const kg_snapshots *v) {
    return v->newest->root;
}

/* ---- Arrays of a version ---- */

static bool own_root(kg_pages *p, kg_snapshots *v, size_t count) {
    bool is_own = p->pages != NULL && kg__snapshots_is_own(v, p->pages);
    if (is_own && count <= p->count)
        return true;
    size_t longer = count <= p->count ? p->count : is_own ? 2 * count : count;
    void **pages = kg__snapshots_take(v, longer, sizeof *pages);
    if (pages == NULL)
        return false;
    if (p->pages != NULL)
        memcpy(pages, p->pages, p->count * sizeof *pages);
    memset(pages + p->count, 0, (longer - p->count) * sizeof *pages);
    kg__snapshots_drop(v, p->pages);
    *p = (kg_pages){pages, longer};
    return true;
}

void *kg__pages_edit(kg_pages *p, kg_snapshots *v, size_t element, size_t size) {
    size_t number = element / KG_PAGE;
    if (!own_root(p, v, number + 1))
        return NULL;
    void *page = p->pages[number];
    if (page != NULL && kg__snapshots_is_own(v, page))
        return page;
    void *own = kg__snapshots_take(v, KG_PAGE, size);
    if (own == NULL)
        return NULL;
    if (page != NULL)
        memcpy(own, page, KG_PAGE * size);
    else
        memset(own, 0, KG_PAGE * size);
    kg__snapshots_drop(v, page);
    p->pages[number] = own;
    return own;
}
