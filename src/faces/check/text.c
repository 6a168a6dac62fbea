#include "faces/check/text.h"
#include "faces/check/formats.h"
#include "faces/words/reply_words.h"

enum { ROWS = 10 };

static bool has_verdict(vs_json json, const char *word) {
  return vs_str_equal(vs_reply_str(json, "verdict"), vs_str_from(word));
}

/* "Broken: 1 of 3 checks, 1 cannot be judged". */
static void put_headline(vs_text *text, vs_json reply) {
  const uint64_t count = vs_json_count(vs_reply_at(reply, "checks"));
  const uint64_t broken = vs_reply_u64(reply, "broken"), unknown = vs_reply_u64(reply, "unknown");
  if (broken == 0 && unknown == 0) {
    vs_text_cstr(text, "Holds: ");
    vs_words_count(text, count, "check");
    return;
  }
  vs_text_format(text, "%s: %U of ", broken != 0 ? "Broken" : "Cannot be judged",
                 broken != 0 ? broken : unknown);
  vs_words_count(text, count, "check");
  if (broken != 0 && unknown != 0) vs_text_format(text, ", %U cannot be judged", unknown);
}

static void put_name(vs_text *text, vs_json check) {
  if (vs_reply_knows(check, "budget")) {
    vs_screen_safe(text, vs_reply_str(check, "budget"));
    if (!vs_str_equal(vs_reply_str(check, "key"), VS_STR("max"))) {
      vs_text_byte(text, ' ');
      vs_screen_safe(text, vs_reply_str(check, "key"));
    }
    return;
  }
  vs_screen_safe(text, vs_reply_str(check, "key"));
}

/* "+64.00 MiB", "64.00 MiB". */
static void put_place_bytes(vs_text *text, vs_unit unit, vs_json check, vs_json place) {
  if (vs_str_equal(vs_reply_str(check, "places_are"), VS_STR("more")))
    vs_text_bytes_change(text, vs_reply_i64(place, "bytes"), unit);
  else vs_text_bytes(text, vs_reply_u64(place, "bytes"), unit);
}

/* ---- a terminal */

static const char *mark_of(vs_json check) {
  return has_verdict(check, "broken") ? "broken" : has_verdict(check, "unknown") ? "unknown" : "ok";
}

static vs_style style_of(vs_json check) {
  return has_verdict(check, "broken")  ? VS_STYLE_BAD
         : has_verdict(check, "holds") ? VS_STYLE_GOOD
                                       : VS_STYLE_TITLE;
}

/* Below the sentence, the sizes right-aligned. */
static void put_place(vs_screen *screen, vs_json check, vs_json place) {
  enum { END = 25 };
  vs_text size;
  vs_scratch_init(&size, screen);
  put_place_bytes(&size, screen->unit, check, place);
  for (size_t width = vs_screen_width(vs_text_view(&size)); width < END; width++)
    vs_text_byte(&screen->text, ' ');
  vs_text_str(&screen->text, vs_text_view(&size));
  vs_text_cstr(&screen->text, "  ");
  vs_screen_safe(&screen->text, vs_reply_str(place, "owner"));
  vs_text_byte(&screen->text, '\n');
  vs_text_deinit(&size);
}

/* `before`: the check whose owners were shown last. */
static void put_check(vs_screen *screen, vs_json check, vs_json *before) {
  vs_text line;
  vs_scratch_init(&line, screen);
  put_name(&line, check);
  vs_text_cstr(&line, ": ");
  vs_text_str(&line, vs_reply_str(check, "sentence"));
  vs_words_labelled(screen, mark_of(check), style_of(check), vs_text_view(&line));
  vs_text_deinit(&line);
  const vs_json places = vs_reply_at(check, "places");
  const bool is_known = vs_check_are_same_places(check, *before);
  for (size_t i = 0; i < vs_json_count(places) && !is_known; i++)
    put_place(screen, check, vs_json_at(places, i));
  if (vs_json_count(places) != 0) *before = check;
}

void vs_check_put_text(vs_screen *screen, vs_json reply) {
  const vs_json checks = vs_reply_at(reply, "checks");
  vs_text line;
  vs_scratch_init(&line, screen);
  put_headline(&line, reply);
  vs_screen_styled(screen, style_of(reply), vs_text_view(&line));
  vs_text_cstr(&screen->text, "\n\n");
  vs_text_deinit(&line);
  vs_json before = {.value.kind = VS_JSON_ABSENT};
  for (size_t i = 0; i < vs_json_count(checks); i++) put_check(screen, vs_json_at(checks, i), &before);
}

/* ---- Markdown */

/* Code, in which a bar would end the cell of a table. */
static void put_code(vs_text *text, vs_str part) {
  vs_text_byte(text, '`');
  for (size_t i = 0; i < part.size; i++) {
    const char c = part.data[i];
    if (c == '|') vs_text_byte(text, '\\');
    vs_text_byte(text, c == '`' ? '\'' : (uint8_t)c < ' ' ? ' ' : (uint8_t)c);
  }
  vs_text_byte(text, '`');
}

static void put_markdown_check(vs_text *text, vs_json check) {
  vs_text_format(text, "| %s | ", mark_of(check));
  put_name(text, check);
  vs_text_cstr(text, " | ");
  vs_screen_safe(text, vs_reply_str(check, "sentence"));
  vs_text_cstr(text, " |\n");
}

static void put_markdown_row(vs_text *text, vs_unit unit, const vs_screen *screen, vs_json row) {
  vs_text_cstr(text, "| ");
  vs_text_bytes_change(text, vs_reply_i64(row, "delta_bytes"), unit);
  vs_text_cstr(text, " | ");
  vs_words_part(screen, text, vs_reply_at(row, "before"));
  vs_text_cstr(text, " | ");
  vs_words_part(screen, text, vs_reply_at(row, "after"));
  vs_text_cstr(text, " | ");
  put_code(text, vs_reply_str(row, "owner"));
  vs_text_cstr(text, " |\n");
}

static void put_markdown_diff(vs_text *text, const vs_screen *screen, vs_json diff) {
  const vs_json rows = vs_reply_at(diff, "rows");
  size_t shown = 0, changed = 0;
  for (size_t i = 0; i < vs_json_count(rows); i++) {
    const vs_json row = vs_json_at(rows, i);
    if (vs_str_equal(vs_reply_str(row, "status"), VS_STR("same"))) continue;
    if (changed++ == 0)
      vs_text_cstr(text, "\n| change | before | after | line |\n| ---: | ---: | ---: | --- |\n");
    if (shown < ROWS) put_markdown_row(text, screen->unit, screen, row);
    shown++;
  }
  if (changed > ROWS) vs_text_format(text, "\nand %U more\n", (uint64_t)(changed - ROWS));
}

void vs_check_put_markdown(vs_text *text, const vs_screen *screen, vs_json reply) {
  const vs_json checks = vs_reply_at(reply, "checks");
  vs_text_cstr(text, "### GPU memory\n\n");
  put_headline(text, reply);
  vs_text_cstr(text, "\n\n| | check | |\n| --- | --- | --- |\n");
  for (size_t i = 0; i < vs_json_count(checks); i++) put_markdown_check(text, vs_json_at(checks, i));
  put_markdown_diff(text, screen, vs_reply_at(reply, "diff"));
}
