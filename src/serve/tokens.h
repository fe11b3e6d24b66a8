/* Bearer tokens and what they allow, from a file:
 *
 *     # comments and empty lines are ignored
 *     read 7f3c...
 *     write 9a1b...
 *
 * A token for writing allows reading, too. Tokens are compared in constant time: how long it takes
 * says nothing about how much of a guess was right. */
#ifndef KG_SERVE_TOKENS_H
#define KG_SERVE_TOKENS_H

#include "base/status.h"

typedef enum serve_right { SERVE_NOTHING, SERVE_READ, SERVE_WRITE } serve_right;

typedef struct serve_tokens serve_tokens;

/* Refuses files that anyone else may read or write, and tokens of less than 16 characters. */
KG_MUST_CHECK kg_status serve_tokens_open(serve_tokens **out, const char *path, kg_error *error);
void serve_tokens_close(serve_tokens *tokens);

/* What a header "Authorization: Bearer TOKEN" allows; NULL: there is none. */
serve_right serve_tokens_right(const serve_tokens *tokens, const char *authorization);

#endif
