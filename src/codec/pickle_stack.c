#include "codec/pickle_machine.h"

/* The position of the topmost `count` values; a container with its items counts as one. */
vs_status vs_pickle__values_start(vs_pickle_machine *m, size_t count, size_t *start) {
  size_t at = m->stack.count, open = m->open.count;
  for (; count > 0; count--) {
    if (at <= vs_pickle__fence(m))
      return vs_pickle__fail(m, VS_BAD_FORMAT, "%s finds too few values", vs_pickle__opcode_name(m->op));
    if (open > 0 && vs_pickle__end_of(&m->open.data[open - 1]) == at) at = m->open.data[--open].at;
    else at--;
  }
  if (at < vs_pickle__fence(m))
    return vs_pickle__fail(m, VS_BAD_FORMAT, "%s reaches below its mark", vs_pickle__opcode_name(m->op));
  *start = at;
  return VS_OK;
}

vs_status vs_pickle__pack_wide(vs_pickle_machine *m, vs_value value, uint64_t *packed) {
  VS_TRY(vs_vec_reserve(m->host, &m->wide, 1));
  m->wide.data[m->wide.count] = value;
  *packed = (uint64_t)VS_PICKLE_WIDE << 56 | m->wide.count++;
  return VS_OK;
}

/* ---- containers ------------------------------------------------------------------------------------------------ */

vs_status vs_pickle__fold_items(vs_pickle_machine *m, bool is_mapping, bool is_tuple, const vs_value *items,
                                size_t count, vs_value *value) {
  *value = (vs_value){0};
  return is_mapping ? m->fold->mapping(m->fold->ctx, items, count / 2, value, m->error)
                    : m->fold->sequence(m->fold->ctx, items, count, is_tuple, value, m->error);
}

/* Closes an open container: `value` replaces it, in the memo as well. */
vs_status vs_pickle__seal(vs_pickle_machine *m, vs_pickle_open *c) {
  if (c->sealed) return VS_OK;
  if (c->body != VS_PICKLE_NO_BODY) c->value = m->bodies.data[c->body].value;
  else VS_TRY(vs_pickle__fold_items(m, c->is_mapping, false, m->stack.data + c->at + 1, c->count, &c->value));
  c->sealed = true;
  if (c->memo != VS_PICKLE_NO_MEMO) {
    const vs_value entry = vs_pickle__unpack(m, m->memo.data[c->memo]);
    if (entry.kind == VS_PICKLE_KIND_OPEN && entry.bits == (uint64_t)(c - m->open.data)) {
      return vs_pickle__pack(m, c->value, &m->memo.data[c->memo]);
    }
  }
  return VS_OK;
}

/* Closes all containers at or above stack position `from` and leaves one value for each. */
vs_status vs_pickle__collapse(vs_pickle_machine *m, size_t from) {
  size_t first = m->open.count;
  while (first > 0 && m->open.data[first - 1].at >= from) first--;
  if (first == m->open.count) return VS_OK;
  vs_value *stack = m->stack.data;
  size_t to = m->open.data[first].at, next = to;
  for (size_t i = first; i < m->open.count; i++) {
    vs_pickle_open *c = &m->open.data[i];
    VS_ASSERT(next <= c->at && stack[c->at].kind == VS_PICKLE_KIND_OPEN && stack[c->at].bits == i);
    memmove(stack + to, stack + next, (c->at - next) * sizeof *stack);
    to += c->at - next;
    VS_TRY(vs_pickle__seal(m, c));
    stack[to++] = c->value;
    next = vs_pickle__end_of(c);
  }
  memmove(stack + to, stack + next, (m->stack.count - next) * sizeof *stack);
  m->stack.count = to + (m->stack.count - next);
  m->open.count = first;
  return VS_OK;
}

/* Begins a container whose items are the values from `at` on. */
static vs_status begin_container(vs_pickle_machine *m, size_t at, bool is_mapping) {
  VS_ASSERT(at <= m->stack.count);
  VS_TRY(vs_vec_reserve(m->host, &m->stack, 1));
  VS_TRY(vs_vec_reserve(m->host, &m->open, 1));
  memmove(m->stack.data + at + 1, m->stack.data + at, (m->stack.count - at) * sizeof *m->stack.data);
  m->stack.data[at] = (vs_value){.bits = m->open.count, .kind = VS_PICKLE_KIND_OPEN};
  m->stack.count++;
  m->open.data[m->open.count++] = (vs_pickle_open){.at = at,
                                                   .count = m->stack.count - at - 1,
                                                   .memo = VS_PICKLE_NO_MEMO,
                                                   .body = VS_PICKLE_NO_BODY,
                                                   .is_mapping = is_mapping};
  return VS_OK;
}

/* A container begins. A dict directly below it is complete, because a container cannot be its next key. Closing it now keeps
 * the stack short if a writer puts a million dicts above one mark, as PyTorch's C++ pickler does. */
vs_status vs_pickle__close_dict_below(vs_pickle_machine *m) {
  const vs_pickle_open *below = vs_pickle__innermost(m);
  if (below == NULL || !below->is_mapping || vs_pickle__end_of(below) != m->stack.count ||
      below->at < vs_pickle__fence(m))
    return VS_OK;
  return vs_pickle__collapse(m, below->at);
}

vs_status vs_pickle__begin_empty(vs_pickle_machine *m, bool is_mapping) {
  VS_TRY(vs_pickle__close_dict_below(m));
  return begin_container(m, m->stack.count, is_mapping);
}

static vs_status pop_mark(vs_pickle_machine *m, size_t *at) {
  if (m->marks.count == 0)
    return vs_pickle__fail(m, VS_BAD_FORMAT, "%s without a MARK", vs_pickle__opcode_name(m->op));
  *at = m->marks.data[--m->marks.count];
  VS_ASSERT(*at <= m->stack.count);
  return VS_OK;
}

/* Adds the values from `from` on to the container that ends there. */
static vs_status extend(vs_pickle_machine *m, size_t from, bool is_mapping) {
  VS_TRY(vs_pickle__collapse(m, from));
  vs_pickle_open *c = vs_pickle__innermost(m);
  if (c == NULL || vs_pickle__end_of(c) != from || c->is_mapping != is_mapping || c->at < vs_pickle__fence(m))
    return vs_pickle__fail(m, VS_BAD_FORMAT, "there is no %s below the items to put them into",
                           is_mapping ? "dict" : "list");
  const size_t added = m->stack.count - from;
  if (is_mapping && added % 2 != 0)
    return vs_pickle__fail(m, VS_BAD_FORMAT, "a dict is given a key without a value");
  if (added == 0) return VS_OK;
  if (c->sealed) return vs_pickle__fail(m, VS_REFUSED, "a %s contains itself", is_mapping ? "dict" : "list");
  if (c->body != VS_PICKLE_NO_BODY)
    return vs_pickle__fail(m, VS_UNSUPPORTED, "a list of references that goes on after its first batch");
  c->count += added;
  return VS_OK;
}

vs_status vs_pickle__extend_from_mark(vs_pickle_machine *m, bool is_mapping) {
  size_t mark = 0;
  VS_TRY(pop_mark(m, &mark));
  return extend(m, mark, is_mapping);
}

vs_status vs_pickle__extend_by(vs_pickle_machine *m, size_t count, bool is_mapping) {
  size_t start;
  VS_TRY(vs_pickle__values_start(m, count, &start));
  return extend(m, start, is_mapping);
}

vs_status vs_pickle__container_from_mark(vs_pickle_machine *m, bool is_mapping) {
  size_t mark = 0;
  VS_TRY(pop_mark(m, &mark));
  VS_TRY(vs_pickle__collapse(m, mark));
  if (is_mapping && (m->stack.count - mark) % 2 != 0)
    return vs_pickle__fail(m, VS_BAD_FORMAT, "a dict is given a key without a value");
  return begin_container(m, mark, is_mapping);
}

static vs_status tuple_from(vs_pickle_machine *m, size_t start) {
  vs_value value;
  VS_TRY(vs_pickle__collapse(m, start));
  VS_TRY(vs_pickle__fold_items(m, false, true, m->stack.data + start, m->stack.count - start, &value));
  m->stack.count = start;
  return vs_pickle__push(m, value);
}

vs_status vs_pickle__tuple_of(vs_pickle_machine *m, size_t count) {
  size_t start;
  VS_TRY(vs_pickle__values_start(m, count, &start));
  return tuple_from(m, start);
}

vs_status vs_pickle__tuple_from_mark(vs_pickle_machine *m) {
  size_t mark = 0;
  VS_TRY(pop_mark(m, &mark));
  return tuple_from(m, mark);
}

vs_status vs_pickle__pop(vs_pickle_machine *m) {
  size_t start;
  if (m->marks.count > 0 && m->stack.count == vs_pickle__fence(m)) return pop_mark(m, &start);
  VS_TRY(vs_pickle__values_start(m, 1, &start));
  VS_TRY(vs_pickle__collapse(m, start));
  m->stack.count = start;
  return VS_OK;
}

vs_status vs_pickle__pop_to_mark(vs_pickle_machine *m) {
  size_t mark = 0;
  VS_TRY(pop_mark(m, &mark));
  VS_TRY(vs_pickle__collapse(m, mark));
  m->stack.count = mark;
  return VS_OK;
}

vs_status vs_pickle__duplicate(vs_pickle_machine *m) {
  size_t start;
  VS_TRY(vs_pickle__values_start(m, 1, &start));
  VS_TRY(vs_pickle__collapse(m, start));
  return vs_pickle__push(m, m->stack.data[start]);
}

/* ---- the memo -------------------------------------------------------------------------------------------------- */

vs_status vs_pickle__memo_put(vs_pickle_machine *m, uint64_t index) {
  size_t start;
  if (index >= vs_input_offset(m->in) + VS_PICKLE_MEMO_AHEAD)
    return vs_pickle__fail(m, VS_LIMIT, "memo index %U after %U bytes", index, vs_input_offset(m->in));
  VS_TRY(vs_pickle__values_start(m, 1, &start));
  if (index >= m->memo.count) {
    const size_t missing = (size_t)index + 1 - m->memo.count;
    VS_TRY(vs_vec_reserve(m->host, &m->memo, missing));
    for (size_t i = 0; i < missing; i++) m->memo.data[m->memo.count++] = 0;
  }
  vs_value value = m->stack.data[start];
  if (value.kind == VS_PICKLE_KIND_OPEN) {
    vs_pickle_open *c = &m->open.data[value.bits];
    if (c->memo == VS_PICKLE_NO_MEMO && !c->sealed) {
      c->memo = index;
    } else { /* a second entry while it is open, which no pickler writes: close it, so that one entry has to be updated */
      VS_TRY(vs_pickle__seal(m, c));
      value = c->value;
    }
  }
  uint64_t packed = 0;
  VS_TRY(vs_pickle__pack(m, value, &packed));
  if (m->memo.data[index] == 0) m->memo_set++;
  else m->overwritten = true;
  VS_ASSERT(packed != 0);
  m->memo.data[index] = packed;
  return VS_OK;
}

static vs_status memo_value(vs_pickle_machine *m, uint64_t index, vs_value *value) {
  if (index >= m->memo.count || m->memo.data[index] == 0)
    return vs_pickle__fail(m, VS_BAD_FORMAT, "memo entry %U is used but was never set", index);
  *value = vs_pickle__unpack(m, m->memo.data[index]);
  return VS_OK;
}

vs_status vs_pickle__memo_get(vs_pickle_machine *m, uint64_t index) {
  vs_value value = {0};
  VS_TRY(memo_value(m, index, &value));
  if (value.kind == VS_PICKLE_KIND_OPEN) {
    vs_pickle_open *c = &m->open.data[value.bits];
    VS_TRY(vs_pickle__seal(m, c));
    value = c->value;
  }
  return vs_pickle__push(m, value);
}

vs_status vs_pickle__memo_line(vs_pickle_machine *m, vs_status (*use)(vs_pickle_machine *, uint64_t)) {
  vs_str line;
  uint64_t index;
  VS_TRY(vs_pickle__take_line(m, &line));
  if (!vs_parse_u64(line, &index)) return vs_pickle__fail(m, VS_BAD_FORMAT, "a memo index that is no number");
  return use(m, index);
}

vs_status vs_pickle__memo_sized(vs_pickle_machine *m, size_t size,
                                vs_status (*use)(vs_pickle_machine *, uint64_t)) {
  uint64_t index;
  VS_TRY(vs_pickle__take_uint(m, size, &index));
  return use(m, index);
}
