/* kgraft: knowledge-graph embeddings that also work for entities nobody had seen at training time.
 *
 * This is the whole public interface. In short:
 *
 *     kg_model *model;          kg_open            a model directory, mapped
 *     kg_new_entities *newcomers;  kg_new_entities_...   facts about entities that it does not know
 *     kg_workspace *workspace;  kg_workspace_open  room to work in, one for each thread
 *                               kg_embed           the vector of an entity
 *                               kg_predict         what else is true of it
 *                               kg_explain         and why
 *
 * Errors. Every function that can fail returns a kg_status and takes, as its last argument, a
 * kg_error owned by the caller (or NULL) that it fills in when it fails. The library never prints,
 * exits or aborts. NULL is refused where it is not said to be fine, and so are numbers that are
 * none; functions that cannot fail give nothing back for it: 0, NULL, an empty name, KG_NO_ID.
 *
 * Threads. There is no global state. A model never changes once it is open: any number of threads
 * use it at the same time without locks. A workspace, and newcomers while they are filled, belong
 * to one thread at a time. BLAS is told once to start no threads of its own. Where the system does
 * not let us make as many threads as a call may use, it uses fewer. A process may fork between
 * calls, and both processes go on.
 *
 * Matrix kernels. Most time goes into OpenBLAS, which chooses its kernels when it is loaded, by the
 * model of the processor: one that it does not know gets the oldest and slowest. The library cannot
 * change that any more, but kg_better_kernels tells. A program may start with OPENBLAS_CORETYPE set
 * to what that returns, as the tool and the Python package see to by themselves; and with
 * OPENBLAS_NUM_THREADS=1, or where OpenBLAS has no threads (Debian's libopenblas0-serial), it does
 * not start threads of its own, which take 128 MB of address space each.
 *
 * Ownership. What a function opens through a pointer to a pointer is the caller's, who closes it by
 * the function named beside; it is NULL where opening failed, and closing NULL is fine. Other
 * pointers that come back are borrowed and live as long as what they were asked of. What is passed
 * in is borrowed for the call, unless said.
 *
 * Options are structs that start as one of the KG_..._DEFAULTS, or as what a function returns. */
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
    KG_SYSTEM,    /* the operating system failed us: a full disk, an unreadable file */
    KG_BAD_INPUT, /* data or settings from outside are not what was expected */
    KG_CANCELLED, /* a progress callback, or a signal, asked to stop */
    KG_DIVERGED,  /* training came to something that is not a number */
} kg_status;

/* What went wrong and where. `source` is the file or option concerned, or empty; `line` and
 * `column` count from 1, 0 where they mean nothing. `message` is one line of text, in which
 * settings have the names that they have here, in backquotes. */
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
 * holds `size` bytes, cut if need be, always terminated. Returns `out`. */
KG_API char *kg_error_text(char *out, size_t size, const kg_error *error);

/* The library's version, as in "0.1.0". A constant string. */
KG_API const char *kg_version(void);

/* The number of the binary interface, which is raised with every change that a program compiled
 * before would notice: a struct's fields, a function's arguments. It is part of the library's name
 * (libkgraft.so.1). Who loads the library at run time compares what it returns with the KG_ABI that
 * he was written for. */
#define KG_ABI 1
KG_API int kg_abi(void);

/* The matrix kernels in use, as OpenBLAS calls them: "Haswell", "SkylakeX". The second is the name
 * of kernels that are better for this processor, NULL if those in use are as good. Constant
 * strings. */
KG_API const char *kg_kernels(void);
KG_API const char *kg_better_kernels(void);

/* ---- Facts ---- */

/* Entities and relations are numbered from 0, in the order of the model's files. */
typedef uint32_t kg_id;
#define KG_NO_ID UINT32_MAX

/* A name: bytes that need not end with a zero. */
typedef struct kg_text {
    const char *bytes;
    size_t length;
} kg_text;

/* An end of a fact. */
typedef enum kg_end { KG_HEAD, KG_TAIL } kg_end;

/* A relation and the end of it at which an entity stands: 2 relation + end. There are twice as many
 * as relations. To ask "dog, hypernym, what?" is to ask about dog with kg_direct(hypernym,
 * KG_HEAD).
 */
typedef uint32_t kg_directed;
#define KG_NO_QUESTION UINT32_MAX

static inline kg_directed kg_direct(kg_id relation, kg_end end) {
    return 2 * relation + (kg_directed)end;
}

static inline kg_id kg_directed_relation(kg_directed directed) {
    return directed / 2;
}

static inline kg_end kg_directed_end(kg_directed directed) {
    return directed % 2 == 0 ? KG_HEAD : KG_TAIL;
}

/* A fact of an entity: the directed relation and who stands at the other end. */
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
 * depends on their size, but for a model with evidence, whose facts are all checked. The files must
 * not be changed while it is open; that they are replaced by new ones, as kgraft does it, is fine.
 * A number that is not finite is an error where it is met; other damage in the numbers is found by
 * kg_check alone. */
KG_API KG_MUST_CHECK kg_status kg_open(kg_model **out, const char *path, kg_error *error);

/* Newcomers and workspaces of the model must be closed before. */
KG_API void kg_close(kg_model *model);

typedef struct kg_about {
    const char *model;     /* "distmult" and so on */
    const char *aggregate; /* how unseen entities were embedded in training */
    size_t entities;
    size_t relations;
    size_t relation_rows; /* a row for each relation, or one for each directed relation */
    size_t dim;           /* numbers in a row */
    bool is_calibrated;   /* scores are comparable across relations: see kg_predict */
    bool has_facts;       /* it knows its training facts */
} kg_about;

/* Constant time. */
KG_API kg_about kg_describe(const kg_model *model);

/* The id of a name, or KG_NO_ID. Constant time. */
KG_API kg_id kg_find_entity(const kg_model *model, kg_text name);
KG_API kg_id kg_find_relation(const kg_model *model, kg_text name);

/* The name of an id, empty if it is none of the model's. Constant time. */
KG_API kg_text kg_entity_name(const kg_model *model, kg_id id);
KG_API kg_text kg_relation_name(const kg_model *model, kg_id id);

/* The embeddings, row by row, `dim` numbers each: not copied, and not to be written to. */
KG_API const float *kg_entity_vectors(const kg_model *model);
KG_API const float *kg_relation_vectors(const kg_model *model);

/* What training knew about an entity; nothing if the model does not have its facts. Sorted. They
 * are checked when they are asked for, so the cost is O(N) for N of them. */
KG_API KG_MUST_CHECK kg_status kg_known_links(const kg_model *model, kg_id entity,
                                              const kg_link **out, size_t *count, kg_error *error);

/* ---- Newcomers: entities that the model does not know, by their facts ---- */

/* Facts are added by name, then kg_new_entities_finish finds out who is new: of the two ends of a
 * fact one must be known to the model, and the other is a newcomer. Once they are finished they
 * never change, and threads may share them. */
typedef struct kg_new_entities kg_new_entities;

/* Told what is wrong with a fact, and where it stands. */
typedef void kg_fact_report(void *payload, const kg_error *problem);

typedef struct kg_new_entities_options {
    bool
        skip_unknown; /* leave out facts with an unknown relation or no known end, and count them */
    const char *entity; /* one that is known to be new, so that messages blame the other; or NULL */

    kg_fact_report *report; /* facts that are wrong are reported, and left out; NULL: an error */
    void *payload;          /* of the report */
} kg_new_entities_options;

#define KG_NEW_ENTITIES_DEFAULTS \
    { .skip_unknown = false, .entity = NULL, .report = NULL, .payload = NULL }

/* What was left out. */
typedef struct kg_left_out_facts {
    size_t unknown;   /* relation or other end */
    size_t repeated;  /* stood there before */
    size_t reflexive; /* of a newcomer with itself: says nothing about it */
    size_t literals;  /* RDF: values, such as texts and numbers, that the model does not know */
    size_t wrong;     /* reported */
} kg_left_out_facts;

KG_API KG_MUST_CHECK kg_status kg_new_entities_open(kg_new_entities **out, const kg_model *model,
                                                    const kg_new_entities_options *options,
                                                    kg_error *error);
KG_API void kg_new_entities_close(kg_new_entities *newcomers);

/* Adds a fact, whose names are copied where the model does not have them. The n-th that is added so
 * is line n of "facts" where a message is about it. Constant time, but for room that grows. */
KG_API KG_MUST_CHECK kg_status kg_new_entities_add(kg_new_entities *newcomers, kg_text head,
                                                   kg_text relation, kg_text tail, kg_error *error);

/* Adds the facts of a file, gzipped or not: RDF if its name ends in .nt, .ttl, .nq or .trig (before
 * .gz), else TSV (head, relation, tail); "-" is standard input. One pass; after a failure,
 * newcomers have the facts before the one that it is about. A blank node is always new. RDF that
 * cannot be read is an error, also where wrong facts are reported. */
KG_API KG_MUST_CHECK kg_status kg_new_entities_read(kg_new_entities *newcomers, const char *path,
                                                    kg_error *error);

/* Ends adding. Unknown names are refused, and the message has the nearest known ones; so are facts
 * of two known ends, which say nothing about a newcomer. That no facts are left is an error. `left`
 * may be NULL. After a failure, newcomers can only be closed. O(N log N) for N facts; a message
 * with the nearest names costs a pass over all names of the model. */
KG_API KG_MUST_CHECK kg_status kg_new_entities_finish(kg_new_entities *newcomers,
                                                      kg_left_out_facts *left, kg_error *error);

/* After that, all in constant time: how many there are, in order of first appearance; their names
 * and facts (sorted) by place, empty if there is none; the place of a name, or `count`. */
KG_API size_t kg_new_entities_count(const kg_new_entities *newcomers);
KG_API kg_text kg_new_entities_name(const kg_new_entities *newcomers, size_t place);
KG_API const kg_link *kg_new_entities_links(const kg_new_entities *newcomers, size_t place,
                                            size_t *count);
KG_API size_t kg_new_entities_find(const kg_new_entities *newcomers, kg_text name);

/* ---- Work ---- */

/* Who a question is about: an entity of the model, or a new one by its facts. */
typedef struct kg_subject {
    kg_id entity;         /* KG_NO_ID: a new one */
    const kg_link *links; /* of a new one: as kg_links_sort leaves them, at least one */
    size_t count;
} kg_subject;

/* Room to work in, and how to embed. */
typedef struct kg_workspace kg_workspace;

typedef struct kg_workspace_options {
    const char *aggregate; /* "eavg", "eravg", "ls", "ls-u", "ials"; NULL: as it was trained */
    const char *ls_rows;   /* "normalized" or "weighted"; NULL: likewise */
    double ls_lambda;      /* the ridge of ls; 0: likewise */
    double ials_alpha;     /* the weight of ials' implicit negatives; 0: likewise */
    double ials_lambda;    /* the ridge of ials; 0: likewise */
    int threads;           /* that a call may use; results do not depend on it */
    size_t facts;          /* of an entity that room is made for at once */
    size_t answers;        /* of a question, likewise */
} kg_workspace_options;

#define KG_WORKSPACE_DEFAULTS                                                                  \
    {                                                                                          \
        .aggregate = NULL, .ls_rows = NULL, .ls_lambda = 0, .ials_alpha = 0, .ials_lambda = 0, \
        .threads = 1, .facts = 64, .answers = 100                                              \
    }

/* Borrows the model until it is closed. Takes about 1 MB, another one for each thread, and the room
 * that `facts` and `answers` ask for. Of ials it reads all entities' rows: O(entities dim^2). */
KG_API KG_MUST_CHECK kg_status kg_workspace_open(kg_workspace **out, const kg_model *model,
                                                 const kg_workspace_options *options,
                                                 kg_error *error);
KG_API void kg_workspace_close(kg_workspace *workspace);

/* Whether the probabilities of new entities hold: a model's calibration is made for one way to
 * embed them (`kgraft calibrate --aggregate`), and this must be how the workspace does. If not,
 * they are given as they come. False if the model has no calibration. Constant time. */
KG_API bool kg_is_calibrated(const kg_workspace *workspace);

/* The following allocate nothing, unless an entity has more facts, more answers are wanted, or more
 * evidence is found than there is room for: then room grows, and stays. For evidence, and for the
 * facts of the model's own entities, none is made at once. */

/* The vector of the subject, `dim` numbers, to be asked a question with: a model trained with graft
 * has another one for each, and for KG_NO_QUESTION one in which all facts weigh alike; others
 * ignore it. Microseconds for a few facts: O(N dim) for means and graft, O(N^2 dim + N^3) for ls of
 * N facts; ials solves a system of dim numbers for each, O(dim^3). */
KG_API KG_MUST_CHECK kg_status kg_embed(kg_workspace *workspace, float *vector, kg_subject subject,
                                        kg_directed asked, kg_error *error);

/* A link that may hold: who, how likely. */
typedef struct kg_answer {
    kg_directed directed; /* as seen from the subject */
    kg_id entity;
    float score;
    float probability; /* by the model's calibration, see kg_is_calibrated; NaN if it has none */
} kg_answer;

typedef struct kg_request {
    kg_subject subject;
    kg_id relation;  /* KG_NO_ID: any */
    bool heads;      /* ask for heads: the subject is the tail */
    bool tails;      /* ask for tails */
    bool keep_known; /* also what is known already, scored as if it were not (see kg_predict) */
    bool no_echo;    /* not those whom another fact links to the subject already */
} kg_request;

/* The `most` best answers to each of `count` requests: answers[i * most] and following, found[i] of
 * them. A request with one directed relation orders by score; one with several (any relation, or
 * both sides) by probability, and is refused if the model is not calibrated. Ties go by id. The
 * subject itself is an answer only where known ones are kept.
 *
 * Answers are exact: scores are dot products in a fixed order, whatever the batch. One directed
 * relation costs a pass over the entities' rows; many requests at once share it, as one matrix
 * product.
 *
 * A known answer scores what it would if that fact were not among the subject's, which costs an
 * embedding each. But one of the model's own entities that is asked about by its row was trained
 * with all of them. */
KG_API KG_MUST_CHECK kg_status kg_predict(kg_workspace *workspace, kg_answer *answers,
                                          size_t *found, const kg_request *requests, size_t count,
                                          size_t most, kg_error *error);

/* The `most` nearest entities by cosine, which is their score; probability and relation mean
 * nothing. An entity of the model is not among its own. Costs a pass over the entities' rows. */
KG_API KG_MUST_CHECK kg_status kg_neighbors(kg_workspace *workspace, kg_answer *answers,
                                            size_t *found, kg_subject subject, size_t most,
                                            kg_error *error);

/* What speaks for an answer beside vectors, in models that were trained with evidence. */
typedef enum kg_feature {
    KG_PATH1, /* a fact of the entity leads to the answer */
    KG_PATH2, /* so many facts do, one after the other */
    KG_PATH3,
    KG_PATH4,
    KG_COOCCURRENCE, /* others with a fact of the entity have the answer */
    KG_KNN_VOTE,     /* those with the most in common with the entity have it */
    KG_DEGREE_PRIOR, /* how many have it already */
    KG_FEATURE_COUNT,
} kg_feature;

/* "echo", "two", "three", "four", "company", "votes", "vacancy", as --evidence has them. */
KG_API const char *kg_feature_name(kg_feature feature);

/* What a fact contributes to a score: by the subject's vector, and by the evidence that runs
 * through it. */
typedef struct kg_share {
    kg_link link;
    double weight; /* of the fact in the subject's vector */
    double part;   /* of the score: the sum of the following */
    double vector; /* by the subject's vector */
    double echo;   /* since the fact leads to the answer itself; graft's alone */
    double evidence[KG_FEATURE_COUNT]; /* by paths that start with the fact, by others that share
                                        * it, and by their votes; 0 for a vacancy */
    double rank_without; /* of the answer, were this fact not known; NaN if it is the only one */
} kg_share;

#define KG_MOST_STEPS 4
#define KG_MOST_REASONS 8

/* Something that can be named. How much it says is `share`: -log(1 - confidence) of a path,
 * others' share of answers, the share of all votes; of a vacancy the logarithm of how much likelier
 * an answer it is than others are. */
typedef struct kg_reason {
    /* The way from the entity to the answer, each step from where the last one ended; the fact that
     * others share; or, as the link of a voter's, the answer. A vacancy has none. */
    kg_link path[KG_MOST_STEPS];
    size_t steps;
    kg_link fact;   /* of the subject, that it runs through; of those that a voter shares, the one
                     * that weighs most; all zeroes for a vacancy */
    kg_id voter;    /* KG_NO_ID but for votes */
    double hits;    /* how often such a path was right; others with the answer */
    double chances; /* how often there was such a path; others with any answer; 0 of a vacancy */
    double share;
} kg_reason;

/* What a feature says for an answer. */
typedef struct kg_contribution {
    double part;                        /* of the score */
    double rest;                        /* of that part: what runs through no fact */
    size_t reason_count;                /* of all reasons, */
    kg_reason reasons[KG_MOST_REASONS]; /* those with the largest shares of which are here */
} kg_contribution;

typedef struct kg_explanation {
    double score; /* but for rounding, the sum of all shares' parts and all evidence's rests */
    double rank;  /* among all entities but other known answers; ties count half */
    float probability;
    kg_contribution evidence[KG_FEATURE_COUNT]; /* all zeroes where the model has no such feature */
} kg_explanation;

/* The score of a link, split exactly over the subject's facts, and over features of evidence if the
 * model has any: shares[i] belongs to link i of the subject, of which there are `subject.count`, or
 * as many as kg_known_links has of one of the model's entities. That one is explained by them, as
 * if it were new, also if the model would answer by its row. If the link is one of these facts, all
 * is as if it were not; its own share is 0, and so is that of a fact of an entity with itself. The
 * rank is that among the answers of kg_predict. Beside embedding, it costs a matrix product of the
 * entities' rows with a vector for each fact, since ranks are found without each. */
KG_API KG_MUST_CHECK kg_status kg_explain(kg_workspace *workspace, kg_explanation *out,
                                          kg_share *shares, kg_subject subject, kg_link asked,
                                          kg_error *error);

/* ---- Making models ---- */

/* Work done so far of `total` (0 where it is not known), in `unit`s. */
typedef struct kg_progress_report {
    const char *stage; /* what is being done, as in "reading train.txt" */
    const char *unit;  /* "facts", "bytes" */
    uint64_t done;
    uint64_t total;
    const char *note; /* what else to say about it, with its own punctuation; may be NULL */
} kg_progress_report;

/* Called now and then; false asks to stop, and the work ends with KG_CANCELLED. */
typedef struct kg_progress {
    bool (*report)(void *payload, const kg_progress_report *report);
    void *payload;
} kg_progress;

/* Settings of a training run, as `man kgraft-train` explains them. */
typedef struct kg_training {
    const char *preset; /* what settings that are not here go by; NULL: the model's usual one */
    const char *model;
    const char *aggregate;
    const char *optimizer;
    uint64_t dim;
    double psi;
    uint64_t negatives;
    uint64_t batch;
    uint64_t epochs;
    double rate;
    double l2;
    double dropout;
    uint64_t seed;
    uint64_t threads;
    uint64_t validate_every;
    uint64_t patience;
    double hold_out; /* of data without a validation part: the share of entities that are held out
                      * to choose the epoch and to calibrate by; -1: 0.05, and more of a small
                      * graph; 0: none, and so no calibration */
    bool refit;      /* then train on everything, for as many epochs */
    bool resume;     /* go on with the run to `path`, if there is one */
    bool replace;    /* a model that is there already */
    const kg_progress *progress; /* may be NULL */
} kg_training;

/* The settings of a preset, "graft" or "paper", for a model: "distmult", "simple", "complex",
 * "quate", "rgcn-d". NULL stands for the usual ones: "distmult", and "graft", but "paper" for
 * "rgcn-d". Names are borrowed as long as the settings are used; others get the usual preset and
 * those of "distmult", and are refused by kg_train. */
KG_API kg_training kg_training_defaults(const char *preset, const char *model);

/* Trains on a data set, which is anything that `kgraft import` takes, and writes a model directory.
 * Its validation part chooses the epoch and calibrates; where there is none, see `hold_out`.
 * The run works in the directory `path`.training; `path` appears, or is replaced, when the model is
 * complete. What is killed or cancelled goes on with `resume`, to the same bytes. Threads and
 * processes may train at the same time; a second run to the same `path` is refused. */
KG_API KG_MUST_CHECK kg_status kg_train(const char *path, const char *dataset,
                                        const kg_training *training, kg_error *error);

typedef struct kg_metrics {
    uint64_t queries;
    double mrr;     /* mean of 1/rank */
    double mr;      /* mean rank */
    double hits[3]; /* share of ranks of at most 1, 3, 10 */
} kg_metrics;

typedef struct kg_evaluation {
    bool in_sample; /* facts between seen entities, which are asked for by their rows or, of a
                     * model of psi 1, by their training facts; if not, of unseen ones */
    bool valid;     /* the validation part; if not, the test part */
    const char *aggregate; /* as in kg_workspace_options, and the following */
    const char *ls_rows;
    double ls_lambda;
    double ials_alpha;
    double ials_lambda;
    int threads;
    const kg_progress *progress; /* may be NULL */
} kg_evaluation;

#define KG_EVALUATION_DEFAULTS \
    { .threads = 1 }

/* How well a model answers a data set's questions: each fact of an unseen entity, the entity
 * embedded from its other facts, the answer ranked among all entities but other known answers.
 * Unseen entities that the model knows are left out, and it is an error if there are no others.
 * Reads the data set each time, then costs a matrix product of the entities' rows with a vector for
 * each question. Threads may share the model. */
KG_API KG_MUST_CHECK kg_status kg_evaluate(kg_metrics *out, const kg_model *model,
                                           const char *dataset, const kg_evaluation *evaluation,
                                           kg_error *error);

/* ---- Damage ---- */

/* What was found of a file. All of it lives until the callback returns. */
typedef struct kg_checked_file {
    const char *path;
    uint64_t bytes;
    uint64_t numbers;        /* of its tensors, all of which are finite unless there is a problem */
    bool is_verified;        /* all of it has the checksum that was recorded; or none was */
    const kg_error *problem; /* NULL if there is none */
} kg_checked_file;

typedef void (*kg_on_checked)(void *payload, const kg_checked_file *file);

/* Reads all of a model, a data set or a checkpoint that kgraft wrote, and compares it with the
 * checksums that were recorded then; opening and using one only looks at what it needs. Calls
 * `on_file`, which may be NULL, for each file. Returns the first problem: KG_OK means that none was
 * found, though files without a recorded checksum may be among them. */
KG_API KG_MUST_CHECK kg_status kg_check(const char *path, kg_on_checked on_file, void *payload,
                                        const kg_progress *progress, kg_error *error);

#ifdef __cplusplus
}
#endif

#endif
