#include "diff/lines.h"
#include "diff/sentence.h"

/* What the rows come to. */
typedef struct tally {
  uint64_t same, same_bytes; /* rows without a change */
  uint64_t changed, added, gone;
  uint64_t paired[2]; /* bytes of rows that both sides have, of each side */
  uint64_t moved;     /* rows at another place */
  const vs_diff_row *largest_moved;
  size_t
      first_same; /* the index of the largest row without a change, behind which all others are such rows */
} tally;

static bool has_moved(const vs_comparison *c, const vs_diff_row *row, vs_status *status) {
  vs_part_name before, after;
  if (row->parts[0].count == 0 || row->parts[1].count == 0) return false;
  vs_part_name_init(&before, c, row, 0);
  vs_part_name_init(&after, c, row, 1);
  const bool differ = vs_part_names_differ(&before, &after);
  vs_part_name_deinit(&before, status);
  vs_part_name_deinit(&after, status);
  return differ;
}

static vs_status add_up(const vs_comparison *c, tally *t) {
  for (size_t i = 0; i < c->rows.list.count; i++) {
    const vs_diff_row *row = &c->rows.list.data[i];
    const bool was = row->parts[0].count != 0, is = row->parts[1].count != 0;
    vs_status status = VS_OK;
    if (vs_diff_row_is_same(row)) {
      if (t->same++ == 0) t->first_same = i;
      t->same_bytes = vs_sat_add_u64(t->same_bytes, row->parts[0].bytes);
    } else if (!was) {
      t->added++;
    } else if (!is) {
      t->gone++;
    } else {
      t->changed++;
    }
    for (size_t side = 0; side < 2 && was && is; side++)
      t->paired[side] = vs_sat_add_u64(t->paired[side], row->parts[side].bytes);
    if (has_moved(c, row, &status) && t->moved++ == 0) t->largest_moved = row;
    VS_TRY(status);
  }
  return VS_OK;
}

/* ---- writing */

typedef struct writing {
  vs_jsonw *json;
  const vs_comparison *c;
  const tally *t;
  vs_text text;
} writing;

static void end_line(writing *w, const char *about, const char *label, const char *tone) {
  vs_sentence_put(w->json, &w->text, about, label, 0, tone);
}

static void put_bytes(writing *w, uint64_t bytes) { vs_text_bytes(&w->text, bytes, w->c->options.unit); }

static bool is_same(const writing *w) { return w->t->changed == 0 && w->t->added == 0 && w->t->gone == 0; }

static uint64_t member_u64(const writing *w, unsigned side, const char *key, bool *is_known) {
  const vs_json value = vs_reply_at(w->c->sides[side].json, key);
  *is_known = *is_known && !vs_reply_is_unknown(value);
  return vs_json_u64(value, 0);
}

/* Whether a figure of the two is known on both sides and differs. */
static bool differs(const writing *w, const char *key) {
  bool is_known = true;
  const uint64_t before = member_u64(w, 0, key, &is_known), after = member_u64(w, 1, key, &is_known);
  return is_known && before != after;
}

static void put_difference(writing *w) {
  const uint64_t before = w->c->sides[0].bytes, after = w->c->sides[1].bytes;
  if (is_same(w)) {
    vs_text_cstr(&w->text, after == 0 ? "none: nothing was live at the moments compared"
                                      : "none: the same memory was live at the moments compared, ");
    if (after != 0) put_bytes(w, after);
    end_line(w, "difference", "Difference", "good");
    return;
  }
  const uint64_t change = after < before ? before - after : after - before;
  put_bytes(w, change);
  vs_text_cstr(&w->text, after < before    ? " less: "
                         : after == before ? " in all, although its parts differ: "
                                           : " more: ");
  put_bytes(w, before);
  vs_text_cstr(&w->text, " requested before, ");
  put_bytes(w, after);
  vs_text_cstr(&w->text, " after");
  if (before != 0) {
    vs_text_format(&w->text, " (%s", after < before ? "-" : "+");
    vs_text_percent(&w->text, change, before);
    vs_text_byte(&w->text, ')');
  }
  end_line(w, "difference", "Difference", after > before ? "bad" : "plain");
}

/* Whether the two made requests of the same sizes in the same order; unknown where a recording is not complete. */
typedef enum sameness { UNKNOWN, EQUAL, DIFFERENT } sameness;

static sameness compare_requests(const writing *w) {
  const vs_str before = vs_reply_str(w->c->sides[0].json, "requests_hash"),
               after = vs_reply_str(w->c->sides[1].json, "requests_hash");
  if (before.size == 0 || after.size == 0) return UNKNOWN;
  return vs_str_equal(before, after) ? EQUAL : DIFFERENT;
}

static void put_requests(writing *w) {
  const sameness requests = compare_requests(w);
  if (requests == EQUAL) {
    vs_text_cstr(&w->text, "the same sizes in the same order in both runs");
    end_line(w, "requests", "Requests", "good");
    if (!differs(w, "peak_reserved_bytes") && !differs(w, "peak_allocated_bytes")) return;
    vs_text_cstr(&w->text, "what PyTorch's allocator made of them differs: its settings, its version, the "
                           "memory it could get, or when "
                           "the program freed");
    end_line(w, "allocator", "Allocator", "warning");
  } else if (requests == DIFFERENT && is_same(w)) {
    vs_text_cstr(&w->text, "not the same in both runs, although what was live at these moments is: compare "
                           "another moment with --at");
    end_line(w, "requests", "Requests", "warning");
  }
}

/* What did not change is one line. */
static void put_same(writing *w) {
  enum { NAMED = 3 };
  const tally *t = w->t;
  if (t->same == 0 || is_same(w)) return;
  put_bytes(w, t->same_bytes);
  vs_text_format(&w->text, " in %U %s: ", t->same, vs_diff_by_noun(w->c->options.by, t->same));
  for (size_t i = 0; i < NAMED && i < t->same; i++) {
    vs_part_name name;
    vs_part_name_init(&name, w->c, &w->c->rows.list.data[t->first_same + i], 1);
    if (i != 0) vs_text_cstr(&w->text, ", ");
    vs_text_str(&w->text, vs_text_view(&name.owner));
    vs_part_name_deinit(&name, &w->text.status);
  }
  if (t->same > NAMED) vs_text_cstr(&w->text, " ...");
  end_line(w, "same", "The same", "plain");
}

static void put_counted(writing *w, uint64_t count, const char *noun, bool *is_first) {
  if (count == 0) return;
  vs_text_format(&w->text, "%s%U %s", *is_first ? "" : ", ", count, noun);
  *is_first = false;
}

static void put_rows(writing *w) {
  bool is_first = true;
  if (is_same(w)) return;
  put_counted(w, w->t->changed, "changed", &is_first);
  put_counted(w, w->t->added, "new", &is_first);
  put_counted(w, w->t->gone, "gone", &is_first);
  char label[16];
  vs_format(label, sizeof label, "%c%s", vs_diff_by_plurals[w->c->options.by][0] - 'a' + 'A',
            vs_diff_by_plurals[w->c->options.by] + 1);
  end_line(w, "rows", label, "plain");
}

/* "train.py:31 forward", with the folder of the file where the two sides differ in it. */
static void put_place(writing *w, const vs_part_name *name, bool with_folder) {
  if (with_folder && name->file.bytes.count != 0) {
    vs_text_str(&w->text, vs_text_view(&name->file));
    if (name->line != VS_SIDE_NO_LINE) vs_text_format(&w->text, ":%D", name->line);
    if (name->function.size != 0) vs_text_format(&w->text, " %S", name->function);
  } else {
    vs_text_str(&w->text, vs_text_view(&name->owner));
  }
}

static void put_moved(writing *w) {
  if (w->t->moved == 0) return;
  vs_part_name before, after;
  vs_part_name_init(&before, w->c, w->t->largest_moved, 0);
  vs_part_name_init(&after, w->c, w->t->largest_moved, 1);
  const bool with_folder = !vs_str_equal(vs_text_view(&before.file), vs_text_view(&after.file));
  vs_text_format(&w->text, "%U of the %s that both have %s; for example, ", w->t->moved,
                 vs_diff_by_plurals[w->c->options.by],
                 w->t->moved == 1 ? "is at another place or has another name"
                                  : "are at another place or have another name");
  put_place(w, &before, with_folder);
  vs_text_cstr(&w->text, " is now ");
  put_place(w, &after, with_folder);
  vs_part_name_deinit(&before, &w->text.status);
  vs_part_name_deinit(&after, &w->text.status);
  end_line(w, "moved", "Moved", "plain");
}

static void put_matched(writing *w) {
  const uint64_t before = w->c->sides[0].bytes, after = w->c->sides[1].bytes;
  if (before == 0 || after == 0 || is_same(w)) return;
  vs_text_percent(&w->text, w->t->paired[0], before);
  vs_text_cstr(&w->text, " of the memory before, and ");
  vs_text_percent(&w->text, w->t->paired[1], after);
  vs_text_format(&w->text, " of that after, belongs to %s that both have",
                 vs_diff_by_plurals[w->c->options.by]);
  end_line(w, "matched", "Matched", "plain");
}

/* What makes the comparison doubtful. */
static void put_trust(writing *w, unsigned side) {
  const vs_json json = w->c->sides[side].json;
  if (!vs_reply_knows(json, "complete") || vs_reply_bool(json, "complete")) return;
  vs_text_format(&w->text,
                 "the recording of %s is not complete: what was allocated before it began or was lost may be "
                 "missing, or "
                 "have no owner",
                 side == 0 ? "before" : "after");
  end_line(w, "trust", "Incomplete", "warning");
}

void vs_diff_lines_put(vs_jsonw *json, const vs_comparison *c) {
  tally t = {0};
  writing w = {.json = json, .c = c, .t = &t};
  vs_text_init(&w.text, c->host, NULL);
  w.text.status = add_up(c, &t);
  vs_jsonw_key(json, VS_STR("lines"));
  vs_jsonw_array_begin(json);
  put_difference(&w);
  put_requests(&w);
  put_rows(&w);
  put_same(&w);
  put_moved(&w);
  put_matched(&w);
  put_trust(&w, 0);
  put_trust(&w, 1);
  vs_jsonw_array_end(json);
  if (json->text->status == VS_OK) json->text->status = w.text.status;
  vs_text_deinit(&w.text);
}
