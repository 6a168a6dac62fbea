#include "diff/rows.h"
#include "base/check.h"
#include "base/interned_lists.h"
#include "base/interned_strings.h"
#include "base/sort.h"

#define VS_DIFF_BY(name, plural) #name,
const char *const vs_diff_by_names[VS_DIFF_BY_COUNT] = {VS_DIFF_BYS(VS_DIFF_BY)};
#undef VS_DIFF_BY
#define VS_DIFF_BY(name, plural) plural,
const char *const vs_diff_by_plurals[VS_DIFF_BY_COUNT] = {VS_DIFF_BYS(VS_DIFF_BY)};
#undef VS_DIFF_BY

bool vs_diff_row_is_same(const vs_diff_row *row) {
  const vs_diff_part *a = &row->parts[0], *b = &row->parts[1];
  return a->bytes == b->bytes && a->count == b->count && a->sizes == b->sizes;
}

/* |b - a|. */
static uint64_t distance(uint64_t a, uint64_t b) { return a < b ? b - a : a - b; }

int64_t vs_diff_row_change(const vs_diff_row *row) {
  const uint64_t before = row->parts[0].bytes, after = row->parts[1].bytes;
  const int64_t change = (int64_t)vs_min_u64(distance(before, after), INT64_MAX);
  return after < before ? -change : change;
}

/* ---- keys: what has the same key on both sides is one row */

typedef struct building {
  const vs_host *host;
  const vs_side *sides;
  const vs_pairing *pairing;
  vs_diff_by by;
  vs_map by_key; /* key -> index in out->list */
  vs_strings strings;
  vs_lists stacks;
  VS_VEC(uint32_t) scratch; /* the numbers of a stack */
  vs_diff_rows *out;
} building;

/* What the number in a key counts. A row by size has the size itself as its key. */
typedef enum key_kind { KEY_OWNER, KEY_FORWARD, KEY_TEXT, KEY_STACK, KEY_FUNCTION } key_kind;

static uint64_t key_of(key_kind kind, uint32_t number) { return (uint64_t)kind << 32 | number; }

static vs_status text_key(building *b, vs_str text, uint64_t *key) {
  uint32_t id;
  VS_TRY(vs_strings_intern(b->host, &b->strings, text, &id));
  *key = key_of(KEY_TEXT, id);
  return VS_OK;
}

/* An operation without C++ frames has the name of a function of Python, which may have been renamed. */
static vs_status operation_key(building *b, unsigned side, const vs_side_stack *stack, uint64_t *key) {
  const vs_side *s = &b->sides[side];
  if (stack->frame_count != 0) {
    const uint32_t frame = s->stack_frames.data[stack->first_frame];
    if (s->frames.data[frame].is_python && vs_str_equal(s->frames.data[frame].function, stack->operation)) {
      *key = key_of(KEY_FUNCTION, b->pairing->sides[side].functions.data[frame]);
      return VS_OK;
    }
  }
  return text_key(b, stack->operation, key);
}

/* The lines of Python in the stack, or all of it if it has none, and the operation. */
static vs_status stack_key(building *b, unsigned side, const vs_side_stack *stack, uint64_t *key) {
  const vs_side *s = &b->sides[side];
  uint64_t operation;
  uint32_t id;
  bool has_python = false;
  for (uint32_t i = 0; i < stack->frame_count; i++)
    has_python |= s->frames.data[s->stack_frames.data[stack->first_frame + i]].is_python;
  b->scratch.count = 0;
  VS_TRY(vs_vec_reserve(b->host, &b->scratch, (size_t)stack->frame_count + 3));
  if (stack->frame_count == 0) VS_TRY(text_key(b, stack->label, &operation));
  else VS_TRY(operation_key(b, side, stack, &operation));
  b->scratch.data[b->scratch.count++] = (uint32_t)(operation >> 32);
  b->scratch.data[b->scratch.count++] = (uint32_t)operation;
  b->scratch.data[b->scratch.count++] = stack->is_forward;
  for (uint32_t i = 0; i < stack->frame_count; i++)
    if (!has_python || s->frames.data[s->stack_frames.data[stack->first_frame + i]].is_python)
      b->scratch.data[b->scratch.count++] =
          b->pairing->sides[side].places.data[s->stack_frames.data[stack->first_frame + i]];
  VS_TRY(vs_lists_intern(b->host, &b->stacks, b->scratch.data, b->scratch.count, &id));
  *key = key_of(KEY_STACK, id);
  return VS_OK;
}

/* The number of what owns the stack. */
static uint32_t owner_number(const building *b, unsigned side, uint32_t frame) {
  const vs_paired *paired = &b->pairing->sides[side];
  return b->by == VS_DIFF_BY_file       ? paired->files.data[frame]
         : b->by == VS_DIFF_BY_function ? paired->functions.data[frame]
                                        : paired->places.data[frame];
}

static vs_status find_key(building *b, unsigned side, const vs_side_stack *stack, uint64_t *key) {
  if (b->by == VS_DIFF_BY_stack) return stack_key(b, side, stack, key);
  if (b->by == VS_DIFF_BY_operation) return operation_key(b, side, stack, key);
  if (stack->owner == VS_SIDE_NONE) return text_key(b, stack->label, key);
  const bool tells_forward = stack->is_forward && b->by != VS_DIFF_BY_file;
  *key = key_of(tells_forward ? KEY_FORWARD : KEY_OWNER, owner_number(b, side, stack->owner));
  return VS_OK;
}

/* ---- adding up */

static vs_status row_of(building *b, uint64_t key, vs_diff_row **row) {
  static const vs_diff_part empty = {.least = UINT64_MAX, .stack = VS_SIDE_NONE};
  const size_t slot = vs_map_find(&b->by_key, key);
  if (slot == VS_MAP_NONE) {
    if (b->out->list.count >= UINT32_MAX) return VS_LIMIT;
    VS_TRY(vs_vec_reserve(b->host, &b->out->list, 1));
    VS_TRY(vs_map_reserve(b->host, &b->by_key));
    vs_map_add(&b->by_key, key, (uint32_t)b->out->list.count);
    b->out->list.data[b->out->list.count++] = (vs_diff_row){.parts = {empty, empty}};
    *row = &b->out->list.data[b->out->list.count - 1];
    return VS_OK;
  }
  *row = &b->out->list.data[b->by_key.slots[slot].value];
  return VS_OK;
}

static void add_size(vs_diff_part *part, const vs_side_size *size) {
  part->bytes = vs_sat_add_u64(part->bytes, vs_sat_mul_u64(size->size, size->count));
  part->count = vs_sat_add_u64(part->count, size->count);
  part->sizes += vs_hash_u64(size->size) * size->count;
  if (size->size < part->least) part->least = size->size;
  if (size->size > part->most) part->most = size->size;
}

/* Of equal ones the first, which both sides list in the same order. */
static void offer_name(vs_diff_part *part, uint32_t stack, uint64_t bytes) {
  if (part->stack != VS_SIDE_NONE && bytes <= part->stack_bytes) return;
  part->stack = stack;
  part->stack_bytes = bytes;
}

static vs_status add_by_size(building *b, unsigned side, const vs_side_stack *stack) {
  for (uint32_t i = 0; i < stack->size_count; i++) {
    const vs_side_size *size = &b->sides[side].sizes.data[stack->first_size + i];
    vs_diff_row *row;
    if (size->count == 0) continue;
    VS_TRY(row_of(b, size->size, &row));
    add_size(&row->parts[side], size);
  }
  return VS_OK;
}

static vs_status add_stack(building *b, unsigned side, uint32_t number) {
  const vs_side_stack *stack = &b->sides[side].stacks.data[number];
  vs_diff_row *row;
  uint64_t key;
  if (stack->count == 0) return VS_OK;
  if (b->by == VS_DIFF_BY_size) return add_by_size(b, side, stack);
  VS_TRY(find_key(b, side, stack, &key));
  VS_TRY(row_of(b, key, &row));
  for (uint32_t i = 0; i < stack->size_count; i++)
    add_size(&row->parts[side], &b->sides[side].sizes.data[stack->first_size + i]);
  offer_name(&row->parts[side], number, stack->bytes);
  return VS_OK;
}

static vs_status add_sides(building *b) {
  for (unsigned side = 2; side-- > 0;)
    for (size_t i = 0; i < b->sides[side].stacks.count; i++) VS_TRY(add_stack(b, side, (uint32_t)i));
  return VS_OK;
}

/* ---- order */

static uint64_t larger_part(const vs_diff_row *row) {
  return vs_max_u64(row->parts[0].bytes, row->parts[1].bytes);
}
static uint64_t smaller_part(const vs_diff_row *row) {
  return vs_min_u64(row->parts[0].bytes, row->parts[1].bytes);
}
static uint64_t size_of_change(const vs_diff_row *row) {
  return distance(row->parts[0].bytes, row->parts[1].bytes);
}

static bool comes_before(const void *ctx, uint32_t a, uint32_t b) {
  const vs_diff_rows *rows = ctx;
  const vs_diff_row *x = &rows->list.data[a], *y = &rows->list.data[b];
  const uint64_t change_x = size_of_change(x), change_y = size_of_change(y);
  const bool same_x = vs_diff_row_is_same(x), same_y = vs_diff_row_is_same(y);
  if (same_x != same_y) return same_y;
  return change_x != change_y ? change_x > change_y : larger_part(x) > larger_part(y);
}

static vs_status sort(const vs_host *host, vs_diff_rows *rows) {
  vs_diff_rows sorted = {.matched_bytes = rows->matched_bytes};
  VS_VEC(uint32_t) order = {0};
  vs_status status = vs_vec_reserve(host, &order, rows->list.count);
  if (status == VS_OK) status = vs_vec_reserve(host, &sorted.list, rows->list.count);
  if (status == VS_OK) {
    for (size_t i = 0; i < rows->list.count; i++) order.data[i] = (uint32_t)i;
    status = vs_sort_rows(host, order.data, rows->list.count, comes_before, rows);
  }
  if (status == VS_OK) {
    for (size_t i = 0; i < rows->list.count; i++) sorted.list.data[i] = rows->list.data[order.data[i]];
    sorted.list.count = rows->list.count;
    vs_diff_rows_deinit(host, rows);
    *rows = sorted;
  } else {
    vs_diff_rows_deinit(host, &sorted);
  }
  vs_vec_free(host, &order);
  return status;
}

/* ---- building */

static vs_status build(building *b) {
  VS_TRY(vs_strings_init(b->host, &b->strings));
  VS_TRY(vs_lists_init(b->host, &b->stacks));
  VS_TRY(add_sides(b));
  for (size_t i = 0; i < b->out->list.count; i++)
    b->out->matched_bytes = vs_sat_add_u64(b->out->matched_bytes, smaller_part(&b->out->list.data[i]));
  return sort(b->host, b->out);
}

vs_status vs_diff_rows_build(const vs_host *host, const vs_side sides[2], const vs_pairing *pairing,
                             vs_diff_by by, vs_diff_rows *out) {
  building b = {.host = host, .sides = sides, .pairing = pairing, .by = by, .out = out};
  *out = (vs_diff_rows){0};
  const vs_status status = build(&b);
  vs_map_deinit(host, &b.by_key);
  vs_strings_deinit(host, &b.strings);
  vs_lists_deinit(host, &b.stacks);
  vs_vec_free(host, &b.scratch);
  if (status != VS_OK) vs_diff_rows_deinit(host, out);
  VS_ASSERT(status != VS_OK || vs_diff_rows_check(out, sides) == NULL);
  return status;
}

void vs_diff_rows_deinit(const vs_host *host, vs_diff_rows *rows) { vs_vec_free(host, &rows->list); }

const char *vs_diff_rows_check(const vs_diff_rows *rows, const vs_side sides[2]) {
  uint64_t bytes[2] = {0}, count[2] = {0}, matched = 0;
  for (size_t i = 0; i < rows->list.count; i++) {
    const vs_diff_row *row = &rows->list.data[i];
    for (size_t side = 0; side < 2; side++) {
      bytes[side] = vs_sat_add_u64(bytes[side], row->parts[side].bytes);
      count[side] = vs_sat_add_u64(count[side], row->parts[side].count);
    }
    matched = vs_sat_add_u64(matched, smaller_part(row));
    if (row->parts[0].count == 0 && row->parts[1].count == 0) return "a row is empty on both sides";
    if (i != 0 && comes_before(rows, (uint32_t)i, (uint32_t)i - 1)) return "the rows are not in order";
  }
  for (size_t side = 0; side < 2; side++)
    if (bytes[side] != sides[side].bytes || count[side] != sides[side].count)
      return "the parts of a side do not add up to it";
  return matched == rows->matched_bytes ? NULL : "what both sides have is not the sum of the smaller parts";
}
