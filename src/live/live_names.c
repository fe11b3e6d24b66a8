/* Names in pages, by id, and in buckets, by hash. */
#include <string.h>

#include "live/live.h"

#define PER_BUCKET 8 /* on average, before there are more buckets */

static kg_status set_name(kg_live_commit *c, kg_id id, kg_name name, kg_error *error) {
    size_t i = id - c->after->names.first;
    kg_name *page =
        kg__pages_edit(&c->after->names.names, &c->generation->versions, i, sizeof *page);
    if (page == NULL)
        return kg__fail_memory(error);
    page[i % KG_PAGE] = name;
    return KG_OK;
}

/* ---- Buckets ---- */

/* Twice as many, or the first ones. Names are those of `names`. */
static kg_status grow_buckets(kg_live_commit *c, kg_error *error) {
    kg_snapshots *versions = &c->generation->versions;
    kg_later_names *names = &c->after->names;
    size_t count = names->bucket_count == 0 ? 8 : 2 * names->bucket_count;
    kg_names_bucket **buckets = kg__snapshots_take(versions, count, sizeof(void *));
    if (buckets == NULL)
        return kg__fail_memory(error);
    memset(buckets, 0, count * sizeof(void *));
    for (size_t i = 0; i < count && names->bucket_count > 0; i++) {
        const kg_names_bucket *from = names->buckets[i & (names->bucket_count - 1)];
        size_t size = 0;
        for (size_t k = 0; from != NULL && k < from->count; k++)
            size += (from->slots[k].hash & (count - 1)) == i;
        if (size == 0)
            continue;
        buckets[i] = kg__snapshots_take(versions, 1, sizeof **buckets + size * sizeof *from->slots);
        if (buckets[i] == NULL)
            return kg__fail_memory(error);
        buckets[i]->count = 0;
        for (size_t k = 0; k < from->count; k++)
            if ((from->slots[k].hash & (count - 1)) == i)
                buckets[i]->slots[buckets[i]->count++] = from->slots[k];
    }
    for (size_t i = 0; i < names->bucket_count; i++)
        kg__snapshots_drop(versions, names->buckets[i]);
    kg__snapshots_drop(versions, names->buckets);
    names->buckets = buckets;
    names->bucket_count = count;
    return KG_OK;
}

/* A copy of a bucket without the slot of one id, unless that is KG_NO_ID, and with one of another,
 * likewise. */
static kg_status change_bucket(kg_live_commit *c, uint32_t hash, kg_id removed, kg_id added,
                               kg_error *error) {
    kg_snapshots *versions = &c->generation->versions;
    kg_later_names *names = &c->after->names;
    if (!kg__snapshots_is_own(versions, names->buckets)) {
        kg_names_bucket **own = kg__snapshots_take(versions, names->bucket_count, sizeof(void *));
        if (own == NULL)
            return kg__fail_memory(error);
        memcpy(own, names->buckets, names->bucket_count * sizeof(void *));
        kg__snapshots_drop(versions, names->buckets);
        names->buckets = own;
    }
    kg_names_bucket **place = &names->buckets[hash & (names->bucket_count - 1)];
    const kg_names_bucket *before = *place;
    size_t count = before == NULL ? 0 : before->count;
    kg_names_bucket *bucket =
        kg__snapshots_take(versions, 1, sizeof *bucket + (count + 1) * sizeof *bucket->slots);
    if (bucket == NULL)
        return kg__fail_memory(error);
    bucket->count = 0;
    for (size_t i = 0; i < count; i++)
        if (before->slots[i].id != removed)
            bucket->slots[bucket->count++] = before->slots[i];
    if (added != KG_NO_ID)
        bucket->slots[bucket->count++] = (kg_names_slot){hash, added};
    kg__snapshots_drop(versions, before);
    *place = bucket;
    return KG_OK;
}

/* ---- Who comes, goes and moves ---- */

static kg_status add_name(kg_live_commit *c, kg_id id, kg_name name, kg_error *error) {
    char *bytes = kg__snapshots_take(&c->generation->versions, name.length, 1);
    if (bytes == NULL)
        return kg__fail_memory(error);
    memcpy(bytes, name.bytes, name.length);
    name.bytes = bytes;
    KG_TRY(set_name(c, id, name, error));
    return change_bucket(c, name.hash, KG_NO_ID, id, error);
}

kg_status kg__live_change_names(kg_live_commit *c, kg_error *error) {
    const kg_names *before = &c->before->model.entities;
    kg_later_names *names = &c->after->names;
    for (size_t i = 0; i < c->gone_count; i++) {
        kg_name name = kg__names_get(before, c->gone[i]);
        KG_TRY(change_bucket(c, name.hash, c->gone[i], KG_NO_ID, error));
        kg__snapshots_drop(&c->generation->versions, name.bytes);
    }
    while (names->bucket_count * PER_BUCKET < names->count)
        KG_TRY(grow_buckets(c, error));
    for (size_t i = 0; i < c->new_id_count; i++) {
        kg_new_id id = c->new_ids[i];
        if (id.before >= before->count) {
            KG_TRY(add_name(c, id.after, c->new_names[id.before - before->count], error));
            continue;
        }
        kg_name name = kg__names_get(before, id.before);
        KG_TRY(set_name(c, id.after, name, error));
        KG_TRY(change_bucket(c, name.hash, id.before, id.after, error));
    }
    c->after->model.entities.count = names->first + names->count;
    return KG_OK;
}
