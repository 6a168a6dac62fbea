#include "diff/sentence.h"

enum { MOST_RANGES = 8, MOST_NAMES = 3 };

void vs_sentence_put(vs_jsonw *json, vs_text *text, const char *about, const char *label, uint32_t depth,
                     const char *tone) {
  vs_jsonw_object_begin(json);
  vs_jsonw_member_str(json, "about", vs_str_from(about));
  vs_jsonw_member_str(json, "label", vs_str_from(label));
  vs_jsonw_member_u64(json, "depth", depth);
  vs_jsonw_member_str(json, "tone", vs_str_from(tone));
  vs_jsonw_member_str(json, "text", vs_text_view(text));
  vs_jsonw_object_end(json);
  text->bytes.count = 0;
}

/* How many labels from `at` on have numbers that follow one another. */
static size_t range_at(const vs_rank_label *labels, size_t count, size_t at) {
  size_t size = 1;
  while (at + size < count && labels[at + size].number == labels[at].number + size) size++;
  return size;
}

static void put_separator(vs_text *text, bool is_first, bool is_last) {
  if (!is_first) vs_text_cstr(text, is_last ? " and " : ", ");
}

static void put_numbers(vs_text *text, const vs_rank_label *labels, size_t count) {
  vs_text_cstr(text, count == 1 ? "rank " : "ranks ");
  for (size_t i = 0, ranges = 0; i < count; ranges++) {
    const size_t size = range_at(labels, count, i);
    if (ranges == MOST_RANGES) {
      vs_text_format(text, " and %U more", (uint64_t)(count - i));
      return;
    }
    put_separator(text, ranges == 0, i + size == count);
    vs_text_u64(text, labels[i].number);
    if (size > 1) vs_text_format(text, "-%U", labels[i + size - 1].number);
    i += size;
  }
}

void vs_sentence_ranks(vs_text *text, const vs_strings *strings, const vs_rank_label *labels, size_t count,
                       bool have_numbers) {
  if (have_numbers) {
    put_numbers(text, labels, count);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    if (i == MOST_NAMES) {
      vs_text_format(text, " and %U more", (uint64_t)(count - i));
      return;
    }
    put_separator(text, i == 0, i + 1 == count);
    vs_text_str(text, vs_strings_at(strings, labels[i].name));
  }
}
