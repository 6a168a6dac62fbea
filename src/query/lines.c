#include "query/lines.h"

typedef struct about {
  const char *name, *label;
  uint32_t depth;
} about;

static const about abouts[] = {
#define VS_LINE(name_, depth_, label_) {.name = #name_, .depth = depth_, .label = label_},
#include "query/lines.def"
};

static const char *const tones[] = {
#define VS_TONE(name) #name,
#include "query/lines.def"
};

void vs_lines_begin(vs_lines *lines, vs_call *call) {
  *lines = (vs_lines){.call = call, .unit = call->request->unit};
  vs_text_init(&lines->text, call->engine->host, NULL);
  vs_text_init(&lines->value, call->engine->host, NULL);
  vs_text_init(&lines->brief, call->engine->host, NULL);
  vs_reply_array_begin(call->json, "lines");
}

static void take_status(vs_lines *lines, vs_text *text) {
  if (lines->call->scratch.status == VS_OK) lines->call->scratch.status = text->status;
  vs_text_deinit(text);
}

void vs_lines_end(vs_lines *lines) {
  vs_jsonw_array_end(lines->call->json);
  take_status(lines, &lines->text);
  take_status(lines, &lines->value);
  take_status(lines, &lines->brief);
}

void vs_line_begin(vs_lines *lines, vs_line_id id, vs_tone tone) {
  VS_ASSERT((size_t)id < sizeof abouts / sizeof *abouts && (size_t)tone < sizeof tones / sizeof *tones);
  lines->text.bytes.count = lines->value.bytes.count = lines->brief.bytes.count = 0;
  lines->has_bytes = lines->has_event = lines->shows_blocks = lines->is_detail = false;
  lines->id = id;
  lines->tone = tone;
}

void vs_line_detail_begin(vs_lines *lines, vs_line_id id, vs_tone tone) {
  vs_line_begin(lines, id, tone);
  lines->is_detail = true;
}

static void member_text(vs_jsonw *json, const char *key, const vs_text *text) {
  if (text->bytes.count == 0) vs_jsonw_member_null(json, key);
  else vs_jsonw_member_str(json, key, vs_text_view(text));
}

static void write_members(vs_lines *lines) {
  vs_jsonw *json = lines->call->json;
  const about *kind = &abouts[lines->id];
  vs_jsonw_object_begin(json);
  vs_jsonw_member_str(json, "about", vs_str_from(kind->name));
  vs_jsonw_member_str(json, "label", vs_str_from(kind->label));
  vs_jsonw_member_u64(json, "depth", kind->depth);
  vs_jsonw_member_str(json, "tone", vs_str_from(tones[lines->tone]));
  vs_jsonw_member_bool(json, "detail", lines->is_detail);
  member_text(json, "text", &lines->text);
  member_text(json, "value", &lines->value);
  member_text(json, "brief", &lines->brief);
  vs_reply_u64_or_null(json, "bytes", lines->has_bytes, lines->bytes);
  vs_reply_i64_or_null(json, "event", lines->has_event, lines->event);
}

void vs_line_end(vs_lines *lines) {
  vs_line_rows_begin(lines);
  vs_line_rows_end(lines);
}

/* ---- rows */

void vs_line_rows_begin(vs_lines *lines) {
  write_members(lines);
  vs_reply_array_begin(lines->call->json, "rows");
}

void vs_line_rows_end(vs_lines *lines) {
  vs_jsonw_array_end(lines->call->json);
  vs_jsonw_object_end(lines->call->json);
}

static void row_figures(vs_lines *lines, uint32_t depth, uint64_t bytes, uint64_t whole) {
  vs_call *call = lines->call;
  VS_ASSERT(call->scratch.bytes.count == 0);
  vs_jsonw_member_u64(call->json, "depth", depth);
  vs_jsonw_member_u64(call->json, "bytes", bytes);
  vs_reply_share(call->json, "share", bytes, whole);
  vs_text_bytes(&call->scratch, bytes, lines->unit);
  vs_reply_scratch(call, "size");
  if (bytes <= whole) vs_text_percent(&call->scratch, bytes, whole);
  vs_reply_scratch(call, "percent");
}

/* "6 × 4.94 GiB" where all are equal, else "37 blocks". */
static void row_blocks(vs_lines *lines, const vs_group *group) {
  vs_call *call = lines->call;
  if (group->count > 1 && group->each != 0) {
    vs_text_count(&call->scratch, group->count);
    vs_text_cstr(&call->scratch, " × ");
    vs_text_bytes(&call->scratch, group->each, lines->unit);
  } else {
    vs_text_counted(&call->scratch, group->count, "block");
  }
  vs_reply_scratch(call, "blocks");
}

static void group_row_begin(vs_lines *lines, uint32_t depth, const vs_group *group, uint64_t whole) {
  vs_jsonw_object_begin(lines->call->json);
  row_figures(lines, depth, group->bytes, whole);
  if (lines->shows_blocks) row_blocks(lines, group);
  else vs_jsonw_member_null(lines->call->json, "blocks");
}

void vs_line_group_row(vs_lines *lines, vs_group_by by, const vs_group *group, uint64_t whole) {
  group_row_begin(lines, 0, group, whole);
  vs_reply_group_name(lines->call, by, group);
  vs_jsonw_object_end(lines->call->json);
}

static void part_row(vs_lines *lines, const vs_group *owner, const vs_group *part, uint64_t whole) {
  group_row_begin(lines, 1, part, whole);
  vs_reply_part_name(lines->call, owner, part);
  vs_jsonw_object_end(lines->call->json);
}

static void rest_row(vs_lines *lines, uint32_t depth, uint64_t bytes, uint64_t count, const char *noun,
                     uint64_t whole) {
  vs_call *call = lines->call;
  vs_jsonw_object_begin(call->json);
  row_figures(lines, depth, bytes, whole);
  vs_jsonw_member_null(call->json, "blocks");
  vs_text_counted(&call->scratch, count, noun);
  vs_reply_scratch(call, "label");
  vs_text_counted(&call->scratch, count, noun);
  vs_reply_scratch(call, "long_label");
  vs_jsonw_member_null(call->json, "key");
  vs_jsonw_member_null(call->json, "filter");
  vs_jsonw_object_end(call->json);
}

void vs_line_rest_row(vs_lines *lines, uint64_t bytes, uint64_t count, const char *noun, uint64_t whole) {
  rest_row(lines, 0, bytes, count, noun, whole);
}

static void part_rows(vs_lines *lines, const vs_group *owner, const vs_groups *parts, uint64_t whole) {
  enum { MOST = 6 };
  const size_t shown = parts->list.count <= MOST ? parts->list.count : MOST - 1;
  uint64_t rest = parts->bytes;
  for (size_t i = 0; i < shown; i++) {
    part_row(lines, owner, &parts->list.data[i], whole);
    rest -= vs_min_u64(parts->list.data[i].bytes, rest);
  }
  if (parts->list.count > shown) rest_row(lines, 1, rest, parts->list.count - shown, "other line", whole);
}

void vs_line_owner_rows(vs_lines *lines, const vs_owners *owners) {
  const vs_groups *of = &owners->lines;
  const size_t shown = vs_reply_at_most(lines->call, of->list.count);
  uint64_t rest = of->bytes;
  for (size_t i = 0; i < shown; i++) {
    vs_line_group_row(lines, VS_BY_LINE, &of->list.data[i], of->bytes);
    if (i == 0) part_rows(lines, &of->list.data[0], &owners->parts, of->bytes);
    rest -= vs_min_u64(of->list.data[i].bytes, rest);
  }
  if (of->list.count > shown) vs_line_rest_row(lines, rest, of->list.count - shown, "other line", of->bytes);
}

/* ---- parts of the open line */

void vs_line_value(vs_lines *lines, uint64_t bytes) {
  lines->bytes = bytes;
  lines->has_bytes = true;
  vs_text_bytes(&lines->value, bytes, lines->unit);
}

void vs_line_at(vs_lines *lines, int64_t event) {
  lines->event = event;
  lines->has_event = true;
}

static void put(vs_lines *lines, vs_text *text, const char *format, va_list arguments) {
  for (const char *c = format; *c != 0; c++) {
    if (*c != '%') {
      vs_text_byte(text, (uint8_t)*c);
      continue;
    }
    switch (*++c) {
      case 'B': vs_text_bytes(text, va_arg(arguments, uint64_t), lines->unit); break;
      case 'N': vs_text_count(text, va_arg(arguments, uint64_t)); break;
      case 's': vs_text_cstr(text, va_arg(arguments, const char *)); break;
      case 'C': {
        const uint64_t count = va_arg(arguments, uint64_t);
        vs_text_counted(text, count, va_arg(arguments, const char *));
        break;
      }
      case 'O':
        vs_frames_put_owner(&lines->call->engine->frames, text, va_arg(arguments, uint32_t), false,
                            VS_PATH_SHORT);
        break;
      default: __builtin_trap();
    }
  }
}

void vs_line_put(vs_lines *lines, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  put(lines, &lines->text, format, arguments);
  va_end(arguments);
}

void vs_line_put_brief(vs_lines *lines, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  put(lines, &lines->brief, format, arguments);
  va_end(arguments);
}
