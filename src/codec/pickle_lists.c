/* Lists of memo references, and the cache of their bodies: see pickle_machine.h. */
#include "codec/pickle_machine.h"

/* Whether the bytes at `p` in the window are those of a known body. */
static bool body_is_at(const vs_pickle_machine *m, const uint8_t *p, uint32_t index) {
  VS_ASSERT(index < m->bodies.count);
  const vs_pickle_body *b = &m->bodies.data[index];
  return (size_t)(m->in->data + m->in->end - p) >= b->size &&
         memcmp(m->body_bytes.data + b->at, p, b->size) == 0;
}

static uint32_t body_by_hash(const vs_pickle_machine *m, const uint8_t *p, uint64_t hash, size_t size) {
  for (size_t slot = vs_map_find(&m->body_by_hash, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&m->body_by_hash, slot)) {
    const uint32_t index = m->body_by_hash.slots[slot].value;
    if (m->bodies.data[index].size == size && body_is_at(m, p, index)) return index;
  }
  return VS_PICKLE_NO_BODY;
}

/* Adds a body: the one at the cursor, whose references are the topmost values. */
static vs_status body_learn(vs_pickle_machine *m, vs_pickle_found_body *found) {
  const size_t size = found->size, count = found->count;
  vs_value value;
  VS_TRY(vs_vec_reserve(m->host, &m->body_bytes, size));
  VS_TRY(vs_vec_reserve(m->host, &m->bodies, 1));
  VS_TRY(vs_map_reserve(m->host, &m->body_by_hash));
  VS_TRY(vs_pickle__fold_items(m, false, false, m->stack.data + m->stack.count - count, count, &value));
  found->index = (uint32_t)m->bodies.count++;
  m->bodies.data[found->index] = (vs_pickle_body){.at = m->body_bytes.count,
                                                  .size = (uint32_t)size,
                                                  .next = VS_PICKLE_NO_BODY,
                                                  .next_before = VS_PICKLE_NO_BODY,
                                                  .value = value};
  memcpy(m->body_bytes.data + m->body_bytes.count, vs_pickle__cursor(m), size);
  m->body_bytes.count += size;
  vs_map_add(&m->body_by_hash, found->hash, found->index);
  return VS_OK;
}

/* Measures "reference ... reference APPENDS" at `p`. The size is 0 if there are other opcodes, if not all of it is in the
 * window, or if it is no body for the cache. */
static void measure_body(const vs_pickle_machine *m, const uint8_t *const start,
                         vs_pickle_found_body *found) {
  const uint8_t *const end = m->in->data + m->in->end;
  const uint8_t *p = start;
  size_t count = 0, step = 0;
  uint64_t index;
  while (end - p >= 5 && p - start < VS_PICKLE_BODY_MAX && (step = vs_pickle__reference(p, &index)) != 0) {
    p += step;
    count++;
  }
  if (count == 0 || count >= VS_PICKLE_CPYTHON_BATCH || step != 0 || *p != VS_OP_APPENDS) return;
  found->size = (size_t)(p + 1 - start);
  found->count = count;
}

void vs_pickle__body_find(const vs_pickle_machine *m, const uint8_t *p, vs_pickle_found_body *found) {
  *found = (vs_pickle_found_body){.index = VS_PICKLE_NO_BODY};
  if (m->last_body != VS_PICKLE_NO_BODY) {
    const vs_pickle_body *last = &m->bodies.data[m->last_body];
    if (last->next != VS_PICKLE_NO_BODY && body_is_at(m, p, last->next)) found->index = last->next;
    else if (last->next_before != VS_PICKLE_NO_BODY && body_is_at(m, p, last->next_before))
      found->index = last->next_before;
    found->predicted = found->index != VS_PICKLE_NO_BODY;
    if (found->predicted) return;
  }
  measure_body(m, p, found);
  if (found->size == 0) return;
  found->hash = vs_hash_bytes(p, found->size);
  found->index = body_by_hash(m, p, found->hash, found->size);
}

/* Remembers that a list has a known body, for the prediction of the next one. */
void vs_pickle__body_use(vs_pickle_machine *m, const vs_pickle_found_body *found) {
  if (m->last_body != VS_PICKLE_NO_BODY) {
    vs_pickle_body *last = &m->bodies.data[m->last_body];
    if (last->next != found->index) last->next_before = last->next;
    last->next = found->index;
  }
  m->last_body = found->index;
  m->info->lists++;
  m->info->lists_known += found->predicted;
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

/* Makes a known body of the new one at the cursor. Its index stays VS_PICKLE_NO_BODY if that is not possible. */
static vs_status body_add(vs_pickle_machine *m, vs_pickle_found_body *found) {
  if (m->body_bytes.count + found->size > VS_PICKLE_BODIES_MAX_BYTES) return VS_OK;
  const size_t base = m->stack.count;
  bool is_plain;
  vs_status status = push_body(m, found->count, &is_plain);
  if (status == VS_OK && is_plain) status = body_learn(m, found);
  m->stack.count = base;
  return status;
}

/* The cursor is after the MARK of the innermost list, which is empty. If its body consists of references only, reads
 * all of it; else nothing. */
static vs_status read_body(vs_pickle_machine *m, bool *done) {
  vs_pickle_found_body found;
  *done = false;
  vs_pickle__body_find(m, vs_pickle__cursor(m), &found);
  if (found.index == VS_PICKLE_NO_BODY && found.size != 0) VS_TRY(body_add(m, &found));
  if (found.index == VS_PICKLE_NO_BODY) return VS_OK;
  *done = true;
  vs_pickle__body_use(m, &found);
  m->in->pos += m->bodies.data[found.index].size;
  VS_ASSERT(m->in->pos <= m->in->end && vs_pickle__innermost(m) != NULL &&
            vs_pickle__innermost(m)->count == 0);
  vs_pickle__innermost(m)->body = found.index;
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
