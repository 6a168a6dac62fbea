#include "ledger/ledger.h"

static const char *const kind_names[VS_LEDGER_KINDS] = {
#define VS_LEDGER_KIND(kind, name) [VS_LEDGER_##kind] = (name),
#include "ledger/kinds.def"
};

const char *vs_ledger_kind_name(vs_ledger_kind kind) {
  VS_ASSERT(kind < VS_LEDGER_KINDS);
  return kind_names[kind];
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

void vs_ledger_init(vs_ledger *ledger, const vs_host *host) {
  *ledger = (vs_ledger){.host = host};
  ledger->status = vs_strings_init(host, &ledger->texts);
}

void vs_ledger_deinit(vs_ledger *ledger) {
  vs_vec_free(ledger->host, &ledger->rows);
  vs_strings_deinit(ledger->host, &ledger->texts);
}

static uint32_t text_of(vs_ledger *ledger, vs_str text) {
  uint32_t id = VS_STRING_NONE;
  if (ledger->status == VS_OK && text.size != 0)
    ledger->status = vs_strings_intern(ledger->host, &ledger->texts, text, &id);
  return id;
}

static void append(vs_ledger *ledger, uint32_t parent, uint32_t row) {
  if (parent == VS_LEDGER_NONE) return;
  vs_ledger_row *above = &ledger->rows.data[parent];
  if (above->first == VS_LEDGER_NONE) above->first = row;
  else ledger->rows.data[above->last].next = row;
  above->last = row;
}

uint32_t vs_ledger_add(vs_ledger *ledger, uint32_t parent, const vs_ledger_entry *entry) {
  const vs_ledger_figure *figure = &entry->figure;
  vs_ledger_row row = {.kind = entry->kind,
                       .parent = parent,
                       .first = VS_LEDGER_NONE,
                       .last = VS_LEDGER_NONE,
                       .next = VS_LEDGER_NONE,
                       .is_known = figure->is_known,
                       .bytes = figure->is_known ? figure->bytes : 0,
                       .has_number = entry->has_number,
                       .number = entry->number};
  VS_ASSERT(figure->is_known != (figure->why.size != 0));
  row.name = text_of(ledger, entry->name);
  row.why = text_of(ledger, figure->why);
  row.source = text_of(ledger, figure->source);
  row.moment = text_of(ledger, entry->moment);
  if (ledger->status == VS_OK) ledger->status = vs_vec_reserve(ledger->host, &ledger->rows, 1);
  if (ledger->status != VS_OK) return VS_LEDGER_NONE;
  VS_ASSERT(parent == VS_LEDGER_NONE || parent < ledger->rows.count);
  const uint32_t number = (uint32_t)ledger->rows.count;
  ledger->rows.data[ledger->rows.count++] = row;
  append(ledger, parent, number);
  return number;
}

/* ---- what is left -------------------------------------------------------------------------------------- */

typedef struct below {
  uint64_t sum; /* of the known rows */
  uint64_t unknown;
  bool overflows;
} below;

static below sum_below(const vs_ledger *ledger, uint32_t row) {
  below b = {0};
  for (uint32_t i = ledger->rows.data[row].first; i != VS_LEDGER_NONE; i = ledger->rows.data[i].next) {
    const vs_ledger_row *child = &ledger->rows.data[i];
    if (!child->is_known) b.unknown++;
    else if (child->bytes > UINT64_MAX - b.sum) b.overflows = true;
    else b.sum += child->bytes;
  }
  return b;
}

static void add_rest(vs_ledger *ledger, uint32_t row, bool has_unknown, const vs_ledger_figure *figure) {
  vs_ledger_entry entry = {.kind = VS_LEDGER_UNEXPLAINED, .name = VS_STR("unexplained"), .figure = *figure};
  if (has_unknown) {
    entry.kind = VS_LEDGER_UNKNOWN_TOGETHER;
    entry.name = VS_STR("the unknown rows, together");
  }
  (void)vs_ledger_add(ledger, row, &entry);
}

static vs_status complete_row(vs_ledger *ledger, uint32_t number, bool is_one_moment, vs_error *error) {
  const vs_ledger_row *row = &ledger->rows.data[number];
  if (row->first == VS_LEDGER_NONE || !row->is_known) return VS_OK;
  const below b = sum_below(ledger, number);
  const bool contradicts = b.overflows || b.sum > row->bytes;
  if (contradicts && is_one_moment)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "the parts of \"%S\" sum up to more than its %U bytes", vs_ledger_text(ledger, row->name),
                   row->bytes);
  vs_ledger_figure rest = vs_ledger_known(row->bytes - vs_min_u64(b.sum, row->bytes), "what is left");
  if (contradicts)
    rest = vs_ledger_unknown(VS_STR("the figures are of different moments and contradict each other"));
  add_rest(ledger, number, b.unknown != 0, &rest);
  return ledger->status;
}

vs_status vs_ledger_complete(vs_ledger *ledger, bool is_one_moment, vs_error *error) {
  const size_t count = ledger->rows.count;
  vs_status status = ledger->status;
  for (uint32_t i = 0; i < count && status == VS_OK; i++)
    status = complete_row(ledger, i, is_one_moment, error);
  VS_ASSERT(status != VS_OK || !is_one_moment || vs_ledger_check(ledger) == NULL);
  if (status != VS_OK && status == ledger->status)
    return vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  return status;
}

/* ---- the invariant ------------------------------------------------------------------------------------- */

static const char *check_row(const vs_ledger *ledger, uint32_t number) {
  const vs_ledger_row *row = &ledger->rows.data[number];
  if (row->parent != VS_LEDGER_NONE && row->parent >= number) return "a row in front of its parent";
  if (row->is_known != (row->why == VS_STRING_NONE))
    return "a known row with a reason, or an unknown one without";
  if (!row->is_known && row->bytes != 0) return "bytes of an unknown row";
  if (row->first == VS_LEDGER_NONE || !row->is_known) return NULL;
  const vs_ledger_row *last = &ledger->rows.data[row->last];
  const below b = sum_below(ledger, number);
  if (last->kind != VS_LEDGER_UNEXPLAINED && last->kind != VS_LEDGER_UNKNOWN_TOGETHER)
    return "rows without what is left";
  if (!last->is_known) return NULL; /* they contradict each other, which is said */
  if ((last->kind == VS_LEDGER_UNKNOWN_TOGETHER) != (b.unknown != 0))
    return "what is left is not called what it is";
  return b.overflows || b.sum != row->bytes ? "rows that do not sum up" : NULL;
}

const char *vs_ledger_check(const vs_ledger *ledger) {
  const char *broken = NULL;
  for (uint32_t i = 0; i < ledger->rows.count && broken == NULL; i++) broken = check_row(ledger, i);
  return broken;
}

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static void put_text(vs_jsonw *w, const char *key, const vs_ledger *ledger, uint32_t text) {
  if (text == VS_STRING_NONE) vs_jsonw_member_null(w, key);
  else vs_jsonw_member_str(w, key, vs_ledger_text(ledger, text));
}

/* A row of 0 bytes is shown only where it ends a sum. The sum of the unknown rows, which has one of them before it, is shown where there are two
 * rows or more before it: with one alone it would repeat the row above. */
static bool is_shown(const vs_ledger *ledger, const vs_ledger_row *row) {
  if (row->parent == VS_LEDGER_NONE) return true;
  const vs_ledger_row *above = &ledger->rows.data[row->parent];
  if (row->kind == VS_LEDGER_UNKNOWN_TOGETHER)
    return ledger->rows.data[ledger->rows.data[above->first].next].next != VS_LEDGER_NONE;
  if (!row->is_known || row->bytes != 0 || row->kind == VS_LEDGER_FREE) return true;
  return row->kind == VS_LEDGER_UNEXPLAINED && above->kind == VS_LEDGER_USED;
}

static void put_members(vs_jsonw *w, const vs_ledger *ledger, const vs_ledger_row *row) {
  vs_jsonw_member_str(w, "kind", vs_str_from(vs_ledger_kind_name(row->kind)));
  put_text(w, "name", ledger, row->name);
  if (row->kind == VS_LEDGER_CARD) {
    vs_jsonw_member_u64(w, "device", row->number);
    put_text(w, "moment", ledger, row->moment);
  } else if (row->has_number) {
    vs_jsonw_member_u64(w, "pid", row->number);
  }
  if (row->is_known) vs_jsonw_member_u64(w, "bytes", row->bytes);
  else vs_jsonw_member_null(w, "bytes");
  put_text(w, "why", ledger, row->why);
  put_text(w, "source", ledger, row->source);
  vs_jsonw_member_bool(w, "is_shown", is_shown(ledger, row));
}

/* The rows in their order without recursion: down, else to the next one, else up. */
static void put_tree(vs_jsonw *w, const vs_ledger *ledger, uint32_t root) {
  const vs_ledger_row *rows = ledger->rows.data;
  uint32_t at = root;
  for (bool is_done = false; !is_done;) {
    vs_jsonw_object_begin(w);
    put_members(w, ledger, &rows[at]);
    vs_jsonw_key(w, VS_STR("rows"));
    vs_jsonw_array_begin(w);
    if (rows[at].first != VS_LEDGER_NONE) {
      at = rows[at].first;
      continue;
    }
    for (;;) {
      vs_jsonw_array_end(w);
      vs_jsonw_object_end(w);
      is_done = at == root;
      if (is_done || rows[at].next != VS_LEDGER_NONE) break;
      at = rows[at].parent;
    }
    if (!is_done) at = rows[at].next;
  }
}

void vs_ledger_put(vs_jsonw *w, const vs_ledger *ledger) {
  vs_jsonw_key(w, VS_STR("devices"));
  vs_jsonw_array_begin(w);
  for (uint32_t i = 0; i < ledger->rows.count; i++)
    if (ledger->rows.data[i].parent == VS_LEDGER_NONE) put_tree(w, ledger, i);
  vs_jsonw_array_end(w);
}
