/* The structs of <vramscope/summary.h>, filled from the replies to "report" and "live" by the list summary.def. */
#include <vramscope/summary.h>
#include "codec/json_reply.h"

/* ---- memory: the pieces of an answer, freed together ----------------------------------------------------------- */

typedef struct piece {
  struct piece *next;
  size_t size;
  max_align_t data[];
} piece;

/* Invariant: after the first piece that cannot be allocated, `status` is VS_NO_MEMORY and no more pieces are
 * allocated. */
typedef struct pieces {
  const vs_host *host;
  piece *first;
  vs_status status;
} pieces;

/* `size` bytes of zeros; NULL without memory, which `status` keeps. */
static void *take(pieces *p, size_t size) {
  if (p->status != VS_OK) return NULL;
  piece *taken = size > SIZE_MAX - sizeof *taken ? NULL : vs_host_alloc(p->host, sizeof *taken + size);
  if (taken == NULL) {
    p->status = VS_NO_MEMORY;
    return NULL;
  }
  *taken = (piece){.next = p->first, .size = sizeof *taken + size};
  VS_ASSERT(taken->size > size);
  memset(taken->data, 0, size);
  p->first = taken;
  return taken->data;
}

static void give_back(pieces p) {
  while (p.first != NULL) {
    piece *next = p.first->next;
    VS_ASSERT(p.first->size >= sizeof *p.first);
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

typedef vs_summary vs_summary_whole; /* the list calls it `whole` */

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

/* The _Generic refuses a member whose type is not that of its kind. */
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

/* All members of these two structs must be in the list. The other structs have members that are filled below. */
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

/* A new struct of that kind, filled; NULL without memory. */
static void *made(pieces *p, uint8_t of, size_t size, vs_json from) {
  void *to = take(p, size);
  if (to != NULL) fill(p, of, to, from);
  return to;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

typedef const void *make_row(pieces *p, vs_json from);

/* An array of pointers, one for each item of a list; *count is set only if it is not NULL. */
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

typedef void fill_answer(pieces *p, void *to, vs_json reply);

static void fill_summary(pieces *p, void *answer, vs_json reply) {
  vs_summary *to = answer;
  fill(p, OF_whole, to, reply);
  to->devices = rows_of(p, vs_reply_at(reply, "devices"), make_device, &to->device_count);
  if (vs_reply_knows(reply, "host")) to->host = make_device(p, vs_reply_at(reply, "host"));
  for (size_t i = 0; p->status == VS_OK && i < to->device_count && vs_reply_knows(reply, "busiest"); i++)
    if (to->devices[i]->device == vs_reply_i64(reply, "busiest")) to->busiest = to->devices[i];
}

static void fill_owners(pieces *p, void *answer, vs_json reply) {
  vs_summary_owners *to = answer;
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

/* An answer with its memory: its own piece has this in front of the public struct. */
typedef struct answer {
  pieces pieces;
  max_align_t public_struct[];
} answer;

/* Sends the request, and fills a public struct of `size` bytes from the reply. Owner: the caller, destroy_answer. */
static vs_status make_answer(vs_engine *engine, const char *method, const char *params, size_t size,
                             fill_answer *fill_in, const void **out, vs_error *error) {
  vs_json_doc reply;
  *out = NULL;
  const vs_status status = ask(engine, method, params, &reply, error);
  if (status != VS_OK) return status;
  pieces p = {.host = vs_engine_host(engine)};
  answer *made_answer = take(&p, sizeof *made_answer + size);
  if (made_answer != NULL) fill_in(&p, made_answer->public_struct, vs_json_root(&reply));
  vs_json_doc_deinit(&reply);
  if (p.status != VS_OK) {
    give_back(p);
    return vs_fail(error, VS_NO_MEMORY, VS_NO_OFFSET, "%s", vs_status_text(VS_NO_MEMORY));
  }
  made_answer->pieces = p;
  *out = made_answer->public_struct;
  return VS_OK;
}

/* Copies the list of pieces first, because the answer itself is one of them. */
static void destroy_answer(const void *public_struct) {
  if (public_struct == NULL) return;
  give_back(((const answer *)(const void *)((const char *)public_struct - offsetof(answer, public_struct)))
                ->pieces);
}

vs_status vs_engine_summarize(vs_engine *engine, const char *params, const vs_summary **summary,
                              vs_error *error) {
  const void *made_answer;
  const vs_status status =
      make_answer(engine, "report", params, sizeof **summary, fill_summary, &made_answer, error);
  *summary = made_answer;
  return status;
}

vs_status vs_engine_owners(vs_engine *engine, const char *params, const vs_summary_owners **owners,
                           vs_error *error) {
  const void *made_answer;
  const vs_status status =
      make_answer(engine, "live", params, sizeof **owners, fill_owners, &made_answer, error);
  *owners = made_answer;
  return status;
}

void vs_summary_destroy(const vs_summary *summary) { destroy_answer(summary); }

void vs_summary_owners_destroy(const vs_summary_owners *owners) { destroy_answer(owners); }
