/* Dicts of plain values, read at once.
 *
 * Nearly all of a snapshot are dicts in lists: trace entries, blocks, frames. One of them is EMPTY_DICT, its memo entry, MARK, keys and
 * values in turn, SETITEMS. It is first understood, which changes nothing; what cannot be understood is left to the loop over opcodes,
 * which is the only rule of what a pickle means. A dict that was understood is then folded, with exactly the calls, the memo and the
 * failures that the loop gives:
 *
 *   keys       references to closed values of the memo
 *   values     such references, None, booleans, integers of up to 64 bits, strings, empty lists, one list with a known body
 *   memo       entries follow all earlier ones, so that none is overwritten and none is used before it is set
 *   behind it  EMPTY_DICT or APPENDS, at which the loop closes the dict. So a failure of the fold has the offset of that opcode
 *   around it  an open mark, and above it no open container, which the loop would have to close first
 *   window     all bytes are there, so that the loop would not read, and a reader fails at the same offset
 *
 * Only a failure for lack of memory can have another offset than that of the loop. */
#include "codec/pickle_machine.h"

enum {
  MOST_PUTS = 16,
  MOST_LATE = 8,
  LONGEST_STRING = 16 * 1024,
  MOST_IN_A_ROW = 256,
  LONGEST_STEP =
      32, /* more than the opcodes between two looks at the end of the window: put, MARK, key and value */
  DICT_ITSELF = 2 * VS_PICKLE_MOST_PAIRS,
};

/* A value for which the fold has to be called: a string, or an empty list. */
typedef struct late_value {
  const uint8_t *op;
  uint32_t at;   /* index of the value in `values` */
  uint32_t head; /* the bytes of a string's opcode and length; 0: an empty list */
  uint32_t size; /* of the string */
} late_value;

/* A dict while it is being understood. Invariant: of the machine nothing but the skeleton has changed since its opcode; everything before
 * `p` is understood, as `count` keys and values in turn. They are those of the skeleton. The late ones have no value yet. */
typedef struct dict_reading {
  const uint8_t *p;
  const uint8_t *end; /* of the window, less LONGEST_STEP */
  vs_value *values;   /* the skeleton's */
  uint32_t count;
  uint32_t put_count;        /* memo entry memo.count + i will have values[put[i]] */
  uint32_t late_count;       /* in the order of their opcodes */
  vs_pickle_found_body body; /* of the list, if there is one */
  uint8_t put[MOST_PUTS];
  late_value late[MOST_LATE];
} dict_reading;

/* The machine's numbers are those of the file, and an item is compared as the word that its bytes are. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are taken from the window as they are");

static inline uint32_t u32_at(const uint8_t *p) {
  uint32_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

static inline uint64_t u64_at(const uint8_t *p) {
  uint64_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

static bool understand_put_opcode(const vs_pickle_machine *m, dict_reading *r, uint32_t at) {
  uint64_t index;
  size_t size;
  const uint8_t *p = r->p;
  switch (*p) {
    case VS_OP_MEMOIZE:
      index = m->memo_set + r->put_count;
      size = 1;
      break;
    case VS_OP_BINPUT:
      index = p[1];
      size = 2;
      break;
    case VS_OP_LONG_BINPUT:
      index = u32_at(p + 1);
      size = 5;
      break;
    default: return false;
  }
  if (index != m->memo.count + r->put_count || r->put_count >= MOST_PUTS) return false;
  r->put[r->put_count++] = (uint8_t)at;
  r->p += size;
  return true;
}

/* An opcode that puts values[at] into the memo, if there is one. */
static inline bool understand_put(const vs_pickle_machine *m, dict_reading *r, uint32_t at) {
  const uint8_t op = *r->p;
  const bool is_put = op == VS_OP_MEMOIZE || op == VS_OP_BINPUT || op == VS_OP_LONG_BINPUT;
  return !is_put || understand_put_opcode(m, r, at);
}

static bool add_late(dict_reading *r, uint32_t head, uint32_t size) {
  if (r->late_count >= MOST_LATE) return false;
  r->late[r->late_count++] = (late_value){.at = r->count, .head = head, .size = size, .op = r->p};
  r->values[r->count++] = (vs_value){.kind = VS_VALUE_NONE};
  return true;
}

/* A string whose opcode and length are `head` bytes. */
static bool understand_string(const vs_pickle_machine *m, dict_reading *r, uint32_t head) {
  const uint32_t size = head == 2 ? r->p[1] : u32_at(r->p + 1);
  if (size > LONGEST_STRING || r->end - r->p <= (ptrdiff_t)size || !add_late(r, head, size)) return false;
  r->p += head + size;
  return understand_put(m, r, r->count - 1);
}

/* A list that is empty, or whose body is known. The loop looks ahead at a list, so the bytes for that have to be there. */
static bool understand_list(const vs_pickle_machine *m, dict_reading *r) {
  r->p++;
  if (m->in->end - (size_t)(r->p - m->in->data) < VS_PICKLE_LOOK_AHEAD && !m->in->at_end) return false;
  if (!understand_put(m, r, r->count)) return false;
  if (*r->p != VS_OP_MARK) return add_late(r, 0, 0);
  if ((r->p[1] != VS_OP_BINGET && r->p[1] != VS_OP_LONG_BINGET) || r->body.index != VS_PICKLE_NO_BODY)
    return false;
  vs_pickle__body_find(m, r->p + 1, &r->body);
  if (r->body.index == VS_PICKLE_NO_BODY) return false;
  r->values[r->count++] = m->bodies.data[r->body.index].value;
  r->p += 1 + m->bodies.data[r->body.index].size;
  return r->p < r->end &&
         understand_put(m, r, r->count - 1); /* PyTorch's C++ pickler puts what is complete */
}

/* The value of a reference at `p`, if it is closed: returns the bytes of the reference, else 0. Values that do not pack are left to the
 * loop. */
static inline size_t understand_reference(const vs_pickle_machine *m, const uint8_t *p, vs_value *value) {
  uint64_t index = 0;
  const size_t size = vs_pickle__reference(p, &index);
  if (size == 0 || index >= m->memo.count) return 0;
  const uint64_t packed = m->memo.data[index];
  const uint32_t kind = (uint32_t)(packed >> 56) - 1; /* UINT32_MAX if the entry is not set */
  if (kind >= VS_PICKLE_WIDE - 1 || kind == VS_PICKLE_KIND_OPEN) return 0;
  *value = (vs_value){.bits = packed & (UINT64_MAX >> 8), .kind = kind};
  return size;
}

/* LONG1 of 1 to 8 bytes: little-endian, two's complement. Returns its bytes, 0 if it has another length. */
static inline size_t understand_long(const uint8_t *p, vs_value *value) {
  const uint32_t size = p[1];
  if (size == 0 || size > 8) return 0;
  const uint32_t behind = 64 - 8 * size; /* the bits of the word that are not the number's */
  *value = (vs_value){.bits = (uint64_t)((int64_t)(u64_at(p + 2) << behind) >> behind), .kind = VS_VALUE_INT};
  return 2 + size;
}

/* A value of one opcode without effects: returns its bytes, else 0. */
static inline size_t understand_scalar(const vs_pickle_machine *m, const uint8_t *p, vs_value *value) {
  *value = (vs_value){.kind = VS_VALUE_INT};
  switch (*p) {
    case VS_OP_BINGET:
    case VS_OP_LONG_BINGET: return understand_reference(m, p, value);
    case VS_OP_LONG1: return understand_long(p, value);
    case VS_OP_BININT1: value->bits = p[1]; return 2;
    case VS_OP_BININT2: value->bits = p[1] | (uint64_t)p[2] << 8; return 3;
    case VS_OP_BININT:
      value->bits =
          (uint64_t)(int32_t)(p[1] | (uint32_t)p[2] << 8 | (uint32_t)p[3] << 16 | (uint32_t)p[4] << 24);
      return 5;
    case VS_OP_NONE: value->kind = VS_VALUE_NONE; return 1;
    case VS_OP_NEWTRUE: *value = (vs_value){.bits = 1, .kind = VS_VALUE_BOOL}; return 1;
    case VS_OP_NEWFALSE: value->kind = VS_VALUE_BOOL; return 1;
    default: return 0;
  }
}

static inline bool same_item(const vs_pickle_item *item, const uint8_t *p) {
  return (u64_at(p) & item->mask) == item->bytes;
}

/* Remembers an opcode of at most 8 bytes with its argument. */
static inline void remember(vs_pickle_item *item, const uint8_t *p, size_t size) {
  item->mask = UINT64_MAX >> (64 - 8 * size);
  item->bytes = u64_at(p) & item->mask;
  item->size = size;
}

static inline void forget(vs_pickle_item *item) {
  item->mask = 0;
  item->bytes = 1;
}

/* A value of several opcodes. */
static bool understand_late(vs_pickle_machine *m, dict_reading *r) {
  forget(&m->skeleton.items[r->count]);
  if (*r->p == VS_OP_SHORT_BINUNICODE) return understand_string(m, r, 2) && r->p < r->end;
  if (*r->p == VS_OP_BINUNICODE) return understand_string(m, r, 5) && r->p < r->end;
  return *r->p == VS_OP_EMPTY_LIST && understand_list(m, r) && r->p < r->end;
}

/* Keys and values up to SETITEMS. Most keys, and many values, are those that the last dict had. */
static bool understand_pairs(vs_pickle_machine *m, dict_reading *r) {
  const uint8_t *p = r->p, *const end = r->end;
  vs_pickle_item *item = m->skeleton.items, *const last = item + 2 * VS_PICKLE_MOST_PAIRS;
  vs_value *value = r->values;
  do {
    size_t size;
    if (item == last || p >= end) return false;
    if (!same_item(item, p)) {
      if ((size = understand_reference(m, p, value)) == 0) return false;
      remember(item, p, size);
    }
    p += item->size;
    item++, value++;
    if (same_item(item, p)) {
      p += item->size;
    } else if ((size = understand_scalar(m, p, value)) != 0) {
      if (*p == VS_OP_LONG1) forget(item);
      else remember(item, p, size);
      p += size;
    } else {
      r->p = p;
      r->count = (uint32_t)(item - m->skeleton.items);
      if (!understand_late(m, r)) return false;
      p = r->p;
    }
    item++, value++;
  } while (*p != VS_OP_SETITEMS);
  r->p = p + 1;
  r->count = (uint32_t)(item - m->skeleton.items);
  return true;
}

/* Understands the dict whose opcode is before the cursor, up to the opcode behind it. */
static bool understand(vs_pickle_machine *m, dict_reading *r) {
  if (!understand_put(m, r, DICT_ITSELF) || *r->p++ != VS_OP_MARK || !understand_pairs(m, r)) return false;
  return *r->p == VS_OP_EMPTY_DICT || *r->p == VS_OP_APPENDS;
}

/* Whether the loop would close the dict, and nothing but it, at the opcode behind it. */
static bool is_among_items(const vs_pickle_machine *m) {
  return m->marks.count > 0 && m->marks.count + 1 < VS_PICKLE_MAX_MARKS &&
         (m->open.count == 0 || m->open.data[m->open.count - 1].at < vs_pickle__fence(m)) &&
         m->memo.count + MOST_PUTS <= vs_input_offset(m->in) + VS_PICKLE_MEMO_AHEAD;
}

/* The cursor and the offset that a failure at `op` has, where the loop would have read up to `read`. */
static void stand_at(vs_pickle_machine *m, const uint8_t *op, const uint8_t *read) {
  m->op = *op;
  m->op_at = m->in->base + (size_t)(op - m->in->data);
  m->in->pos = (size_t)(read - m->in->data);
}

/* Calls the fold for the late values, in the loop's order: strings at their opcodes, lists at SETITEMS. */
static vs_status fold_late(vs_pickle_machine *m, const dict_reading *r) {
  for (uint32_t i = 0; i < r->late_count; i++) {
    const late_value *late = &r->late[i];
    if (late->head == 0) continue;
    const vs_str text = {(const char *)late->op + late->head, late->size};
    stand_at(m, late->op, late->op + late->head + late->size);
    VS_TRY(m->fold->string(m->fold->ctx, text, &r->values[late->at], m->error));
  }
  stand_at(m, r->p - 1, r->p);
  for (uint32_t i = 0; i < r->late_count; i++)
    if (r->late[i].head == 0)
      VS_TRY(vs_pickle__fold_items(m, false, false, r->values, 0, &r->values[r->late[i].at]));
  return VS_OK;
}

/* Folds a dict that was understood, and leaves its value on the stack. */
static vs_status fold_dict(vs_pickle_machine *m, const dict_reading *r) {
  vs_value *value = &r->values[DICT_ITSELF];
  VS_TRY(vs_vec_reserve(m->host, &m->stack, 1));
  VS_TRY(vs_vec_reserve(m->host, &m->memo, r->put_count));
  if (r->late_count != 0) VS_TRY(fold_late(m, r));
  if (r->body.index != VS_PICKLE_NO_BODY) vs_pickle__body_use(m, &r->body);
  stand_at(m, r->p, r->p + 1);
  VS_TRY(m->fold->mapping(m->fold->ctx, r->values, r->count / 2, value, m->error));
  for (uint32_t i = 0; i < r->put_count; i++) VS_TRY(vs_pickle__memo_add(m, r->values[r->put[i]]));
  m->stack.data[m->stack.count++] = *value;
  m->info->dicts_at_once++;
  m->in->pos--; /* the opcode behind it is still to be executed */
  return VS_OK;
}

void vs_pickle__forget_skeleton(vs_pickle_machine *m) {
  for (uint32_t i = 0; i < 2 * VS_PICKLE_MOST_PAIRS; i++) forget(&m->skeleton.items[i]);
}

/* Reads the dict whose opcode is before the cursor at once, if it can be understood, and sets *done. */
static vs_status read_dict(vs_pickle_machine *m, bool *done) {
  dict_reading r; /* without the arrays, which have nothing yet */
  *done = false;
  if (m->in->end - m->in->pos <= 2 * LONGEST_STEP) return VS_OK;
  r.p = vs_pickle__cursor(m);
  r.end = m->in->data + m->in->end - LONGEST_STEP;
  r.values = m->skeleton.values;
  r.count = r.put_count = r.late_count = 0;
  r.body.index = VS_PICKLE_NO_BODY;
  if (!understand(m, &r)) return VS_OK;
  *done = true;
  return fold_dict(m, &r);
}

/* The dict whose opcode is before the cursor, and those that follow it immediately: they are among the same items. */
vs_status vs_pickle__empty_dict(vs_pickle_machine *m) {
  bool done = !m->each_opcode && !m->overwritten;
  if (!done) return vs_pickle__begin_empty(m, true);
  VS_TRY(vs_pickle__close_dict_below(m));
  if (!is_among_items(m)) return vs_pickle__begin_empty(m, true);
  for (int left = MOST_IN_A_ROW;; left--) {
    VS_TRY(read_dict(m, &done));
    if (!done) return vs_pickle__begin_empty(m, true);
    if (left == 0 || *vs_pickle__cursor(m) != VS_OP_EMPTY_DICT) return VS_OK;
    stand_at(m, vs_pickle__cursor(m), vs_pickle__cursor(m) + 1);
  }
}
