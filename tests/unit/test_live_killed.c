/* A process that commits to a live graph in one thread and compacts its store in another is killed
 * at random moments: nothing that was acknowledged is lost, nothing is half there, a stream that is
 * replayed counts once, and a compaction is done or not. KGRAFT_KILLS says how often. */
#define _GNU_SOURCE
#include "live_world.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define STORE "killed"
#define CHANGES 4 /* of a step */

/* What the process has been told. */
struct acknowledged {
    _Atomic int64_t step;
    _Atomic int64_t generation;
};

static struct acknowledged *told;

/* ---- Steps ---- */

struct step_change {
    size_t head;
    size_t tail;
    bool is_added;
};

/* A function of the step's number. */
static struct step_change change_of(int64_t step, size_t k) {
    uint64_t seed = (uint64_t)step * CHANGES + k + 1;
    size_t tail = next_random(&seed) % OWN;
    return (struct step_change){OWN + next_random(&seed) % 12, tail, next_random(&seed) % 3 != 0};
}

static kg_status commit_step(kg_changes *changes, int64_t step) {
    for (size_t k = 0; k < CHANGES; k++) {
        struct step_change c = change_of(step, k);
        change(changes, c.head, 0, c.tail, c.is_added);
    }
    kg_status status = kg_changes_set_source(changes, "steps", step, NULL);
    return status == KG_OK ? kg_changes_commit(NULL, changes, NULL) : status;
}

/* ---- The process ---- */

struct child {
    kg_live *live;
    int64_t from;
};

static void *commit_for_ever(void *payload) {
    const struct child *child = payload;
    kg_changes *changes = NULL;
    if (kg_changes_open(&changes, child->live, NULL) != KG_OK)
        _exit(1);
    for (int64_t step = child->from;; step++) {
        if (commit_step(changes, step) != KG_OK)
            _exit(2);
        if (step > told->step)
            told->step = step;
    }
}

static void live_until_killed(int64_t from) {
    struct child child = {.from = from};
    kg_live_options options = KG_LIVE_OPTIONS_INIT;
    kg_compaction_options compaction = KG_COMPACTION_OPTIONS_INIT;
    pthread_t thread;
    compaction.threads = 1;
    compaction.epochs = 2;
    if (kg_live_open_store(&child.live, STORE, &options, NULL) != KG_OK ||
        pthread_create(&thread, NULL, commit_for_ever, &child) != 0)
        _exit(3);
    for (;;) {
        kg_compaction done = KG_COMPACTION_INIT;
        if (kg_live_compact(&done, child.live, &compaction, NULL) != KG_OK)
            _exit(4);
        told->generation = done.generation;
    }
}

/* ---- What is left ---- */

static size_t apply(fact_set *facts, int64_t *step, int64_t to) {
    size_t count = 0;
    while (*step < to) {
        ++*step;
        for (size_t k = 0; k < CHANGES; k++) {
            struct step_change c = change_of(*step, k);
            facts->has[c.head][0][c.tail] = c.is_added;
        }
    }
    for (size_t h = 0; h < ALL; h++)
        for (size_t r = 0; r < RELATIONS; r++)
            for (size_t t = 0; t < ALL; t++)
                count += facts->has[h][r][t];
    return count;
}

static void assert_facts_of(const kg_model *model, const fact_set *facts, size_t head) {
    const kg_link *links = NULL;
    size_t count = 0;
    size_t expected = 0;
    kg_id id = kg_model_find_entity(model, name_of(head));
    if (id != KG_NO_ID)
        assert_ok(kg_model_links(&links, &count, model, id, NULL), NULL);
    for (size_t tail = 0; tail < OWN; tail++)
        expected += facts->has[head][0][tail];
    assert_int_equal(count, expected); /* they are the heads of all their facts */
    for (size_t i = 0; i < count; i++) {
        kg_text name = kg_model_entity_name(model, links[i].other);
        size_t tail = (size_t)strtoul(name.bytes + 1, NULL, 10); /* "a7" */
        assert_true(tail < OWN && facts->has[head][0][tail]);
    }
}

static void check_store(fact_set *facts, int64_t *step) {
    kg_error error = {0};
    kg_live *live = open_store(STORE, (kg_live_options){0});
    kg_snapshot_info info = KG_SNAPSHOT_INFO_INIT;
    int64_t offset = 0;
    assert_ok(kg_live_offset(&offset, live, "steps", &error), &error);
    offset = offset < 0 ? 0 : offset;
    assert_true(offset == told->step || offset == told->step + 1);
    size_t count = apply(facts, step, offset);
    kg_model *snapshot = snapshot_of(live);
    assert_ok(kg_snapshot_describe(&info, snapshot, &error), &error);
    assert_int_equal(info.facts, count);
    assert_true(info.generation == told->generation || info.generation == told->generation + 1);
    told->generation = info.generation;
    told->step = offset;
    for (size_t head = OWN; head < OWN + 12; head++)
        assert_facts_of(snapshot, facts, head);
    kg_model_close(snapshot);
    kg_live_close(live);
}

static void whatever_the_moment(void **state) {
    (void)state;
    const char *wanted = getenv("KGRAFT_KILLS");
    int kills = wanted != NULL ? atoi(wanted) : IS_SANITIZED ? 5 : 30;
    fact_set *facts = make_base();
    uint64_t random = 5;
    int64_t step = 0;
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(told != MAP_FAILED);
    told->generation = 1;
    make_store(STORE, 0);
    for (int i = 0; i < kills; i++) {
        int64_t from = told->step > 3 ? told->step - 3 : 1; /* some of it is a replay */
        pid_t child = fork();
        if (child == 0)
            live_until_killed(from);
        usleep((useconds_t)(next_random(&random) % 300000));
        assert_int_equal(kill(child, SIGKILL), 0);
        int result = 0;
        assert_int_equal(waitpid(child, &result, 0), child);
        assert_true(WIFSIGNALED(result));
        check_store(facts, &step);
    }
    print_message("# %d kills, %jd steps, generation %jd\n", kills, (intmax_t)step,
                  (intmax_t)told->generation);
    assert_true(step > kills / 4);
    munmap(told, sizeof *told);
    free(facts);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(whatever_the_moment)};
    return cmocka_run_group_tests(tests, open_live_world, close_live_world);
}
