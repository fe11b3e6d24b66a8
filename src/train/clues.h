/* Clues: the hints (evidence/witness.h) for the questions of a run. They are the same in every
 * epoch, and finding them takes longer than using them: they are gathered when a portion is first
 * asked, and kept as long as there is room. Whether they are kept changes nothing but time. */
#ifndef KG_TRAIN_CLUES_H
#define KG_TRAIN_CLUES_H

#include <stdatomic.h>

#include "terms/features/extractor.h"
#include "train/portion.h"

typedef struct kg_kept_hints {
    kg_candidate_features *list; /* NULL: not kept */
} kg_kept_hints;

typedef struct kg_clues {
    const kg_features *evidence; /* borrowed */
    kg_kept_hints *kept;         /* of each portion, by its number */
    uint8_t *counts;             /* of each link of the graph, if those of its portion are kept */
    size_t portion_count;
    atomic_size_t room; /* how many more hints may be kept */
} kg_clues;

/* Keeps so many hints at most. */
KG_MUST_CHECK kg_status kg__clues_open(kg_clues *clues, const kg_features *evidence,
                                       size_t portion_count, size_t room, kg_error *error);
void kg__clues_close(kg_clues *clues);

/* Who reads them: one for each thread. */
typedef struct kg_clue_reader {
    kg_extractor witness;
    kg_candidate_features *hints; /* KG_MOST_ASKED x KG_MOST_CANDIDATES */
    uint8_t *counts;              /* KG_MOST_ASKED */
} kg_clue_reader;

KG_MUST_CHECK kg_status kg__clue_reader_open(kg_clue_reader *reader, const kg_clues *clues,
                                             kg_error *error);
void kg__clue_reader_close(kg_clue_reader *reader);

/* The hints of a portion's questions, one question after the other, and how many each has. They
 * live until the reader reads again. Threads may read different portions at the same time. */
KG_MUST_CHECK kg_status kg__clues_read(kg_clues *clues, kg_clue_reader *reader,
                                       const kg_portion *portion,
                                       const kg_candidate_features **hints, const uint8_t **counts,
                                       kg_error *error);

#endif
