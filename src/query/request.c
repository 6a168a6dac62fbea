#include "query/request.h"
#include "base/nearest.h"
#include "base/double_text.h"
#include "codec/json_doc.h"

/* ---- tables ---------------------------------------------------------------------------------------------------- */

typedef enum param_id {
#define VS_PARAM(name, TYPE, sentence) PARAM_##name,
#define VS_METHOD(name, NEEDS, REPLY, WHERE, sentence)
#define VS_TAKES(method, param, default)
#include "query/methods.def"
#undef VS_METHOD
#undef VS_TAKES
#undef VS_PARAM
  PARAM_COUNT
} param_id;

typedef enum param_type {
  TYPE_DEVICE,
  TYPE_MOMENT,
  TYPE_FILTER,
  TYPE_TEXT,
  TYPE_TEXTS,
  TYPE_COUNT,
  TYPE_REAL,
  TYPE_FLAG,
  TYPE_BY, /* from here on choices */
  TYPE_COLOUR,
  TYPE_FRAMES,
  TYPE_AXIS,
  TYPE_WHAT,
  TYPE_DRAWN,
  TYPE_MEASURE,
  TYPE_SORT,
  TYPE_UNIT,
  TYPE_WRITTEN,
  TYPE_FORMAT,
} param_type;

static const char *const type_names[] = {
    [TYPE_DEVICE] = "device", [TYPE_MOMENT] = "moment",   [TYPE_FILTER] = "filter",   [TYPE_TEXT] = "text",
    [TYPE_TEXTS] = "texts",   [TYPE_COUNT] = "count",     [TYPE_REAL] = "real",       [TYPE_FLAG] = "flag",
    [TYPE_BY] = "by",         [TYPE_COLOUR] = "colour",   [TYPE_FRAMES] = "frames",   [TYPE_AXIS] = "axis",
    [TYPE_WHAT] = "what",     [TYPE_DRAWN] = "drawn",     [TYPE_MEASURE] = "measure", [TYPE_SORT] = "sort",
    [TYPE_UNIT] = "unit",     [TYPE_WRITTEN] = "written", [TYPE_FORMAT] = "format",
};

typedef struct param {
  const char *name;
  const char *sentence;
  param_type type;
  size_t offset; /* in vs_request */
} param;

static const param params[PARAM_COUNT] = {
#define VS_PARAM(name, TYPE, sentence) VS_PARAM_AS(name, #name, TYPE, sentence)
#define VS_PARAM_AS(id, name_, TYPE, sentence_) \
  {.name = name_, .sentence = sentence_, .type = TYPE_##TYPE, .offset = offsetof(vs_request, id)},
#define VS_METHOD(name, NEEDS, REPLY, WHERE, sentence)
#define VS_TAKES(method, param, default)
#include "query/methods.def"
#undef VS_METHOD
#undef VS_TAKES
#undef VS_PARAM
};

const vs_method vs_methods[VS_METHOD_COUNT] = {
#define VS_PARAM(name, TYPE, sentence)
#define VS_METHOD(name_, NEEDS, REPLY, WHERE, sentence_) \
  {.name = #name_, .sentence = sentence_, .needs = VS_NEEDS_##NEEDS, .reply = VS_REPLY_##REPLY},
#define VS_TAKES(method, param, default)
#include "query/methods.def"
#undef VS_METHOD
#undef VS_TAKES
#undef VS_PARAM
};

/* A parameter of a method. */
typedef struct takes {
  vs_method_id method;
  param_id param;
  const char *fallback; /* its default, as JSON */
} takes;

static const takes taken[] = {
#define VS_PARAM(name, TYPE, sentence)
#define VS_METHOD(name, NEEDS, REPLY, WHERE, sentence)
#define VS_TAKES(method_, param_, default_) \
  {.method = VS_METHOD_##method_, .param = PARAM_##param_, .fallback = default_},
#include "query/methods.def"
#undef VS_METHOD
#undef VS_TAKES
#undef VS_PARAM
};
enum { TAKEN_COUNT = sizeof taken / sizeof *taken };

typedef struct choice {
  param_type type;
  const char *name;
  const char *sentence;
} choice;

/* The choices of a type stand together, in the order of its enum. */
static const choice choices[] = {
#define VS_CHOICE(TYPE, name_, sentence_) {.type = TYPE_##TYPE, .name = #name_, .sentence = sentence_},
#include "query/choices.def"
#undef VS_CHOICE
#define VS_EXPORT(name_, extension, opens_in, sentence_) \
  {.type = TYPE_FORMAT, .name = #name_, .sentence = sentence_},
#include "query/exports.def"
#undef VS_EXPORT
};
enum { CHOICE_COUNT = sizeof choices / sizeof *choices, MAX_NAMES = 32 };

/* The names of a type's choices; their number. */
static size_t choice_names(param_type type, const char *names[static MAX_NAMES]) {
  size_t count = 0;
  for (size_t i = 0; i < CHOICE_COUNT; i++)
    if (choices[i].type == type && count < MAX_NAMES) names[count++] = choices[i].name;
  return count;
}

/* ---- did you mean? --------------------------------------------------------------------------------------------- */

enum { MOST_QUOTED = 48 };

vs_status vs_unknown_word(vs_error *error, const char *what, vs_str typed, const char *const *names,
                          size_t count) {
  vs_nearest nearest = vs_nearest_to(typed);
  for (size_t i = 0; i < count; i++) vs_nearest_offer(&nearest, vs_str_from(names[i]));
  if (typed.size > MOST_QUOTED) typed.size = MOST_QUOTED;
  if (nearest.best.size != 0)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "unknown %s '%S': did you mean '%S'?", what, typed,
                   nearest.best);
  char list[400] = "";
  for (size_t i = 0; i < count; i++) {
    const size_t used = strlen(list);
    vs_format(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ", names[i]);
  }
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "unknown %s '%S': there is %s", what, typed, list);
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

static vs_status wrong(vs_error *error, const param *p, const char *expected) {
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "parameter '%s' has to be %s", p->name, expected);
}

static bool is_string(vs_json value) { return vs_json_kind(value) == VS_VALUE_STRING; }

static vs_status read_device(const param *p, vs_json value, vs_device_choice *out, vs_error *error) {
  const char *expected = "a device number, \"host\" or null";
  int64_t number = -1;
  *out = (vs_device_choice){.is_given = vs_json_kind(value) != VS_VALUE_NONE};
  if (!out->is_given) return VS_OK;
  if (is_string(value)) {
    const vs_str text = vs_json_str(value, VS_STR(""));
    if (vs_str_equal(text, VS_STR("host"))) {
      out->device = VS_DEVICE_HOST;
      return VS_OK;
    }
    if (!vs_parse_i64(text, &number)) return wrong(error, p, expected);
  } else {
    number = vs_json_i64(value, -1);
  }
  if (number < 0 || number > INT32_MAX) return wrong(error, p, expected);
  out->device = (int32_t)number;
  return VS_OK;
}

static const char *const when_names[] = {
    [VS_WHEN_START] = "start", [VS_WHEN_END] = "end",
    [VS_WHEN_PEAK] = "peak",   [VS_WHEN_PEAK_RESERVED] = "peak_reserved",
    [VS_WHEN_OOM] = "oom",
};
enum { WHEN_NAMES = sizeof when_names / sizeof *when_names };

/* "step 3", "step3", "steps 1-2", "steps 3-", "steps -2". */
static bool is_steps(vs_str text, vs_when *out) {
  const vs_str word = VS_STR("step");
  if (!vs_str_starts(text, word)) return false;
  size_t from = word.size;
  if (from < text.size && text.data[from] == 's') from++;
  if (from < text.size && text.data[from] == ' ') from++;
  return vs_parse_range((vs_str){text.data + from, text.size - from}, &out->first, &out->last);
}

static vs_status read_moment(const param *p, vs_json value, vs_when *out, vs_error *error) {
  *out = (vs_when){.kind = VS_WHEN_NONE};
  if (vs_json_kind(value) == VS_VALUE_NONE) return VS_OK;
  *out = (vs_when){.kind = VS_WHEN_EVENT, .value = vs_json_i64(value, INT64_MIN)};
  if (!is_string(value))
    return out->value >= -1 ? VS_OK : wrong(error, p, "an event number, a name such as \"peak\", or a time");
  const vs_str text = vs_json_str(value, VS_STR(""));
  for (size_t i = 0; i < WHEN_NAMES; i++)
    if (vs_str_equal(text, vs_str_from(when_names[i]))) {
      out->kind = (vs_when_kind)i;
      return VS_OK;
    }
  if (vs_parse_i64(text, &out->value) && out->value >= -1) return VS_OK;
  out->kind = VS_WHEN_TIME;
  if (vs_str_starts(text, VS_STR("@")) && vs_parse_i64((vs_str){text.data + 1, text.size - 1}, &out->value))
    return VS_OK;
  out->kind = VS_WHEN_STEPS;
  if (is_steps(text, out)) return VS_OK;
  out->kind = VS_WHEN_AFTER;
  if (vs_read_duration(text, &out->value)) return VS_OK;
  return vs_unknown_word(error, "moment", text, when_names, WHEN_NAMES);
}

static vs_status read_real(const param *p, vs_json value, vs_real *out, vs_error *error) {
  const uint32_t kind = vs_json_kind(value);
  *out = (vs_real){.is_given = kind != VS_VALUE_NONE, .value = vs_json_f64(value, 0)};
  if (!out->is_given) return VS_OK;
  const bool is_number = kind == VS_VALUE_INT || kind == VS_VALUE_REAL || kind == VS_VALUE_UINT;
  return is_number && vs_f64_is_finite(out->value) ? VS_OK : wrong(error, p, "a number or null");
}

static vs_status read_choice(const param *p, vs_json value, size_t *out, vs_error *error) {
  const char *names[MAX_NAMES];
  const size_t count = choice_names(p->type, names);
  const vs_str text = vs_json_str(value, VS_STR(""));
  for (*out = 0; *out < count; ++*out)
    if (vs_str_equal(text, vs_str_from(names[*out]))) return VS_OK;
  return vs_unknown_word(error, p->name, text, names, count);
}

static vs_status read_text(const vs_host *host, const param *p, vs_json value, vs_given_text *out,
                           vs_error *error) {
  out->is_given = vs_json_kind(value) != VS_VALUE_NONE;
  if (!out->is_given) return VS_OK;
  if (!is_string(value)) return wrong(error, p, "text or null");
  const vs_str text = vs_json_str(value, VS_STR(""));
  VS_TRY(vs_vec_reserve(host, &out->bytes, text.size));
  if (text.size > 0) memcpy(out->bytes.data, text.data, text.size);
  out->bytes.count = text.size;
  return VS_OK;
}

static vs_status texts_add(const vs_host *host, const param *p, vs_json value, vs_texts *out,
                           vs_error *error) {
  if (!is_string(value)) return wrong(error, p, "text, a list of texts, or null");
  const vs_str text = vs_json_str(value, VS_STR(""));
  VS_TRY(vs_vec_reserve(host, &out->bytes, text.size));
  VS_TRY(vs_vec_reserve(host, &out->ends, 1));
  if (text.size > 0) memcpy(out->bytes.data + out->bytes.count, text.data, text.size);
  out->bytes.count += text.size;
  out->ends.data[out->ends.count++] = out->bytes.count;
  return VS_OK;
}

static vs_status read_texts(const vs_host *host, const param *p, vs_json value, vs_texts *out,
                            vs_error *error) {
  if (vs_json_kind(value) == VS_VALUE_NONE) return VS_OK;
  if (vs_json_kind(value) != VS_JSON_ARRAY) return texts_add(host, p, value, out, error);
  for (size_t i = 0; i < vs_json_count(value); i++)
    VS_TRY(texts_add(host, p, vs_json_at(value, i), out, error));
  return VS_OK;
}

static vs_status read_value(vs_request *request, const vs_host *host, const param *p, vs_json value,
                            vs_error *error) {
  void *slot = (char *)request + p->offset;
  size_t index = 0;
  switch (p->type) {
    case TYPE_DEVICE: return read_device(p, value, slot, error);
    case TYPE_MOMENT: return read_moment(p, value, slot, error);
    case TYPE_FILTER:
      if (!is_string(value)) return wrong(error, p, "text");
      return vs_filter_init(slot, host, vs_json_str(value, VS_STR("")), error);
    case TYPE_TEXT: return read_text(host, p, value, slot, error);
    case TYPE_TEXTS: return read_texts(host, p, value, slot, error);
    case TYPE_COUNT:
      *(uint64_t *)slot = vs_json_u64(value, 0);
      return vs_json_u64(value, 1) == vs_json_u64(value, 0) ? VS_OK
                                                            : wrong(error, p, "a whole number, 0 or more");
    case TYPE_REAL: return read_real(p, value, slot, error);
    case TYPE_FLAG:
      *(bool *)slot = vs_json_bool(value, false);
      return vs_json_kind(value) == VS_VALUE_BOOL ? VS_OK : wrong(error, p, "true or false");
    default: break;
  }
  if (!is_string(value)) return wrong(error, p, "one of the words that the method \"methods\" lists");
  VS_TRY(read_choice(p, value, &index, error));
  switch (p->type) {
    case TYPE_BY: *(vs_group_by *)slot = (vs_group_by)index; break;
    case TYPE_COLOUR: *(vs_colour *)slot = (vs_colour)index; break;
    case TYPE_FRAMES: *(vs_tree_frames *)slot = (vs_tree_frames)index; break;
    case TYPE_AXIS: *(vs_axis *)slot = (vs_axis)index; break;
    case TYPE_DRAWN: *(vs_drawn *)slot = (vs_drawn)index; break;
    case TYPE_MEASURE: *(vs_live_measure *)slot = (vs_live_measure)index; break;
    case TYPE_UNIT: *(vs_unit *)slot = (vs_unit)index; break;
    case TYPE_SORT: *(vs_sort *)slot = (vs_sort)index; break;
    case TYPE_WRITTEN: *(vs_written *)slot = (vs_written)index; break;
    case TYPE_WHAT: *(vs_what *)slot = (vs_what)index; break;
    default: *(vs_export_id *)slot = (vs_export_id)index; break;
  }
  return VS_OK;
}

/* ---- requests -------------------------------------------------------------------------------------------------- */

static vs_status read_default(vs_request *request, const vs_host *host, const takes *t, vs_error *error) {
  const param *p = &params[t->param];
  if (p->type == TYPE_FORMAT) return wrong(error, p, "given"); /* the one parameter without a default */
  vs_json_doc doc;
  VS_TRY(vs_json_doc_init(&doc, host, vs_str_from(t->fallback), error));
  const vs_status status = read_value(request, host, p, vs_json_root(&doc), error);
  vs_json_doc_deinit(&doc);
  return status;
}

static vs_status read_params(vs_request *request, const vs_host *host, vs_json given, vs_error *error) {
  const char *names[TAKEN_COUNT];
  size_t count = 0;
  for (size_t i = 0; i < TAKEN_COUNT; i++)
    if (taken[i].method == request->method) names[count++] = params[taken[i].param].name;
  for (size_t i = 0; i < vs_json_count(given); i++) {
    const vs_str name = vs_json_name_at(given, i);
    size_t j = 0;
    while (j < count && !vs_str_equal(name, vs_str_from(names[j]))) j++;
    if (j < count) continue;
    if (count == 0)
      return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "'%s' takes no parameters",
                     vs_methods[request->method].name);
    return vs_unknown_word(error, "parameter", name, names, count);
  }
  for (size_t i = 0; i < TAKEN_COUNT; i++) {
    if (taken[i].method != request->method) continue;
    const param *p = &params[taken[i].param];
    const vs_json value = vs_json_member(given, vs_str_from(p->name));
    const bool is_default = vs_json_is_absent(value) || vs_json_kind(value) == VS_VALUE_NONE;
    VS_TRY(is_default ? read_default(request, host, &taken[i], error)
                      : read_value(request, host, p, value, error));
  }
  return VS_OK;
}

static vs_status read_request(vs_request *request, const vs_host *host, vs_json root, vs_error *error) {
  static const char *const members[] = {"method", "params", "indent"};
  if (vs_json_kind(root) != VS_JSON_OBJECT)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "a request is an object with a method");
  for (size_t i = 0; i < vs_json_count(root); i++) {
    const vs_str name = vs_json_name_at(root, i);
    if (!vs_str_equal(name, VS_STR("method")) && !vs_str_equal(name, VS_STR("params")) &&
        !vs_str_equal(name, VS_STR("indent")))
      return vs_unknown_word(error, "member of a request", name, members, 3);
  }
  const vs_json indent = vs_json_member(root, VS_STR("indent"));
  const uint64_t spaces = vs_json_u64(indent, vs_json_is_absent(indent) ? 0 : UINT64_MAX);
  if (spaces > 8)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "'indent' has to be a number from 0 to 8");
  request->indent = (uint32_t)spaces;

  const vs_json method = vs_json_member(root, VS_STR("method"));
  if (!is_string(method)) return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "a request names its method");
  const vs_str name = vs_json_str(method, VS_STR(""));
  const char *names[VS_METHOD_COUNT];
  size_t found = VS_METHOD_COUNT;
  for (size_t i = 0; i < VS_METHOD_COUNT; i++) {
    names[i] = vs_methods[i].name;
    if (vs_str_equal(name, vs_str_from(names[i]))) found = i;
  }
  if (found == VS_METHOD_COUNT) return vs_unknown_word(error, "method", name, names, VS_METHOD_COUNT);
  request->method = (vs_method_id)found;

  const vs_json given = vs_json_member(root, VS_STR("params"));
  const uint32_t kind = vs_json_kind(given);
  if (kind != VS_JSON_OBJECT && kind != VS_JSON_ABSENT && kind != VS_VALUE_NONE)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "'params' has to be an object");
  return read_params(request, host, given, error);
}

vs_status vs_request_init(vs_request *request, const vs_host *host, vs_str bytes, vs_error *error) {
  *request = (vs_request){.filter = {.host = host}, .mark = {.host = host}};
  vs_json_doc doc;
  vs_error inner = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_status status = vs_json_doc_init(&doc, host, bytes, &inner);
  if (status != VS_OK) {
    if (status == VS_NO_MEMORY) return status;
    return vs_fail(error, VS_BAD_ARGUMENT, inner.offset, "the request is not JSON: %s", inner.text);
  }
  status = read_request(request, host, vs_json_root(&doc), error);
  vs_json_doc_deinit(&doc);
  if (status != VS_OK) vs_request_deinit(request);
  return status;
}

static void texts_deinit(const vs_host *host, vs_texts *texts) {
  vs_vec_free(host, &texts->bytes);
  vs_vec_free(host, &texts->ends);
}

void vs_request_deinit(vs_request *request) {
  const vs_host *host = request->filter.host;
  vs_vec_free(host, &request->settings.bytes);
  for (size_t i = 0; i < PARAM_COUNT; i++)
    if (params[i].type == TYPE_TEXTS) texts_deinit(host, (vs_texts *)((char *)request + params[i].offset));
  vs_filter_deinit(&request->filter);
  vs_filter_deinit(&request->mark);
}

/* ---- the list of methods --------------------------------------------------------------------------------------- */

static void describe_choices(vs_jsonw *json, param_type type) {
  vs_jsonw_key(json, VS_STR("choices"));
  if (type < TYPE_BY) {
    vs_jsonw_null(json);
    return;
  }
  vs_jsonw_array_begin(json);
  for (size_t i = 0; i < CHOICE_COUNT; i++) {
    if (choices[i].type != type) continue;
    vs_jsonw_object_begin(json);
    vs_jsonw_member_str(json, "name", vs_str_from(choices[i].name));
    vs_jsonw_member_str(json, "sentence", vs_str_from(choices[i].sentence));
    vs_jsonw_object_end(json);
  }
  vs_jsonw_array_end(json);
}

/* A default stands in methods.def as JSON: a word, a number, true, false or null. */
static void describe_default(vs_jsonw *json, vs_str fallback) {
  uint64_t number;
  vs_jsonw_key(json, VS_STR("default"));
  if (fallback.data[0] == '"') vs_jsonw_str(json, (vs_str){fallback.data + 1, fallback.size - 2});
  else if (vs_parse_u64(fallback, &number)) vs_jsonw_u64(json, number);
  else if (fallback.data[0] == 'n') vs_jsonw_null(json);
  else vs_jsonw_bool(json, fallback.data[0] == 't');
}

static const char *const reply_names[] = {
    [VS_REPLY_WHOLE] = "json",
    [VS_REPLY_STREAMED] = "json",
    [VS_REPLY_COLUMNS] = "columns",
    [VS_REPLY_BYTES] = "bytes",
};

static void describe_method(vs_jsonw *json, size_t method) {
  const vs_method *m = &vs_methods[method];
  vs_jsonw_object_begin(json);
  vs_jsonw_member_str(json, "name", vs_str_from(m->name));
  vs_jsonw_member_str(json, "sentence", vs_str_from(m->sentence));
  vs_jsonw_member_str(json, "reply", vs_str_from(reply_names[m->reply]));
  vs_jsonw_member_bool(json, "streamed", m->reply == VS_REPLY_STREAMED || m->reply == VS_REPLY_BYTES);
  vs_jsonw_member_bool(json, "needs_file", m->needs == VS_NEEDS_FILE);
  vs_jsonw_key(json, VS_STR("params"));
  vs_jsonw_array_begin(json);
  for (size_t i = 0; i < TAKEN_COUNT; i++) {
    if (taken[i].method != method) continue;
    const param *p = &params[taken[i].param];
    vs_jsonw_object_begin(json);
    vs_jsonw_member_str(json, "name", vs_str_from(p->name));
    vs_jsonw_member_str(json, "type", vs_str_from(type_names[p->type]));
    describe_default(json, vs_str_from(taken[i].fallback));
    describe_choices(json, p->type);
    vs_jsonw_member_str(json, "sentence", vs_str_from(p->sentence));
    vs_jsonw_object_end(json);
  }
  vs_jsonw_array_end(json);
  vs_jsonw_object_end(json);
}

static void describe_format(vs_jsonw *json, const char *name, const char *extension, const char *opens_in,
                            const char *sentence) {
  vs_jsonw_object_begin(json);
  vs_jsonw_member_str(json, "name", vs_str_from(name));
  vs_jsonw_member_str(json, "extension", vs_str_from(extension));
  vs_jsonw_member_str(json, "opens_in", vs_str_from(opens_in));
  vs_jsonw_member_str(json, "sentence", vs_str_from(sentence));
  vs_jsonw_object_end(json);
}

void vs_request_describe(vs_jsonw *json) {
  vs_jsonw_key(json, VS_STR("methods"));
  vs_jsonw_array_begin(json);
  for (size_t i = 0; i < VS_METHOD_COUNT; i++) describe_method(json, i);
  vs_jsonw_array_end(json);
  vs_jsonw_key(json, VS_STR("formats"));
  vs_jsonw_array_begin(json);
#define VS_EXPORT(name, extension, opens_in, sentence) \
  describe_format(json, #name, extension, opens_in, sentence);
#include "query/exports.def"
#undef VS_EXPORT
  vs_jsonw_array_end(json);
}
