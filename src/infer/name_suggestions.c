/* Each name gets a cost; the few cheapest are kept, unless they cost far more than the first. */
#include "infer/name_suggestions.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Longer words are not typed; of those only prefixes and suffixes are searched. */
#define WORD_MAX 256

/* Shorter words are part of too many names. */
#define AFFIX_MIN 3

/* Costs that are no edit distance. */
enum { WHOLE_WORDS = 1, COST_OF_SLIP = 2 };

struct candidate {
    size_t cost;
    size_t shared; /* length of the common prefix with the word */
    size_t longer; /* difference in length to the word */
    kg_id id;
};

static bool is_nearer(struct candidate a, struct candidate b) {
    if (a.cost != b.cost)
        return a.cost < b.cost;
    if (a.shared != b.shared)
        return a.shared > b.shared;
    if (a.longer != b.longer)
        return a.longer < b.longer;
    return a.id < b.id;
}

/* The largest edit distance, which grows with the word. */
static size_t most_slips(size_t length) {
    if (length > WORD_MAX)
        return 0;
    return length < 4 ? 1 : length < 8 ? 2 : 3;
}

static bool is_part_of_word(char c) {
    return (c >= '0' && c <= '9') || (kg__fold(c) >= 'a' && kg__fold(c) <= 'z') || (c & 0x80) != 0;
}

static bool equal_folded(const char *a, const char *b, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (kg__fold(a[i]) != kg__fold(b[i]))
            return false;
    return true;
}

static size_t count_shared(kg_text a, kg_text b) {
    size_t shared = 0;
    while (shared < a.length && shared < b.length &&
           kg__fold(a.bytes[shared]) == kg__fold(b.bytes[shared]))
        shared++;
    return shared;
}

/* Whether `shorter` stands at the beginning or the end of `longer`; `*apart` if what is next to it
 * there does not belong to the same word. */
static bool is_affix(kg_text shorter, kg_text longer, bool *apart) {
    if (shorter.length < AFFIX_MIN || shorter.length >= longer.length)
        return false;
    size_t rest = longer.length - shorter.length;
    bool in_front = equal_folded(shorter.bytes, longer.bytes, shorter.length);
    bool at_end = equal_folded(shorter.bytes, longer.bytes + rest, shorter.length);
    *apart = (in_front && !is_part_of_word(longer.bytes[shorter.length])) ||
             (at_end && !is_part_of_word(longer.bytes[rest - 1]));
    return in_front || at_end;
}

/* SIZE_MAX: not near. `slips` is as many as are of interest, at most those of `word`. */
static size_t cost_of(kg_text word, kg_text name, size_t slips) {
    size_t found = kg__slips_within(slips, word.bytes, word.length, name.bytes, name.length);
    bool apart = false;
    bool is_form =
        name.length > word.length ? is_affix(word, name, &apart) : is_affix(name, word, &apart);
    if (found == 0)
        return 0;
    if (is_form && apart)
        return WHOLE_WORDS;
    if (found <= slips)
        return found * COST_OF_SLIP;
    return is_form ? (most_slips(word.length) + 1) * COST_OF_SLIP : SIZE_MAX;
}

/* Puts a candidate in its place among the best, which are sorted. */
static void keep(struct candidate best[KG_MOST_SUGGESTIONS], size_t *count, struct candidate new) {
    size_t i = *count < KG_MOST_SUGGESTIONS ? (*count)++ : KG_MOST_SUGGESTIONS - 1;
    for (; i > 0 && is_nearer(new, best[i - 1]); i--)
        best[i] = best[i - 1];
    best[i] = new;
}

kg_suggestions kg__suggestions_find(const kg_names *names, kg_text word) {
    struct candidate best[KG_MOST_SUGGESTIONS] = {0};
    size_t count = 0;
    size_t slips = most_slips(word.length);
    for (size_t i = 0; i < names->count; i++) {
        kg_name name = kg__names_get(names, (kg_id)i);
        size_t cost = cost_of(word, (kg_text){name.bytes, name.length}, slips);
        if (cost == SIZE_MAX)
            continue;
        size_t longer =
            name.length > word.length ? name.length - word.length : word.length - name.length;
        size_t shared = count_shared(word, (kg_text){name.bytes, name.length});
        struct candidate new = {cost, shared, longer, (kg_id)i};
        if (count < KG_MOST_SUGGESTIONS || is_nearer(new, best[count - 1]))
            keep(best, &count, new);
        size_t worst = best[count - 1].cost / COST_OF_SLIP;
        if (count == KG_MOST_SUGGESTIONS && worst < slips)
            slips = worst;
    }
    kg_suggestions out = {.count = 0};
    for (size_t i = 0; i < count && best[i].cost <= best[0].cost + COST_OF_SLIP; i++)
        out.ids[out.count++] = best[i].id;
    return out;
}

kg_suggestion kg__suggestions_text(const kg_names *names, const kg_suggestions *nearest) {
    kg_suggestion out = {""};
    size_t used = 0;
    for (size_t i = 0; i < nearest->count; i++) {
        kg_name name = kg__names_get(names, nearest->ids[i]);
        const char *before = i == 0 ? ", did you mean " : i == nearest->count - 1 ? " or " : ", ";
        used += (size_t)snprintf(out.text + used, sizeof out.text - used, "%s%s%s", before,
                                 kg__quote(name.bytes, name.length).text,
                                 i == nearest->count - 1 ? "?" : "");
    }
    return out;
}

kg_suggestion kg__suggest(const kg_names *names, kg_text word) {
    kg_suggestions nearest = kg__suggestions_find(names, word);
    return kg__suggestions_text(names, &nearest);
}
