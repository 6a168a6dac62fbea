/* The pickle machine.
 *
 * Data. A value stack, a stack of mark positions, the memo, and the list of OPEN containers. An open list or dict is
 * on the value stack as a reference to its record in `open`; its items follow it directly:
 *
 *     stack   ... | ref 4 | item | item | item | ref 5 | key | value | <- count
 *     open    ... [4] at, count = 3            [5] at, count = 2 (a mapping counts keys and values)
 *
 * Invariant: `at` rises in open[]; the items of open[i] are stack[at+1 .. at+1+count), all closed values; a list
 * from the body cache has no items on the stack.
 *
 * Appending closes the values above the mark, which then belong to the container that ends at the mark. Nothing
 * moves. Closing (seal) passes the items to the fold and leaves one value. A container is closed when it is used:
 * appended to another, put into a tuple, fetched from the memo, duplicated. Afterwards it may not change: a pickle
 * that changes a container after using it describes one that contains itself, and is refused.
 *
 * The body cache. Nearly three quarters of a snapshot's opcodes are lists of memo references (stacks of frames) that
 * repeat a few hundred bodies. The bytes of each body are remembered with its folded value and with the body that came
 * next; a list whose bytes equal the predicted body is skipped by one memcmp.
 *
 * Whole dicts. A dict of plain values in a list is usually understood as a whole and folded immediately (pickle_dicts.c), without a record
 * in `open`. */
#ifndef VS_CODEC_PICKLE_MACHINE_H
#define VS_CODEC_PICKLE_MACHINE_H

#include "base/map.h"
#include "base/text.h"
#include "codec/pickle.h"

typedef enum vs_pickle_opcode {
#define VS_PICKLE_OP(name, byte, meaning) VS_OP_##name = (byte),
#include "codec/pickle_ops.def"
#undef VS_PICKLE_OP
} vs_pickle_opcode;

#define VS_PICKLE_NO_MEMO UINT64_MAX
#define VS_PICKLE_NO_BODY UINT32_MAX

enum {
  VS_PICKLE_KIND_OPEN = VS_VALUE_READER, /* a value that refers to open[bits] */
  VS_PICKLE_WIDE = 0xff,          /* packed: an index into `wide` follows, else 1 + the kind and its bits */
  VS_PICKLE_CPYTHON_BATCH = 1000, /* a list of so many references may continue in a second batch */
  VS_PICKLE_BODY_MAX = 16 * 1024, /* longer bodies are not cached */
  VS_PICKLE_BODIES_MAX_BYTES = 64 * 1024 * 1024,
  VS_PICKLE_MOST_PAIRS = 32,       /* of a dict that is read at once */
  VS_PICKLE_LOOK_AHEAD = 4 * 1024, /* bytes wanted in the window when a list begins */
};

typedef struct vs_pickle_open {
  size_t at;
  size_t count;
  uint64_t memo;  /* the memo entry that refers to it; VS_PICKLE_NO_MEMO: none */
  vs_value value; /* once sealed */
  uint32_t body;  /* the known body that it consists of; VS_PICKLE_NO_BODY: none */
  bool is_mapping;
  bool sealed;
} vs_pickle_open;

typedef struct vs_pickle_body {
  size_t at; /* its bytes: body_bytes[at .. at + size) */
  uint32_t size;
  /* The bodies that followed it, the last one and the one before it. */
  uint32_t next, next_before;
  vs_value value;
} vs_pickle_body;

/* A search for the body at a place of the window. If there is no known one, `size`, `count` and `hash` are those of a new one: its bytes,
 * references and hash; size is 0 if what is there cannot be one. */
typedef struct vs_pickle_found_body {
  uint32_t index; /* VS_PICKLE_NO_BODY: not known */
  bool predicted;
  size_t size, count;
  uint64_t hash;
} vs_pickle_found_body;

/* What the last dict that was read at once looked like: its keys and values in turn, and the bytes of those that are one short opcode:
 * references, small integers, None, booleans. The next dict mostly repeats them, so that they only need to be compared.
 *
 * Invariant: an opcode with its argument, whose `size` bytes are in the lower part of `bytes`, has the closed value values[i]. This stays so
 * for a reference, too, because no memo entry changes while dicts are read at once (`overwritten`). An item that is something else has a
 * mask of 0 and `bytes` that nothing equals. */
typedef struct vs_pickle_item {
  uint64_t bytes, mask; /* the next 8 bytes & mask == bytes: it is the same opcode */
  size_t size;
} vs_pickle_item;

typedef struct vs_pickle_skeleton {
  vs_pickle_item items[2 * VS_PICKLE_MOST_PAIRS];
  vs_value values[2 * VS_PICKLE_MOST_PAIRS + 1]; /* the last one is that of the dict itself */
} vs_pickle_skeleton;

typedef struct vs_pickle_machine {
  vs_input *in;
  const vs_host *host;
  const vs_fold *fold;
  vs_pickle_info *info;
  vs_error *error;
  uint8_t op;         /* the current opcode */
  uint64_t op_at;     /* its offset */
  uint64_t frame_end; /* of the last FRAME */
  VS_VEC(vs_value) stack;
  VS_VEC(size_t) marks;
  VS_VEC(vs_pickle_open) open;
  VS_VEC(uint64_t) memo; /* packed values, see pack(); 0 = not set */
  VS_VEC(vs_value) wide; /* memo values that do not pack */
  uint64_t memo_set;     /* entries of the memo that are set: the index of the next MEMOIZE */
  VS_VEC(uint8_t) body_bytes;
  VS_VEC(vs_pickle_body) bodies;
  vs_map body_by_hash;
  uint32_t last_body;
  vs_pickle_skeleton skeleton;
  bool each_opcode; /* vs_pickle_options */
  /* A memo entry changed, so equal bytes can have different values, and bodies are not used any more. */
  bool overwritten;
} vs_pickle_machine;

static inline vs_status vs_pickle__need(vs_pickle_machine *m, size_t count) {
  return vs_input_need(m->in, count);
}

static inline const uint8_t *vs_pickle__cursor(const vs_pickle_machine *m) {
  return m->in->data + m->in->pos;
}

/* Takes a little-endian argument of `size` bytes from the input. */
static inline vs_status vs_pickle__take_uint(vs_pickle_machine *m, size_t size, uint64_t *value) {
  VS_TRY(vs_pickle__need(m, size));
  const uint8_t *p = vs_pickle__cursor(m);
  *value = 0;
  for (size_t i = 0; i < size; i++) *value |= (uint64_t)p[i] << (8 * i);
  m->in->pos += size;
  return VS_OK;
}

static inline vs_status vs_pickle__push(vs_pickle_machine *m, vs_value value) {
  VS_TRY(vs_vec_reserve(m->host, &m->stack, 1));
  m->stack.data[m->stack.count++] = value;
  return VS_OK;
}

static inline vs_status vs_pickle__push_kind(vs_pickle_machine *m, vs_value_kind kind, uint64_t bits) {
  return vs_pickle__push(m, (vs_value){.bits = bits, .kind = kind});
}

/* The position of the innermost mark: opcodes may not use values below it. */
static inline size_t vs_pickle__fence(const vs_pickle_machine *m) {
  return m->marks.count == 0 ? 0 : m->marks.data[m->marks.count - 1];
}

static inline vs_pickle_open *vs_pickle__innermost(vs_pickle_machine *m) {
  return m->open.count == 0 ? NULL : &m->open.data[m->open.count - 1];
}

static inline size_t vs_pickle__end_of(const vs_pickle_open *c) { return c->at + 1 + c->count; }

static inline vs_value vs_pickle__unpack(const vs_pickle_machine *m, uint64_t packed) {
  const uint64_t bits = packed & (UINT64_MAX >> 8);
  const uint32_t kind = (uint32_t)(packed >> 56);
  VS_ASSERT(packed != 0 && (kind != VS_PICKLE_WIDE || bits < m->wide.count));
  return kind == VS_PICKLE_WIDE ? m->wide.data[bits] : (vs_value){.bits = bits, .kind = kind - 1};
}

/* A reference to a memo entry at `p`, from where at least 5 bytes are in the window: BINGET or LONG_BINGET. Returns
 * its bytes, 0 if there is none. */
static inline size_t vs_pickle__reference(const uint8_t *p, uint64_t *index) {
  if (*p == VS_OP_BINGET) {
    *index = p[1];
    return 2;
  }
  if (*p != VS_OP_LONG_BINGET) return 0;
  *index = (uint64_t)p[1] | (uint64_t)p[2] << 8 | (uint64_t)p[3] << 16 | (uint64_t)p[4] << 24;
  return 5;
}

/* pickle_machine.c */
vs_status vs_pickle__fail(vs_pickle_machine *m, vs_status status, const char *format, ...);
const char *vs_pickle__opcode_name(uint8_t byte);

/* pickle_stack.c */
vs_status vs_pickle__values_start(vs_pickle_machine *m, size_t count, size_t *start);
vs_status vs_pickle__fold_items(vs_pickle_machine *m, bool is_mapping, bool is_tuple, const vs_value *items,
                                size_t count, vs_value *value);
vs_status vs_pickle__seal(vs_pickle_machine *m, vs_pickle_open *c);
vs_status vs_pickle__collapse(vs_pickle_machine *m, size_t from);
vs_status vs_pickle__close_dict_below(vs_pickle_machine *m);
vs_status vs_pickle__begin_empty(vs_pickle_machine *m, bool is_mapping);
vs_status vs_pickle__pack_wide(vs_pickle_machine *m, vs_value value, uint64_t *packed);
vs_status vs_pickle__extend_from_mark(vs_pickle_machine *m, bool is_mapping);
vs_status vs_pickle__extend_by(vs_pickle_machine *m, size_t count, bool is_mapping);
vs_status vs_pickle__container_from_mark(vs_pickle_machine *m, bool is_mapping);
vs_status vs_pickle__tuple_of(vs_pickle_machine *m, size_t count);
vs_status vs_pickle__tuple_from_mark(vs_pickle_machine *m);
vs_status vs_pickle__pop(vs_pickle_machine *m);
vs_status vs_pickle__pop_to_mark(vs_pickle_machine *m);
vs_status vs_pickle__duplicate(vs_pickle_machine *m);
vs_status vs_pickle__memo_put(vs_pickle_machine *m, uint64_t index);
vs_status vs_pickle__memo_get(vs_pickle_machine *m, uint64_t index);
vs_status vs_pickle__memo_line(vs_pickle_machine *m, vs_status (*use)(vs_pickle_machine *, uint64_t));
vs_status vs_pickle__memo_sized(vs_pickle_machine *m, size_t size,
                                vs_status (*use)(vs_pickle_machine *, uint64_t));

/* A value as an entry of the memo. */
static inline vs_status vs_pickle__pack(vs_pickle_machine *m, vs_value value, uint64_t *packed) {
  if (value.bits >> 56 != 0) return vs_pickle__pack_wide(m, value, packed);
  *packed = (uint64_t)(value.kind + 1) << 56 | value.bits;
  return VS_OK;
}

/* Adds the memo entry that follows all others, for which there is room; `value` is closed. */
static inline vs_status vs_pickle__memo_add(vs_pickle_machine *m, vs_value value) {
  VS_ASSERT(m->memo.count < m->memo.capacity && value.kind != VS_PICKLE_KIND_OPEN);
  VS_TRY(vs_pickle__pack(m, value, &m->memo.data[m->memo.count]));
  m->memo.count++;
  m->memo_set++;
  return VS_OK;
}

/* pickle_lists.c */
vs_status vs_pickle__empty_list(vs_pickle_machine *m);
void vs_pickle__body_find(const vs_pickle_machine *m, const uint8_t *p, vs_pickle_found_body *found);
void vs_pickle__body_use(vs_pickle_machine *m, const vs_pickle_found_body *found);

/* pickle_dicts.c */
void vs_pickle__forget_skeleton(vs_pickle_machine *m);
vs_status vs_pickle__empty_dict(vs_pickle_machine *m);

/* pickle_scalars.c */
vs_status vs_pickle__take_line(vs_pickle_machine *m, vs_str *line);
vs_status vs_pickle__take_bytes(vs_pickle_machine *m, uint64_t size, vs_str *bytes);
vs_status vs_pickle__sized_string(vs_pickle_machine *m, size_t length_size);
vs_status vs_pickle__sized_bytes(vs_pickle_machine *m, size_t length_size);
vs_status vs_pickle__long_int(vs_pickle_machine *m, size_t length_size);
vs_status vs_pickle__int_line(vs_pickle_machine *m);
vs_status vs_pickle__long_line(vs_pickle_machine *m);
vs_status vs_pickle__float_line(vs_pickle_machine *m);
vs_status vs_pickle__binary_float(vs_pickle_machine *m);
vs_status vs_pickle__unicode_line(vs_pickle_machine *m);
vs_status vs_pickle__quoted_line(vs_pickle_machine *m);
vs_status vs_pickle__take_int(vs_pickle_machine *m, size_t size);

#endif
