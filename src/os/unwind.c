#include "os/unwind.h"
#include "base/check.h"
#include "os/loader.h"
#include <elf.h>

/* DWARF's numbers of the registers that a walk needs. */
#if defined(__aarch64__)
enum { REGISTER_FP = 29, REGISTER_SP = 31, REGISTER_RA = 30 };
#else
enum { REGISTER_FP = 6, REGISTER_SP = 7, REGISTER_RA = 16 };
#endif

/* ---- bytes: a place in a loaded table, which ends where its segment does. The first failure is kept. */

typedef struct cursor {
  const uint8_t *at, *end;
  bool failed;
} cursor;

static const uint8_t *take(cursor *c, uint64_t size) {
  static const uint8_t zeros[8];
  if (c->failed || size > (uint64_t)(c->end - c->at)) {
    c->failed = true;
    return zeros;
  }
  c->at += size;
  return c->at - size;
}

static uint8_t take_u8(cursor *c) { return *take(c, 1); }

static uint16_t take_u16(cursor *c) {
  uint16_t value;
  memcpy(&value, take(c, sizeof value), sizeof value);
  return value;
}

static uint32_t take_u32(cursor *c) {
  uint32_t value;
  memcpy(&value, take(c, sizeof value), sizeof value);
  return value;
}

static uint64_t take_u64(cursor *c) {
  uint64_t value;
  memcpy(&value, take(c, sizeof value), sizeof value);
  return value;
}

static uint64_t take_leb(cursor *c, bool is_signed) {
  uint64_t value = 0;
  unsigned shift = 0;
  uint8_t byte;
  do {
    byte = take_u8(c);
    if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
    shift += 7;
  } while ((byte & 0x80) != 0 && !c->failed);
  if (is_signed && shift < 64 && (byte & 0x40) != 0) value |= ~UINT64_C(0) << shift;
  return value;
}

static uint64_t take_uleb(cursor *c) { return take_leb(c, false); }
static int64_t take_sleb(cursor *c) { return (int64_t)take_leb(c, true); }

/* Pointers in these tables: the low half of the encoding is the width, the high half the base. */
enum { PTR_ABSOLUTE = 0x00, PTR_PCREL = 0x10, PTR_OMITTED = 0xff };

static uint64_t take_pointer(cursor *c, uint8_t encoding) {
  const uint64_t here = (uint64_t)(uintptr_t)c->at;
  uint64_t value = 0;
  switch (encoding & 0x0f) {
    case 0x00: /* a word */
    case 0x04:
    case 0x0c: value = take_u64(c); break;
    case 0x03: value = take_u32(c); break;
    case 0x0b: value = (uint64_t)(int64_t)(int32_t)take_u32(c); break;
    case 0x01: value = take_uleb(c); break;
    default: c->failed = true;
  }
  switch (encoding & 0xf0) {
    case PTR_ABSOLUTE: return value;
    case PTR_PCREL: return here + value;
    default: c->failed = true; return 0;
  }
}

/* ---- what a table says about the registers, at one program counter */

typedef enum column_kind {
  COLUMN_SAME,
  COLUMN_AT_CFA,
  COLUMN_AT_FP,
  COLUMN_UNDEFINED,
  COLUMN_OTHER
} column_kind;

typedef struct column {
  column_kind kind;
  int64_t offset; /* AT_CFA: saved at CFA + offset */
} column;

typedef enum cfa_kind { CFA_OTHER, CFA_REGISTER, CFA_AT_FP } cfa_kind;

typedef struct row {
  cfa_kind kind;
  uint64_t cfa_register;
  int64_t cfa_offset; /* REGISTER: CFA = register + offset; AT_FP: CFA = *(fp + offset) */
  column fp, ra;
} row;

enum { MOST_REMEMBERED = 8 };

/* A program of the table: run from the entry's start until the row that holds for `pc`. */
typedef struct machine {
  uint64_t location, pc;
  uint64_t code_factor;
  int64_t data_factor;
  uint8_t pointer_encoding;
  bool is_done;
  uint32_t remembered;
  row now, initial, memory[MOST_REMEMBERED];
} machine;

static void set_column(machine *m, uint64_t which, column value) {
  if (which == REGISTER_FP) m->now.fp = value;
  if (which == REGISTER_RA) m->now.ra = value;
}

static void restore_column(machine *m, uint64_t which) {
  if (which == REGISTER_FP) m->now.fp = m->initial.fp;
  if (which == REGISTER_RA) m->now.ra = m->initial.ra;
}

static void advance(machine *m, uint64_t count) {
  const uint64_t next = m->location + count * m->code_factor;
  if (next > m->pc) m->is_done = true;
  else m->location = next;
}

/* The supported expressions: "register + n" and "the word at register + n". */
enum { OP_DEREF = 0x06, OP_BREG0 = 0x70 };

static bool is_fp_plus(cursor block, int64_t *offset, bool *is_deref) {
  if (take_u8(&block) != OP_BREG0 + REGISTER_FP) return false;
  *offset = take_sleb(&block);
  *is_deref = !block.failed && block.at < block.end && take_u8(&block) == OP_DEREF;
  return !block.failed && block.at == block.end;
}

static cursor take_block(cursor *c) {
  const uint64_t size = take_uleb(c);
  const uint8_t *start = take(c, size);
  return (cursor){.at = start, .end = start + (c->failed ? 0 : size), .failed = c->failed};
}

static void set_cfa_expression(machine *m, cursor block) {
  bool is_deref = false;
  m->now.kind = is_fp_plus(block, &m->now.cfa_offset, &is_deref) && is_deref ? CFA_AT_FP : CFA_OTHER;
}

static void set_column_expression(machine *m, uint64_t which, cursor block) {
  int64_t offset = 0;
  bool is_deref = false;
  const bool is_at_fp = is_fp_plus(block, &offset, &is_deref) && !is_deref && offset == 0;
  set_column(m, which, (column){.kind = is_at_fp ? COLUMN_AT_FP : COLUMN_OTHER});
}

static void set_cfa(machine *m, uint64_t reg, int64_t offset) {
  m->now.kind = CFA_REGISTER;
  m->now.cfa_register = reg;
  m->now.cfa_offset = offset;
}

static column at_cfa(const machine *m, int64_t factored) {
  return (column){.kind = COLUMN_AT_CFA, .offset = factored * m->data_factor};
}

static void remember(machine *m, cursor *c) {
  if (m->remembered == MOST_REMEMBERED) c->failed = true;
  else m->memory[m->remembered++] = m->now;
}

static void recall(machine *m, cursor *c) {
  if (m->remembered == 0) c->failed = true;
  else m->now = m->memory[--m->remembered];
}

/* The instructions whose operands are not in the opcode. */
static void run_extended(machine *m, cursor *c, uint8_t opcode) {
  uint64_t which;
  switch (opcode) {
    case 0x00: break; /* nop */
    case 0x01: {      /* set_loc */
      const uint64_t next = take_pointer(c, m->pointer_encoding);
      if (next > m->pc) m->is_done = true;
      m->location = next;
      break;
    }
    case 0x02: advance(m, take_u8(c)); break;
    case 0x03: advance(m, take_u16(c)); break;
    case 0x04: advance(m, take_u32(c)); break;
    case 0x05: /* offset_extended */
      which = take_uleb(c);
      set_column(m, which, at_cfa(m, (int64_t)take_uleb(c)));
      break;
    case 0x06: restore_column(m, take_uleb(c)); break;
    case 0x07: set_column(m, take_uleb(c), (column){.kind = COLUMN_UNDEFINED}); break;
    case 0x08: set_column(m, take_uleb(c), (column){.kind = COLUMN_SAME}); break;
    case 0x09: /* register */
      set_column(m, take_uleb(c), (column){.kind = COLUMN_OTHER});
      (void)take_uleb(c);
      break;
    case 0x0a: remember(m, c); break;
    case 0x0b: recall(m, c); break;
    case 0x0c: /* def_cfa */
      which = take_uleb(c);
      set_cfa(m, which, (int64_t)take_uleb(c));
      break;
    case 0x0d: m->now.cfa_register = take_uleb(c); break;
    case 0x0e: m->now.cfa_offset = (int64_t)take_uleb(c); break;
    case 0x0f: set_cfa_expression(m, take_block(c)); break;
    case 0x10:
      which = take_uleb(c);
      set_column_expression(m, which, take_block(c));
      break;
    case 0x11: /* offset_extended_sf */
      which = take_uleb(c);
      set_column(m, which, at_cfa(m, take_sleb(c)));
      break;
    case 0x12: /* def_cfa_sf */
      which = take_uleb(c);
      set_cfa(m, which, take_sleb(c) * m->data_factor);
      break;
    case 0x13: m->now.cfa_offset = take_sleb(c) * m->data_factor; break;
    case 0x14: /* val_offset, val_offset_sf: one length of operand */
    case 0x15:
      set_column(m, take_uleb(c), (column){.kind = COLUMN_OTHER});
      (void)take_uleb(c);
      break;
    case 0x16: /* val_expression */
      set_column(m, take_uleb(c), (column){.kind = COLUMN_OTHER});
      (void)take_block(c);
      break;
    case 0x2d: break;                     /* the return address is signed from here on (aarch64) */
    case 0x2e: (void)take_uleb(c); break; /* size of the arguments */
    default: c->failed = true;
  }
}

static void run_program(machine *m, cursor *c) {
  while (c->at < c->end && !m->is_done && !c->failed) {
    const uint8_t opcode = take_u8(c), low = opcode & 0x3f;
    switch (opcode >> 6) {
      case 1: advance(m, low); break;
      case 2: set_column(m, low, at_cfa(m, (int64_t)take_uleb(c))); break;
      case 3: restore_column(m, low); break;
      default: run_extended(m, c, opcode);
    }
  }
}

/* ---- entries: what is common to many functions (CIE), and one function (FDE) */

typedef struct common {
  uint64_t code_factor;
  int64_t data_factor;
  uint8_t pointer_encoding;
  bool has_augmentation, is_signal_frame;
  cursor program;
} common;

/* The body of the entry at `c`, whose length comes first. */
static cursor take_entry(cursor *c) {
  const uint32_t size = take_u32(c);
  if (size == 0 || size == UINT32_MAX)
    c->failed = true; /* the end; or a 64-bit table, which no linker makes */
  const uint8_t *start = take(c, size);
  return (cursor){.at = start, .end = start + (c->failed ? 0 : size), .failed = c->failed};
}

static void read_augmentation(cursor *c, const char *letters, common *out) {
  const uint64_t size = take_uleb(c);
  cursor data = {.at = c->at, .end = c->at, .failed = c->failed};
  (void)take(c, size);
  if (!c->failed) data.end += size;
  for (; *letters != 0 && !data.failed; letters++) {
    uint8_t encoding;
    switch (*letters) {
      case 'R': out->pointer_encoding = take_u8(&data); break;
      case 'P':
        encoding = take_u8(&data);
        (void)take_pointer(&data, encoding & 0x0f);
        break;
      case 'L': (void)take_u8(&data); break;
      case 'S': out->is_signal_frame = true; break;
      case 'B': break;
      default: data.failed = true;
    }
  }
  if (data.failed) c->failed = true;
}

static bool read_common(cursor c, common *out) {
  *out = (common){0};
  cursor body = take_entry(&c);
  if (take_u32(&body) != 0) return false; /* that would be an FDE */
  const uint8_t version = take_u8(&body);
  const char *letters = (const char *)body.at;
  while (take_u8(&body) != 0 && !body.failed) {
  }
  if (body.failed || (version != 1 && version != 3)) return false;
  out->code_factor = take_uleb(&body);
  out->data_factor = take_sleb(&body);
  const uint64_t return_register = version == 1 ? take_u8(&body) : take_uleb(&body);
  out->has_augmentation = *letters == 'z';
  if (out->has_augmentation) read_augmentation(&body, letters + 1, out);
  else if (*letters != 0) return false;
  out->program = body;
  return !body.failed && return_register == REGISTER_RA;
}

/* Whether two byte counts of a row can be stored in a rule, in words, without changing them. */
static bool in_words(int64_t bytes, int64_t most, uint32_t *words) {
  if (bytes < 0 || bytes % 8 != 0 || bytes / 8 > most) return false;
  *words = (uint32_t)(bytes / 8);
  return true;
}

/* Where a register is saved, as rules say it. Frames have their frame pointers at the far end: x86-64
 * above their variables, next to the CFA, aarch64 below them, next to what the CFA is counted from. */
static uint32_t place_of(const row *r, const column *saved) {
#if defined(__aarch64__)
  const int64_t bytes = r->cfa_offset + saved->offset + 8;
#else
  (void)r;
  const int64_t bytes = -saved->offset;
#endif
  uint32_t words;
  return in_words(bytes, VS_UNWIND_MOST_FP, &words) && words != 0 ? words : VS_UNWIND_LOST_FP;
}

static uint32_t fp_rule(const row *r) {
  switch (r->fp.kind) {
    case COLUMN_SAME: return VS_UNWIND_SAME_FP;
    case COLUMN_AT_FP: return VS_UNWIND_FP_AT_FP;
    case COLUMN_AT_CFA: return place_of(r, &r->fp);
    case COLUMN_UNDEFINED:
    case COLUMN_OTHER: break;
  }
  return VS_UNWIND_LOST_FP;
}

/* Sets the part of the rule for saved registers; false: no rule can express it. */
static bool set_saved(const row *r, vs_unwind_rule *rule) {
  rule->fp = fp_rule(r);
  if (r->ra.kind != COLUMN_AT_CFA) return false;
#if defined(__aarch64__)
  if (r->kind != CFA_REGISTER) return false;
  if (r->fp.kind == COLUMN_AT_CFA) return r->ra.offset == r->fp.offset + 8 && rule->fp != VS_UNWIND_LOST_FP;
  rule->saves_only_return = true;
  rule->fp = place_of(r, &r->ra);
  return r->fp.kind == COLUMN_SAME && rule->fp != VS_UNWIND_LOST_FP;
#else
  return r->ra.offset == -8;
#endif
}

static vs_unwind_rule rule_of_row(const row *r) {
  vs_unwind_rule rule = {.kind = VS_UNWIND_END};
  if (!set_saved(r, &rule)) return rule;
  if (r->kind == CFA_REGISTER && in_words(r->cfa_offset, VS_UNWIND_MOST_CFA, &rule.cfa)) {
    if (r->cfa_register == REGISTER_SP) rule.kind = VS_UNWIND_SP;
    if (r->cfa_register == REGISTER_FP) rule.kind = VS_UNWIND_FP;
  }
  if (r->kind == CFA_AT_FP && in_words(-r->cfa_offset, VS_UNWIND_MOST_CFA, &rule.cfa))
    rule.kind = VS_UNWIND_AT_FP;
  return rule;
}

/* `table`: the segment that contains the entry; `entry`: its address. */
static vs_unwind_rule rule_of_entry(cursor table, const uint8_t *entry, uint64_t pc) {
  const vs_unwind_rule none = {.kind = VS_UNWIND_GUESS};
  cursor c = {.at = entry, .end = table.end};
  cursor body = take_entry(&c);
  const uint8_t *pointer_at = body.at;
  const uint32_t back = take_u32(&body);
  if (body.failed || back == 0 || back > (uint64_t)(pointer_at - table.at)) return none;
  common shared;
  if (!read_common((cursor){.at = pointer_at - back, .end = table.end}, &shared)) return none;
  const uint64_t start = take_pointer(&body, shared.pointer_encoding);
  const uint64_t length = take_pointer(&body, shared.pointer_encoding & 0x0f);
  if (shared.has_augmentation) (void)take(&body, take_uleb(&body));
  if (body.failed || pc < start || pc - start >= length) return none;
  machine m = {.location = start,
               .pc = pc,
               .code_factor = shared.code_factor,
               .data_factor = shared.data_factor,
               .pointer_encoding = shared.pointer_encoding};
  run_program(&m, &shared.program);
  m.initial = m.now;
  m.is_done = false;
  m.location = start;
  run_program(&m, &body);
  if (shared.program.failed || body.failed || shared.is_signal_frame)
    return (vs_unwind_rule){.kind = VS_UNWIND_END};
  return rule_of_row(&m.now);
}

/* ---- the module, and its index of entries (.eh_frame_hdr), which linkers sort */

/* The readable segment that contains an address, as a cursor over all of it. */
static bool find_segment(const struct dl_phdr_info *info, uint64_t address, cursor *segment) {
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    const uint64_t start = info->dlpi_addr + header->p_vaddr;
    if (header->p_type != PT_LOAD || (header->p_flags & PF_R) == 0 || address - start >= header->p_memsz)
      continue;
    *segment = (cursor){.at = (const uint8_t *)(uintptr_t)start,
                        .end = (const uint8_t *)(uintptr_t)(start + header->p_memsz)};
    return true;
  }
  return false;
}

enum { INDEX_VERSION = 1, INDEX_POINTER = 0x1b, INDEX_COUNT = 0x03, INDEX_TABLE = 0x3b };

/* A row of the index: the offsets of a function and of its entry from the beginning of the index. */
typedef struct index_row {
  int32_t function, entry;
} index_row;

static index_row row_at(const uint8_t *rows, uint32_t i) {
  index_row r;
  memcpy(&r, rows + (uint64_t)i * sizeof r, sizeof r);
  return r;
}

static vs_unwind_rule search(const struct dl_phdr_info *info, uint64_t index, uint64_t pc) {
  const vs_unwind_rule none = {.kind = VS_UNWIND_GUESS};
  cursor c, table;
  if (!find_segment(info, index, &c)) return none;
  c.at = (const uint8_t *)(uintptr_t)index;
  static const uint8_t head[] = {INDEX_VERSION, INDEX_POINTER, INDEX_COUNT, INDEX_TABLE};
  if (memcmp(take(&c, sizeof head), head, sizeof head) != 0) return none;
  (void)take_u32(&c); /* the beginning of .eh_frame, which the rows do not need */
  const uint32_t count = take_u32(&c);
  const uint8_t *rows = take(&c, (uint64_t)count * sizeof(index_row));
  if (c.failed || count == 0) return none;
  const int64_t wanted = (int64_t)(pc - index);
  uint32_t low = 0, high = count; /* the last row whose function <= wanted is in [low, high) */
  if (row_at(rows, 0).function > wanted) return none;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    if (row_at(rows, middle).function <= wanted) low = middle;
    else high = middle;
  }
  const uint64_t entry = index + (uint64_t)(int64_t)row_at(rows, low).entry;
  if (!find_segment(info, entry, &table)) return none;
  return rule_of_entry(table, (const uint8_t *)(uintptr_t)entry, pc);
}

typedef struct question {
  uint64_t pc;
  vs_unwind_rule answer;
} question;

static int ask_module(struct dl_phdr_info *info, size_t size, void *ctx) {
  (void)size;
  question *q = ctx;
  cursor code;
  if (!find_segment(info, q->pc, &code)) return 0;
  for (size_t i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
      q->answer = search(info, info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, q->pc);
  return 1;
}

vs_unwind_rule vs_unwind_find(uint64_t pc) {
  question q = {.pc = pc, .answer = {.kind = VS_UNWIND_GUESS}};
  (void)vs_loader_visit(ask_module, &q);
  return q.answer;
}
