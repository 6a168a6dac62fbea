/* The pickle machine.
 *
 * Data. One value stack, a stack of mark positions, the memo, and the list of OPEN containers. A list or dict that was
 * begun stands on the value stack as a reference to its record in `open`; its items follow it directly:
 *
 *     stack   ... | ref 4 | item | item | item | ref 5 | key | value | <- count
 *     open    ... [4] at, count = 3            [5] at, count = 2 (a mapping counts keys and values)
 *
 * Invariant: open[] rises in `at`; the items of open[i] are stack[at+1 .. at+1+count) and all closed values, unless it is
 * a list known from the body cache, which has its items there and none on the stack.
 *
 * Appending means: what lies above the mark is closed, and then belongs to the container that ends at the mark. Nothing
 * moves. Closing (seal) hands the items to the fold and leaves one value. It happens when a container is used: appended
 * to another, put into a tuple, fetched from the memo, duplicated. From then on it may not change; a pickle that changes
 * a container after using it describes one that contains itself, and is refused.
 *
 * The body cache. Nearly three quarters of a snapshot's opcodes are lists of memo references (stacks of frames) that
 * repeat a few hundred bodies. The bytes of each body are remembered with its folded value and with the body that came
 * next; a list whose bytes equal the predicted body is skipped by one memcmp. */
#include "codec/pickle.h"
#include "base/map.h"
#include "base/real.h"
#include "base/text.h"
#include "base/vec.h"

typedef enum opcode {
#define VS_PICKLE_OP(name, byte, meaning) OP_##name = (byte),
#include "codec/pickle_ops.def"
#undef VS_PICKLE_OP
} opcode;

static const char *opcode_name(uint8_t byte) {
  switch (byte) {
#define VS_PICKLE_OP(name, byte, meaning) \
  case byte: return #name;
#include "codec/pickle_ops.def"
#undef VS_PICKLE_OP
    default: return "an unknown opcode";
  }
}

#define NO_MEMO UINT64_MAX
#define NO_BODY UINT32_MAX

enum {
  KIND_OPEN = VS_VALUE_READER,      /* a value that refers to open[bits] */
  CPYTHON_BATCH = 1000,             /* a list of this many references may go on in a second batch */
  BODY_MAX = 16 * 1024,             /* longer bodies are not worth remembering */
  BODIES_MAX_BYTES = 64 * 1024 * 1024,
  LOOK_AHEAD = 4 * 1024,            /* bytes wanted in the window when a list begins */
};

typedef struct open_container {
  size_t at;
  size_t count;
  uint64_t memo; /* the memo entry that refers to it, NO_MEMO if none does */
  vs_value value; /* once sealed */
  uint32_t body;  /* NO_BODY, or the known body that it consists of */
  bool is_mapping;
  bool sealed;
} open_container;

typedef struct body {
  size_t at; /* its bytes: body_bytes[at .. at + size) */
  uint32_t size;
  uint32_t next;  /* the body that followed it the last time */
  uint32_t epoch; /* of the memo when it was learnt */
  vs_value value;
} body;

typedef struct machine {
  vs_input *in;
  const vs_host *host;
  const vs_fold *fold;
  vs_pickle_info *info;
  vs_error *error;
  uint8_t op;     /* the opcode at work ... */
  uint64_t op_at; /* ... and its offset */
  VS_VEC(vs_value) stack;
  VS_VEC(size_t) marks;
  VS_VEC(open_container) open;
  VS_VEC(uint64_t) memo; /* packed values, see pack(); 0 = not set */
  VS_VEC(vs_value) wide; /* memo values that do not pack */
  uint64_t memo_set;     /* entries of the memo that are set: the index of the next MEMOIZE */
  VS_VEC(uint8_t) body_bytes;
  VS_VEC(body) bodies;
  vs_map body_by_hash;
  uint32_t last_body;
  uint32_t epoch; /* rises when a memo entry is overwritten: what was learnt before is void */
} machine;

static vs_status fail(machine *m, vs_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  m->error->status = status;
  m->error->offset = m->op_at;
  vs_format_list(m->error->text, sizeof m->error->text, format, arguments);
  va_end(arguments);
  return status;
}

/* ---- bytes of the input ---------------------------------------------------------------------------------------- */

static vs_status need(machine *m, size_t count) { return vs_input_need(m->in, count); }
static const uint8_t *cursor(const machine *m) { return m->in->data + m->in->pos; }

/* A little-endian argument of `size` bytes, taken from the input. */
static vs_status take_uint(machine *m, size_t size, uint64_t *value) {
  VS_TRY(need(m, size));
  const uint8_t *p = cursor(m);
  *value = 0;
  for (size_t i = 0; i < size; i++) *value |= (uint64_t)p[i] << (8 * i);
  m->in->pos += size;
  return VS_OK;
}

/* The text of a line argument, without its newline; the input is left behind it. Borrowed until the next read. */
static vs_status take_line(machine *m, vs_str *line) {
  for (size_t size = 0;; size++) {
    VS_TRY(need(m, size + 1));
    if (cursor(m)[size] == '\n') {
      *line = (vs_str){(const char *)cursor(m), size};
      m->in->pos += size + 1;
      return VS_OK;
    }
    if (size >= VS_PICKLE_MAX_TEXT) return fail(m, VS_LIMIT, "a line of over %d bytes", VS_PICKLE_MAX_TEXT);
  }
}

/* `size` bytes of the input, borrowed until the next read. */
static vs_status take_bytes(machine *m, uint64_t size, vs_str *bytes) {
  if (size > VS_PICKLE_MAX_TEXT)
    return fail(m, VS_LIMIT, "%s of %U bytes; at most %d are read", opcode_name(m->op), size, VS_PICKLE_MAX_TEXT);
  VS_TRY(need(m, (size_t)size));
  *bytes = (vs_str){(const char *)cursor(m), (size_t)size};
  m->in->pos += (size_t)size;
  return VS_OK;
}

/* ---- the value stack ------------------------------------------------------------------------------------------- */

static vs_status push(machine *m, vs_value value) {
  VS_TRY(vs_vec_reserve(m->host, &m->stack, 1));
  m->stack.data[m->stack.count++] = value;
  return VS_OK;
}

static vs_status push_kind(machine *m, vs_value_kind kind, uint64_t bits) {
  return push(m, (vs_value){.bits = bits, .kind = kind});
}

/* Values below this position belong to what the innermost mark fenced off. */
static size_t fence(const machine *m) { return m->marks.count == 0 ? 0 : m->marks.data[m->marks.count - 1]; }

static open_container *innermost(machine *m) {
  return m->open.count == 0 ? NULL : &m->open.data[m->open.count - 1];
}

static size_t end_of(const open_container *c) { return c->at + 1 + c->count; }

/* Where the topmost `count` values begin: a container with its items is one value. */
static vs_status values_start(machine *m, size_t count, size_t *start) {
  size_t at = m->stack.count, open = m->open.count;
  for (; count > 0; count--) {
    if (at <= fence(m)) return fail(m, VS_BAD_FORMAT, "%s finds too few values", opcode_name(m->op));
    if (open > 0 && end_of(&m->open.data[open - 1]) == at)
      at = m->open.data[--open].at;
    else
      at--;
  }
  if (at < fence(m)) return fail(m, VS_BAD_FORMAT, "%s reaches below its mark", opcode_name(m->op));
  *start = at;
  return VS_OK;
}

static uint64_t pack(machine *m, vs_value value, vs_status *status) {
  if (value.bits >> 56 == 0) return (uint64_t)(value.kind + 1) << 56 | value.bits;
  *status = vs_vec_reserve(m->host, &m->wide, 1);
  if (*status != VS_OK) return 0;
  m->wide.data[m->wide.count] = value;
  return UINT64_C(0xff) << 56 | m->wide.count++;
}

static vs_value unpack(const machine *m, uint64_t packed) {
  const uint64_t bits = packed & (UINT64_MAX >> 8);
  const uint32_t kind = (uint32_t)(packed >> 56);
  return kind == 0xff ? m->wide.data[bits] : (vs_value){.bits = bits, .kind = kind - 1};
}

/* ---- containers ------------------------------------------------------------------------------------------------ */

static vs_status fold_items(machine *m, bool is_mapping, bool is_tuple, const vs_value *items, size_t count,
                            vs_value *value) {
  *value = (vs_value){0};
  return is_mapping ? m->fold->mapping(m->fold->ctx, items, count / 2, value, m->error)
                    : m->fold->sequence(m->fold->ctx, items, count, is_tuple, value, m->error);
}

/* Closes an open container: from here on it is `value`, for the memo too. */
static vs_status seal(machine *m, open_container *c) {
  if (c->sealed) return VS_OK;
  if (c->body != NO_BODY)
    c->value = m->bodies.data[c->body].value;
  else
    VS_TRY(fold_items(m, c->is_mapping, false, m->stack.data + c->at + 1, c->count, &c->value));
  c->sealed = true;
  if (c->memo != NO_MEMO) {
    const vs_value entry = unpack(m, m->memo.data[c->memo]);
    if (entry.kind == KIND_OPEN && entry.bits == (uint64_t)(c - m->open.data)) {
      vs_status status = VS_OK;
      m->memo.data[c->memo] = pack(m, c->value, &status);
      return status;
    }
  }
  return VS_OK;
}

/* Closes all containers at or above stack position `from` and leaves one value for each. */
static vs_status collapse(machine *m, size_t from) {
  size_t first = m->open.count;
  while (first > 0 && m->open.data[first - 1].at >= from) first--;
  if (first == m->open.count) return VS_OK;
  vs_value *stack = m->stack.data;
  size_t to = m->open.data[first].at, next = to;
  for (size_t i = first; i < m->open.count; i++) {
    open_container *c = &m->open.data[i];
    memmove(stack + to, stack + next, (c->at - next) * sizeof *stack);
    to += c->at - next;
    VS_TRY(seal(m, c));
    stack[to++] = c->value;
    next = end_of(c);
  }
  memmove(stack + to, stack + next, (m->stack.count - next) * sizeof *stack);
  m->stack.count = to + (m->stack.count - next);
  m->open.count = first;
  return VS_OK;
}

/* Begins a container whose items are what lies at and above `at`. */
static vs_status begin_container(machine *m, size_t at, bool is_mapping) {
  VS_TRY(vs_vec_reserve(m->host, &m->stack, 1));
  VS_TRY(vs_vec_reserve(m->host, &m->open, 1));
  memmove(m->stack.data + at + 1, m->stack.data + at, (m->stack.count - at) * sizeof *m->stack.data);
  m->stack.data[at] = (vs_value){.bits = m->open.count, .kind = KIND_OPEN};
  m->stack.count++;
  m->open.data[m->open.count++] = (open_container){
      .at = at, .count = m->stack.count - at - 1, .memo = NO_MEMO, .body = NO_BODY, .is_mapping = is_mapping};
  return VS_OK;
}

/* Begins an empty container. A dict directly below it is complete: a container cannot be its next key. Closing it now
 * keeps the stack short where a writer puts a million dicts above one mark (PyTorch's C++ pickler does). */
static vs_status begin_empty(machine *m, bool is_mapping) {
  const open_container *below = innermost(m);
  if (below != NULL && below->is_mapping && end_of(below) == m->stack.count && below->at >= fence(m))
    VS_TRY(collapse(m, below->at));
  return begin_container(m, m->stack.count, is_mapping);
}

static vs_status pop_mark(machine *m, size_t *at) {
  if (m->marks.count == 0) return fail(m, VS_BAD_FORMAT, "%s without a MARK", opcode_name(m->op));
  *at = m->marks.data[--m->marks.count];
  return VS_OK;
}

/* Gives the values at and above `from` to the container that ends there. */
static vs_status extend(machine *m, size_t from, bool is_mapping) {
  VS_TRY(collapse(m, from));
  open_container *c = innermost(m);
  if (c == NULL || end_of(c) != from || c->is_mapping != is_mapping || c->at < fence(m))
    return fail(m, VS_BAD_FORMAT, "there is no %s below the items to put them into", is_mapping ? "dict" : "list");
  const size_t added = m->stack.count - from;
  if (is_mapping && added % 2 != 0) return fail(m, VS_BAD_FORMAT, "a dict is given a key without a value");
  if (added == 0) return VS_OK;
  if (c->sealed) return fail(m, VS_REFUSED, "a %s contains itself", is_mapping ? "dict" : "list");
  if (c->body != NO_BODY) return fail(m, VS_UNSUPPORTED, "a list of references that goes on after its first batch");
  c->count += added;
  return VS_OK;
}

static vs_status extend_from_mark(machine *m, bool is_mapping) {
  size_t mark = 0;
  VS_TRY(pop_mark(m, &mark));
  return extend(m, mark, is_mapping);
}

static vs_status extend_by(machine *m, size_t count, bool is_mapping) {
  size_t start;
  VS_TRY(values_start(m, count, &start));
  return extend(m, start, is_mapping);
}

static vs_status container_from_mark(machine *m, bool is_mapping) {
  size_t mark = 0;
  VS_TRY(pop_mark(m, &mark));
  VS_TRY(collapse(m, mark));
  if (is_mapping && (m->stack.count - mark) % 2 != 0)
    return fail(m, VS_BAD_FORMAT, "a dict is given a key without a value");
  return begin_container(m, mark, is_mapping);
}

static vs_status tuple_from(machine *m, size_t start) {
  vs_value value;
  VS_TRY(collapse(m, start));
  VS_TRY(fold_items(m, false, true, m->stack.data + start, m->stack.count - start, &value));
  m->stack.count = start;
  return push(m, value);
}

static vs_status tuple_of(machine *m, size_t count) {
  size_t start;
  VS_TRY(values_start(m, count, &start));
  return tuple_from(m, start);
}

static vs_status tuple_from_mark(machine *m) {
  size_t mark = 0;
  VS_TRY(pop_mark(m, &mark));
  return tuple_from(m, mark);
}

static vs_status pop(machine *m) {
  size_t start;
  if (m->marks.count > 0 && m->stack.count == fence(m)) return pop_mark(m, &start);
  VS_TRY(values_start(m, 1, &start));
  VS_TRY(collapse(m, start));
  m->stack.count = start;
  return VS_OK;
}

static vs_status pop_to_mark(machine *m) {
  size_t mark = 0;
  VS_TRY(pop_mark(m, &mark));
  VS_TRY(collapse(m, mark));
  m->stack.count = mark;
  return VS_OK;
}

static vs_status duplicate(machine *m) {
  size_t start;
  VS_TRY(values_start(m, 1, &start));
  VS_TRY(collapse(m, start));
  return push(m, m->stack.data[start]);
}

/* ---- the memo -------------------------------------------------------------------------------------------------- */

static vs_status memo_put(machine *m, uint64_t index) {
  size_t start;
  if (index >= vs_input_offset(m->in))
    return fail(m, VS_LIMIT, "memo index %U after %U bytes", index, vs_input_offset(m->in));
  VS_TRY(values_start(m, 1, &start));
  if (index >= m->memo.count) {
    const size_t missing = (size_t)index + 1 - m->memo.count;
    VS_TRY(vs_vec_reserve(m->host, &m->memo, missing));
    memset(m->memo.data + m->memo.count, 0, missing * sizeof *m->memo.data);
    m->memo.count += missing;
  }
  vs_value value = m->stack.data[start];
  if (value.kind == KIND_OPEN) {
    open_container *c = &m->open.data[value.bits];
    if (c->memo == NO_MEMO && !c->sealed) {
      c->memo = index;
    } else { /* named twice while open: no pickler does; close it, so that one entry is all there is to keep track of */
      VS_TRY(seal(m, c));
      value = c->value;
    }
  }
  vs_status status = VS_OK;
  const uint64_t packed = pack(m, value, &status);
  VS_TRY(status);
  if (m->memo.data[index] == 0)
    m->memo_set++;
  else
    m->epoch++;
  m->memo.data[index] = packed;
  return VS_OK;
}

static vs_status memo_value(machine *m, uint64_t index, vs_value *value) {
  if (index >= m->memo.count || m->memo.data[index] == 0)
    return fail(m, VS_BAD_FORMAT, "memo entry %U is used but was never set", index);
  *value = unpack(m, m->memo.data[index]);
  return VS_OK;
}

static vs_status memo_get(machine *m, uint64_t index) {
  vs_value value;
  VS_TRY(memo_value(m, index, &value));
  if (value.kind == KIND_OPEN) {
    open_container *c = &m->open.data[value.bits];
    VS_TRY(seal(m, c));
    value = c->value;
  }
  return push(m, value);
}

static vs_status memo_line(machine *m, vs_status (*use)(machine *, uint64_t)) {
  vs_str line;
  uint64_t index;
  VS_TRY(take_line(m, &line));
  if (!vs_parse_u64(line, &index)) return fail(m, VS_BAD_FORMAT, "a memo index that is no number");
  return use(m, index);
}

static vs_status memo_sized(machine *m, size_t size, vs_status (*use)(machine *, uint64_t)) {
  uint64_t index;
  VS_TRY(take_uint(m, size, &index));
  return use(m, index);
}

/* ---- lists of references and the body cache -------------------------------------------------------------------- */

/* Whether the bytes in front of the cursor are those of a body known since the last change of the memo. */
static bool body_is_next(const machine *m, uint32_t index) {
  if (index == NO_BODY) return false;
  const body *b = &m->bodies.data[index];
  return b->epoch == m->epoch && m->in->end - m->in->pos >= b->size &&
         memcmp(m->body_bytes.data + b->at, cursor(m), b->size) == 0;
}

static uint32_t body_find(const machine *m, uint64_t hash, size_t size) {
  for (size_t slot = vs_map_find(&m->body_by_hash, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&m->body_by_hash, slot)) {
    const uint32_t index = m->body_by_hash.slots[slot].value;
    if (m->bodies.data[index].size == size && body_is_next(m, index)) return index;
  }
  return NO_BODY;
}

/* Remembers the `size` bytes in front of the cursor, whose references are the topmost `count` values. */
static vs_status body_learn(machine *m, uint64_t hash, size_t size, size_t count, uint32_t *index) {
  vs_value value;
  VS_TRY(vs_vec_reserve(m->host, &m->body_bytes, size));
  VS_TRY(vs_vec_reserve(m->host, &m->bodies, 1));
  VS_TRY(vs_map_reserve(m->host, &m->body_by_hash));
  VS_TRY(fold_items(m, false, false, m->stack.data + m->stack.count - count, count, &value));
  *index = (uint32_t)m->bodies.count++;
  m->bodies.data[*index] = (body){.at = m->body_bytes.count,
                                  .size = (uint32_t)size,
                                  .next = NO_BODY,
                                  .epoch = m->epoch,
                                  .value = value};
  memcpy(m->body_bytes.data + m->body_bytes.count, cursor(m), size);
  m->body_bytes.count += size;
  vs_map_add(&m->body_by_hash, hash, *index);
  return VS_OK;
}

/* Steps over "reference ... reference APPENDS" in front of the cursor, pushing what the references mean. *size is 0 if
 * the bytes are not just that, are not all in the window, or if an open container is among them. */
static vs_status walk_references(machine *m, size_t *size, size_t *count) {
  const uint8_t *const start = cursor(m), *const end = m->in->data + m->in->end;
  *size = *count = 0;
  for (const uint8_t *p = start; end - p >= 5 && p - start < BODY_MAX; ++*count) {
    uint64_t index;
    if (*p == OP_BINGET) {
      index = p[1];
      p += 2;
    } else if (*p == OP_LONG_BINGET) {
      index = (uint64_t)p[1] | (uint64_t)p[2] << 8 | (uint64_t)p[3] << 16 | (uint64_t)p[4] << 24;
      p += 5;
    } else {
      if (*p == OP_APPENDS) *size = (size_t)(p + 1 - start);
      return VS_OK;
    }
    if (index >= m->memo.count || m->memo.data[index] == 0) return VS_OK;
    const vs_value value = unpack(m, m->memo.data[index]);
    if (value.kind == KIND_OPEN) return VS_OK;
    VS_TRY(push(m, value));
  }
  return VS_OK;
}

/* The cursor is behind the MARK of a list that was just begun (the innermost). If its body is nothing but references, it
 * is read here as a whole; if not, nothing is read. */
static vs_status read_body(machine *m, bool *done) {
  uint32_t index = m->last_body == NO_BODY ? NO_BODY : m->bodies.data[m->last_body].next;
  *done = true;
  if (body_is_next(m, index)) {
    m->info->lists_known++;
  } else {
    const size_t base = m->stack.count;
    size_t size, count;
    vs_status status = walk_references(m, &size, &count);
    if (status != VS_OK || size == 0 || count == 0 || count >= CPYTHON_BATCH ||
        m->body_bytes.count + size > BODIES_MAX_BYTES) {
      m->stack.count = base;
      *done = false;
      return status;
    }
    const uint64_t hash = vs_hash_bytes(cursor(m), size);
    index = body_find(m, hash, size);
    if (index == NO_BODY) status = body_learn(m, hash, size, count, &index);
    m->stack.count = base;
    VS_TRY(status);
    if (m->last_body != NO_BODY) m->bodies.data[m->last_body].next = index;
  }
  m->info->lists++;
  m->last_body = index;
  m->in->pos += m->bodies.data[index].size;
  innermost(m)->body = index;
  return VS_OK;
}

static vs_status empty_list(machine *m) {
  VS_TRY(begin_empty(m, false));
  /* Look ahead for [memo] MARK references APPENDS; whatever is not that is left to the main loop. */
  const vs_status ahead = need(m, LOOK_AHEAD);
  if (ahead != VS_OK && ahead != VS_TRUNCATED) return ahead;
  const uint8_t *p = cursor(m);
  const size_t left = m->in->end - m->in->pos;
  if (left < 8) return VS_OK;
  size_t memo_size = 0;
  uint64_t index = m->memo_set;
  if (p[0] == OP_MEMOIZE) {
    memo_size = 1;
  } else if (p[0] == OP_BINPUT) {
    memo_size = 2;
    index = p[1];
  } else if (p[0] == OP_LONG_BINPUT) {
    memo_size = 5;
    index = (uint64_t)p[1] | (uint64_t)p[2] << 8 | (uint64_t)p[3] << 16 | (uint64_t)p[4] << 24;
  }
  if (p[memo_size] != OP_MARK || (p[memo_size + 1] != OP_BINGET && p[memo_size + 1] != OP_LONG_BINGET)) return VS_OK;
  if (memo_size != 0) {
    m->op_at++;
    m->in->pos += memo_size;
    VS_TRY(memo_put(m, index));
  }
  bool done;
  m->in->pos++;
  VS_TRY(read_body(m, &done));
  if (!done) m->in->pos--;
  return VS_OK;
}

/* ---- scalars --------------------------------------------------------------------------------------------------- */

static vs_status push_string(machine *m, vs_str text) {
  vs_value value = {0};
  VS_TRY(m->fold->string(m->fold->ctx, text, &value, m->error));
  return push(m, value);
}

static vs_status sized_string(machine *m, size_t length_size) {
  uint64_t size;
  vs_str text;
  VS_TRY(take_uint(m, length_size, &size));
  VS_TRY(take_bytes(m, size, &text));
  return push_string(m, text);
}

static vs_status sized_bytes(machine *m, size_t length_size) {
  uint64_t size;
  vs_str bytes;
  VS_TRY(take_uint(m, length_size, &size));
  VS_TRY(take_bytes(m, size, &bytes));
  return push_kind(m, VS_VALUE_BYTES, 0);
}

/* A little-endian two's complement number of any length. */
static vs_status long_int(machine *m, size_t length_size) {
  uint64_t size, bits = 0;
  vs_str bytes;
  VS_TRY(take_uint(m, length_size, &size));
  VS_TRY(take_bytes(m, size, &bytes));
  const uint8_t *p = (const uint8_t *)bytes.data;
  size_t used = bytes.size;
  const uint8_t sign = used > 0 && p[used - 1] >= 0x80 ? 0xff : 0;
  while (used > 0 && p[used - 1] == sign) used--; /* bytes that only repeat the sign */
  if (used > 8) return push_kind(m, VS_VALUE_BIG, 0);
  for (size_t i = 0; i < used; i++) bits |= (uint64_t)p[i] << (8 * i);
  if (sign != 0 && used < 8) bits |= UINT64_MAX << (8 * used);
  if (sign != 0 && bits <= INT64_MAX) return push_kind(m, VS_VALUE_BIG, 0);
  return push_kind(m, sign == 0 && bits > INT64_MAX ? VS_VALUE_UINT : VS_VALUE_INT, bits);
}

/* Decimal digits of INT and LONG. */
static vs_status decimal(machine *m, vs_str digits) {
  int64_t value;
  uint64_t large;
  if (vs_parse_i64(digits, &value)) return push_kind(m, VS_VALUE_INT, (uint64_t)value);
  if (vs_parse_u64(digits, &large)) return push_kind(m, VS_VALUE_UINT, large);
  const size_t sign = digits.size > 0 && (digits.data[0] == '-' || digits.data[0] == '+');
  for (size_t i = sign; i < digits.size; i++)
    if (digits.data[i] < '0' || digits.data[i] > '9') return fail(m, VS_BAD_FORMAT, "a number that is none");
  if (digits.size == sign) return fail(m, VS_BAD_FORMAT, "a number that is none");
  return push_kind(m, VS_VALUE_BIG, 0);
}

static vs_status int_line(machine *m) {
  vs_str line;
  VS_TRY(take_line(m, &line));
  if (vs_str_equal(line, VS_STR("00"))) return push_kind(m, VS_VALUE_BOOL, 0);
  if (vs_str_equal(line, VS_STR("01"))) return push_kind(m, VS_VALUE_BOOL, 1);
  return decimal(m, line);
}

static vs_status long_line(machine *m) {
  vs_str line;
  VS_TRY(take_line(m, &line));
  if (line.size > 0 && line.data[line.size - 1] == 'L') line.size--;
  return decimal(m, line);
}

static vs_status float_line(machine *m) {
  vs_str line;
  double value;
  VS_TRY(take_line(m, &line));
  if (!vs_parse_f64(line, &value)) {
    const bool minus = line.size > 0 && line.data[0] == '-';
    const vs_str word = {line.data + minus, line.size - minus};
    if (vs_str_equal(word, VS_STR("inf")))
      return push_kind(m, VS_VALUE_REAL, UINT64_C(0x7ff) << 52 | (uint64_t)minus << 63);
    if (vs_str_equal(word, VS_STR("nan"))) return push_kind(m, VS_VALUE_REAL, UINT64_C(0x7ff8) << 48);
    return fail(m, VS_BAD_FORMAT, "a float that is none");
  }
  return push_kind(m, VS_VALUE_REAL, vs_f64_to_bits(value));
}

static vs_status binary_float(machine *m) {
  uint64_t little;
  VS_TRY(take_uint(m, 8, &little));
  return push_kind(m, VS_VALUE_REAL, __builtin_bswap64(little));
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* Reads `count` hexadecimal digits at text[at]; false if they are not there. */
static bool hex_number(vs_str text, size_t at, size_t count, uint32_t *value) {
  *value = 0;
  if (at + count > text.size) return false;
  for (size_t i = 0; i < count; i++) {
    const int digit = hex_digit(text.data[at + i]);
    if (digit < 0) return false;
    *value = *value << 4 | (uint32_t)digit;
  }
  return true;
}

/* The text line of UNICODE: Latin-1 with \uXXXX and \UXXXXXXXX, to UTF-8. */
static vs_status unicode_line(machine *m) {
  vs_str line;
  VS_TRY(take_line(m, &line));
  vs_text utf8;
  vs_text_init(&utf8, m->host, NULL);
  for (size_t i = 0; i < line.size; i++) {
    uint32_t point = (uint8_t)line.data[i];
    if (point == '\\' && i + 1 < line.size && (line.data[i + 1] == 'u' || line.data[i + 1] == 'U')) {
      const size_t count = line.data[i + 1] == 'u' ? 4 : 8;
      if (!hex_number(line, i + 2, count, &point)) {
        vs_text_deinit(&utf8);
        return fail(m, VS_BAD_FORMAT, "a broken \\u escape");
      }
      i += count + 1;
    }
    vs_text_code_point(&utf8, point);
  }
  vs_status status = utf8.status;
  if (status == VS_OK) status = push_string(m, vs_text_view(&utf8));
  vs_text_deinit(&utf8);
  return status;
}

/* The text line of STRING: a quoted literal of Python 2 with its backslash escapes. */
static vs_status quoted_line(machine *m) {
  vs_str line;
  VS_TRY(take_line(m, &line));
  if (line.size < 2 || (line.data[0] != '\'' && line.data[0] != '"') || line.data[line.size - 1] != line.data[0])
    return fail(m, VS_BAD_FORMAT, "a STRING without its quotes");
  vs_text out;
  vs_text_init(&out, m->host, NULL);
  for (size_t i = 1; i + 1 < line.size; i++) {
    char c = line.data[i];
    uint32_t code;
    if (c == '\\' && i + 2 < line.size) {
      c = line.data[++i];
      if (c == 'n') c = '\n';
      else if (c == 't') c = '\t';
      else if (c == 'r') c = '\r';
      else if (c == 'x' && hex_number(line, i + 1, 2, &code)) {
        c = (char)(uint8_t)code;
        i += 2;
      }
    }
    vs_text_put(&out, &c, 1);
  }
  vs_status status = out.status;
  if (status == VS_OK) status = push_string(m, vs_text_view(&out));
  vs_text_deinit(&out);
  return status;
}

/* ---- refusals -------------------------------------------------------------------------------------------------- */

static vs_status refuse_named(machine *m, const char *op, vs_str module, vs_str name) {
  return fail(m, VS_REFUSED, "%s asks for %S.%S; only plain data is read, nothing was loaded or run", op, module, name);
}

/* What the value `below` the top of the stack says, if it is a string. */
static vs_str string_below(machine *m, size_t below) {
  if (m->stack.count <= below) return VS_STR("?");
  const vs_value value = m->stack.data[m->stack.count - 1 - below];
  return value.kind == VS_VALUE_STRING ? m->fold->text(m->fold->ctx, value) : VS_STR("?");
}

static vs_str clipped(vs_str text) { return text.size > 80 ? (vs_str){text.data, 80} : text; }

static vs_status refuse(machine *m, uint8_t op) {
  const char *name = opcode_name(op);
  vs_str first, second;
  uint64_t code;
  if (op == OP_STACK_GLOBAL) return refuse_named(m, name, clipped(string_below(m, 1)), clipped(string_below(m, 0)));
  if (op == OP_GLOBAL || op == OP_INST) {
    char module[81];
    VS_TRY(take_line(m, &first));
    vs_format(module, sizeof module, "%S", clipped(first)); /* the next read may move the window */
    VS_TRY(take_line(m, &second));
    return refuse_named(m, name, vs_str_from(module), clipped(second));
  }
  if (op == OP_PERSID) {
    VS_TRY(take_line(m, &first));
    return fail(m, VS_REFUSED, "%s asks for the outside object '%S'; only plain data is read", name, clipped(first));
  }
  if (op == OP_EXT1 || op == OP_EXT2 || op == OP_EXT4) {
    VS_TRY(take_uint(m, op == OP_EXT1 ? 1 : op == OP_EXT2 ? 2 : 4, &code));
    return fail(m, VS_REFUSED, "%s asks for the registered class %U; only plain data is read", name, code);
  }
  return fail(m, VS_REFUSED, "%s asks for a class or a call; only plain data is read, nothing was run", name);
}

/* ---- the machine ----------------------------------------------------------------------------------------------- */

static vs_status protocol(machine *m) {
  uint64_t version;
  VS_TRY(take_uint(m, 1, &version));
  if (version > 5) return fail(m, VS_UNSUPPORTED, "pickle protocol %U; 0 to 5 are known", version);
  m->info->protocol = (uint32_t)version;
  return VS_OK;
}

static vs_status put_mark(machine *m) {
  if (m->marks.count >= VS_PICKLE_MAX_MARKS)
    return fail(m, VS_LIMIT, "nested more than %d levels deep", VS_PICKLE_MAX_MARKS);
  VS_TRY(vs_vec_reserve(m->host, &m->marks, 1));
  m->marks.data[m->marks.count++] = m->stack.count;
  return VS_OK;
}

static vs_status stop(machine *m, vs_value *root) {
  size_t start;
  if (m->marks.count != 0) return fail(m, VS_BAD_FORMAT, "STOP inside an open MARK");
  VS_TRY(values_start(m, 1, &start));
  if (start != 0) return fail(m, VS_BAD_FORMAT, "STOP with more than one value left");
  VS_TRY(collapse(m, 0));
  *root = m->stack.data[0];
  m->info->size = vs_input_offset(m->in);
  return VS_OK;
}

static vs_status take_int(machine *m, size_t size) {
  uint64_t value;
  VS_TRY(take_uint(m, size, &value));
  if (size == 4) value = (uint64_t)(int64_t)(int32_t)(uint32_t)value;
  return push_kind(m, VS_VALUE_INT, value);
}

static vs_status skip_frame_length(machine *m) {
  uint64_t size;
  return take_uint(m, 8, &size); /* frames only help to read ahead: the opcodes inside say all */
}

static vs_status execute(machine *m, uint8_t op) {
  switch (op) {
    case OP_PROTO: return protocol(m);
    case OP_FRAME: return skip_frame_length(m);
    case OP_MARK: return put_mark(m);
    case OP_POP: return pop(m);
    case OP_POP_MARK: return pop_to_mark(m);
    case OP_DUP: return duplicate(m);

    case OP_NONE: return push_kind(m, VS_VALUE_NONE, 0);
    case OP_NEWTRUE: return push_kind(m, VS_VALUE_BOOL, 1);
    case OP_NEWFALSE: return push_kind(m, VS_VALUE_BOOL, 0);
    case OP_BININT1: return take_int(m, 1);
    case OP_BININT2: return take_int(m, 2);
    case OP_BININT: return take_int(m, 4);
    case OP_LONG1: return long_int(m, 1);
    case OP_LONG4: return long_int(m, 4);
    case OP_INT: return int_line(m);
    case OP_LONG: return long_line(m);
    case OP_FLOAT: return float_line(m);
    case OP_BINFLOAT: return binary_float(m);

    case OP_SHORT_BINUNICODE: return sized_string(m, 1);
    case OP_BINUNICODE: return sized_string(m, 4);
    case OP_BINUNICODE8: return sized_string(m, 8);
    case OP_SHORT_BINSTRING: return sized_string(m, 1);
    case OP_BINSTRING: return sized_string(m, 4);
    case OP_UNICODE: return unicode_line(m);
    case OP_STRING: return quoted_line(m);
    case OP_SHORT_BINBYTES: return sized_bytes(m, 1);
    case OP_BINBYTES: return sized_bytes(m, 4);
    case OP_BINBYTES8: return sized_bytes(m, 8);
    case OP_BYTEARRAY8: return sized_bytes(m, 8);

    case OP_EMPTY_LIST: return empty_list(m);
    case OP_EMPTY_SET: return begin_empty(m, false);
    case OP_EMPTY_DICT: return begin_empty(m, true);
    case OP_LIST: return container_from_mark(m, false);
    case OP_DICT: return container_from_mark(m, true);
    case OP_APPEND: return extend_by(m, 1, false);
    case OP_APPENDS: return extend_from_mark(m, false);
    case OP_ADDITEMS: return extend_from_mark(m, false);
    case OP_SETITEM: return extend_by(m, 2, true);
    case OP_SETITEMS: return extend_from_mark(m, true);
    case OP_EMPTY_TUPLE: return tuple_of(m, 0);
    case OP_TUPLE1: return tuple_of(m, 1);
    case OP_TUPLE2: return tuple_of(m, 2);
    case OP_TUPLE3: return tuple_of(m, 3);
    case OP_TUPLE: return tuple_from_mark(m);
    case OP_FROZENSET: return tuple_from_mark(m);

    case OP_MEMOIZE: return memo_put(m, m->memo_set);
    case OP_BINPUT: return memo_sized(m, 1, memo_put);
    case OP_LONG_BINPUT: return memo_sized(m, 4, memo_put);
    case OP_PUT: return memo_line(m, memo_put);
    case OP_BINGET: return memo_sized(m, 1, memo_get);
    case OP_LONG_BINGET: return memo_sized(m, 4, memo_get);
    case OP_GET: return memo_line(m, memo_get);

#define PLAIN(byte)
#define REFUSED(byte) case byte:
#define VS_PICKLE_OP(name, byte, meaning) meaning(byte)
#include "codec/pickle_ops.def"
#undef VS_PICKLE_OP
#undef PLAIN
#undef REFUSED
      return refuse(m, op);
    default: return fail(m, VS_BAD_FORMAT, "byte 0x%x is not a pickle opcode", (uint64_t)op);
  }
}

static vs_status run(machine *m, vs_value *root) {
  for (;;) {
    m->op_at = vs_input_offset(m->in);
    VS_TRY(need(m, 1));
    m->op = m->in->data[m->in->pos++];
    if (m->op == OP_STOP) return stop(m, root);
    VS_TRY(execute(m, m->op));
  }
}

/* Gives every failure a sentence and an offset. */
static void explain(machine *m, vs_status status) {
  if (m->error->status != status || m->error->text[0] == 0) {
    if (status == VS_TRUNCATED)
      (void)fail(m, status, "the pickle ends too early, inside the value that begins here");
    else
      (void)fail(m, status, "%s", vs_status_text(status));
  } else if (m->error->offset == VS_NO_OFFSET) {
    m->error->offset = m->op_at;
  }
}

vs_status vs_pickle_fold(vs_input *input, const vs_fold *fold, vs_value *root, vs_pickle_info *info, vs_error *error) {
  *info = (vs_pickle_info){0};
  *error = (vs_error){.offset = VS_NO_OFFSET};
  machine m = {.in = input, .host = input->host, .fold = fold, .info = info, .error = error, .last_body = NO_BODY};
  const vs_status status = run(&m, root);
  if (status != VS_OK) explain(&m, status);
  vs_vec_free(m.host, &m.stack);
  vs_vec_free(m.host, &m.marks);
  vs_vec_free(m.host, &m.open);
  vs_vec_free(m.host, &m.memo);
  vs_vec_free(m.host, &m.wide);
  vs_vec_free(m.host, &m.body_bytes);
  vs_vec_free(m.host, &m.bodies);
  vs_map_deinit(m.host, &m.body_by_hash);
  return status;
}
