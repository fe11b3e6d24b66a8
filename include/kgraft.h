/* kgraft: knowledge-graph embeddings that also work for entities that were not in the training
 * data.
 *
 * This is the whole public interface. In short:
 *
 *     kg_model          kg_model_open           a model directory, mapped
 *     kg_new_entities   kg_new_entities_add     facts about entities that the model does not know
 *     kg_workspace      kg_workspace_open       scratch memory, one per thread
 *                       kg_workspace_embed      the vector of an entity
 *                       kg_workspace_predict    its most likely links
 *                       kg_workspace_explain    what the score of a link is made of
 *                       kg_model_train          makes a model
 *                       kg_model_evaluate       measures its accuracy
 *                       kg_model_open_on_graph  the same model on another graph
 *     kg_live           kg_live_open            the graph of a model, facts coming and going
 *                       kg_live_open_store      the same on disk
 *     kg_changes        kg_changes_commit       facts that are added and removed at once
 *
 * Names. Functions are kg_NOUN_verb. Outputs come first, then inputs, the error last.
 *
 * Errors. Every function that can fail returns a kg_status and takes, as its last argument, a
 * kg_error owned by the caller (or NULL) that it fills in when it fails. The library never prints,
 * exits or aborts. NULL is refused unless the description allows it, and so are NaN and infinity;
 * functions that cannot fail return an empty value for it: 0, NULL, an empty name, KG_NO_ID.
 *
 * Versions. Structs that may grow begin with their `size`, which KG_..._INIT sets; every other
 * field may be changed afterwards. The library reads and writes as much of a struct as both sides
 * know: where a program was compiled with an older header, defaults stand for the fields it does
 * not have; where with a newer one, the library ignores those that it does not know, and sets them
 * to 0 in what it writes. A size of 0, or one that no struct has, is refused. Other structs keep
 * their fields until KG_ABI changes. So that tables can grow, what a model consists of is named by
 * strings, not by constants.
 *
 * Threads. There is no global state. An open model is immutable: any number of threads use it at
 * the same time without locks. A workspace, and new entities while facts are added, belong to one
 * thread at a time. BLAS is told once to start no threads of its own. Where the system refuses as
 * many threads as a call may use, it uses fewer. A process may fork between calls, and both
 * processes may go on.
 *
 * Matrix kernels. Most time goes into OpenBLAS, which selects its kernels when it is loaded, by the
 * model of the processor: one that it does not know gets the oldest and slowest. The library cannot
 * change that any more, but kg_kernels_better tells. A program may start with OPENBLAS_CORETYPE set
 * to what that returns, as the tool and the Python package do by themselves; and with
 * OPENBLAS_NUM_THREADS=1, it does not start threads of its own, which take 128 MB of address space
 * each. An OpenBLAS that was built without threads (Debian's libopenblas0-serial) must not be
 * called by two threads at once: the library lets its own take turns there, and a program that
 * calls that BLAS itself, beside the library, has to do so, too.
 *
 * Ownership. What a function opens through a pointer to a pointer is the caller's, who closes it
 * with the function named beside; it is NULL where opening failed, and closing NULL is allowed.
 * Other pointers that are returned are borrowed and live as long as the object they come from.
 * Arguments are borrowed for the call, unless said otherwise. */
#ifndef KGRAFT_H
#define KGRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KG_API __attribute__((visibility("default")))
#define KG_MUST_CHECK __attribute__((warn_unused_result))

typedef enum kg_status {
    KG_OK = 0,
    KG_NO_MEMORY, /* an allocation failed */
    KG_SYSTEM,    /* the operating system failed: a full disk, an unreadable file */
    KG_BAD_INPUT, /* data or settings are not what was expected */
    KG_CANCELLED, /* a progress callback, or a signal, requested a stop */
    KG_DIVERGED,  /* training reached a value that is not finite */
} kg_status;

/* What failed and where. `source` is the file or option concerned, or empty; `line` and `column`
 * count from 1, 0 where they mean nothing. `message` is one line of text, in which settings have
 * the names that they have here, in backquotes. */
typedef struct kg_error {
    kg_status status;
    uint64_t line;
    uint64_t column;
    char source[512];
    char message[1024];
} kg_error;

/* Large enough for any text of kg_error_text. */
#define KG_ERROR_TEXT_MAX 1600

/* Writes "source:line:column: message" (without the parts that are not known) to `out`, which
 * holds `size` bytes, truncated if need be, always terminated. Returns `out`. */
KG_API char *kg_error_text(char *out, size_t size, const kg_error *error);

/* The library's version, as in "0.2.0". A constant string. */
KG_API const char *kg_version(void);

/* The number of the binary interface, which is raised with every change that breaks a program
 * compiled before: a struct without size, a function's arguments. It is part of the library's name
 * (libkgraft.so.2). Who loads the library at run time compares what it returns with the KG_ABI of
 * the header. */
#define KG_ABI 2
KG_API int kg_abi(void);

/* The matrix kernels in use, as OpenBLAS calls them: "Haswell", "SkylakeX". The second is the name
 * of kernels that are better for this processor, NULL if those in use are as good. Constant
 * strings. */
KG_API const char *kg_kernels_used(void);
KG_API const char *kg_kernels_better(void);

/* ---- Facts ---- */

/* Entities and relations are numbered from 0, in the order of the model's files. */
typedef uint32_t kg_id;
#define KG_NO_ID UINT32_MAX

/* A name: bytes that need not be terminated. */
typedef struct kg_text {
    const char *bytes;
    size_t length;
} kg_text;

/* An end of a fact. */
typedef enum kg_end { KG_HEAD, KG_TAIL } kg_end;

/* A relation as seen from an entity at one of its ends: 2 relation + end. There are twice as many
 * as relations. The query "dog, hypernym, ?" is a query about dog with kg_direct(hypernym,
 * KG_HEAD). */
typedef uint32_t kg_directed;
#define KG_NO_QUERY UINT32_MAX

static inline kg_directed kg_direct(kg_id relation, kg_end end) {
    return 2 * relation + (kg_directed)end;
}

static inline kg_id kg_directed_relation(kg_directed directed) {
    return directed / 2;
}

static inline kg_end kg_directed_end(kg_directed directed) {
    return directed % 2 == 0 ? KG_HEAD : KG_TAIL;
}

/* A fact of an entity: the directed relation and the entity at the other end. */
typedef struct kg_link {
    kg_directed directed;
    kg_id other;
} kg_link;

/* Sorts links, in place, and drops repeated ones. Returns how many are left, 0 if `links` is NULL.
 * O(N log N). */
KG_API size_t kg_links_sort(kg_link *links, size_t count);

/* ---- A model ---- */

typedef struct kg_model kg_model;

/* Opens a model directory. Embeddings, names and facts are mapped, not read: the cost hardly
 * depends on their size, except for a model with propagation, whose facts are all checked. The
 * files must not be changed while it is open; replacing them by new ones, as kgraft does it, is
 * allowed. A number that is not finite is an error where it is met; other damage in the numbers is
 * found by kg_files_check alone.
 *
 * Of a store (kg_store_create) it is what that has now: a snapshot of kg_live_open_store with
 * `read_only`, at its cost. */
KG_API KG_MUST_CHECK kg_status kg_model_open(kg_model **out, const char *path, kg_error *error);

/* New entities and workspaces of the model must be closed before. */
KG_API void kg_model_close(kg_model *model);

typedef struct kg_model_info {
    size_t size;
    const char *model;     /* "distmult" and so on */
    const char *aggregate; /* how unseen entities were embedded in training */
    size_t entities;
    size_t relations;
    size_t relation_rows; /* a row for each relation, or one for each directed relation */
    size_t dim;           /* numbers in a row */
    size_t terms;         /* of a score: see kg_workspace_explain */
    bool is_calibrated;   /* scores are comparable across relations: see kg_workspace_predict */
    bool has_facts;       /* it has its training facts */
    size_t entity_rows;   /* entities with a row: all, but those that came later (kg_live) */
} kg_model_info;

#define KG_MODEL_INFO_INIT \
    { .size = sizeof(kg_model_info) }

/* O(1). Strings live as long as the model. */
KG_API KG_MUST_CHECK kg_status kg_model_describe(kg_model_info *out, const kg_model *model,
                                                 kg_error *error);

/* The id of a name, or KG_NO_ID. O(1). */
KG_API kg_id kg_model_find_entity(const kg_model *model, kg_text name);
KG_API kg_id kg_model_find_relation(const kg_model *model, kg_text name);

/* The name of an id, empty if it is none of the model's. O(1). */
KG_API kg_text kg_model_entity_name(const kg_model *model, kg_id id);
KG_API kg_text kg_model_relation_name(const kg_model *model, kg_id id);

/* The embeddings, row by row, `dim` numbers each: not copied, read-only. There are as many as
 * kg_model_info has `entity_rows` and `relation_rows`. Of a model that stores rows in half
 * precision those of entities are all widened at the first call: O(entities dim). */
KG_API const float *kg_model_entity_vectors(const kg_model *model);
KG_API const float *kg_model_relation_vectors(const kg_model *model);

/* The training facts of an entity, sorted; none if the model does not have its facts. They are
 * checked at each call, so the cost is O(N) for N of them. */
KG_API KG_MUST_CHECK kg_status kg_model_links(const kg_link **out, size_t *count,
                                              const kg_model *model, kg_id entity, kg_error *error);

/* ---- New entities: entities that the model does not know, by their facts ---- */

/* Facts are added by name, then kg_new_entities_finish determines which entities are new: of the
 * two ends of a fact one must be known to the model, and the other is new. Once finished they are
 * immutable, and threads may share them. */
typedef struct kg_new_entities kg_new_entities;

/* Receives what is wrong with a fact, and where it is. */
typedef void kg_fact_report(void *payload, const kg_error *problem);

typedef struct kg_new_entities_options {
    size_t size;
    bool
        skip_unknown; /* leave out facts with an unknown relation or no known end, and count them */
    const char *entity; /* one that is known to be new, so that messages blame the other; or NULL */
    kg_fact_report *report; /* facts that are wrong are reported, and left out; NULL: an error */
    void *payload;          /* of the report */
} kg_new_entities_options;

#define KG_NEW_ENTITIES_OPTIONS_INIT \
    { .size = sizeof(kg_new_entities_options) }

/* How many facts were left out. */
typedef struct kg_left_out_facts {
    size_t size;
    size_t unknown;   /* relation or other end */
    size_t repeated;  /* equal to an earlier one */
    size_t reflexive; /* of a new entity with itself: without information about it */
    size_t literals;  /* RDF: values, such as texts and numbers, that the model does not know */
    size_t wrong;     /* reported */
} kg_left_out_facts;

#define KG_LEFT_OUT_FACTS_INIT \
    { .size = sizeof(kg_left_out_facts) }

KG_API KG_MUST_CHECK kg_status kg_new_entities_open(kg_new_entities **out, const kg_model *model,
                                                    const kg_new_entities_options *options,
                                                    kg_error *error);
KG_API void kg_new_entities_close(kg_new_entities *entities);

/* Adds a fact, whose names are copied where the model does not have them. In messages, the n-th
 * fact added this way is line n of "facts". Amortised O(1). */
KG_API KG_MUST_CHECK kg_status kg_new_entities_add(kg_new_entities *entities, kg_text head,
                                                   kg_text relation, kg_text tail, kg_error *error);

/* Adds the facts of a file, gzipped or not: RDF if its name ends in .nt, .ttl, .nq or .trig (before
 * .gz), else TSV (head, relation, tail); "-" is standard input. One pass; after a failure, the
 * facts before the one that it is about are kept. A blank node is always new. RDF that cannot be
 * parsed is an error, also where wrong facts are reported. */
KG_API KG_MUST_CHECK kg_status kg_new_entities_read(kg_new_entities *entities, const char *path,
                                                    kg_error *error);

/* Ends adding. Unknown names are refused, and the message has the most similar known ones; so are
 * facts of two known ends, which are not about a new entity. It is an error if no facts are left.
 * `out` may be NULL. After a failure, the object can only be closed. O(N log N) for N facts; a
 * message with similar names costs a pass over all names of the model. */
KG_API KG_MUST_CHECK kg_status kg_new_entities_finish(kg_left_out_facts *out,
                                                      kg_new_entities *entities, kg_error *error);

/* After that, all in O(1): their number, in order of first appearance; the name and facts (sorted)
 * of the one at an index, empty if there is none; the index of a name, or the number of all. */
KG_API size_t kg_new_entities_count(const kg_new_entities *entities);
KG_API kg_text kg_new_entities_name(const kg_new_entities *entities, size_t index);
KG_API const kg_link *kg_new_entities_links(size_t *count, const kg_new_entities *entities,
                                            size_t index);
KG_API size_t kg_new_entities_find(const kg_new_entities *entities, kg_text name);

/* ---- Inference ---- */

/* The entity that a query is about: one of the model, or a new one by its facts. */
typedef struct kg_subject {
    kg_id entity;         /* KG_NO_ID: a new one */
    const kg_link *links; /* of a new one: sorted by kg_links_sort, at least one */
    size_t count;
} kg_subject;

/* Scratch memory, and how to embed. */
typedef struct kg_workspace kg_workspace;

typedef struct kg_workspace_options {
    size_t size;
    const char *aggregate; /* "eavg", "eravg", "ls", "ls-u", "ials"; NULL: as it was trained */
    const char *ls_rows;   /* "normalized" or "weighted"; NULL: likewise */
    double ls_lambda;      /* the ridge of ls; 0: likewise */
    double ials_alpha;     /* the weight of ials' implicit negatives; 0: likewise */
    double ials_lambda;    /* the ridge of ials; 0: likewise */
    int threads;           /* that a call may use; results do not depend on it */
    size_t facts;          /* of an entity that memory is allocated for at once */
    size_t answers;        /* to a query, likewise */
} kg_workspace_options;

#define KG_WORKSPACE_OPTIONS_INIT \
    { .size = sizeof(kg_workspace_options), .threads = 1, .facts = 64, .answers = 100 }

/* Borrows the model until it is closed. Takes about 1 MB, another one for each thread, and the
 * memory for `facts` and `answers`. For ials it reads all entities' rows: O(entities dim^2). */
KG_API KG_MUST_CHECK kg_status kg_workspace_open(kg_workspace **out, const kg_model *model,
                                                 const kg_workspace_options *options,
                                                 kg_error *error);
KG_API void kg_workspace_close(kg_workspace *workspace);

/* Whether the probabilities of new entities are valid: a model's calibration is made for one way to
 * embed them (`kgraft calibrate --aggregate`), which must be that of the workspace, and by the
 * terms that the model has on its graph (see kg_model_open_on_graph). If not, they are returned all
 * the same. False if the model has no calibration. O(1). */
KG_API bool kg_workspace_is_calibrated(const kg_workspace *workspace);

/* The following allocate nothing, unless an entity has more facts, more answers are requested, or
 * propagation reaches more entities than there is memory for: then it grows, and stays. For
 * propagation, and for the facts of the model's own entities, none is allocated at once. */

/* The vector of the subject, `dim` numbers, for a query: a model trained with graft has another one
 * for each, and for KG_NO_QUERY one in which all facts have equal weights; others ignore it.
 * Microseconds for a few facts: O(N dim) for means and graft, O(N^2 dim + N^3) for ls of N facts;
 * ials solves a system of dim numbers for each, O(dim^3). */
KG_API KG_MUST_CHECK kg_status kg_workspace_embed(float *out, kg_workspace *workspace,
                                                  kg_subject subject, kg_directed query,
                                                  kg_error *error);

/* A link that may hold. */
typedef struct kg_answer {
    kg_directed directed; /* as seen from the subject */
    kg_id entity;
    float score;
    float probability; /* by the model's calibration; NaN if it has none. Of new entities it is
                        * valid if kg_workspace_is_calibrated */
} kg_answer;

typedef struct kg_request {
    size_t size; /* the same in all requests of a call */
    kg_subject subject;
    kg_id relation;  /* KG_NO_ID: any */
    bool heads;      /* the answers are heads: the subject is the tail */
    bool tails;      /* the answers are tails */
    bool keep_known; /* also known answers, scored as if they were not known */
    bool no_echo;    /* no entities that another fact links to the subject already */
} kg_request;

#define KG_REQUEST_INIT \
    { .size = sizeof(kg_request), .subject = {.entity = KG_NO_ID}, .relation = KG_NO_ID }

/* The `most` best answers to each of `count` requests: out[i * most] and following, found[i] of
 * them. Answers to a request with one directed relation are ordered by score; those to one with
 * several (any relation, or both sides) by probability, which is refused if the model is not
 * calibrated. Ties are ordered by id. The subject itself is an answer only with `keep_known`.
 *
 * Answers are exact: scores are dot products in a fixed order, whatever the batch. One directed
 * relation costs a pass over the entities' rows; many requests at once share it, as one matrix
 * product.
 *
 * A known answer has the score that it would have if that fact were not among the subject's, which
 * costs an embedding each; with propagation, a query each, and subjects with more than 4,096 facts
 * are refused. But one of the model's own entities that is represented by its row was trained with
 * all of them. */
KG_API KG_MUST_CHECK kg_status kg_workspace_predict(kg_answer *out, size_t *found,
                                                    kg_workspace *workspace,
                                                    const kg_request *requests, size_t count,
                                                    size_t most, kg_error *error);

/* The `most` nearest entities by cosine, which is their score; probability and relation mean
 * nothing. An entity of the model is not among its own. Costs a pass over the entities' rows. */
KG_API KG_MUST_CHECK kg_status kg_workspace_neighbors(kg_answer *out, size_t *found,
                                                      kg_workspace *workspace, kg_subject subject,
                                                      size_t most, kg_error *error);

/* A score is a sum of terms, as many as kg_model_info tells. */
typedef struct kg_score_term {
    const char *name;    /* "embedding": by the subject's vector, the first; "echo": learned, for
                          * facts that lead to the answer itself; "propagation":
                          * learned, along paths */
    double part;         /* of the score */
    double rest;         /* of that part: what none of the facts accounts for */
    size_t reason_count; /* how many reasons it has, listed or not; of propagation, paths with a
                          * share of at least 0.0001, and at most 64 */
} kg_score_term;

/* What a fact contributes to a score. Of propagation, which is no sum over facts, that is what the
 * term's part would lose without the fact: what no single fact accounts for is its rest, which may
 * have the other sign. */
typedef struct kg_share {
    kg_link link;
    double weight;       /* of the fact in the subject's vector */
    double part;         /* of the score: the sum of its parts */
    double rank_without; /* of the answer, were this fact not known; NaN if it is the only
                          * one, or not tested */
    const double *parts; /* of each term, in the array of the explanation; NULL if that is NULL */
} kg_share;

#define KG_REASON_STEPS 8

/* A path along which propagation reached the answer. */
typedef struct kg_reason {
    size_t term;                   /* its index among the terms */
    kg_link path[KG_REASON_STEPS]; /* each step from where the last one ended */
    size_t steps;
    kg_link fact; /* of the subject, with which the path begins */
    double share; /* of what propagation brought to the answer */
} kg_reason;

/* Arrays are the caller's, who sets them and how many elements they have. */
typedef struct kg_explanation {
    size_t size;
    kg_share *shares; /* of each link of the subject, in their order */
    size_t share_capacity;
    kg_score_term *terms; /* of the model */
    size_t term_capacity;
    double *parts; /* shares x terms: what a term adds by a fact; may be NULL */
    size_t part_capacity;
    kg_reason *reasons; /* by term, the largest shares first; may be NULL. No term has more of them
                         * than reason_capacity / terms, so there is room for some of each */
    size_t reason_capacity;

    /* What the call sets. */
    size_t share_count;
    size_t term_count;
    size_t reason_count;
    double score; /* the sum of all shares' parts and all terms' rests, except for rounding */
    double rank;  /* among all entities but other known answers; ties count half */
    float probability;

    /* Where the graph is too large for propagation. */
    uint32_t untested_facts; /* without which it was not computed: the entity has too many */
    size_t unexpanded; /* entities that it reached in a step but did not go on from: too many links
                        */
} kg_explanation;

#define KG_EXPLANATION_INIT \
    { .size = sizeof(kg_explanation) }

/* The score of a link, split exactly over the subject's facts and over the terms. There are
 * `subject.count` facts, or as many as kg_model_links has of one of the model's entities, which is
 * explained by them, as if it were new, even if the model represents it by its row; one without
 * facts is refused by a model with rows, which are not made of facts, and else has no shares. Fewer
 * elements of an array than that takes are refused, except for reasons. If the link is one of these
 * facts, everything is as if it were not; its own share is 0, and so is that of a fact of an entity
 * with itself. The rank is that among the answers of kg_workspace_predict. Beside embedding, it
 * costs a matrix product of the entities' rows with a vector for each fact, since ranks are
 * computed without each; propagation is computed twice for each fact, but for no more of them than
 * takes some seconds, those first that paths to the answer begin with. */
KG_API KG_MUST_CHECK kg_status kg_workspace_explain(kg_explanation *out, kg_workspace *workspace,
                                                    kg_subject subject, kg_link target,
                                                    kg_error *error);

/* ---- Making models ---- */

/* Training is told apart from what is done before, between and after its epochs. */
typedef enum kg_phase { KG_PHASE_OTHER, KG_PHASE_TRAINING } kg_phase;

/* Work done so far of `total` (0 where it is not known), in `unit`s. */
typedef struct kg_progress_report {
    const char *stage; /* what is being done, as in "reading train.txt" */
    const char *unit;  /* "facts", "bytes" */
    uint64_t done;
    uint64_t total;
    const char *note; /* more about it, with its own punctuation; may be NULL */
    kg_phase phase;
} kg_progress_report;

/* Called now and then; false requests a stop, and the work ends with KG_CANCELLED. */
typedef struct kg_progress {
    bool (*report)(void *payload, const kg_progress_report *report);
    void *payload;
} kg_progress;

/* Settings of a training run, as `man kgraft-train` explains them. */
typedef struct kg_training_options {
    size_t size;
    const char *preset; /* of settings that are not here; NULL: the model's usual one */
    const char *model;
    const char *aggregate;
    const char *optimizer;
    uint64_t dim;
    double psi;
    uint64_t negatives;
    uint64_t batch;
    uint64_t epochs;
    double lr;
    double l2;
    double dropout;
    uint64_t seed;
    uint64_t threads;
    uint64_t validate_every;
    uint64_t patience;
    double hold_out; /* of data without a validation part: the fraction of entities that are held
                      * out to select the epoch and to calibrate; -1: 0.05, and more of a small
                      * graph; 0: none, and so no calibration */
    bool refit;      /* then train on everything, for as many epochs */
    bool resume;     /* continue the run to `path`, if there is one */
    bool replace;    /* a model that is there already */
    const kg_progress *progress; /* may be NULL */
    const char *terms; /* what a score is a sum of: some of embedding, echo, propagation, joined by
                        * +; NULL: as usual, and for data with a new graph propagation */
    uint64_t propagation_epochs; /* propagation is trained apart from the others, after them */
    const char *settings; /* any setting of `man kgraft-train` by name, with underscores, as in
                           * "loss=softplus negatives=2"; it overrides a field of the same name,
                           * and is refused where it has no effect. NULL: none */
} kg_training_options;

/* To be filled in by kg_training_options_init. */
#define KG_TRAINING_OPTIONS_INIT \
    { .size = sizeof(kg_training_options) }

/* The settings of a preset, "graft" or "paper", for a model: "distmult", "simple", "complex",
 * "quate", "rgcn-d". NULL stands for the usual ones: "distmult", and "graft", but "paper" for
 * "rgcn-d". Names are borrowed as long as the options are used. `out` has its size. */
KG_API KG_MUST_CHECK kg_status kg_training_options_init(kg_training_options *out,
                                                        const char *preset, const char *model,
                                                        kg_error *error);

/* Trains on a data set, which is anything that `kgraft import` takes, and writes a model directory.
 * Its validation part selects the epoch and calibrates; where there is none, see `hold_out`. A data
 * set with a new graph is validated by that, and takes propagation among its terms. The run works
 * in the directory `path`.training; `path` appears, or is replaced, when the model is complete. A
 * run that was killed or cancelled continues with `resume`, to the same bytes. Threads and
 * processes may train at the same time; a second run to the same `path` is refused. */
KG_API KG_MUST_CHECK kg_status kg_model_train(const char *path, const char *dataset,
                                              const kg_training_options *options, kg_error *error);

typedef struct kg_metrics {
    size_t size;
    uint64_t queries;
    double mrr;     /* mean of 1/rank */
    double mr;      /* mean rank */
    double hits[3]; /* fraction of ranks of at most 1, 3, 10 */
} kg_metrics;

#define KG_METRICS_INIT \
    { .size = sizeof(kg_metrics) }

typedef struct kg_evaluation_options {
    size_t size;
    bool in_sample; /* facts between seen entities, which are represented by their rows or, in a
                     * model of psi 1, by their training facts; if not, facts of the new graph, if
                     * the data set has one, or of unseen entities */
    bool valid;     /* the validation part; if not, the test part */
    const char *aggregate; /* as in kg_workspace_options, and the following */
    const char *ls_rows;
    double ls_lambda;
    double ials_alpha;
    double ials_lambda;
    int threads;
    const kg_progress *progress; /* may be NULL */
} kg_evaluation_options;

#define KG_EVALUATION_OPTIONS_INIT \
    { .size = sizeof(kg_evaluation_options), .threads = 1 }

/* The accuracy of a model on a data set's queries: one for each fact of an unseen entity, which is
 * embedded from its other facts, and the answer ranked among all entities but other known answers.
 * Of a data set with a new graph, there are two queries for each fact that is asked for, one for
 * each end, ranked among the graph's entities; the model must know its relations, and no entities.
 * Unseen entities that the model knows are left out, and it is an error if there are no others.
 * Reads the data set each time, then costs a matrix product of the entities' rows with a vector for
 * each query. Threads may share the model. */
KG_API KG_MUST_CHECK kg_status kg_model_evaluate(kg_metrics *out, const kg_model *model,
                                                 const char *dataset,
                                                 const kg_evaluation_options *options,
                                                 kg_error *error);

/* ---- Other graphs ---- */

typedef struct kg_graph_options {
    size_t size;
    bool skip_unknown; /* leave out facts with relations that the model does not know, and count
                        * them as `unknown`; if not, they are refused */
    const kg_progress *progress; /* may be NULL */
} kg_graph_options;

#define KG_GRAPH_OPTIONS_INIT \
    { .size = sizeof(kg_graph_options) }

/* Opens a trained model on a graph that it never saw, and that need not share any entity with its
 * training graph: anything that `kgraft import` takes; of a data set with a new graph it is that,
 * of others the training facts. The result is a model as well, to be closed by kg_model_close
 * before the other one: its entities and facts are those of the graph, and so are the answers. It
 * has no vectors: `dim` is 0. The terms of a score are those that know no entity of their own, and
 * a model without such a term, as propagation is one, is refused. Probabilities are those of the
 * trained model's calibration, which is valid if it has no other terms, or was made on a new graph
 * (kg_workspace_is_calibrated). An entity may be without facts: then it is answered by how often
 * candidates are answers. `left` is what was left out of the graph; it may be NULL.
 *
 * All facts are read, O(N log N) of N, and kept in memory. */
KG_API KG_MUST_CHECK kg_status kg_model_open_on_graph(kg_model **out, kg_left_out_facts *left,
                                                      const kg_model *model, const char *graph,
                                                      const kg_graph_options *options,
                                                      kg_error *error);

/* ---- The live graph: facts that come and go ---- */

/* The graph of a model, and what has changed since: facts are added and removed by name, in
 * transactions. Entities that the model does not know exist as long as they have facts; they can be
 * asked about, and be answers, like the model's own. A live graph is in memory alone, or on a
 * store, which is a folder with a model and what was added and withdrawn since it was trained.
 *
 * Every answer is a function of the model and the set of live facts: it does not depend on the
 * order in which they came, on transactions, or on facts that were there once.
 *
 * Threads. Any number of them may use a live graph and its snapshots at the same time. Taking a
 * snapshot never waits for anyone; commits wait for one another. */
typedef struct kg_live kg_live;

typedef struct kg_live_options {
    size_t size;
    bool skip_unknown;    /* leave out facts with relations that the model does not know, and count
                           * them; if not, they are refused. No term of a score can say anything
                           * about a relation before it is trained */
    bool allow_relations; /* count them, too, but keep them if there is a store: for the next
                           * generation, which is trained on them. No answer depends on them
                           * before */
    bool read_only;       /* of kg_live_open_store */
    char unused[5];       /* 0 */
} kg_live_options;

#define KG_LIVE_OPTIONS_INIT \
    { .size = sizeof(kg_live_options) }

/* Borrows the model until it is closed. One with an encoder is refused. O(1), but for ials, which
 * reads all entities' rows. */
KG_API KG_MUST_CHECK kg_status kg_live_open(kg_live **out, const kg_model *model,
                                            const kg_live_options *options, kg_error *error);

/* Makes a store of a model directory, whose files are linked where the file system allows it and
 * copied elsewhere. There must be nothing at `path`. */
KG_API KG_MUST_CHECK kg_status kg_store_create(const char *path, const char *model,
                                               kg_error *error);

/* The live graph of a store. What is committed is on disk, then in the snapshots that are taken
 * from now on, then the commit returns; threads that commit at the same time share one sync. One
 * process opens a store for writing, any number with `read_only`: these have what the store had
 * when they opened it, and cannot change it. Time and memory are linear in the facts that were
 * added and withdrawn. */
KG_API KG_MUST_CHECK kg_status kg_live_open_store(kg_live **out, const char *path,
                                                  const kg_live_options *options, kg_error *error);

/* What a snapshot shows. */
typedef struct kg_snapshot_info {
    size_t size;
    int64_t generation; /* of the store, whose model it is of; 0 without a store */
    int64_t last;       /* number of the last entry of the store's log that it shows */
    uint64_t facts;     /* that are live, with relations that the model knows */
} kg_snapshot_info;

#define KG_SNAPSHOT_INFO_INIT \
    { .size = sizeof(kg_snapshot_info) }

/* O(1). Refuses a model that is not a snapshot of a live graph, nor opened from a store. */
KG_API KG_MUST_CHECK kg_status kg_snapshot_describe(kg_snapshot_info *out, const kg_model *snapshot,
                                                    kg_error *error);

/* An entry of a store's log: a fact that was added or removed. It lives until the callback returns.
 */
typedef struct kg_log_record {
    int64_t number;
    int64_t time; /* milliseconds since 1970, UTC */
    kg_text head;
    kg_text relation;
    kg_text tail;
    kg_text source; /* no bytes (NULL): none was given */
    int64_t offset;
    bool is_added;
} kg_log_record;

/* Called for each; false ends it. It may use the live graph. */
typedef bool (*kg_on_logged)(void *payload, const kg_log_record *record);

/* The entries with numbers above `since`, of one source or (NULL) of all, in the order of numbers,
 * up to what is on disk when it begins: nobody waits for it. Needs a store, which may be closed. */
KG_API KG_MUST_CHECK kg_status kg_live_log(kg_live *live, int64_t since, const char *source,
                                           kg_on_logged on_logged, void *payload, kg_error *error);

/* The last offset of a source that was committed (kg_changes_set_source), -1 if there is none. */
KG_API KG_MUST_CHECK kg_status kg_live_offset(int64_t *out, kg_live *live, const char *source,
                                              kg_error *error);

/* Closes the store alone, so that another process can write to it: snapshots stay as they are, new
 * ones can be taken, and changes are refused from now on. No thread may be committing or
 * compacting.
 */
KG_API void kg_live_close_store(kg_live *live);

/* Its snapshots and changes must be closed before. */
KG_API void kg_live_close(kg_live *live);

/* The live graph as it is now: a model, to be closed by kg_model_close, that never changes. Ids of
 * the model's entities are the same in all snapshots of a generation; those of entities that came
 * later follow them, and hold for one snapshot: names tell who is who. What has facts is in
 * kg_model_links; entities that came later have no rows in kg_model_entity_vectors, but
 * kg_workspace_embed embeds them. The snapshot cannot be evaluated on a data set. Close snapshots
 * that are not needed: they hold memory, and commits are refused when those of more than 1,000
 * versions are held. O(1). */
KG_API KG_MUST_CHECK kg_status kg_live_snapshot(kg_model **out, kg_live *live, kg_error *error);

/* Makes a workspace one of another snapshot of the same live graph, which costs far less than to
 * open a new one, unless it is of another generation (kg_live_compact). The snapshot before must be
 * closed after this. If it fails, the workspace can only be closed. */
KG_API KG_MUST_CHECK kg_status kg_workspace_move(kg_workspace *workspace, const kg_model *snapshot,
                                                 kg_error *error);

/* A transaction: facts that are added and removed all at once, or not at all. It belongs to one
 * thread at a time. */
typedef struct kg_changes kg_changes;

KG_API KG_MUST_CHECK kg_status kg_changes_open(kg_changes **out, kg_live *live, kg_error *error);
KG_API void kg_changes_close(kg_changes *changes);

/* Of two changes of a fact, the later one counts. Names are copied; they must have at least one
 * byte, and no NUL, tab or newline. An unknown relation is refused, and the message has the most
 * similar ones, unless `skip_unknown`. Amortised O(1). */
KG_API KG_MUST_CHECK kg_status kg_changes_add(kg_changes *changes, kg_text head, kg_text relation,
                                              kg_text tail, kg_error *error);
KG_API KG_MUST_CHECK kg_status kg_changes_remove(kg_changes *changes, kg_text head,
                                                 kg_text relation, kg_text tail, kg_error *error);

/* Says where the changes that are committed next come from: a place in a stream, at least 0. If the
 * store has an offset of that source which is not below this one, all changes are left out, so that
 * a stream can be replayed from any earlier place. Needs a store. `source` is copied. */
KG_API KG_MUST_CHECK kg_status kg_changes_set_source(kg_changes *changes, const char *source,
                                                     int64_t offset, kg_error *error);

/* What a commit has changed. */
typedef struct kg_commit {
    size_t size;
    uint64_t added;            /* facts */
    uint64_t removed;          /* likewise */
    uint64_t repeated;         /* to be added, but there already */
    uint64_t missing;          /* to be removed, but not there */
    uint64_t unknown;          /* to be added, with unknown relations: see `skip_unknown` */
    uint64_t entities_added;   /* entities that were not there before */
    uint64_t entities_removed; /* entities that are not there any more */
    uint64_t skipped;          /* changes, all of them: the source has been at this offset before */
    int64_t last;              /* number of the last entry of the store's log; 0 without a store */
} kg_commit;

#define KG_COMMIT_INIT \
    { .size = sizeof(kg_commit) }

/* Changes the live graph, and empties the transaction. Snapshots that are taken from now on show
 * it; others do not. After a failure nothing has changed, and it may be tried again. It is refused
 * when snapshots of more than 1,000 versions (a version is what a commit makes) are held. On a
 * store, what failed for want of memory may be on disk already, as the message says: the next
 * commit, which may be the same once more, then shows both. `out` may be NULL. O(N log N) for N
 * changes, and O(F log F) for the F facts of all entities in them; the rows of entities that came
 * later and are made of changed facts, or of facts with such entities, in up to three steps, and
 * the facts of these; and a copy of an array of a byte for each 8 entities. So a fact that leads to
 * a hub costs as much as the hub has facts; one that the row of a hub is made of, as much as the
 * rows of all that came later and hang on it alone; and one of the model that is withdrawn or comes
 * again, as much as the rows of all that came later and have facts with its ends. */
KG_API KG_MUST_CHECK kg_status kg_changes_commit(kg_commit *out, kg_changes *changes,
                                                 kg_error *error);

typedef struct kg_compaction_options {
    size_t size;
    uint64_t epochs;   /* 0: half of those of a training from scratch */
    uint64_t threads;  /* 0: all processors; no influence on the result */
    bool from_scratch; /* start at random, not with the values of the last generation */
    bool restart;      /* give up an unfinished compaction, and take the facts that are live now */
    char unused[6];    /* 0 */
    const kg_progress *progress; /* may be NULL */
} kg_compaction_options;

#define KG_COMPACTION_OPTIONS_INIT \
    { .size = sizeof(kg_compaction_options) }

/* What a compaction has done. */
typedef struct kg_compaction {
    size_t size;
    int64_t generation; /* the one that is current now */
    uint64_t is_new;    /* 0: nothing has changed since it was trained, and so nothing was done */
    uint64_t added;     /* facts, since the last one */
    uint64_t removed;   /* likewise */
    uint64_t facts;     /* that it was trained on, */
    uint64_t entities;  /* of these */
    uint64_t relations; /* likewise */
    uint64_t new_entities; /* that the last one did not know */
    uint64_t new_relations;
    uint64_t gone_entities; /* that are left without a fact */
    uint64_t epochs;        /* that it was trained for */
} kg_compaction;

#define KG_COMPACTION_INIT \
    { .size = sizeof(kg_compaction) }

/* Trains the next generation of the store on all facts that are live now, and goes over to it. The
 * live graph, opened for writing, stays in use: other threads commit, take snapshots and ask all
 * the time. Commits wait for a moment, when the new model takes the place of the old one; snapshots
 * and workspaces stay what they are, and snapshots that are taken from then on are of the new
 * generation, with the answers of a store that is opened anew. An old generation is in memory as
 * long as a snapshot of it is held. kg_workspace_move also moves to the new generation, at the cost
 * of opening a workspace.
 *
 * Cancelled, failed or killed, the store is as it was, and the live graph stays with its
 * generation; another compaction, here or by `kgraft compact`, goes on from the last checkpoint to
 * the same bytes. One at a time: another one is refused. Costs a training, whose threads share the
 * processors with those that answer, and memory for a second model. `out` may be NULL. */
KG_API KG_MUST_CHECK kg_status kg_live_compact(kg_compaction *out, kg_live *live,
                                               const kg_compaction_options *options,
                                               kg_error *error);

/* ---- Damage ---- */

/* What was found about a file. All of it lives until the callback returns. */
typedef struct kg_checked_file {
    const char *path;
    uint64_t bytes;
    uint64_t numbers;        /* of its tensors, all of which are finite unless there is a problem */
    bool is_verified;        /* all of it has the recorded checksum; false if none was recorded */
    const kg_error *problem; /* NULL if there is none */
} kg_checked_file;

typedef void (*kg_on_checked)(void *payload, const kg_checked_file *file);

/* Reads all of a model, a data set or a checkpoint that kgraft wrote, and compares it with the
 * checksums that were recorded then; opening and using one only reads what it needs. Calls
 * `on_file`, which may be NULL, for each file. Returns the first problem: KG_OK means that none was
 * found, though files without a recorded checksum may be among them. */
KG_API KG_MUST_CHECK kg_status kg_files_check(const char *path, kg_on_checked on_file,
                                              void *payload, const kg_progress *progress,
                                              kg_error *error);

#ifdef __cplusplus
}
#endif

#endif
