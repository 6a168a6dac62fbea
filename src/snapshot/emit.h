/* Writes nested data as a pickle or as JSON, so that one description of the shape of a snapshot (writer.c) is enough.
 *
 * The keys and values of a dict alternate. A value that can be repeated (keys, names, frames, whole stacks) has a slot,
 * a number that the caller chooses. In a pickle it is written once and then referred to; in JSON it is written each
 * time:
 *
 *   if (vs_emit_again(&e, slot)) return;
 *   vs_emit_list_begin(&e);
 *   ...
 *   vs_emit_list_end(&e);
 *   vs_emit_remember(&e, slot);
 *
 * Values that are repeated most are marked with `often`: their references are shorter. A failure is kept in the text,
 * and vs_emit_finish returns it.
 *
 * Invariant: names[slot] is 0 until the value of `slot` has been written, then 1 + its entry in the pickle's memo. */
#ifndef VS_SNAPSHOT_EMIT_H
#define VS_SNAPSHOT_EMIT_H

#include "codec/json_writer.h"
#include "codec/pickle_writer.h"
#include "snapshot/model.h"

/* It must not be moved after vs_emit_init, because its writers point at its text. */
typedef struct vs_emit {
  vs_text text;
  bool is_json;
  vs_jsonw json;
  vs_picklew pickle;
  uint32_t *names; /* of a pickle: `slots` entries */
  size_t slots;
} vs_emit;

/* Begins one value, which is written to `to` in pieces. All slots must be below `slots`. */
VS_MUST_CHECK vs_status vs_emit_init(vs_emit *e, const vs_host *host, const vs_writer *to,
                                     vs_file_format format, size_t slots);
void vs_emit_deinit(vs_emit *e);

/* Ends the value and writes the rest of it. */
VS_MUST_CHECK vs_status vs_emit_finish(vs_emit *e);

/* Whether a write has failed: nothing more is written then. */
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
void vs_emit_f64(vs_emit *e, double value); /* NaN and infinities are null in JSON */
void vs_emit_str(vs_emit *e, size_t slot, vs_str value, bool often);
void vs_emit_pair(vs_emit *e, size_t slot, uint64_t a,
                  uint64_t b); /* a tuple marked `often`; in JSON a list */

/* Writes a reference to the value of `slot`; false if the value must be written instead. */
bool vs_emit_again(vs_emit *e, size_t slot);
/* Declares the value that was just completed to be that of `slot`. */
void vs_emit_remember(vs_emit *e, size_t slot);

#endif
