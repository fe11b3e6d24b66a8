/* Reading changes into a transaction, and saying what became of them. The store is locked for a
 * moment before and for the commit, not while what is read, such as a pipe, keeps it waiting. */
#include "cli/change_facts.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "infer/name_suggestions.h"
#include "store/store.h"

#define NO_OFFSET UINT64_MAX

const char *const cli_on_error[] = {"stop", "skip", NULL};
const cli_change_settings cli_change_defaults = {.offset = NO_OFFSET, .on_error = "stop"};

/* What the reader's callbacks work on. */
struct filling {
    const cli_change_settings *settings;
    const cli_context *context;
    kg_change_reader reader;
    kg_base_facts base; /* for which relations and entities the model knows */
    kg_transaction *transaction;
    size_t begun; /* changes before the patch's transaction */
    uint64_t literals;
};

static bool is_known(const kg_names *names, kg_text name) {
    return kg__names_find(names, kg__name_of(name.bytes, name.length)) != KG_NO_ID;
}

/* A literal that the model does not know carries no information about an entity. */
static bool is_new_literal(const struct filling *filling, kg_text name) {
    return strcmp(filling->reader.format, "tsv") != 0 && name.bytes[0] == '"' &&
           !is_known(&filling->base.entities, name);
}

static kg_status check_relation(const struct filling *filling, kg_text name, kg_error *error) {
    const kg_names *known = &filling->base.relations;
    if (filling->settings->allow_relations || is_known(known, name))
        return KG_OK;
    return kg_fail(error, KG_BAD_INPUT,
                   "expected a relation that the model knows, found %s%s (`allow_relations` takes "
                   "new ones)",
                   kg__quote(name.bytes, name.length).text, kg__suggest(known, name).text);
}

static kg_status on_change(void *payload, kg_operation operation, const kg_text fact[3],
                           kg_error *error) {
    struct filling *filling = payload;
    if (is_new_literal(filling, fact[2])) {
        filling->literals++;
        return KG_OK;
    }
    if (operation == KG_ADD)
        KG_TRY(check_relation(filling, fact[1], error));
    return kg__store_change(filling->transaction, operation, fact, error);
}

static void on_mark(void *payload, kg_patch_mark mark) {
    struct filling *filling = payload;
    if (mark == KG_PATCH_BEGIN)
        filling->begun = kg__store_change_count(filling->transaction);
    if (mark == KG_PATCH_ABORT)
        kg__store_rewind(filling->transaction, filling->begun);
}

static void on_bad(void *payload, const kg_error *problem) {
    const struct filling *filling = payload;
    cli_bar_close(filling->context->bar);
    cli_print_error(problem);
}

/* ---- What became of them ---- */

static void say_counted(const cli_context *context, uint64_t count, const char *what) {
    if (count > 0)
        cli_say(context, "%s %s", report_counted(count, "fact", "facts").text, what);
}

static kg_status show(const struct filling *filling, const kg_commit_counts *counts,
                      kg_error *error) {
    const cli_context *context = filling->context;
    say_counted(context, counts->added, "added");
    say_counted(context, counts->removed, "removed");
    say_counted(context, counts->present, "to be added, but there already");
    say_counted(context, counts->absent, "to be removed, but not there");
    say_counted(context, counts->skipped, "skipped: the source has been at this offset before");
    say_counted(context, filling->literals, "left out, with literals that the model does not know");
    if (counts->added + counts->removed + counts->present + counts->absent + counts->skipped +
            filling->literals ==
        0)
        cli_say(context, "no facts: nothing to change");
    if (filling->reader.bad_lines > 0)
        cli_say(context, "%s skipped",
                report_counted(filling->reader.bad_lines, "bad line", "bad lines").text);
    if (!context->common->json)
        return KG_OK;
    return cli_print_json(
        json_pack("{sI sI sI sI sI sI sI sI}", "added", (json_int_t)counts->added, "removed",
                  (json_int_t)counts->removed, "present", (json_int_t)counts->present, "absent",
                  (json_int_t)counts->absent, "skipped", (json_int_t)counts->skipped, "literals",
                  (json_int_t)filling->literals, "bad_lines", (json_int_t)filling->reader.bad_lines,
                  "last", (json_int_t)counts->last),
        error);
}

/* ---- The command ---- */

static kg_status check(const cli_change_settings *settings, kg_error *error) {
    if ((settings->source == NULL) != (settings->offset == NO_OFFSET))
        return kg_fail(error, KG_BAD_INPUT,
                       "expected `source` and `offset` together, found one without the other");
    return KG_OK;
}

/* Blank nodes are local to what has this place in the source. */
static char *make_scope(const cli_change_settings *settings) {
    size_t size = strlen(settings->source) + 24;
    char *scope = kg__resize(NULL, size, 1);
    if (scope != NULL)
        snprintf(scope, size, "%s@%ju", settings->source, (uintmax_t)settings->offset);
    return scope;
}

static kg_status fill(struct filling *filling, kg_operation operation, kg_error *error) {
    const cli_change_settings *settings = filling->settings;
    char *scope = settings->source == NULL ? NULL : make_scope(settings);
    if (settings->source != NULL && scope == NULL)
        return kg__fail_memory(error);
    filling->reader = (kg_change_reader){.format = settings->format,
                                         .operation = operation,
                                         .keep_literals = true,
                                         .skip_bad = strcmp(settings->on_error, "skip") == 0,
                                         .scope = scope,
                                         .progress = &filling->context->progress,
                                         .on_change = on_change,
                                         .on_mark = on_mark,
                                         .on_bad = on_bad,
                                         .payload = filling};
    kg_status status = kg__changes_read(&filling->reader, filling->context->arguments[1], error);
    filling->reader.scope = NULL;
    kg__free(scope);
    return status;
}

/* The base of the store as it is now. A later generation knows the same relations, and more. */
static kg_status open_base(kg_base_facts *base, const char *path, kg_error *error) {
    kg_store *store = NULL;
    kg_store_state state;
    KG_TRY(kg__store_open(&store, path, KG_STORE_WRITE, error));
    kg_status status = kg__store_read_state(store, &state, error);
    char *folder = status == KG_OK ? kg__store_generation_path(store, state.generation) : NULL;
    if (status == KG_OK)
        status = folder == NULL ? kg__fail_memory(error) : kg__base_facts_open(base, folder, error);
    kg__free(folder);
    kg__store_close(store);
    return status;
}

/* Seconds to wait for another process that writes, when all is read. */
#define PATIENCE 60

static kg_status commit(kg_commit_counts *counts, struct filling *filling, kg_error *error) {
    kg_store *store = NULL;
    KG_TRY(kg__store_open_when_free(&store, filling->context->arguments[0], PATIENCE, error));
    kg_status status = kg__transaction_join(filling->transaction, store, error);
    if (status == KG_OK) {
        kg_transaction *filled = filling->transaction;
        filling->transaction = NULL;
        status = kg__store_commit(filled, counts, error);
    }
    kg__store_close(store);
    return status;
}

kg_status cli_change_facts(const cli_change_settings *settings, kg_operation operation,
                           cli_context *context, kg_error *error) {
    kg_commit_counts counts = {0};
    struct filling filling = {.settings = settings, .context = context};
    kg_status status = KG_OK;
    KG_TRY(check(settings, error));
    KG_TRY(open_base(&filling.base, context->arguments[0], error));
    KG_CHECK(kg__transaction_open(&filling.transaction, settings->source, (int64_t)settings->offset,
                                  error));
    KG_CHECK(fill(&filling, operation, error));
    KG_CHECK(commit(&counts, &filling, error));
    cli_bar_close(context->bar);
    status = show(&filling, &counts, error);
done:
    kg__store_rollback(filling.transaction);
    kg__base_facts_close(&filling.base);
    return status;
}
