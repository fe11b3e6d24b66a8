/* The table of names: linear probing, growth by doubling. */
#include "base/names.h"

#include <string.h>
#include <xxhash.h>

#include "base/memory.h"

/* Names handled together by kg__names_intern_all and kg__names_find_all: enough to hide the latency
 * of memory. */
#define GROUP 32

kg_name kg__name_of(const char *bytes, size_t length) {
    return (kg_name){bytes, (uint32_t)length, (uint32_t)XXH3_64bits(bytes, length)};
}

void kg__names_free(kg_names *names) {
    kg__free(names->bytes);
    kg__free(names->starts);
    kg__free(names->slots);
    *names = (kg_names){0};
}

static bool is_name(const kg_names *names, kg_id id, kg_name name) {
    if (id >= names->count)
        return false;
    kg_name known = kg__names_get(names, id);
    return known.length == name.length && memcmp(known.bytes, name.bytes, name.length) == 0;
}

/* The slot that holds `name`, or the free one where it would go; `slot_count` if there is neither,
 * which only a damaged table has. */
static size_t find_slot(const kg_names *names, kg_name name) {
    size_t mask = names->slot_count - 1;
    for (size_t step = 0; step < names->slot_count; step++) {
        size_t i = (name.hash + step) & mask;
        kg_names_slot slot = names->slots[i];
        if (slot.id == KG_NO_ID || (slot.hash == name.hash && is_name(names, slot.id, name)))
            return i;
    }
    return names->slot_count;
}

static kg_status grow_slots(kg_names *names, kg_error *error) {
    size_t slot_count = names->slot_count == 0 ? 64 : 2 * names->slot_count;
    kg_names_slot *slots = kg__resize(NULL, slot_count, sizeof *slots);
    if (slots == NULL)
        return kg__fail_memory(error);
    memset(slots, 0xff, slot_count * sizeof *slots); /* every id KG_NO_ID */
    for (size_t i = 0; i < names->slot_count; i++) {
        kg_names_slot slot = names->slots[i];
        if (slot.id == KG_NO_ID)
            continue;
        size_t j = slot.hash & (slot_count - 1);
        while (slots[j].id != KG_NO_ID)
            j = (j + 1) & (slot_count - 1);
        slots[j] = slot;
    }
    kg__free(names->slots);
    names->slots = slots;
    names->slot_count = slot_count;
    return KG_OK;
}

/* Grows all arrays for one more name of this length. */
static kg_status reserve(kg_names *names, uint32_t length, kg_error *error) {
    if (names->count >= KG_NO_ID - 1)
        return kg_fail(error, KG_BAD_INPUT, "more than %u different names", KG_NO_ID - 1);
    uint64_t *starts =
        kg__grow(names->starts, &names->starts_capacity, names->count + 2, sizeof *starts);
    if (starts == NULL)
        return kg__fail_memory(error);
    names->starts = starts;
    if (names->count == 0)
        starts[0] = 0;
    size_t end = (size_t)starts[names->count] + length;
    char *bytes = kg__grow(names->bytes, &names->bytes_capacity, end, 1);
    if (bytes == NULL)
        return kg__fail_memory(error);
    names->bytes = bytes;
    if (2 * (names->count + 1) > names->slot_count)
        return grow_slots(names, error);
    return KG_OK;
}

kg_status kg__names_intern(kg_names *names, kg_id *out, kg_name name, kg_error *error) {
    if (names->slot_count > 0) {
        kg_names_slot slot = names->slots[find_slot(names, name)];
        if (slot.id != KG_NO_ID) {
            *out = slot.id;
            return KG_OK;
        }
    }
    KG_TRY(reserve(names, name.length, error));
    kg_id id = (kg_id)names->count;
    memcpy(names->bytes + names->starts[id], name.bytes, name.length);
    names->starts[id + 1] = names->starts[id] + name.length;
    names->slots[find_slot(names, name)] = (kg_names_slot){name.hash, id};
    names->count++;
    *out = id;
    return KG_OK;
}

/* As if the names had been added one by one. */
static kg_status fill_slots(kg_names *names, size_t count, kg_error *error) {
    for (; names->count < count; names->count++) {
        kg_id id = (kg_id)names->count;
        if (2 * (names->count + 1) > names->slot_count)
            KG_TRY(grow_slots(names, error));
        kg_name name = kg__names_hashed(names, id);
        size_t slot = name.hash & (names->slot_count - 1);
        while (names->slots[slot].id != KG_NO_ID)
            slot = (slot + 1) & (names->slot_count - 1);
        names->slots[slot] = (kg_names_slot){name.hash, id};
    }
    return KG_OK;
}

kg_status kg__names_first(kg_names *out, const kg_names *names, size_t count, kg_error *error) {
    *out = *names;
    if (count == names->count && names->later == NULL)
        return KG_OK;
    out->slots = NULL;
    out->slot_count = 0;
    out->count = 0;
    out->later = NULL;
    kg_status status = fill_slots(out, count, error);
    if (status != KG_OK)
        kg__names_first_close(out, names);
    return status;
}

void kg__names_first_close(kg_names *first, const kg_names *names) {
    if (first->slots != names->slots)
        kg__free(first->slots);
    *first = (kg_names){0};
}

/* The first name with this hash, which nearly always is the one looked for; or KG_NO_ID. */
static kg_id guess_id(const kg_names *names, uint32_t hash) {
    size_t mask = names->slot_count - 1;
    size_t i = hash & mask;
    while (names->slots[i].id != KG_NO_ID && names->slots[i].hash != hash)
        i = (i + 1) & mask;
    return names->slots[i].id;
}

/* Walks the chain slot -> start -> bytes for a whole group, one link at a time, so that the
 * group's cache misses overlap. */
static void guess_group(const kg_names *names, kg_id guesses[GROUP], const kg_name *list,
                        size_t count) {
    size_t mask = names->slot_count - 1;
    for (size_t i = 0; i < count; i++)
        __builtin_prefetch(&names->slots[list[i].hash & mask]);
    for (size_t i = 0; i < count; i++) {
        guesses[i] = guess_id(names, list[i].hash);
        if (guesses[i] != KG_NO_ID)
            __builtin_prefetch(&names->starts[guesses[i]]);
    }
    for (size_t i = 0; i < count; i++)
        if (guesses[i] != KG_NO_ID)
            __builtin_prefetch(names->bytes + names->starts[guesses[i]]);
}

kg_status kg__names_intern_all(kg_names *names, kg_id *out, const kg_name *list, size_t count,
                               kg_error *error) {
    for (size_t from = 0; from < count; from += GROUP) {
        size_t size = count - from < GROUP ? count - from : GROUP;
        kg_id guesses[GROUP];
        memset(guesses, 0xff, sizeof guesses); /* all KG_NO_ID */
        if (names->slot_count > 0)
            guess_group(names, guesses, list + from, size);
        for (size_t i = 0; i < size; i++) {
            kg_name name = list[from + i];
            if (guesses[i] != KG_NO_ID && is_name(names, guesses[i], name))
                out[from + i] = guesses[i];
            else
                KG_TRY(kg__names_intern(names, &out[from + i], name, error));
        }
    }
    return KG_OK;
}

kg_name kg__names_hashed(const kg_names *names, kg_id id) {
    kg_name name = kg__names_get(names, id);
    return kg__name_of(name.bytes, name.length);
}

kg_status kg__names_add(kg_names *names, kg_id *ids, const kg_names *others, kg_error *error) {
    for (kg_id id = 0; id < others->count; id++) {
        kg_id found = KG_NO_ID;
        KG_TRY(kg__names_intern(names, &found, kg__names_hashed(others, id), error));
        if (ids != NULL)
            ids[id] = found;
    }
    return KG_OK;
}

static kg_id find_later(const kg_names *names, kg_name name) {
    const kg_later_names *later = names->later;
    const kg_names_bucket *bucket =
        later->bucket_count == 0 ? NULL : later->buckets[name.hash & (later->bucket_count - 1)];
    for (size_t i = 0; bucket != NULL && i < bucket->count; i++)
        if (bucket->slots[i].hash == name.hash && is_name(names, bucket->slots[i].id, name))
            return bucket->slots[i].id;
    return KG_NO_ID;
}

kg_id kg__names_find(const kg_names *names, kg_name name) {
    size_t slot = find_slot(names, name);
    kg_id id = slot == names->slot_count ? KG_NO_ID : names->slots[slot].id;
    return id == KG_NO_ID && names->later != NULL ? find_later(names, name) : id;
}

/* The first two links of the chain slot -> start -> bytes, which a damaged table may have wrong. */
static void fetch_group(const kg_names *names, const kg_name *list, size_t count) {
    size_t mask = names->slot_count - 1;
    size_t own = names->later == NULL ? names->count : names->later->first;
    for (size_t i = 0; i < count; i++)
        __builtin_prefetch(&names->slots[list[i].hash & mask]);
    for (size_t i = 0; i < count; i++) {
        kg_id guess = names->slots[list[i].hash & mask].id;
        if (guess < own)
            __builtin_prefetch(&names->starts[guess]);
    }
}

void kg__names_find_all(const kg_names *names, kg_id *out, const kg_name *list, size_t count) {
    for (size_t from = 0; from < count; from += GROUP) {
        size_t size = count - from < GROUP ? count - from : GROUP;
        if (names->slot_count > 0)
            fetch_group(names, list + from, size);
        for (size_t i = from; i < from + size; i++)
            out[i] = kg__names_find(names, list[i]);
    }
}

bool kg__names_before(const kg_names *names, kg_id a, kg_id b) {
    if (names->later == NULL || a < names->later->first || b < names->later->first)
        return a < b;
    kg_name x = kg__names_get(names, a);
    kg_name y = kg__names_get(names, b);
    int order = memcmp(x.bytes, y.bytes, x.length < y.length ? x.length : y.length);
    return order != 0 ? order < 0 : x.length < y.length;
}

/* Readers treat one carriage return before the newline as part of the line's end. */
kg_status kg__names_write(kg_output *output, const kg_names *names, size_t count, kg_error *error) {
    for (size_t i = 0; i < count; i++) {
        kg_name name = kg__names_get(names, (kg_id)i);
        bool ends_in_return = name.length > 0 && name.bytes[name.length - 1] == '\r';
        KG_TRY(kg__output_write(output, name.bytes, name.length, error));
        KG_TRY(kg__output_write(output, ends_in_return ? "\r\n" : "\n", ends_in_return ? 2 : 1,
                                error));
    }
    return KG_OK;
}
