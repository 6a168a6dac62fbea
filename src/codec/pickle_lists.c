/* Lists of memo references, and the cache of their bodies: see pickle_machine.h. */
#include "codec/pickle_machine.h"

/* Whether the bytes at the cursor are those of a known body. */
static bool body_is_next(const vs_pickle_machine *m, uint32_t index) {
  if (index == VS_PICKLE_NO_BODY) return false;
  VS_ASSERT(index < m->bodies.count);
  const vs_pickle_body *b = &m->bodies.data[index];
  return m->in->end - m->in->pos >= b->size &&
         memcmp(m->body_bytes.data + b->at, vs_pickle__cursor(m), b->size) == 0;
}

static uint32_t body_find(const vs_pickle_machine *m, uint64_t hash, size_t size) {
  for (size_t slot = vs_map_find(&m->body_by_hash, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&m->body_by_hash, slot)) {
    const uint32_t index = m->body_by_hash.slots[slot].value;
    if (m->bodies.data[index].size == size && body_is_next(m, index)) return index;
  }
  return VS_PICKLE_NO_BODY;
}

/* Adds a body: the `size` bytes at the cursor, whose references are the topmost `count` values. */
static vs_status body_learn(vs_pickle_machine *m, uint64_t hash, size_t size, size_t count, uint32_t *index) {
  vs_value value;
  VS_TRY(vs_vec_reserve(m->host, &m->body_bytes, size));
  VS_TRY(vs_vec_reserve(m->host, &m->bodies, 1));
  VS_TRY(vs_map_reserve(m->host, &m->body_by_hash));
  VS_TRY(vs_pickle__fold_items(m, false, false, m->stack.data + m->stack.count - count, count, &value));
  *index = (uint32_t)m->bodies.count++;
  m->bodies.data[*index] = (vs_pickle_body){
      .at = m->body_bytes.count, .size = (uint32_t)size, .next = VS_PICKLE_NO_BODY, .value = value};
  memcpy(m->body_bytes.data + m->body_bytes.count, vs_pickle__cursor(m), size);
  m->body_bytes.count += size;
  vs_map_add(&m->body_by_hash, hash, *index);
  return VS_OK;
}

/* Measures "reference ... reference APPENDS" at the cursor: its bytes and the number of its references. *size is 0
 * if there are other opcodes, or not all of it is in the window. */
static void measure_body(const vs_pickle_machine *m, size_t *size, size_t *count) {
  const uint8_t *const start = vs_pickle__cursor(m), *const end = m->in->data + m->in->end;
  const uint8_t *p = start;
  uint64_t index;
  *size = *count = 0;
  for (size_t step; end - p >= 5 && p - start < VS_PICKLE_BODY_MAX; p += step, ++*count)
    if ((step = vs_pickle__reference(p, &index)) == 0) {
      if (*p == VS_OP_APPENDS) *size = (size_t)(p + 1 - start);
      return;
    }
}

/* Pushes the values of the `count` references at the cursor; false if one of them is unset or an open container. */
static vs_status push_body(vs_pickle_machine *m, size_t count, bool *is_plain) {
  const uint8_t *p = vs_pickle__cursor(m);
  uint64_t index = 0;
  *is_plain = false;
  VS_TRY(vs_vec_reserve(m->host, &m->stack, count));
  for (size_t i = 0; i < count; i++) {
    p += vs_pickle__reference(p, &index);
    if (index >= m->memo.count || m->memo.data[index] == 0) return VS_OK;
    const vs_value value = vs_pickle__unpack(m, m->memo.data[index]);
    if (value.kind == VS_PICKLE_KIND_OPEN) return VS_OK;
    m->stack.data[m->stack.count++] = value;
  }
  *is_plain = true;
  return VS_OK;
}

/* The body of `size` bytes at the cursor: a known one, or a new one. VS_PICKLE_NO_BODY: it cannot be one. */
static vs_status body_of(vs_pickle_machine *m, size_t size, size_t count, uint32_t *index) {
  const uint64_t hash = vs_hash_bytes(vs_pickle__cursor(m), size);
  *index = body_find(m, hash, size);
  if (*index != VS_PICKLE_NO_BODY || m->body_bytes.count + size > VS_PICKLE_BODIES_MAX_BYTES) return VS_OK;
  const size_t base = m->stack.count;
  bool is_plain;
  vs_status status = push_body(m, count, &is_plain);
  if (status == VS_OK && is_plain) status = body_learn(m, hash, size, count, index);
  m->stack.count = base;
  return status;
}

/* The cursor is after the MARK of the innermost list, which is empty. If its body consists of references only, reads
 * all of it; else nothing. */
static vs_status read_body(vs_pickle_machine *m, bool *done) {
  uint32_t index = m->last_body == VS_PICKLE_NO_BODY ? VS_PICKLE_NO_BODY : m->bodies.data[m->last_body].next;
  *done = false;
  if (body_is_next(m, index)) {
    m->info->lists_known++;
  } else {
    size_t size, count;
    measure_body(m, &size, &count);
    if (size == 0 || count == 0 || count >= VS_PICKLE_CPYTHON_BATCH) return VS_OK;
    VS_TRY(body_of(m, size, count, &index));
    if (index == VS_PICKLE_NO_BODY) return VS_OK;
    if (m->last_body != VS_PICKLE_NO_BODY) m->bodies.data[m->last_body].next = index;
  }
  *done = true;
  m->info->lists++;
  m->last_body = index;
  m->in->pos += m->bodies.data[index].size;
  VS_ASSERT(m->in->pos <= m->in->end && vs_pickle__innermost(m) != NULL &&
            vs_pickle__innermost(m)->count == 0);
  vs_pickle__innermost(m)->body = index;
  return VS_OK;
}

vs_status vs_pickle__empty_list(vs_pickle_machine *m) {
  VS_TRY(vs_pickle__begin_empty(m, false));
  if (m->overwritten) return VS_OK;
  /* Look ahead for [memo] MARK references APPENDS; anything else is left to the main loop. */
  const vs_status ahead = vs_pickle__need(m, VS_PICKLE_LOOK_AHEAD);
  if (ahead != VS_OK && !vs_input_ended(m->in, ahead)) return ahead;
  const uint8_t *p = vs_pickle__cursor(m);
  const size_t left = m->in->end - m->in->pos;
  if (left < 8) return VS_OK;
  size_t memo_size = 0;
  uint64_t index = m->memo_set;
  if (p[0] == VS_OP_MEMOIZE) {
    memo_size = 1;
  } else if (p[0] == VS_OP_BINPUT) {
    memo_size = 2;
    index = p[1];
  } else if (p[0] == VS_OP_LONG_BINPUT) {
    memo_size = 5;
    index = (uint64_t)p[1] | (uint64_t)p[2] << 8 | (uint64_t)p[3] << 16 | (uint64_t)p[4] << 24;
  }
  if (p[memo_size] != VS_OP_MARK ||
      (p[memo_size + 1] != VS_OP_BINGET && p[memo_size + 1] != VS_OP_LONG_BINGET))
    return VS_OK;
  if (memo_size != 0) {
    m->op_at++;
    m->in->pos += memo_size;
    VS_TRY(vs_pickle__memo_put(m, index));
    if (m->overwritten) return VS_OK;
  }
  bool done;
  m->in->pos++;
  VS_TRY(read_body(m, &done));
  if (!done) m->in->pos--;
  return VS_OK;
}
