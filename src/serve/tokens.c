/* The file of tokens, and comparing. */
#include "serve/tokens.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/lines.h"
#include "base/memory.h"
#include "base/text.h"

#define LEAST_TOKEN 16
#define MOST_TOKEN 256
#define MOST_TOKENS 1024

/* Behind its end there are zeroes, so that all comparisons take the same way. */
struct token {
    char text[MOST_TOKEN];
    serve_right right;
};

struct serve_tokens {
    struct token *items;
    size_t count;
    size_t capacity;
    const char *path;
};

static bool is_token(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return length >= LEAST_TOKEN && length < MOST_TOKEN;
}

static kg_status add_line(void *payload, kg_line line, kg_error *error) {
    serve_tokens *tokens = payload;
    bool is_read = kg__starts_with(line.text, line.length, "read ");
    bool is_write = kg__starts_with(line.text, line.length, "write ");
    size_t word = is_read ? strlen("read ") : strlen("write ");
    if (line.length == 0 || line.text[0] == '#')
        return KG_OK;
    if ((!is_read && !is_write) || !is_token(line.text + word, line.length - word))
        return kg_fail_at(error, tokens->path, line.number, 0,
                          "expected read or write, a space and a token of %d to %d printable "
                          "characters, found something else",
                          LEAST_TOKEN, MOST_TOKEN - 1);
    if (tokens->count == MOST_TOKENS)
        return kg_fail_at(error, tokens->path, line.number, 0, "expected at most %d tokens",
                          MOST_TOKENS);
    struct token *items =
        kg__grow(tokens->items, &tokens->capacity, tokens->count + 1, sizeof *items);
    if (items == NULL)
        return kg__fail_memory(error);
    tokens->items = items;
    struct token *token = &items[tokens->count++];
    *token = (struct token){.right = is_write ? SERVE_WRITE : SERVE_READ};
    memcpy(token->text, line.text + word, line.length - word);
    return KG_OK;
}

static kg_status check_mode(const char *path, kg_error *error) {
    struct stat about;
    if (stat(path, &about) != 0)
        return kg__fail_errno(error, path, "read it");
    if (S_ISREG(about.st_mode) && (about.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return kg_fail_at(
            error, path, 0, 0,
            "expected a file that only its owner may read, found mode %03o (chmod 600 "
            "changes it)",
            (unsigned)(about.st_mode & 0777));
    return KG_OK;
}

static kg_status read_tokens(serve_tokens *tokens, kg_error *error) {
    kg_input *input = NULL;
    KG_TRY(check_mode(tokens->path, error));
    KG_TRY(kg__input_open(&input, tokens->path, KG_PLAIN, error));
    kg_status status = kg__lines_each(input, add_line, tokens, error);
    kg__input_close(input);
    if (status == KG_OK && tokens->count == 0)
        return kg_fail_at(error, tokens->path, 0, 0, "expected a token, found none");
    return status;
}

kg_status serve_tokens_open(serve_tokens **out, const char *path, kg_error *error) {
    serve_tokens *tokens = kg__alloc(1, sizeof *tokens);
    if (tokens == NULL)
        return kg__fail_memory(error);
    tokens->path = path;
    kg_status status = read_tokens(tokens, error);
    if (status == KG_OK)
        *out = tokens;
    else
        serve_tokens_close(tokens);
    return status;
}

void serve_tokens_close(serve_tokens *tokens) {
    if (tokens == NULL)
        return;
    kg__free(tokens->items);
    kg__free(tokens);
}

static bool is_equal(const char *one, const char *other) {
    unsigned difference = 0;
    for (size_t i = 0; i < MOST_TOKEN; i++)
        difference |= (unsigned)(one[i] ^ other[i]);
    return difference == 0;
}

serve_right serve_tokens_right(const serve_tokens *tokens, const char *authorization) {
    static const char scheme[] = "Bearer ";
    char given[MOST_TOKEN] = {0};
    serve_right right = SERVE_NOTHING;
    if (authorization == NULL || strncasecmp(authorization, scheme, strlen(scheme)) != 0)
        return SERVE_NOTHING;
    const char *word = authorization + strlen(scheme);
    size_t length = strlen(word);
    if (!is_token(word, length))
        return SERVE_NOTHING;
    snprintf(given, sizeof given, "%s", word);
    for (size_t i = 0; i < tokens->count; i++)
        if (is_equal(tokens->items[i].text, given) && tokens->items[i].right > right)
            right = tokens->items[i].right;
    return right;
}
