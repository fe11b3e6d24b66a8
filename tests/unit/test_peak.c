/* The most memory that the process has had: what was touched counts, until it is reset. */
#include "support.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/peak_memory.h"

#define BYTES ((size_t)64 << 20)

/* Where the system tells nothing, there is nothing to test. */
static void test_peak(void **state) {
    (void)state;
    uint64_t before = kg__peak_memory();
    if (before == 0)
        skip();
    volatile char *block =
        mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(block != MAP_FAILED);
    for (size_t i = 0; i < BYTES; i += 512)
        block[i] = 1;
    uint64_t most = kg__peak_memory();
    assert_true(most >= before && most >= BYTES);
    munmap((void *)block, BYTES);
    assert_true(kg__peak_memory() >= BYTES); /* the system counts pages in lumps */
    kg__peak_memory_reset();
    if (access("/proc/self/clear_refs", W_OK) == 0)
        assert_true(kg__peak_memory() < most - BYTES / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_peak)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
