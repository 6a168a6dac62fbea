#include "diff/baseline.h"
#include "base/sort.h"
#include "codec/json_writer.h"
#include "diff/files.h"

/* A stack by what is left of it. */
typedef struct entry {
  uint32_t file, label; /* string ids */
} entry;

typedef struct baseline {
  const vs_host *host;
  vs_side side;
  vs_strings strings;
  VS_VEC(entry) entries;       /* by stack */
  VS_VEC(uint32_t) order;      /* the stacks by owner */
  VS_VEC(vs_side_size) sizes;  /* of one owner */
  VS_VEC(vs_sort_pair) sorted; /* its sizes with their numbers in `sizes` */
  vs_text text;
} baseline;

static const vs_side_frame *owner_of(const vs_side *side, uint32_t stack) {
  const uint32_t owner = side->stacks.data[stack].owner;
  return owner == VS_SIDE_NONE ? NULL : &side->frames.data[owner];
}

/* ---- the order of owners: file, line, function, label, and the forward pass first */

static int compare_ids(const baseline *b, uint32_t x, uint32_t y) {
  return x == y ? 0 : vs_str_compare(vs_strings_at(&b->strings, x), vs_strings_at(&b->strings, y));
}

static int compare(const baseline *b, uint32_t x, uint32_t y) {
  static const vs_side_frame none = {.line = VS_SIDE_NO_LINE};
  const vs_side_frame *p = owner_of(&b->side, x), *q = owner_of(&b->side, y);
  const entry *m = &b->entries.data[x], *n = &b->entries.data[y];
  if (p == NULL) p = &none;
  if (q == NULL) q = &none;
  int order = compare_ids(b, m->file, n->file);
  if (order == 0) order = (p->line > q->line) - (p->line < q->line);
  if (order == 0) order = vs_str_compare(p->function, q->function);
  if (order == 0) order = compare_ids(b, m->label, n->label);
  if (order == 0) order = b->side.stacks.data[y].is_forward - b->side.stacks.data[x].is_forward;
  return order;
}

static bool is_before(const void *ctx, uint32_t a, uint32_t b) { return compare(ctx, a, b) < 0; }

static vs_status name_stacks(baseline *b) {
  const size_t count = b->side.stacks.count;
  const vs_str root = vs_files_root(&b->side);
  VS_TRY(vs_vec_reserve(b->host, &b->entries, count));
  VS_TRY(vs_vec_reserve(b->host, &b->order, count));
  for (uint32_t i = 0; i < count; i++) {
    const vs_side_frame *owner = owner_of(&b->side, i);
    entry *e = &b->entries.data[i];
    *e = (entry){.file = VS_STRING_EMPTY};
    if (owner != NULL) VS_TRY(vs_files_intern(b->host, &b->strings, root, owner, &e->file));
    VS_TRY(vs_strings_intern(b->host, &b->strings, b->side.stacks.data[i].label, &e->label));
    b->order.data[i] = i;
  }
  b->entries.count = b->order.count = count;
  return vs_sort_rows(b->host, b->order.data, count, is_before, b);
}

/* ---- the sizes of an owner */

static vs_status collect_sizes(baseline *b, size_t from, size_t to) {
  b->sizes.count = b->sorted.count = 0;
  for (size_t i = from; i < to; i++) {
    const vs_side_stack *stack = &b->side.stacks.data[b->order.data[i]];
    VS_TRY(vs_vec_reserve(b->host, &b->sizes, stack->size_count));
    VS_TRY(vs_vec_reserve(b->host, &b->sorted, stack->size_count));
    for (uint32_t s = 0; s < stack->size_count; s++) {
      const vs_side_size *size = &b->side.sizes.data[stack->first_size + s];
      b->sorted.data[b->sorted.count++] = (vs_sort_pair){size->size, (uint32_t)b->sizes.count};
      b->sizes.data[b->sizes.count++] = *size;
    }
  }
  return vs_sort_pairs(b->host, b->sorted.data, b->sorted.count);
}

/* Each size once, the smallest first. */
static void put_sizes(const baseline *b, vs_jsonw *w) {
  vs_jsonw_key(w, VS_STR("sizes"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; i < b->sorted.count;) {
    const uint64_t size = b->sorted.data[i].key;
    uint64_t count = 0;
    for (; i < b->sorted.count && b->sorted.data[i].key == size; i++)
      count = vs_sat_add_u64(count, b->sizes.data[b->sorted.data[i].value].count);
    vs_jsonw_array_begin(w);
    vs_jsonw_u64(w, size);
    vs_jsonw_u64(w, count);
    vs_jsonw_array_end(w);
  }
  vs_jsonw_array_end(w);
}

/* ---- the text */

static vs_str kind_of(const vs_side_frame *frame) {
  return frame->is_user ? VS_STR("user") : frame->is_python ? VS_STR("library") : VS_STR("native");
}

static void put_owner(baseline *b, uint32_t stack) {
  const vs_side_frame *frame = owner_of(&b->side, stack);
  const entry *e = &b->entries.data[stack];
  vs_jsonw w;
  vs_jsonw_begin(&w, &b->text, 0);
  vs_jsonw_object_begin(&w);
  vs_jsonw_member_str(&w, "owner", vs_strings_at(&b->strings, e->label));
  if (frame != NULL) {
    vs_jsonw_member_str(&w, "file", vs_strings_at(&b->strings, e->file));
    if (frame->line != VS_SIDE_NO_LINE) vs_jsonw_member_i64(&w, "line", frame->line);
    vs_jsonw_member_str(&w, "function", frame->function);
    vs_jsonw_member_str(&w, "kind", kind_of(frame));
  }
  if (b->side.stacks.data[stack].is_forward) vs_jsonw_member_bool(&w, "is_forward", true);
  put_sizes(b, &w);
  vs_jsonw_object_end(&w);
  vs_jsonw_end(&w);
}

static vs_status put_owners(baseline *b) {
  const size_t count = b->order.count;
  for (size_t from = 0, to; from < count; from = to) {
    for (to = from + 1; to < count && compare(b, b->order.data[from], b->order.data[to]) == 0;) to++;
    VS_TRY(collect_sizes(b, from, to));
    vs_text_cstr(&b->text, from == 0 ? "\n    " : ",\n    ");
    put_owner(b, b->order.data[from]);
  }
  return b->text.status;
}

static void put_figures(baseline *b, vs_json figures) {
  vs_text_cstr(&b->text, "{\n  \"schema\": 1,\n  \"method\": \"baseline\",\n");
  for (size_t i = 0; i < vs_json_count(figures); i++) {
    vs_jsonw w;
    vs_text_cstr(&b->text, "  ");
    vs_jsonw_begin(&w, &b->text, 0);
    vs_jsonw_str(&w, vs_json_name_at(figures, i));
    vs_jsonw_end(&w);
    vs_text_cstr(&b->text, ": ");
    vs_jsonw_begin(&w, &b->text, 0);
    vs_reply_put(&w, vs_json_at(figures, i));
    vs_jsonw_end(&w);
    vs_text_cstr(&b->text, ",\n");
  }
}

static vs_status write(baseline *b, vs_json inventory, vs_json figures, vs_error *error) {
  VS_TRY(vs_strings_init(b->host, &b->strings));
  VS_TRY(vs_side_init(&b->side, b->host, inventory, error));
  vs_status status = name_stacks(b);
  if (status == VS_OK) {
    put_figures(b, figures);
    vs_text_cstr(&b->text, "  \"owners\": [");
    status = put_owners(b);
    vs_text_cstr(&b->text, b->order.count == 0 ? "]\n}\n" : "\n  ]\n}\n");
  }
  vs_side_deinit(b->host, &b->side);
  return status == VS_OK ? b->text.status : status;
}

vs_status vs_baseline_put(const vs_host *host, vs_json inventory, vs_json figures, vs_text *text,
                          vs_error *error) {
  baseline b = {.host = host};
  vs_error why = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_text_init(&b.text, host, NULL);
  const vs_status status = write(&b, inventory, figures, &why);
  if (status == VS_OK) vs_text_str(text, vs_text_view(&b.text));
  vs_text_deinit(&b.text);
  vs_strings_deinit(host, &b.strings);
  vs_vec_free(host, &b.entries);
  vs_vec_free(host, &b.order);
  vs_vec_free(host, &b.sizes);
  vs_vec_free(host, &b.sorted);
  if (status == VS_OK) return text->status;
  if (why.status == VS_OK) vs_fail(&why, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  if (error != NULL) *error = why;
  return status;
}
