/* The pickle machine: the loop over opcodes. pickle_machine.h explains its data; containers and memo are in
 * pickle_stack.c, repeated lists in pickle_lists.c, whole dicts in pickle_dicts.c, numbers and strings in pickle_scalars.c. */
#include "codec/pickle_machine.h"

enum { BATCH = 4096 };

/* ---- refusals -------------------------------------------------------------------------------------------------- */

static vs_status refuse_named(vs_pickle_machine *m, const char *op, vs_str module, vs_str name) {
  return vs_pickle__fail(m, VS_REFUSED,
                         "%s asks for %S.%S; only plain data is read, nothing was loaded or run", op, module,
                         name);
}

/* The text of the value `below` values under the top of the stack; "?" if it is no string. */
static vs_str string_below(vs_pickle_machine *m, size_t below) {
  if (m->stack.count <= below) return VS_STR("?");
  const vs_value value = m->stack.data[m->stack.count - 1 - below];
  return value.kind == VS_VALUE_STRING ? m->fold->text(m->fold->ctx, value) : VS_STR("?");
}

static vs_str clipped(vs_str text) { return text.size > 80 ? (vs_str){text.data, 80} : text; }

static vs_status refuse(vs_pickle_machine *m, uint8_t op) {
  const char *name = vs_pickle__opcode_name(op);
  vs_str first, second;
  uint64_t code;
  if (op == VS_OP_STACK_GLOBAL)
    return refuse_named(m, name, clipped(string_below(m, 1)), clipped(string_below(m, 0)));
  if (op == VS_OP_GLOBAL || op == VS_OP_INST) {
    char module[81];
    VS_TRY(vs_pickle__take_line(m, &first));
    vs_format(module, sizeof module, "%S", clipped(first)); /* the next read may move the window */
    VS_TRY(vs_pickle__take_line(m, &second));
    return refuse_named(m, name, vs_str_from(module), clipped(second));
  }
  if (op == VS_OP_PERSID) {
    VS_TRY(vs_pickle__take_line(m, &first));
    return vs_pickle__fail(m, VS_REFUSED, "%s asks for the outside object '%S'; only plain data is read",
                           name, clipped(first));
  }
  if (op == VS_OP_EXT1 || op == VS_OP_EXT2 || op == VS_OP_EXT4) {
    VS_TRY(vs_pickle__take_uint(m, op == VS_OP_EXT1 ? 1 : op == VS_OP_EXT2 ? 2 : 4, &code));
    return vs_pickle__fail(m, VS_REFUSED, "%s asks for the registered class %U; only plain data is read",
                           name, code);
  }
  return vs_pickle__fail(m, VS_REFUSED,
                         "%s asks for a class or a call; only plain data is read, nothing was run", name);
}

/* ---- the machine ----------------------------------------------------------------------------------------------- */

static vs_status protocol(vs_pickle_machine *m) {
  uint64_t version;
  VS_TRY(vs_pickle__take_uint(m, 1, &version));
  if (version > 5) return vs_pickle__fail(m, VS_UNSUPPORTED, "pickle protocol %U; 0 to 5 are known", version);
  m->info->protocol = (uint32_t)version;
  return VS_OK;
}

static vs_status put_mark(vs_pickle_machine *m) {
  if (m->marks.count >= VS_PICKLE_MAX_MARKS)
    return vs_pickle__fail(m, VS_LIMIT, "nested more than %d levels deep", VS_PICKLE_MAX_MARKS);
  VS_TRY(vs_vec_reserve(m->host, &m->marks, 1));
  m->marks.data[m->marks.count++] = m->stack.count;
  return VS_OK;
}

static vs_status stop(vs_pickle_machine *m, vs_value *root) {
  size_t start;
  if (m->marks.count != 0) return vs_pickle__fail(m, VS_BAD_FORMAT, "STOP inside an open MARK");
  VS_TRY(vs_pickle__values_start(m, 1, &start));
  if (start != 0) return vs_pickle__fail(m, VS_BAD_FORMAT, "STOP with more than one value left");
  VS_TRY(vs_pickle__collapse(m, 0));
  VS_ASSERT(m->stack.count == 1 && m->open.count == 0);
  *root = m->stack.data[0];
  m->info->size = vs_input_offset(m->in);
  if (m->frame_end > m->info->size)
    return vs_pickle__fail(m, VS_TRUNCATED, "STOP, but its FRAME goes on to byte %U", m->frame_end);
  return VS_OK;
}

/* Frames only help to read ahead; the opcodes inside are complete without them. But a frame's bytes have to exist. */
static vs_status frame(vs_pickle_machine *m) {
  uint64_t size;
  VS_TRY(vs_pickle__take_uint(m, 8, &size));
  if (!vs_add_u64(vs_input_offset(m->in), size, &m->frame_end))
    return vs_pickle__fail(m, VS_LIMIT, "FRAME of %U bytes", size);
  return VS_OK;
}

static vs_status execute(vs_pickle_machine *m, uint8_t op) {
  switch (op) {
    case VS_OP_PROTO: return protocol(m);
    case VS_OP_FRAME: return frame(m);
    case VS_OP_MARK: return put_mark(m);
    case VS_OP_POP: return vs_pickle__pop(m);
    case VS_OP_POP_MARK: return vs_pickle__pop_to_mark(m);
    case VS_OP_DUP: return vs_pickle__duplicate(m);

    case VS_OP_NONE: return vs_pickle__push_kind(m, VS_VALUE_NONE, 0);
    case VS_OP_NEWTRUE: return vs_pickle__push_kind(m, VS_VALUE_BOOL, 1);
    case VS_OP_NEWFALSE: return vs_pickle__push_kind(m, VS_VALUE_BOOL, 0);
    case VS_OP_BININT1: return vs_pickle__take_int(m, 1);
    case VS_OP_BININT2: return vs_pickle__take_int(m, 2);
    case VS_OP_BININT: return vs_pickle__take_int(m, 4);
    case VS_OP_LONG1: return vs_pickle__long_int(m, 1);
    case VS_OP_LONG4: return vs_pickle__long_int(m, 4);
    case VS_OP_INT: return vs_pickle__int_line(m);
    case VS_OP_LONG: return vs_pickle__long_line(m);
    case VS_OP_FLOAT: return vs_pickle__float_line(m);
    case VS_OP_BINFLOAT: return vs_pickle__binary_float(m);

    case VS_OP_SHORT_BINUNICODE: return vs_pickle__sized_string(m, 1);
    case VS_OP_BINUNICODE: return vs_pickle__sized_string(m, 4);
    case VS_OP_BINUNICODE8: return vs_pickle__sized_string(m, 8);
    case VS_OP_SHORT_BINSTRING: return vs_pickle__sized_string(m, 1);
    case VS_OP_BINSTRING: return vs_pickle__sized_string(m, 4);
    case VS_OP_UNICODE: return vs_pickle__unicode_line(m);
    case VS_OP_STRING: return vs_pickle__quoted_line(m);
    case VS_OP_SHORT_BINBYTES: return vs_pickle__sized_bytes(m, 1);
    case VS_OP_BINBYTES: return vs_pickle__sized_bytes(m, 4);
    case VS_OP_BINBYTES8: return vs_pickle__sized_bytes(m, 8);
    case VS_OP_BYTEARRAY8: return vs_pickle__sized_bytes(m, 8);

    case VS_OP_EMPTY_LIST: return vs_pickle__empty_list(m);
    case VS_OP_EMPTY_SET: return vs_pickle__begin_empty(m, false);
    case VS_OP_EMPTY_DICT: return vs_pickle__empty_dict(m);
    case VS_OP_LIST: return vs_pickle__container_from_mark(m, false);
    case VS_OP_DICT: return vs_pickle__container_from_mark(m, true);
    case VS_OP_APPEND: return vs_pickle__extend_by(m, 1, false);
    case VS_OP_APPENDS: return vs_pickle__extend_from_mark(m, false);
    case VS_OP_ADDITEMS: return vs_pickle__extend_from_mark(m, false);
    case VS_OP_SETITEM: return vs_pickle__extend_by(m, 2, true);
    case VS_OP_SETITEMS: return vs_pickle__extend_from_mark(m, true);
    case VS_OP_EMPTY_TUPLE: return vs_pickle__tuple_of(m, 0);
    case VS_OP_TUPLE1: return vs_pickle__tuple_of(m, 1);
    case VS_OP_TUPLE2: return vs_pickle__tuple_of(m, 2);
    case VS_OP_TUPLE3: return vs_pickle__tuple_of(m, 3);
    case VS_OP_TUPLE: return vs_pickle__tuple_from_mark(m);
    case VS_OP_FROZENSET: return vs_pickle__tuple_from_mark(m);

    case VS_OP_MEMOIZE: return vs_pickle__memo_put(m, m->memo_set);
    case VS_OP_BINPUT: return vs_pickle__memo_sized(m, 1, vs_pickle__memo_put);
    case VS_OP_LONG_BINPUT: return vs_pickle__memo_sized(m, 4, vs_pickle__memo_put);
    case VS_OP_PUT: return vs_pickle__memo_line(m, vs_pickle__memo_put);
    case VS_OP_BINGET: return vs_pickle__memo_sized(m, 1, vs_pickle__memo_get);
    case VS_OP_LONG_BINGET: return vs_pickle__memo_sized(m, 4, vs_pickle__memo_get);
    case VS_OP_GET: return vs_pickle__memo_line(m, vs_pickle__memo_get);

#define PLAIN(byte)
#define REFUSED(byte)                     case byte:
#define VS_PICKLE_OP(name, byte, meaning) meaning(byte)
#include "codec/pickle_ops.def"
#undef VS_PICKLE_OP
#undef PLAIN
#undef REFUSED
      return refuse(m, op);
    default: return vs_pickle__fail(m, VS_BAD_FORMAT, "byte 0x%x is not a pickle opcode", (uint64_t)op);
  }
}

/* Fast path for memo references at the cursor, which are three of four opcodes: pushes their values, as far as they
 * are closed. */
static void take_references(vs_pickle_machine *m) {
  const uint8_t *p = vs_pickle__cursor(m), *const end = m->in->data + m->in->end;
  uint64_t index = 0;
  while (end - p >= 5 && m->stack.count < m->stack.capacity) {
    const size_t size = vs_pickle__reference(p, &index);
    if (size == 0 || index >= m->memo.count || m->memo.data[index] == 0) break;
    const vs_value value = vs_pickle__unpack(m, m->memo.data[index]);
    if (value.kind == VS_PICKLE_KIND_OPEN) break;
    m->stack.data[m->stack.count++] = value;
    p += size;
  }
  m->in->pos = (size_t)(p - m->in->data);
}

/* The next few thousand opcodes, up to STOP. A separate function, because WebAssembly engines optimise a function
 * while it runs, but use the new code only from the next call on. */
__attribute__((noinline)) static vs_status run_batch(vs_pickle_machine *m) {
  for (size_t i = 0; i < BATCH; i++) {
    take_references(m);
    m->op_at = vs_input_offset(m->in);
    VS_TRY(vs_pickle__need(m, 1));
    m->op = m->in->data[m->in->pos++];
    if (m->op == VS_OP_STOP) return VS_OK;
    VS_TRY(execute(m, m->op));
  }
  return VS_OK;
}

static vs_status run(vs_pickle_machine *m, vs_value *root) {
  VS_TRY(vs_vec_reserve(m->host, &m->stack, 16)); /* so that stack.data is not NULL */
  do {
    VS_TRY(run_batch(m));
  } while (m->op != VS_OP_STOP);
  return stop(m, root);
}

/* Gives every failure a sentence and an offset. */
static void explain(vs_pickle_machine *m, vs_status status) {
  if (m->error->status != status || m->error->text[0] == 0) {
    if (status == VS_TRUNCATED)
      (void)vs_pickle__fail(m, status, "truncated: the value starting here is incomplete");
    else (void)vs_pickle__fail(m, status, "%s", vs_status_text(status));
  } else if (m->error->offset == VS_NO_OFFSET) {
    m->error->offset = m->op_at;
  }
}

vs_status vs_pickle_fold(vs_input *input, const vs_fold *fold, const vs_pickle_options *options,
                         vs_value *root, vs_pickle_info *info, vs_error *error) {
  *info = (vs_pickle_info){0};
  *error = (vs_error){.offset = VS_NO_OFFSET};
  vs_pickle_machine m = {.in = input,
                         .host = input->host,
                         .fold = fold,
                         .info = info,
                         .error = error,
                         .each_opcode = options != NULL && options->each_opcode,
                         .last_body = VS_PICKLE_NO_BODY};
  vs_pickle__forget_skeleton(&m);
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
