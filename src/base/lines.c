/* Loading blocks of whole lines, and walking over them. */
#define _GNU_SOURCE
#include "base/lines.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define BLOCK_SIZE ((size_t)1 << 20)

kg_status kg__check_name(kg_text name, kg_error *error) {
    if (name.bytes == NULL || name.length == 0)
        return kg_fail(error, KG_BAD_INPUT, "expected a name, found an empty one");
    if (name.length > KG_LINE_MAX)
        return kg_fail(error, KG_BAD_INPUT, "expected a name of at most %zu bytes, found %zu",
                       KG_LINE_MAX, name.length);
    if (memchr(name.bytes, '\0', name.length) != NULL ||
        memchr(name.bytes, '\t', name.length) != NULL ||
        memchr(name.bytes, '\n', name.length) != NULL)
        return kg_fail(error, KG_BAD_INPUT,
                       "expected a name without NUL, tab and newline, found %s",
                       kg__quote(name.bytes, name.length).text);
    return KG_OK;
}

/* The last newline among the `size` bytes at `text`, or NULL. */
static const char *last_newline(const char *text, size_t size) {
    return size == 0 ? NULL : memrchr(text, '\n', size);
}

/* Fills the block from `used` on; grows it until it holds at least one whole line. */
static kg_status fill(kg_block *block, size_t used, kg_input *input, kg_error *error) {
    size_t wanted = BLOCK_SIZE;
    for (;;) {
        char *text = kg__grow(block->text, &block->capacity, wanted, 1);
        if (text == NULL)
            return kg__fail_memory(error);
        block->text = text;
        size_t room = block->capacity - used;
        size_t got = 0;
        KG_TRY(kg__input_read(input, text + used, room, &got, error));
        const char *newline = last_newline(text + used, got);
        used += got;
        block->is_last = got < room;
        if (newline != NULL || block->is_last) {
            block->size = block->is_last ? used : (size_t)(newline - text) + 1;
            block->rest = used - block->size;
            return KG_OK;
        }
        block->is_too_long = used >= KG_LINE_MAX;
        if (block->is_too_long)
            return kg_fail_at(error, kg__input_name(input), block->first_line, 0,
                              "expected lines of at most %zu bytes", KG_LINE_MAX);
        wanted = 2 * block->capacity;
    }
}

kg_status kg__block_load(kg_block *block, const kg_block *previous, uint64_t line_count,
                         kg_input *input, kg_error *error) {
    block->size = 0;
    block->rest = 0;
    block->is_too_long = false;
    block->first_line = previous == NULL ? 1 : previous->first_line + line_count;
    block->is_last = previous != NULL && previous->is_last;
    if (block->is_last)
        return KG_OK;
    size_t carried = previous == NULL ? 0 : previous->rest;
    if (carried > 0) {
        char *text = kg__grow(block->text, &block->capacity, carried + BLOCK_SIZE, 1);
        if (text == NULL)
            return kg__fail_memory(error);
        block->text = text;
        memcpy(text, previous->text + previous->size, carried);
    }
    return fill(block, carried, input, error);
}

void kg__block_free(kg_block *block) {
    kg__free(block->text);
    *block = (kg_block){0};
}

kg_line kg__block_line(const kg_block *block, size_t *offset) {
    const char *text = block->text + *offset;
    size_t available = block->size - *offset;
    const char *newline = memchr(text, '\n', available);
    size_t length = newline == NULL ? available : (size_t)(newline - text);
    *offset += newline == NULL ? length : length + 1;
    if (length > 0 && text[length - 1] == '\r')
        length--;
    return (kg_line){text, length, 0};
}

void kg__lines_open(kg_lines *lines, kg_input *input) {
    *lines = (kg_lines){.input = input};
}

void kg__lines_close(kg_lines *lines) {
    kg__block_free(&lines->blocks[0]);
    kg__block_free(&lines->blocks[1]);
}

kg_status kg__lines_next(kg_lines *lines, kg_line *out, bool *more, kg_error *error) {
    kg_block *block = &lines->blocks[lines->current];
    if (lines->offset == block->size) {
        const kg_block *previous = lines->number == 0 ? NULL : block;
        uint64_t line_count = previous == NULL ? 0 : lines->number + 1 - previous->first_line;
        lines->current = 1 - lines->current;
        block = &lines->blocks[lines->current];
        lines->offset = 0;
        KG_TRY(kg__block_load(block, previous, line_count, lines->input, error));
        if (block->size == 0) {
            *more = false;
            return KG_OK;
        }
    }
    *out = kg__block_line(block, &lines->offset);
    out->number = ++lines->number;
    *more = true;
    return KG_OK;
}

bool kg__lines_is_too_long(const kg_lines *lines) {
    return lines->blocks[lines->current].is_too_long;
}

kg_status kg__lines_skip(kg_lines *lines, kg_error *error) {
    kg_block *block = &lines->blocks[lines->current];
    const char *newline = NULL;
    size_t got = 0;
    block->is_too_long = false;
    while (newline == NULL && !block->is_last) {
        KG_TRY(kg__input_read(lines->input, block->text, block->capacity, &got, error));
        newline = got == 0 ? NULL : memchr(block->text, '\n', got);
        block->is_last = got < block->capacity;
    }
    const char *last = last_newline(block->text, got);
    block->size = block->is_last || last == NULL ? got : (size_t)(last - block->text) + 1;
    block->rest = got - block->size;
    lines->offset = newline == NULL ? block->size : (size_t)(newline - block->text) + 1;
    lines->number++;
    return KG_OK;
}

kg_status kg__lines_each(kg_input *input,
                         kg_status (*visit)(void *payload, kg_line line, kg_error *error),
                         void *payload, kg_error *error) {
    kg_lines lines;
    kg_line line;
    bool more = true;
    kg_status status = KG_OK;
    kg__lines_open(&lines, input);
    for (;;) {
        KG_CHECK(kg__lines_next(&lines, &line, &more, error));
        if (!more)
            break;
        KG_CHECK(visit(payload, line, error));
    }
done:
    kg__lines_close(&lines);
    return status;
}
