/* fit.json: the changes that are applied to a PyTorch program from outside (docs/formats/fit.md). The facts about each change are the
 * rows of changes.def, and this is the only place that reads and checks the file: the hook in the program (python/vramscope_changes) gets
 * the text that vs_changes_put makes, in which nothing is left out and everything is valid.
 *
 * Invariant (vs_changes_check): each change is there at most once; each of its numbers is at least the least that its row allows, each of its texts is given.
 * A change with other numerics is there only if `allows_numerics`. */
#ifndef VS_CHANGES_CHANGES_H
#define VS_CHANGES_CHANGES_H

#include "base/text.h"
#include "codec/json_doc.h"

typedef enum vs_change_id {
#define VS_CHANGE(name, ...) VS_CHANGE_##name,
#include "changes/changes.def"
  VS_CHANGE_COUNT
} vs_change_id;

typedef enum vs_results {
  VS_RESULTS_SAME,     /* bit for bit */
  VS_RESULTS_ROUNDING, /* to the tolerance of the order of sums */
  VS_RESULTS_OTHER,    /* other numerics */
} vs_results;

/* A row of changes.def. */
typedef struct vs_change_row {
  const char *name;
  vs_results results;
  const char *what, *how, *cost, *unsuited, *never;
} vs_change_row;

typedef enum vs_parameter_kind {
  VS_PARAMETER_TEXT,
  VS_PARAMETER_NUMBER,
  VS_PARAMETER_SETTINGS, /* a text that PyTorch's allocator takes, in one of its versions */
} vs_parameter_kind;

typedef struct vs_change_parameter {
  vs_change_id change;
  vs_parameter_kind kind;
  const char *key;
  uint64_t least, fallback;
  const char *what;
} vs_change_parameter;

const vs_change_row *vs_change_row_of(vs_change_id id);

/* "same", "rounding", "other" */
const char *vs_results_word(vs_results results);

/* All parameters, those of one change together. */
const vs_change_parameter *vs_change_parameters(size_t *count);

/* ---- what a search for changes tries */

/* Parts of the memory of a card at the peak. */
typedef enum vs_part {
  VS_PART_WEIGHTS = 1,
  VS_PART_OPTIMIZER_STATE = 2,
  VS_PART_OPTIMIZER_STEP = 4, /* temporaries of the optimizer's step */
  VS_PART_BACKWARD = 8,       /* what the backward pass allocated: gradients and temporaries */
  VS_PART_FORWARD = 16,       /* activations, and whatever else a line of the program allocated */
  VS_PART_CACHED = 32,        /* reserved by PyTorch, not allocated */
} vs_part;

/* The settings of the allocator that most programs reserve least with. A search takes others where a replay says so. */
#define VS_USUAL_SETTINGS "expandable_segments:True"

/* A row of changes.def. */
typedef struct vs_attempt {
  vs_change_id change;
  const char *parameters; /* JSON members without braces; "": none */
  uint32_t price;
  uint32_t touches;      /* bits of vs_part */
  uint64_t within_bytes; /* it is tried where at most so much is missing without it; 0: always */
} vs_attempt;

enum {
  VS_PRICE_FREE = 5, /* a price below it: the program is as fast as before */
  VS_ATTEMPTS = 12,
};

const vs_attempt *vs_attempt_of(size_t index);

/* Whether at most one of the two can be in a list: they are the same change, or about the same thing. */
bool vs_changes_exclude(vs_change_id a, vs_change_id b);

/* ---- fit.json */

/* The changes of a fit.json, in its order, which is the order in which they are applied. */
typedef struct vs_changes {
  vs_json_doc document; /* the file */
  vs_json entries[VS_CHANGE_COUNT];
  vs_change_id ids[VS_CHANGE_COUNT];
  size_t count;
  bool allows_numerics;
} vs_changes;

enum {
  VS_CHANGES_LONGEST = 16 * 1024
}; /* bytes of a fit.json, and of the text that vs_changes_put makes of it */

/* Reads the text of a fit.json. After a failure there is nothing to deinit.
 * Fails: VS_BAD_FORMAT, VS_TRUNCATED  it is no JSON; VS_BAD_ARGUMENT  it is not a list of changes, or one of them is wrong; VS_NO_MEMORY. `error` has a sentence */
VS_MUST_CHECK vs_status vs_changes_read(vs_changes *changes, const vs_host *host, vs_str text,
                                        vs_error *error);
void vs_changes_deinit(vs_changes *changes);

/* Executes the invariant. */
bool vs_changes_check(const vs_changes *changes);

/* Appends the whole list as JSON on one line: every change with all of its parameters. vs_changes_read reads it. */
void vs_changes_put(vs_text *text, const vs_changes *changes);

/* Appends a change for people: "checkpoint (every 2)". */
void vs_changes_put_title(vs_text *text, const vs_changes *changes, size_t index);

/* The value of a parameter of a change that is in the list: that of the file, else the row's fallback. */
uint64_t vs_changes_number(const vs_changes *changes, size_t index, const vs_change_parameter *parameter);
vs_str vs_changes_text(const vs_changes *changes, size_t index, const vs_change_parameter *parameter);

#endif
