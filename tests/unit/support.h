/* What the unit tests share: cmocka with the headers that it wants, texts as inputs, a folder to
 * work in that goes away again, checks that say what the error was, and random numbers of their
 * own, so that a test of randomness does not rest on itself. */
#ifndef KG_TESTS_SUPPORT_H
#define KG_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/reader.h"

/* Plain twins take minutes under a sanitizer: there some of their cases must do. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED false
#endif

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Bytes that may hold NULs, as in TEXT("a\0b"); a zeroed one is the empty text. */
typedef struct text {
    const char *bytes;
    size_t length;
} text;
#define TEXT(literal) ((text){(literal), sizeof(literal) - 1})
#define TEXT_FIELD(literal) \
    { (literal), sizeof(literal) - 1 }
text text_of(const char *string);

/* `call` must give `expected`; if not, what stands in `error` (which may be NULL) is shown. */
#define assert_status(call, expected, error) \
    check_status((call), (expected), (error), #call, __FILE__, __LINE__)
#define assert_ok(call, error) assert_status(call, KG_OK, error)
void check_status(kg_status found, kg_status expected, const kg_error *error, const char *call,
                  const char *file, int line);

/* What users get to see. */
#define assert_error_text(error, expected) check_error_text((error), (expected), __FILE__, __LINE__)
void check_error_text(const kg_error *error, const char *expected, const char *file, int line);

#define assert_text(bytes, length, expected) \
    check_text((text){(bytes), (length)}, (expected), __FILE__, __LINE__)
void check_text(text found, text expected, const char *file, int line);

/* A file in memory, at its beginning; and the same as an input with a name. */
int open_memory(text content);
kg_input *open_text(text content, const char *name);
kg_input *open_text_as(text content, const char *name, kg_coding coding);

/* Makes the text standard input; the other undoes it. */
int replace_standard_input(text content);
void restore_standard_input(int before);

/* The bytes as one gzip member; the caller frees them. */
text compress_text(text plain);

/* Names of a table by what they are. */
kg_id find_name(const kg_names *names, const char *name);
void assert_name(const kg_names *names, kg_id id, const char *expected);

/* Facts as lines "head relation tail" (for names without spaces), each ended by a newline; the
 * caller frees it. */
char *show_facts(const kg_dataset *dataset, kg_part part);
#define assert_facts(dataset, part, expected) \
    check_facts((dataset), (part), (expected), __FILE__, __LINE__)
void check_facts(const kg_dataset *dataset, kg_part part, const char *expected, const char *file,
                 int line);

/* A new data set from facts in that form, for which blank lines go on to the next part, but
 * not to those between unseen entities. */
void make_dataset(kg_dataset *dataset, const char *facts);

/* Writes a model's folder; it may replace another model. */
struct kg_model_parts;
void write_model_folder(const char *path, const struct kg_model_parts *parts);

/* Set-up and tear-down of a group or a test: works in a new, empty folder and removes it. */
int enter_temporary_folder(void **state);
int leave_temporary_folder(void **state);
#define test_in_folder(function) \
    cmocka_unit_test_setup_teardown(function, enter_temporary_folder, leave_temporary_folder)

void write_file(const char *path, text content);
bool file_exists(const char *path);
size_t count_entries(const char *folder);

/* A file's bytes, with a zero behind them; the caller frees them. */
char *read_file(const char *path, size_t *size);
#define assert_file(path, expected) check_file((path), (expected), __FILE__, __LINE__)
void check_file(const char *path, text expected, const char *file, int line);

/* Memory for the tests themselves, which never fails. */
void *must_allocate(size_t count, size_t size);

/* splitmix64: the next number, uniform in 64 bits or in [0, bound). */
uint64_t next_random(uint64_t *state);
uint64_t next_below(uint64_t *state, uint64_t bound);

#endif
