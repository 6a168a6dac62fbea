/* A request as values: its method and every parameter, checked, with defaults filled in. The lists are methods.def,
 * choices.def and exports.def. */
#ifndef VS_QUERY_REQUEST_H
#define VS_QUERY_REQUEST_H

#include "analyze/groups.h"
#include "base/human.h"
#include "codec/json_writer.h"
#include "query/filter.h"

typedef enum vs_method_id {
#define VS_PARAM(name, TYPE, sentence)
#define VS_METHOD(name, NEEDS, REPLY, WHERE, sentence) VS_METHOD_##name,
#define VS_TAKES(method, param, default)
#include "query/methods.def"
#undef VS_METHOD
#undef VS_TAKES
#undef VS_PARAM
  VS_METHOD_COUNT
} vs_method_id;

typedef enum vs_axis { VS_AXIS_event, VS_AXIS_time } vs_axis;
typedef enum vs_tree_frames { VS_TREE_calls, VS_TREE_python, VS_TREE_all } vs_tree_frames;
typedef enum vs_drawn { VS_DRAWN_allocations, VS_DRAWN_segments } vs_drawn;
typedef enum vs_live_measure {
  VS_MEASURE_live,
  VS_MEASURE_grown,
  VS_MEASURE_freed,
  VS_MEASURE_allocated,
  VS_MEASURE_average
} vs_live_measure;
typedef enum vs_sort { VS_SORT_size, VS_SORT_start, VS_SORT_lifetime } vs_sort;

/* A vs_group_by, or, one behind the last of them, everyone on its own. */
typedef uint32_t vs_colour;
enum { VS_COLOUR_ALLOCATION = VS_GROUP_BYS, VS_COLOURS };

typedef enum vs_what {
  VS_WHAT_events,
  VS_WHAT_blocks,
  VS_WHAT_segments,
  VS_WHAT_live,
  VS_WHAT_owners,
  VS_WHAT_allocations
} vs_what;

typedef enum vs_written { VS_WRITTEN_pickle, VS_WRITTEN_json, VS_WRITTEN_vram } vs_written;

typedef enum vs_export_id {
#define VS_EXPORT(name, extension, opens_in, sentence) VS_EXPORT_##name,
#include "query/exports.def"
#undef VS_EXPORT
  VS_EXPORT_COUNT
} vs_export_id;

typedef struct vs_device_choice {
  bool is_given; /* false: the default device, or all of them */
  int32_t device;
} vs_device_choice;

/* A number that is finite, or none. */
typedef struct vs_real {
  bool is_given;
  double value;
} vs_real;

typedef enum vs_when_kind {
  VS_WHEN_START,
  VS_WHEN_END,
  VS_WHEN_PEAK,
  VS_WHEN_PEAK_RESERVED,
  VS_WHEN_OOM,
  VS_WHEN_EVENT,
  VS_WHEN_AFTER, /* microseconds after the first event */
  VS_WHEN_TIME,  /* microseconds since 1970 */
  VS_WHEN_STEPS, /* the peak within steps of the training loop, 1 the first */
  VS_WHEN_NONE,  /* only where the default is null */
} vs_when_kind;

typedef struct vs_when {
  vs_when_kind kind;
  int64_t value;        /* of EVENT, AFTER, TIME */
  uint64_t first, last; /* of STEPS: 1 <= first <= last, or 0 and UINT64_MAX where the range is open */
} vs_when;

/* A text of any kind; not given is told from empty. */
typedef struct vs_given_text {
  bool is_given;
  VS_VEC(char) bytes;
} vs_given_text;

static inline vs_str vs_given_text_view(const vs_given_text *text) {
  return (vs_str){text->bytes.data, text->bytes.count};
}

/* A list of texts. Invariant: text i is bytes[ends[i - 1], ends[i]), the first one from 0. */
typedef struct vs_texts {
  VS_VEC(char) bytes;
  VS_VEC(size_t) ends;
} vs_texts;

static inline vs_str vs_texts_at(const vs_texts *texts, size_t index) {
  VS_ASSERT(index < texts->ends.count);
  if (texts->bytes.count == 0) return VS_STR(""); /* there is no memory behind empty texts */
  const size_t from = index == 0 ? 0 : texts->ends.data[index - 1];
  return (vs_str){texts->bytes.data + from, texts->ends.data[index] - from};
}

#define VS_C_TYPE_DEVICE  vs_device_choice
#define VS_C_TYPE_MOMENT  vs_when
#define VS_C_TYPE_FILTER  vs_filter
#define VS_C_TYPE_TEXT    vs_given_text
#define VS_C_TYPE_TEXTS   vs_texts
#define VS_C_TYPE_COUNT   uint64_t
#define VS_C_TYPE_REAL    vs_real
#define VS_C_TYPE_FLAG    bool
#define VS_C_TYPE_BY      vs_group_by
#define VS_C_TYPE_COLOUR  vs_colour
#define VS_C_TYPE_DRAWN   vs_drawn
#define VS_C_TYPE_MEASURE vs_live_measure
#define VS_C_TYPE_SORT    vs_sort
#define VS_C_TYPE_UNIT    vs_unit
#define VS_C_TYPE_AXIS    vs_axis
#define VS_C_TYPE_FRAMES  vs_tree_frames
#define VS_C_TYPE_WHAT    vs_what
#define VS_C_TYPE_WRITTEN vs_written
#define VS_C_TYPE_FORMAT  vs_export_id

typedef struct vs_request {
  vs_method_id method;
  uint32_t indent;
#define VS_PARAM(name, TYPE, sentence) VS_C_TYPE_##TYPE name;
#define VS_METHOD(name, NEEDS, REPLY, WHERE, sentence)
#define VS_TAKES(method, param, default)
#include "query/methods.def"
#undef VS_METHOD
#undef VS_TAKES
#undef VS_PARAM
} vs_request;

typedef enum vs_needs { VS_NEEDS_NOTHING, VS_NEEDS_FILE } vs_needs;
typedef enum vs_reply_kind {
  VS_REPLY_WHOLE,    /* JSON, built in memory */
  VS_REPLY_STREAMED, /* JSON, written as it is made */
  VS_REPLY_COLUMNS,  /* binary columns, built in memory */
  VS_REPLY_BYTES,    /* another program's format, written as it is made */
} vs_reply_kind;

typedef struct vs_method {
  const char *name;
  const char *sentence;
  vs_needs needs;
  vs_reply_kind reply;
} vs_method;
extern const vs_method vs_methods[VS_METHOD_COUNT];

/* Fails: VS_BAD_ARGUMENT with what is wrong, and what was probably meant, in `error`; VS_NO_MEMORY. After a failure there
 * is nothing to deinit. */
VS_MUST_CHECK vs_status vs_request_init(vs_request *request, const vs_host *host, vs_str bytes,
                                        vs_error *error);
void vs_request_deinit(vs_request *request);

/* The members "methods" and "formats" of the reply that lists them. */
void vs_request_describe(vs_jsonw *json);

/* Fails with VS_BAD_ARGUMENT: "unknown WHAT 'typed': did you mean 'x'?", `names` being those there are. */
vs_status vs_unknown_word(vs_error *error, const char *what, vs_str typed, const char *const *names,
                          size_t count);

#endif
