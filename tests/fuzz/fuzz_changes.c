/* Fuzzes the readers of changes that go line by line: an input is a byte of options, of which the
 * last two bits are the format, and a file.
 *
 *  - A failure is KG_BAD_INPUT, in one line of printable text that names the source.
 *  - What is received are names: not empty, without tab, newline and NUL.
 *  - Skipping bad lines never fails for a bad line; each is reported with a line that is there, at
 *    most one for each (and one for the end), in order.
 *  - Without bad lines, skipping makes no difference; with one, what comes before it is the same.
 *  - A patch begins a transaction before it ends one, and ends all that it begins. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "fuzz.h"
#include "graph/change_reader.h"

/* What was received: a checksum for each number of changes would do, but the bytes are few. */
struct received {
    char *bytes;
    size_t size;
    size_t capacity;
    size_t before_bad; /* bytes before the first bad line */
    uint64_t bad;
    uint64_t last_line;
    bool is_open;
};

static void append(struct received *received, const void *bytes, size_t size) {
    char *grown = kg__grow(received->bytes, &received->capacity, received->size + size, 1);
    fuzz_require(grown != NULL);
    received->bytes = grown;
    if (size > 0)
        memcpy(grown + received->size, bytes, size);
    received->size += size;
}

static kg_status on_change(void *payload, kg_operation operation, const kg_text fact[3],
                           kg_error *error) {
    struct received *received = payload;
    (void)error;
    fuzz_require(operation == KG_ADD || operation == KG_REMOVE);
    append(received, operation == KG_ADD ? "A" : "D", 1);
    for (int i = 0; i < 3; i++) {
        fuzz_require(fact[i].length > 0);
        fuzz_require(memchr(fact[i].bytes, '\t', fact[i].length) == NULL);
        fuzz_require(memchr(fact[i].bytes, '\n', fact[i].length) == NULL);
        fuzz_require(memchr(fact[i].bytes, '\0', fact[i].length) == NULL);
        append(received, "\t", 1);
        append(received, fact[i].bytes, fact[i].length);
    }
    return KG_OK;
}

static void on_mark(void *payload, kg_patch_mark mark) {
    static const char letters[] = "BCR";
    struct received *received = payload;
    fuzz_require(received->is_open == (mark != KG_PATCH_BEGIN));
    received->is_open = mark == KG_PATCH_BEGIN;
    append(received, &letters[mark], 1);
}

static void on_bad(void *payload, const kg_error *problem) {
    struct received *received = payload;
    fuzz_check_error(KG_BAD_INPUT, problem);
    fuzz_require(problem->line > 0 && problem->line >= received->last_line);
    if (received->bad++ == 0)
        received->before_bad = received->size;
    received->last_line = problem->line;
}

static kg_status read_changes(struct received *received, kg_change_reader like,
                              const uint8_t *bytes, size_t size, kg_error *error) {
    kg_input *input = fuzz_input(bytes, size, "changes", KG_PLAIN);
    like.on_change = on_change;
    like.on_mark = on_mark;
    like.on_bad = on_bad;
    like.payload = received;
    kg_status status = kg__changes_read_input(&like, input, error);
    kg__input_close(input);
    fuzz_require(like.bad_lines == received->bad);
    return status;
}

static size_t count_lines(const uint8_t *bytes, size_t size) {
    size_t count = size > 0 && bytes[size - 1] != '\n';
    for (size_t i = 0; i < size; i++)
        count += bytes[i] == '\n';
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    static const char *const formats[] = {"rdfp", "nt", "nq", "tsv"};
    unsigned options = size > 0 ? input[0] : 0;
    const uint8_t *bytes = size > 0 ? input + 1 : (const uint8_t *)"";
    size -= size > 0;
    kg_change_reader like = {.format = formats[options >> FUZZ_SYNTAX_SHIFT],
                             .operation = KG_ADD,
                             .keep_literals = options & FUZZ_LITERALS,
                             .scope = options & 2 ? "s" : NULL};
    struct received stopped = {0};
    struct received skipped = {0};
    kg_error error = {0};
    kg_status status = read_changes(&stopped, like, bytes, size, &error);
    if (status != KG_OK)
        fuzz_check_error(status, &error);
    like.skip_bad = true;
    kg_status again = read_changes(&skipped, like, bytes, size, &error);
    if (again != KG_OK) { /* bad rows of transactions, which only patches have, are not skipped */
        fuzz_check_error(KG_BAD_INPUT, &error);
        fuzz_require(again == KG_BAD_INPUT && strcmp(like.format, "rdfp") == 0);
    }
    fuzz_require(again != KG_OK || !skipped.is_open);
    fuzz_require((status == KG_OK) == (again == KG_OK && skipped.bad == 0));
    fuzz_require(skipped.bad <= count_lines(bytes, size) + 1);
    size_t same = skipped.bad == 0 ? skipped.size : skipped.before_bad;
    fuzz_require(stopped.size == same);
    fuzz_require(same == 0 || memcmp(stopped.bytes, skipped.bytes, same) == 0);
    kg__free(stopped.bytes);
    kg__free(skipped.bytes);
    return 0;
}
