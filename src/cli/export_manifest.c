/* Writing and reading export.json. */
#include "cli/export_manifest.h"

#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"

static const char *const version_key = "kgraft_export";

/* The settings by which unseen entities are embedded, and queries about seen ones answered. */
static const char *const kept[] = {"aggregate",  "ls_lambda",   "ls_rows",
                                   "ials_alpha", "ials_lambda", "psi"};

/* Those of them that exist. */
static json_t *keep(const json_t *settings) {
    json_t *out = json_object();
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        json_t *value = json_object_get(settings, kept[i]);
        if (value != NULL && json_object_set(out, kept[i], value) != 0) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

/* What the model has besides rows of entities and relations. */
static json_t *list_rest(const kg_params *params) {
    const char *rest[4 + KG_MOST_TERMS];
    size_t count = 0;
    json_t *out = json_array();
    bool good = out != NULL;
    if (params->encoder != NULL)
        rest[count++] = "an encoder";
    if (params->aggregate_relations != NULL)
        rest[count++] = "own rows of relations for aggregation";
    if (params->terms[KG_TERM_EMBEDDING].counted != NULL)
        rest[count++] = "parameters of its aggregator";
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (i != KG_TERM_EMBEDDING && kg__term_is_on(params, i))
            rest[count++] = kg__terms[i]->name;
    for (size_t i = 0; i < count; i++)
        good = good && json_array_append_new(out, json_string(rest[i])) == 0;
    return kg__json_complete(out, good);
}

json_t *cli_export_json(const kg_model *model) {
    return json_pack("{si ss sI so so}", version_key, 1, "model", model->params.scoring->name,
                     "dim", (json_int_t)model->params.dim, "settings",
                     keep(json_object_get(model->config, "settings")), "beside_rows",
                     list_rest(&model->params));
}

/* "a, b and c", cut if it is too long. */
static void join(char *out, size_t size, const json_t *list) {
    size_t count = json_array_size(list);
    *out = '\0';
    for (size_t i = 0; i < count; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%s",
                 i == 0          ? ""
                 : i + 1 < count ? ", "
                                 : " and ",
                 name == NULL ? "?" : kg__quote(name, strlen(name)).text);
    }
}

static kg_status check(const json_t *about, const char *path, const char *model, kg_error *error) {
    const char *exported = json_string_value(json_object_get(about, "model"));
    const json_t *rest = json_object_get(about, "beside_rows");
    char listed[512];
    join(listed, sizeof listed, rest);
    if (json_array_size(rest) > 0)
        return kg_fail_at(error, path, 0, 0,
                          "expected the export of a model that is nothing but its rows, found one "
                          "with %s, which adopt does not take: copy the model directory itself "
                          "(without this file, the rows alone are adopted)",
                          listed);
    if (exported == NULL || strcmp(exported, model) != 0)
        return kg_fail_at(error, path, 0, 0, "expected the export of a model %s, found one of %s",
                          model,
                          exported == NULL ? "none" : kg__quote(exported, strlen(exported)).text);
    return KG_OK;
}

static kg_status read(json_t **settings, const char *path, const char *model, kg_error *error) {
    kg_input *input = NULL;
    json_t *about = NULL;
    kg_status status = KG_OK;
    KG_CHECK(kg__input_open(&input, path, KG_PLAIN, error));
    KG_CHECK(kg__json_read(&about, input, error));
    if (json_object_get(about, version_key) == NULL)
        goto done; /* another tool's */
    KG_CHECK(check(about, path, model, error));
    *settings = keep(json_object_get(about, "settings"));
    if (*settings == NULL)
        status = kg__fail_memory(error);
done:
    json_decref(about);
    kg__input_close(input);
    return status;
}

kg_status cli_export_read(json_t **settings, const char *rows, const char *model, kg_error *error) {
    struct stat info;
    *settings = NULL;
    char *folder = kg__path_parent(rows);
    char *path = folder == NULL ? NULL : kg__path_join(folder, CLI_EXPORT_FILE);
    kg_status status = path == NULL ? kg__fail_memory(error) : KG_OK;
    if (status == KG_OK && stat(path, &info) == 0)
        status = read(settings, path, model, error);
    kg__free(path);
    kg__free(folder);
    return status;
}
