#include "dryrun/notes.h"
#include "base/path.h"
#include "codec/json_reply.h"
#include "os/process.h"

vs_status vs_notes_parse(vs_json_doc *document, const vs_host *host, vs_str text) {
  vs_error error;
  const vs_status status = vs_json_doc_init(document, host, text, &error);
  if (status == VS_OK) return VS_OK;
  *document = (vs_json_doc){.host = host, .root = {.kind = VS_JSON_ABSENT}};
  return status == VS_NO_MEMORY ? VS_NO_MEMORY : VS_OK;
}

/* ---- notes of the simulated libraries */

static bool is_users(vs_str file) { return file.size != 0 && !vs_path_is_library(file); }

/* The innermost frame of the user's own code, else the innermost frame. */
static vs_json frame_to_show(vs_json frames) {
  for (size_t i = 0; i < vs_json_count(frames); i++)
    if (is_users(vs_reply_str(vs_json_at(frames, i), "file"))) return vs_json_at(frames, i);
  return vs_json_at(frames, 0);
}

enum { LABEL_SIZE = 256 };

/* "train.py:12 main" */
static void put_label(char label[static LABEL_SIZE], vs_json frame) {
  const vs_str name = vs_reply_str(frame, "name"), file = vs_reply_str(frame, "file");
  if (file.size == 0)
    vs_format(label, LABEL_SIZE, "%S", name.size == 0 ? VS_STR("a place without a stack") : name);
  else
    vs_format(label, LABEL_SIZE, "%S:%D %S", vs_path_base(file), vs_json_i64(vs_reply_at(frame, "line"), -1),
              name);
}

/* Maps the number that the notes of one process give a place to its doubt. */
typedef struct place {
  uint64_t id;
  size_t doubt;
} place;

/* A guess of one process, as its last note has it. */
typedef struct guess {
  uint32_t what, why;   /* strings of the result */
  uint64_t bytes, most; /* of vs_doubt */
} guess;

typedef struct note_reader {
  vs_result *result;
  vs_result_process *process; /* in result->processes, which does not grow while the reader exists */
  VS_VEC(place) places;
  VS_VEC(vs_place_use) uses; /* of this process; the last note of each counts */
  VS_VEC(guess) guesses;     /* the same; one of each `what` */
  bool has_exit;
} note_reader;

/* What --values may say of a place; nothing for one that no file names. */
static vs_status set_give(vs_result *result, vs_doubt *doubt, vs_str file, int64_t line) {
  char give[256] = "";
  if (file.size != 0 && line > 0) vs_format(give, sizeof give, "%S:%D=true", vs_path_base(file), line);
  return vs_strings_intern(result->host, &result->strings, vs_str_from(give), &doubt->give);
}

static vs_status take_read(note_reader *reader, vs_json note) {
  vs_result *result = reader->result;
  const vs_json frame = frame_to_show(vs_reply_at(note, "frames"));
  const vs_str file = vs_reply_str(frame, "file");
  const int64_t line = vs_json_i64(vs_reply_at(frame, "line"), -1);
  char label[LABEL_SIZE];
  put_label(label, frame);
  vs_doubt *doubt = vs_result_doubt_of(result, VS_DOUBT_READ, vs_str_from(label), file, line);
  if (doubt == NULL || vs_vec_reserve(result->host, &reader->places, 1) != VS_OK) return VS_NO_MEMORY;
  if (doubt->count++ == 0) VS_TRY(set_give(result, doubt, file, line));
  doubt->bytes = vs_max_u64(doubt->bytes, vs_reply_u64(note, "bytes"));
  reader->places.data[reader->places.count++] =
      (place){.id = vs_reply_u64(note, "id"), .doubt = (size_t)(doubt - result->doubts.data)};
  VS_ASSERT((size_t)(doubt - result->doubts.data) < result->doubts.count);
  return VS_OK;
}

/* The number of reads at a place, written when the process ends. take_read has already counted the first of them. */
static vs_status take_reads(note_reader *reader, vs_json note) {
  const uint64_t id = vs_reply_u64(note, "id"), count = vs_reply_u64(note, "count");
  for (size_t i = 0; i < reader->places.count; i++)
    if (reader->places.data[i].id == id && count != 0)
      reader->result->doubts.data[reader->places.data[i].doubt].count += count - 1;
  return VS_OK;
}

/* The simulation saw that a loop makes no progress, and says what to give it. */
static vs_status take_stuck(note_reader *reader, vs_json note) {
  vs_result *result = reader->result;
  const uint64_t id = vs_reply_u64(note, "id");
  for (size_t i = 0; i < reader->places.count; i++) {
    if (reader->places.data[i].id != id) continue;
    vs_doubt *doubt = &result->doubts.data[reader->places.data[i].doubt];
    doubt->repeats = vs_max_u64(doubt->repeats, vs_reply_u64(note, "repeats"));
    VS_TRY(vs_strings_intern(result->host, &result->strings, vs_reply_str(note, "give"), &doubt->give));
  }
  return VS_OK;
}

static vs_status take_given(note_reader *reader, vs_json note) {
  vs_result *result = reader->result;
  uint32_t text;
  VS_TRY(vs_strings_intern(result->host, &result->strings, vs_reply_str(note, "place"), &text));
  size_t i = 0;
  while (i < reader->uses.count && reader->uses.data[i].text != text) i++;
  if (i == reader->uses.count) {
    VS_TRY(vs_vec_reserve(result->host, &reader->uses, 1));
    reader->uses.count++;
  }
  reader->uses.data[i] = (vs_place_use){text, vs_reply_u64(note, "count"), vs_reply_u64(note, "misfits")};
  return VS_OK;
}

static vs_status add_uses(note_reader *reader) {
  vs_result *result = reader->result;
  for (size_t i = 0; i < reader->uses.count; i++) {
    const vs_place_use *own = &reader->uses.data[i];
    vs_place_use *use = vs_result_place_use_of(result, vs_result_string(result, own->text));
    if (use == NULL) return VS_NO_MEMORY;
    use->reads = vs_sat_add_u64(use->reads, own->reads);
    use->misfits = vs_sat_add_u64(use->misfits, own->misfits);
  }
  return VS_OK;
}

static vs_status take_guess(note_reader *reader, vs_json note) {
  vs_result *result = reader->result;
  guess now = {.bytes = vs_reply_u64(note, "bytes"),
               .most = vs_json_u64(vs_json_member(note, VS_STR("most")), UINT64_MAX)};
  VS_TRY(vs_strings_intern(result->host, &result->strings, vs_reply_str(note, "what"), &now.what));
  VS_TRY(vs_strings_intern(result->host, &result->strings, vs_reply_str(note, "why"), &now.why));
  size_t i = 0;
  while (i < reader->guesses.count && reader->guesses.data[i].what != now.what) i++;
  if (i == reader->guesses.count) {
    VS_TRY(vs_vec_reserve(result->host, &reader->guesses, 1));
    reader->guesses.count++;
  }
  reader->guesses.data[i] = now;
  return VS_OK;
}

static vs_status add_guesses(note_reader *reader) {
  vs_result *result = reader->result;
  for (size_t i = 0; i < reader->guesses.count; i++) {
    const guess *own = &reader->guesses.data[i];
    vs_doubt *doubt = vs_result_doubt_of(result, VS_DOUBT_GUESS, vs_result_string(result, own->what),
                                         vs_result_string(result, own->why), -1);
    if (doubt == NULL) return VS_NO_MEMORY;
    doubt->bytes = vs_sat_add_u64(doubt->bytes, own->bytes);
    doubt->most = vs_sat_add_u64(doubt->most, own->most);
    doubt->count++;
  }
  return VS_OK;
}

static vs_status take_refused(note_reader *reader, vs_json note) {
  vs_doubt *doubt = vs_result_doubt_of(reader->result, VS_DOUBT_REFUSED, vs_reply_str(note, "name"),
                                       vs_reply_str(note, "library"), -1);
  if (doubt == NULL) return VS_NO_MEMORY;
  doubt->count++;
  return VS_OK;
}

static vs_status take_cannot_run(note_reader *reader, vs_json note) {
  vs_doubt *doubt = vs_result_doubt_of(reader->result, VS_DOUBT_CANNOT_RUN, vs_reply_str(note, "file"),
                                       vs_reply_str(note, "why"), -1);
  if (doubt == NULL) return VS_NO_MEMORY;
  doubt->count++;
  return VS_OK;
}

/* The process ran without a simulated GPU. */
static vs_status take_no_gpu(note_reader *reader, vs_json note) {
  vs_doubt *doubt = vs_result_doubt_of(reader->result, VS_DOUBT_NOT_RECORDED, VS_STR("GPU memory"),
                                       vs_reply_str(note, "why"), -1);
  if (doubt == NULL) return VS_NO_MEMORY;
  doubt->count++;
  return VS_OK;
}

static vs_status take_start(note_reader *reader, vs_json note) {
  vs_result *result = reader->result;
  VS_ASSERT(reader->process != NULL);
  return vs_strings_intern(result->host, &result->strings, vs_reply_str(note, "program"),
                           &reader->process->program);
}

/* A request that the driver refused. An error that PyTorch raised because of it comes from PyTorch's own figures. */
static vs_status take_oom(note_reader *reader, vs_json note) {
  vs_result *result = reader->result;
  const uint64_t card = vs_reply_u64(note, "device");
  if (card >= result->card_count || (result->oom.is_there && result->oom.has_torch)) return VS_OK;
  result->oom = (vs_result_oom){.is_there = true,
                                .card = (uint32_t)card,
                                .asked_bytes = vs_reply_u64(note, "bytes"),
                                .free_bytes = vs_reply_u64(note, "free")};
  return VS_OK;
}

static vs_status take_exit(note_reader *reader, vs_json note) {
  (void)note;
  reader->has_exit = true;
  return VS_OK;
}

static vs_status take_note(note_reader *reader, vs_json note) {
  static const struct {
    const char *kind;
    vs_status (*take)(note_reader *reader, vs_json note);
  } kinds[] = {{"start", take_start}, {"read", take_read},       {"reads", take_reads},
               {"guess", take_guess}, {"refused", take_refused}, {"cannot_run", take_cannot_run},
               {"oom", take_oom},     {"exit", take_exit},       {"stuck", take_stuck},
               {"given", take_given}, {"no_gpu", take_no_gpu}};
  const vs_str kind = vs_reply_str(note, "note");
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (vs_str_equal(kind, vs_str_from(kinds[i].kind))) return kinds[i].take(reader, note);
  return VS_OK; /* a note of a later version */
}

/* Counts the process of these lines once for a doubt. */
static vs_status count_process(note_reader *reader, vs_doubt *doubt) {
  const size_t number = (size_t)(doubt - reader->result->doubts.data);
  VS_ASSERT(number < reader->result->doubts.count);
  for (size_t i = 0; i < reader->places.count; i++)
    if (reader->places.data[i].doubt == number) return VS_OK;
  VS_TRY(vs_vec_reserve(reader->result->host, &reader->places, 1));
  reader->places.data[reader->places.count++] = (place){.doubt = number};
  doubt->count++;
  return VS_OK;
}

/* What a run assumes; with the stack of a call also how often. */
static vs_status take_assumed(note_reader *reader, vs_json note) {
  vs_result *result = reader->result;
  const vs_json frames = vs_reply_at(note, "frames");
  char label[LABEL_SIZE] = "";
  if (vs_json_count(frames) != 0) put_label(label, frame_to_show(frames));
  vs_doubt *doubt =
      vs_result_doubt_of(result, VS_DOUBT_ASSUMED, vs_reply_str(note, "assumed"), vs_str_from(label), -1);
  if (doubt == NULL) return VS_NO_MEMORY;
  doubt->times += vs_reply_u64(note, "times");
  return count_process(reader, doubt);
}

static vs_status take_kv_cache(note_reader *reader, vs_json told) {
  vs_kv_cache *cache = &reader->result->kv_cache;
  vs_kv_cache one = {.blocks = vs_reply_u64(told, "blocks"),
                     .for_one = vs_reply_u64(told, "blocks_per_request"),
                     .max_tokens = vs_reply_u64(told, "max_model_len")};
  if (one.for_one == 0) return VS_OK;
  VS_TRY(vs_strings_intern(reader->result->host, &reader->result->strings, vs_reply_str(told, "engine"),
                           &one.engine));
  one.engines = cache->engines + 1;
  if (cache->engines == 0 || one.blocks < cache->blocks) *cache = one;
  else cache->engines++;
  return VS_OK;
}

/* A line of the hook in a Python program (python/vramscope_dryrun): what is missing because the hook failed and why, what the
 * run assumes, or the configuration of a KV cache. */
static vs_status take_problem(note_reader *reader, vs_json note) {
  const vs_str what = vs_reply_str(note, "what");
  const vs_json kv_cache = vs_reply_at(note, "kv_cache");
  if (vs_reply_str(note, "assumed").size != 0) return take_assumed(reader, note);
  if (vs_json_kind(kv_cache) == VS_JSON_OBJECT) return take_kv_cache(reader, kv_cache);
  if (what.size == 0) return VS_OK;
  vs_doubt *doubt =
      vs_result_doubt_of(reader->result, VS_DOUBT_NOT_RECORDED, what, vs_reply_str(note, "why"), -1);
  if (doubt == NULL) return VS_NO_MEMORY;
  doubt->count++;
  return VS_OK;
}

typedef vs_status take_line(note_reader *reader, vs_json line);

static vs_status take_lines(note_reader *reader, vs_str text, take_line *take) {
  for (size_t at = 0; at < text.size;) {
    size_t end = at;
    while (end < text.size && text.data[end] != '\n') end++;
    vs_json_doc line;
    VS_TRY(vs_notes_parse(&line, reader->result->host, (vs_str){text.data + at, end - at}));
    const vs_status status = take(reader, vs_json_root(&line));
    vs_json_doc_deinit(&line);
    VS_TRY(status);
    at = end + 1;
  }
  return VS_OK;
}

vs_status vs_problems_take(vs_result *result, vs_str text) {
  note_reader reader = {.result = result};
  const vs_status status = take_lines(&reader, text, take_problem);
  vs_vec_free(result->host, &reader.places);
  return status;
}

/* The note "exit" decides whether the process ended by itself: the machine may have recorded the end of a process that was
 * killed right after it left. */
vs_status vs_notes_take(vs_result *result, vs_str text, uint64_t pid, uint32_t child) {
  note_reader reader = {.result = result, .process = vs_result_process_of(result, pid, child)};
  if (reader.process == NULL) return VS_NO_MEMORY;
  vs_status status = take_lines(&reader, text, take_note);
  if (status == VS_OK) status = add_uses(&reader);
  if (status == VS_OK) status = add_guesses(&reader);
  reader.process->end = reader.has_exit                     ? VS_PROCESS_ENDED
                        : vs_process_is_alive((int64_t)pid) ? VS_PROCESS_RUNS
                                                            : VS_PROCESS_KILLED;
  reader.process->used_cuda = true;
  vs_vec_free(result->host, &reader.places);
  vs_vec_free(result->host, &reader.uses);
  vs_vec_free(result->host, &reader.guesses);
  return status;
}
