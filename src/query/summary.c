/* The structs of <vramscope/summary.h>, filled from the replies to "report" and "live" by the list summary.def. */
#include <vramscope/summary.h>
#include "codec/json_reply.h"

/* ---- memory: all of an answer, given back as a whole ----------------------------------------------------------- */

typedef struct piece {
  struct piece *next;
  size_t size;
  max_align_t data[];
} piece;

/* Invariant: `status` is VS_OK until a piece cannot be had; then nothing more is taken. */
typedef struct pieces {
  const vs_host *host;
  piece *first;
  vs_status status;
} pieces;

/* `size` bytes of zeros; NULL for want of memory, which `status` keeps. */
static void *take(pieces *p, size_t size) {
  if (p->status != VS_OK) return NULL;
  piece *taken = size > SIZE_MAX - sizeof *taken ? NULL : vs_host_alloc(p->host, sizeof *taken + size);
  if (taken == NULL) {
    p->status = VS_NO_MEMORY;
    return NULL;
  }
  *taken = (piece){.next = p->first, .size = sizeof *taken + size};
  memset(taken->data, 0, size);
  p->first = taken;
  return taken->data;
}

static void give_back(pieces p) {
  while (p.first != NULL) {
    piece *next = p.first->next;
    vs_host_free(p.host, p.first, p.first->size);
    p.first = next;
  }
}

static const char *copy_text(pieces *p, vs_str text) {
  char *copy = take(p, text.size + 1);
  if (copy != NULL && text.size != 0) memcpy(copy, text.data, text.size);
  return copy;
}

/* ---- members by the list --------------------------------------------------------------------------------------- */

/* An answer and its memory; the public struct is the first member, so a pointer to it is one to this. */
typedef struct whole_answer {
  vs_summary summary;
  pieces pieces;
} whole_answer;
typedef struct owners_answer {
  vs_summary_owners owners;
  pieces pieces;
} owners_answer;

typedef vs_summary vs_summary_whole; /* under the name that the list has for it */

enum { OF_peak, OF_end, OF_device, OF_owner, OF_oom, OF_whole, OF_owners };
enum { BYTES, INDEX, TIME, SHARE, TEXT };
typedef uint64_t c_BYTES;
typedef int64_t c_INDEX;
typedef int64_t c_TIME;
typedef double c_SHARE;
typedef const char *c_TEXT;

typedef struct member {
  uint8_t of, kind;
  uint16_t offset;
  const char *path;
} member;

/* The _Generic refuses a member of another type than its kind has. */
static const member members[] = {
#define VS_TAKE(struct_, member_, KIND, path_)                           \
  {.of = OF_##struct_,                                                   \
   .kind = _Generic(&((vs_summary_##struct_ *)NULL)->member_, c_##KIND * \
                    : KIND),                                             \
   .offset = offsetof(vs_summary_##struct_, member_),                    \
   .path = path_},
#include "query/summary.def"
#undef VS_TAKE
};

/* No member of these is forgotten: the others are filled below. */
#define VS_TAKE(struct_, member_, KIND, path_) \
  +(OF_##struct_ == OF_CHECKED ? sizeof(((vs_summary_##struct_ *)NULL)->member_) : 0)
#define OF_CHECKED OF_peak
_Static_assert(sizeof(vs_summary_peak) == 0
#include "query/summary.def"
               ,
               "a member of vs_summary_peak is not in summary.def");
#undef OF_CHECKED
#define OF_CHECKED OF_end
_Static_assert(sizeof(vs_summary_end) == 0
#include "query/summary.def"
               ,
               "a member of vs_summary_end is not in summary.def");
#undef OF_CHECKED
#undef VS_TAKE

static vs_json follow(vs_json from, const char *path) {
  while (*path != 0) {
    size_t size = 0;
    while (path[size] != 0 && path[size] != '.') size++;
    from = vs_json_member(from, (vs_str){path, size});
    path += size + (path[size] == '.');
  }
  return from;
}

static void set(pieces *p, void *to, uint8_t kind, vs_json value) {
  switch (kind) {
    case BYTES: *(uint64_t *)to = vs_json_u64(value, VS_BYTES_UNKNOWN); break;
    case INDEX: *(int64_t *)to = vs_json_i64(value, -1); break;
    case TIME: *(int64_t *)to = vs_json_i64(value, VS_TIME_UNKNOWN); break;
    case SHARE: *(double *)to = vs_json_f64(value, -1); break;
    case TEXT:
      *(const char **)to = vs_reply_is_unknown(value) ? NULL : copy_text(p, vs_json_str(value, VS_STR("")));
      break;
  }
}

static void fill(pieces *p, uint8_t of, void *to, vs_json from) {
  for (size_t i = 0; i < sizeof members / sizeof *members; i++)
    if (members[i].of == of)
      set(p, (char *)to + members[i].offset, members[i].kind, follow(from, members[i].path));
}

/* A struct of that kind, filled; NULL for want of memory. */
static void *made(pieces *p, uint8_t of, size_t size, vs_json from) {
  void *to = take(p, size);
  if (to != NULL) fill(p, of, to, from);
  return to;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

typedef const void *make_row(pieces *p, vs_json from);

/* A pointer for each item of a list. */
static void *rows_of(pieces *p, vs_json list, make_row *make, size_t *count) {
  const size_t items = vs_json_count(list);
  const void **rows = take(p, items * sizeof *rows);
  if (rows == NULL) return NULL;
  for (size_t i = 0; i < items; i++) rows[i] = make(p, vs_json_at(list, i));
  *count = items;
  return rows;
}

static const void *make_owner(pieces *p, vs_json from) {
  return made(p, OF_owner, sizeof(vs_summary_owner), from);
}

static const void *make_oom(pieces *p, vs_json from) {
  vs_summary_oom *oom = made(p, OF_oom, sizeof *oom, from);
  if (oom != NULL && vs_reply_knows(from, "owner"))
    oom->largest_owner = make_owner(p, vs_reply_at(from, "owner"));
  return oom;
}

static const void *make_device(pieces *p, vs_json from) {
  vs_summary_device *device = made(p, OF_device, sizeof *device, from);
  if (device == NULL) return NULL;
  device->peak = made(p, OF_peak, sizeof *device->peak, from);
  device->end = made(p, OF_end, sizeof *device->end, from);
  device->owners = rows_of(p, follow(from, "peak.owners"), make_owner, &device->owner_count);
  device->ooms = rows_of(p, follow(from, "ooms"), make_oom, &device->oom_count);
  return device;
}

/* ---- the answers ----------------------------------------------------------------------------------------------- */

static void make_summary(pieces *p, vs_summary *to, vs_json reply) {
  fill(p, OF_whole, to, reply);
  to->devices = rows_of(p, vs_reply_at(reply, "devices"), make_device, &to->device_count);
  if (vs_reply_knows(reply, "host")) to->host = make_device(p, vs_reply_at(reply, "host"));
  for (size_t i = 0; p->status == VS_OK && i < to->device_count && vs_reply_knows(reply, "busiest"); i++)
    if (to->devices[i]->device == vs_reply_i64(reply, "busiest")) to->busiest = to->devices[i];
}

static void make_owners(pieces *p, vs_summary_owners *to, vs_json reply) {
  fill(p, OF_owners, to, reply);
  to->rows = rows_of(p, vs_reply_at(reply, "groups"), make_owner, &to->row_count);
}

/* The reply as a tree. Owner: the caller, vs_json_doc_deinit. */
static vs_status ask(vs_engine *engine, const char *method, const char *params, vs_json_doc *doc,
                     vs_error *error) {
  vs_buffer reply = {.host = vs_engine_host(engine)};
  vs_status status = vs_engine_ask(engine, method, params, &reply, error);
  if (status == VS_OK) status = vs_json_doc_init(doc, reply.host, (vs_str){reply.data, reply.size}, error);
  vs_buffer_deinit(&reply);
  return status;
}

static vs_status no_memory(vs_error *error) {
  return vs_fail(error, VS_NO_MEMORY, VS_NO_OFFSET, "%s", vs_status_text(VS_NO_MEMORY));
}

vs_status vs_engine_summarize(vs_engine *engine, const char *params, const vs_summary **summary,
                              vs_error *error) {
  vs_json_doc reply;
  *summary = NULL;
  const vs_status status = ask(engine, "report", params, &reply, error);
  if (status != VS_OK) return status;
  pieces p = {.host = vs_engine_host(engine)};
  whole_answer *answer = take(&p, sizeof *answer);
  if (answer != NULL) make_summary(&p, &answer->summary, vs_json_root(&reply));
  vs_json_doc_deinit(&reply);
  if (p.status != VS_OK) {
    give_back(p);
    return no_memory(error);
  }
  answer->pieces = p;
  *summary = &answer->summary;
  return VS_OK;
}

vs_status vs_engine_owners(vs_engine *engine, const char *params, const vs_summary_owners **owners,
                           vs_error *error) {
  vs_json_doc reply;
  *owners = NULL;
  const vs_status status = ask(engine, "live", params, &reply, error);
  if (status != VS_OK) return status;
  pieces p = {.host = vs_engine_host(engine)};
  owners_answer *answer = take(&p, sizeof *answer);
  if (answer != NULL) make_owners(&p, &answer->owners, vs_json_root(&reply));
  vs_json_doc_deinit(&reply);
  if (p.status != VS_OK) {
    give_back(p);
    return no_memory(error);
  }
  answer->pieces = p;
  *owners = &answer->owners;
  return VS_OK;
}

/* The answer itself is one of its pieces, so what they are is read first. */
void vs_summary_destroy(const vs_summary *summary) {
  if (summary != NULL) give_back(((const whole_answer *)(const void *)summary)->pieces);
}

void vs_summary_owners_destroy(const vs_summary_owners *owners) {
  if (owners != NULL) give_back(((const owners_answer *)(const void *)owners)->pieces);
}
