/* Versions: what they share, what is freed when, and readers beside a writer. */
#include "support.h"

#include <pthread.h>

#include "base/memory.h"
#include "base/snapshots.h"

/* A version: a number in each element of an array, all the same, and an array of its own. */
struct numbers {
    kg_snapshot *snapshot;
    kg_pages pages;
    size_t count;
    uint64_t value;
};

static void prepare(kg_snapshots *v, const struct numbers *before, size_t element, uint64_t value) {
    struct numbers *root = kg__snapshots_take(v, 1, sizeof *root);
    assert_non_null(root);
    *root = before == NULL ? (struct numbers){0} : *before;
    root->value = value;
    root->count = root->count > element ? root->count : element + 1;
    uint64_t *page = kg__pages_edit(&root->pages, v, element, sizeof *page);
    assert_non_null(page);
    page[element % KG_PAGE] = value;
    assert_ptr_equal(page, kg__pages_edit(&root->pages, v, element, sizeof *page));
    assert_int_equal(KG_OK, kg__snapshots_publish(v, root, &root->snapshot, NULL));
}

static uint64_t number_at(const struct numbers *root, size_t element) {
    const uint64_t *page = root->pages.pages[element / KG_PAGE];
    return page == NULL ? 0 : page[element % KG_PAGE];
}

static size_t count_held(const kg_snapshots *v) {
    size_t count = 0;
    for (const kg_snapshot *s = v->newest; s != NULL; s = s->older)
        count++;
    return count;
}

static void versions_share(void **state) {
    (void)state;
    kg_snapshots *v = kg__alloc(1, sizeof *v);
    kg__snapshots_open(v, NULL);
    prepare(v, NULL, 1000, 1);
    kg_snapshot *first = kg__snapshots_acquire(v);
    prepare(v, kg__snapshots_root(v), 70, 2);
    kg_snapshot *second = kg__snapshots_acquire(v);
    prepare(v, kg__snapshots_root(v), 1000, 3);
    assert_int_equal(1, number_at(first->root, 1000));
    assert_int_equal(0, number_at(first->root, 70));
    assert_int_equal(1, number_at(second->root, 1000));
    assert_int_equal(2, number_at(second->root, 70));
    const struct numbers *newest = kg__snapshots_root(v);
    assert_int_equal(3, number_at(newest, 1000));
    assert_ptr_equal(((struct numbers *)second->root)->pages.pages[1], newest->pages.pages[1]);
    assert_int_equal(3, count_held(v));
    kg__snapshots_release(v, second); /* in the middle: what the first needs stays */
    assert_int_equal(2, count_held(v));
    assert_int_equal(1, number_at(first->root, 1000));
    kg__snapshots_release(v, first);
    assert_int_equal(1, count_held(v));
    kg__snapshots_close(v);
    kg__free(v);
}

static void abandoned_versions_leave_no_trace(void **state) {
    (void)state;
    kg_snapshots *v = kg__alloc(1, sizeof *v);
    kg__snapshots_open(v, NULL);
    prepare(v, NULL, 3, 1);
    struct numbers copy = *(struct numbers *)kg__snapshots_root(v);
    uint64_t *page = kg__pages_edit(&copy.pages, v, 3, sizeof *page);
    page[3] = 2;
    kg__snapshots_abandon(v);
    assert_int_equal(1, number_at(kg__snapshots_root(v), 3));
    prepare(v, kg__snapshots_root(v), 3, 5);
    assert_int_equal(5, number_at(kg__snapshots_root(v), 3));
    kg__snapshots_close(v);
    kg__free(v);
}

static void too_many_are_refused(void **state) {
    (void)state;
    kg_snapshots *v = kg__alloc(1, sizeof *v);
    kg_snapshot *held[KG_MOST_SNAPSHOTS];
    kg_error error;
    kg__snapshots_open(v, NULL);
    for (size_t i = 0; i < KG_MOST_SNAPSHOTS; i++) {
        prepare(v, i == 0 ? NULL : kg__snapshots_root(v), i, i);
        held[i] = kg__snapshots_acquire(v);
    }
    struct numbers *root = kg__snapshots_take(v, 1, sizeof *root);
    *root = (struct numbers){0};
    assert_int_equal(KG_BAD_INPUT, kg__snapshots_publish(v, root, &root->snapshot, &error));
    kg__snapshots_release(v, held[7]);
    assert_int_equal(KG_OK, kg__snapshots_publish(v, root, &root->snapshot, &error));
    for (size_t i = 0; i < KG_MOST_SNAPSHOTS; i++)
        if (i != 7)
            kg__snapshots_release(v, held[i]);
    assert_int_equal(1, count_held(v));
    kg__snapshots_close(v);
    kg__free(v);
}

#define READERS 3
#define COMMITS 500

struct shared {
    kg_snapshots versions;
    _Atomic bool is_done;
    _Atomic bool is_wrong;
};

/* Versions only grow, and each is whole. */
static void *read_versions(void *payload) {
    struct shared *shared = payload;
    uint64_t last = 0;
    while (!shared->is_done) {
        kg_snapshot *snapshot = kg__snapshots_acquire(&shared->versions);
        const struct numbers *root = snapshot->root;
        uint64_t largest = 0;
        for (size_t i = 0; i < root->count; i++) {
            uint64_t value = number_at(root, i);
            largest = value > largest ? value : largest;
        }
        if (largest != root->value || root->value < last)
            shared->is_wrong = true;
        last = root->value;
        kg__snapshots_release(&shared->versions, snapshot);
    }
    return NULL;
}

static void readers_see_whole_versions(void **state) {
    (void)state;
    struct shared *shared = kg__alloc(1, sizeof *shared);
    pthread_t threads[READERS];
    kg__snapshots_open(&shared->versions, NULL);
    prepare(&shared->versions, NULL, 0, 1);
    for (size_t i = 0; i < READERS; i++)
        assert_int_equal(0, pthread_create(&threads[i], NULL, read_versions, shared));
    for (uint64_t i = 2; i < COMMITS; i++) {
        kg__snapshots_lock(&shared->versions);
        prepare(&shared->versions, kg__snapshots_root(&shared->versions), i * 37 % 200, i);
        kg__snapshots_unlock(&shared->versions);
    }
    shared->is_done = true;
    for (size_t i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    assert_false(shared->is_wrong);
    kg__snapshots_lock(&shared->versions);
    prepare(&shared->versions, kg__snapshots_root(&shared->versions), 0, COMMITS);
    kg__snapshots_unlock(&shared->versions);
    assert_int_equal(1, count_held(&shared->versions));
    kg__snapshots_close(&shared->versions);
    kg__free(shared);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_share),
        cmocka_unit_test(abandoned_versions_leave_no_trace),
        cmocka_unit_test(too_many_are_refused),
        cmocka_unit_test(readers_see_whole_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
