/* One way to write nested data as a pickle or as JSON, so that the shape of a snapshot is written down once (writer.c).
 *
 * A dict is keys and values in turns. What comes again (keys, names, frames, whole stacks) has a slot, a number that the
 * caller gives it. In a pickle such a value is written once and then referred to; JSON cannot share and writes it again:
 *
 *   if (vs_emit_again(&e, slot)) return;
 *   vs_emit_list_begin(&e);
 *   ...
 *   vs_emit_list_end(&e);
 *   vs_emit_remember(&e, slot);
 *
 * What comes again and again is marked as such (`often`): references to it are then shorter.
 * Failures stick in the text and are told by vs_emit_finish.
 *
 * Invariant: names[slot] is 0 until the value of `slot` has been written, then 1 + its entry in the pickle's memo. */
#ifndef VS_SNAPSHOT_EMIT_H
#define VS_SNAPSHOT_EMIT_H

#include "codec/json_writer.h"
#include "codec/pickle_writer.h"
#include "snapshot/model.h"

/* Must not move once it is initialised: its writers point at its text. */
typedef struct vs_emit {
  vs_text text;
  bool is_json;
  vs_jsonw json;
  vs_picklew pickle;
  uint32_t *names; /* of a pickle: as many as slots */
  size_t slots;
} vs_emit;

/* Begins one value, to be written to `to` in pieces. `slots` bounds the slots that will be used. */
VS_MUST_CHECK vs_status vs_emit_init(vs_emit *e, const vs_host *host, const vs_writer *to,
                                     vs_file_format format, size_t slots);
void vs_emit_deinit(vs_emit *e);

/* Ends the value and hands on what is left of it. */
VS_MUST_CHECK vs_status vs_emit_finish(vs_emit *e);

/* Something went wrong already: nothing more is written. */
static inline bool vs_emit_failed(const vs_emit *e) { return e->text.status != VS_OK; }

void vs_emit_dict_begin(vs_emit *e);
void vs_emit_dict_end(vs_emit *e);
void vs_emit_list_begin(vs_emit *e);
void vs_emit_list_end(vs_emit *e);

void vs_emit_key(vs_emit *e, size_t slot, vs_str key, bool often);

void vs_emit_none(vs_emit *e);
void vs_emit_bool(vs_emit *e, bool value);
void vs_emit_i64(vs_emit *e, int64_t value);
void vs_emit_u64(vs_emit *e, uint64_t value);
void vs_emit_f64(vs_emit *e, double value); /* JSON has no NaN and no infinity: null */
void vs_emit_str(vs_emit *e, size_t slot, vs_str value, bool often);
void vs_emit_pair(vs_emit *e, size_t slot, uint64_t a, uint64_t b); /* a tuple, often; in JSON a list */

/* Refers to the value of `slot`, if it can; false: it has to be written. */
bool vs_emit_again(vs_emit *e, size_t slot);
/* The value that was just completed is that of `slot`. */
void vs_emit_remember(vs_emit *e, size_t slot);

#endif
