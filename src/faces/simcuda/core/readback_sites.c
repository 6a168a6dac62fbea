#include "faces/simcuda/core/readback_sites.h"

#include "base/path.h"
#include "faces/simcuda/core/process_internal.h"
#include "faces/simcuda/core/notes.h"
#include "faces/simcuda/core/python.h"
#include <errno.h>

enum { SLOTS = 4 * VS_READBACK_SITES, ELSEWHERE = 0, NO_PLACE = VS_GIVEN_MOST };

typedef struct vs_site {
  uint64_t count, bytes;
  uint32_t place;          /* of the configuration, or NO_PLACE */
  uint32_t depth;          /* of the frame that is there; 0: the innermost */
  uint32_t repeats;        /* how often the last interval was like the one before */
  uint64_t interval;       /* a hash of what happened between its last two reads */
  uint64_t other;          /* of `all_reads`, at its last read */
  vs_readback_state state; /* at its last read */
} vs_site;

typedef struct vs_place_count {
  uint64_t count, misfits;
} vs_place_count;

/* Sites by the hash of their stack, an open-addressing table; `ids` is 0 in a free slot. Site 0 is "elsewhere". */
static struct {
  pthread_mutex_t lock;
  uint64_t hashes[SLOTS];
  uint32_t ids[SLOTS];
  uint32_t site_count;
  uint64_t all_reads; /* the sum of hashes of the sites of all reads */
  vs_site sites[VS_READBACK_SITES];
  vs_place_count places[VS_GIVEN_MOST];
} reads = {.lock = PTHREAD_MUTEX_INITIALIZER, .site_count = 1};

/* Written before notes are wanted, and only read while they are. */
static bool asks_stacks;
static const vs_given_values *given;

static _Thread_local bool
    is_asking; /* set while we call Python, because code that runs then may itself read values */

void vs_readback_sites_forked(void) { (void)pthread_mutex_init(&reads.lock, NULL); }

void vs_readback_sites_open(const vs_given_values *values, bool with_stacks) {
  asks_stacks = with_stacks;
  given = values;
}

static bool has_places(void) { return given != NULL && given->count != 0; }

/* ---- what the hook gives */

typedef struct vs_hook_value {
  const void *code;
  int first, last;
  int64_t value;
} vs_hook_value;

enum { HOOK_VALUES = 16 };
static _Thread_local vs_hook_value hook_values[HOOK_VALUES];
static _Thread_local uint32_t hook_count;
static _Thread_local bool trusts_loops;

void vs_simcuda_give(void *code, int first, int last, int64_t value) {
  uint32_t i = 0;
  if (code == NULL) hook_count = 0;
  if (code == NULL) return;
  while (i < hook_count && (hook_values[i].code != code || hook_values[i].first != first)) i++;
  if (i == HOOK_VALUES) return;
  VS_ASSERT(i <= hook_count);
  hook_values[i] = (vs_hook_value){code, first, last, value};
  if (i == hook_count) hook_count++;
}

void vs_simcuda_trust_loops(void) { trusts_loops = true; }

/* Whether the hook knows that this thread's loops end. */
static bool loops_end(void) { return trusts_loops || hook_count != 0; }

/* The hook's value for one of these frames, and which one it is; the innermost that has one decides. PyTorch's own frames may be further
 * in (torch.set_default_device). */
static bool find_hook_value(const vs_python_frame *frames, size_t count, uint32_t *depth, int64_t *value) {
  for (size_t k = 0; hook_count != 0 && k < count; k++)
    for (uint32_t i = 0; i < hook_count; i++) {
      if (hook_values[i].code != frames[k].code) continue;
      const int line = vs_python_line(&frames[k]);
      if (line < hook_values[i].first || line > hook_values[i].last) continue;
      *depth = (uint32_t)k;
      *value = hook_values[i].value;
      return true;
    }
  return false;
}

/* ---- sites */

static uint64_t hash_of(const vs_python_frame *frames, size_t count, bool is_large) {
  uint64_t hash = is_large;
  for (size_t i = 0; i < count; i++)
    hash = vs_hash_mix(hash ^ (uintptr_t)frames[i].code,
                       UINT64_C(0x8bb84b93962eacc9) + (uint64_t)(uint32_t)frames[i].at);
  return hash;
}

/* The site with this hash; *is_new: it was added now. ELSEWHERE where the table is full. */
static uint32_t find_site(uint64_t hash, bool *is_new) {
  *is_new = false;
  (void)pthread_mutex_lock(&reads.lock);
  size_t slot = vs_hash_u64(hash) % SLOTS;
  while (reads.ids[slot] != 0 && reads.hashes[slot] != hash) slot = (slot + 1) % SLOTS;
  uint32_t id = reads.ids[slot];
  VS_ASSERT(id < reads.site_count && reads.site_count <= VS_READBACK_SITES);
  if (id == 0 && reads.site_count < VS_READBACK_SITES) {
    id = reads.site_count++;
    reads.ids[slot] = id;
    reads.hashes[slot] = hash;
    reads.sites[id].place = NO_PLACE;
    *is_new = true;
  }
  (void)pthread_mutex_unlock(&reads.lock);
  return id;
}

static void note_site(uint32_t id, uint64_t bytes, const vs_python_frame *frames, size_t count) {
  vs_note note;
  vs_note_begin(&note, "read");
  vs_note_number(&note, "id", id);
  vs_note_number(&note, "bytes", bytes);
  vs_text_cstr(&note.text, ",\"frames\":[");
  vs_python_put_frames(&note.text, frames, count);
  vs_text_byte(&note.text, ']');
  vs_note_end(&note);
}

/* The place of the configuration that the innermost of these frames is at which is at one. */
static uint32_t find_place(const vs_python_frame *frames, size_t count, uint32_t *depth) {
  vs_python_place at;
  *depth = 0;
  for (size_t i = 0; has_places() && i < count; i++) {
    vs_python_place_of(&frames[i], &at);
    const vs_given_place *place =
        at.line < 0 ? NULL : vs_given_find(given, vs_str_from(at.file), (uint32_t)at.line);
    if (place == NULL) continue;
    *depth = (uint32_t)i;
    return (uint32_t)(place - given->places);
  }
  return NO_PLACE;
}

/* ---- one read */

/* What is found about a read while the interpreter's lock is held. */
typedef struct vs_read_found {
  uint32_t id, place, depth;
  bool is_hooks;
  uint32_t hooks_depth;
  int64_t hooks_value;
} vs_read_found;

static void set_place(uint32_t id, vs_read_found *found) {
  (void)pthread_mutex_lock(&reads.lock);
  VS_ASSERT(id < VS_READBACK_SITES);
  reads.sites[id].place = found->place;
  reads.sites[id].depth = found->depth;
  (void)pthread_mutex_unlock(&reads.lock);
}

/* A new site keeps its references to code objects for ever: without them, a new code object could get the same
 * address, and with it the same hash. */
static void find_in_python(uint64_t bytes, vs_read_found *found) {
  vs_python_frame frames[VS_READBACK_FRAMES];
  const size_t count = vs_python_stack(frames, VS_READBACK_FRAMES);
  bool is_new = false;
  if (count == 0) return;
  found->is_hooks = find_hook_value(frames, count, &found->hooks_depth, &found->hooks_value);
  found->id = find_site(hash_of(frames, count, bytes > VS_READBACK_LARGE), &is_new);
  if (is_new || found->id == ELSEWHERE) found->place = find_place(frames, count, &found->depth);
  if (!is_new) {
    vs_python_release(frames, count);
    return;
  }
  set_place(found->id, found);
  if (vs_notes_are_wanted()) note_site(found->id, bytes, frames, count);
}

static vs_read_found find_caller(uint64_t bytes) {
  vs_read_found found = {.id = ELSEWHERE, .place = NO_PLACE};
  vs_python_visit visit;
  if (is_asking || !asks_stacks) return found;
  is_asking = true;
  if (vs_python_enter(&visit)) {
    find_in_python(bytes, &found);
    vs_python_leave(&visit);
  }
  is_asking = false;
  return found;
}

/* ---- a loop that makes no progress */

/* Whether this read, of the site's last state, completes VS_READBACK_REPEATS equal intervals. Under the lock. */
static bool is_stuck(vs_site *site, const vs_readback_state *now) {
  const vs_readback_state *then = &site->state;
  uint64_t interval = now->kernels - then->kernels;
  interval = vs_hash_mix(interval ^ (now->written - then->written), UINT64_C(0x8bb84b93962eacc9));
  interval = vs_hash_mix(interval ^ (reads.all_reads - site->other), UINT64_C(0xd6e8feb86659fd93));
  interval = vs_hash_mix(interval ^ now->memory, now->value | 1);
  const bool is_equal = interval == site->interval && now->steps == then->steps &&
                        now->value == then->value && now->thread == then->thread;
  site->repeats = is_equal ? site->repeats + 1 : 0;
  site->interval = interval;
  site->other = reads.all_reads;
  site->state = *now;
  return site->repeats == VS_READBACK_REPEATS - 1;
}

/* PyTorch's own files: no line to give values to, since many lines of the program read by them. */
static bool is_pytorchs(const char *file) {
  return vs_str_contains(vs_str_from(file), VS_STR("/torch/")) ||
         vs_str_starts(vs_str_from(file), VS_STR("<frozen"));
}

/* Where the loop reads: the innermost frame outside of PyTorch, else the innermost one. */
static bool find_reader(vs_python_place *place) {
  vs_python_frame frames[VS_READBACK_FRAMES];
  const size_t count = vs_python_stack(frames, VS_READBACK_FRAMES);
  for (size_t i = 0; i < count; i++) {
    vs_python_place_of(&frames[i], place);
    if (!is_pytorchs(place->file)) break;
    if (i + 1 == count) vs_python_place_of(&frames[0], place);
  }
  vs_python_release(frames, count);
  return count != 0;
}

/* A value other than the one that it reads. */
static const char *other_value(uint64_t bytes, const vs_readback_state *state) {
  if (!state->is_zero) return "zeros";
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 ? "true" : "1:int64";
}

static void say_stuck(const vs_python_place *place, const char *give, const vs_given_place *has) {
  char sentence[VS_CONFIGURATION_PROBLEM];
  const vs_str file = vs_path_base(vs_str_from(place->file));
  vs_format(
      sentence, sizeof sentence,
      "%S:%d %s has read the same value from the GPU %d times, and nothing else changed in between: kernels "
      "compute nothing here. If it waits for another value, stop the program (Ctrl-C) and give it one: "
      "--values %S:%d=%s%s%S%s",
      file, place->line, place->name, (int)VS_READBACK_REPEATS, file, place->line, give,
      has == NULL ? "" : " (now ", has == NULL ? VS_STR("") : has->text, has == NULL ? "" : ")");
  vs_simcuda_say_once(sentence);
}

static void note_stuck(uint32_t id, const vs_python_place *place, const char *give) {
  vs_note note;
  char text[VS_PYTHON_FILE + 32];
  const vs_str file = vs_path_base(vs_str_from(place->file));
  if (!vs_notes_are_wanted()) return;
  vs_note_begin(&note, "stuck");
  vs_note_number(&note, "id", id);
  vs_note_number(&note, "repeats", VS_READBACK_REPEATS);
  vs_format(text, sizeof text, "%S:%d=%s", file, place->line, give);
  vs_note_string(&note, "give", vs_str_from(text));
  vs_note_end(&note);
}

/* The stack is read again: it is that of the read, which has not returned yet. */
static void report_stuck(uint32_t id, uint64_t bytes, const vs_readback_state *state, uint32_t place) {
  vs_python_visit visit;
  vs_python_place reader;
  is_asking = true;
  const bool has_python = vs_python_enter(&visit);
  const bool is_known = has_python && find_reader(&reader);
  if (has_python) vs_python_leave(&visit);
  is_asking = false;
  if (!is_known) return;
  const char *give = other_value(bytes, state);
  say_stuck(&reader, give, place == NO_PLACE ? NULL : &given->places[place]);
  note_stuck(id, &reader, give);
}

/* ---- places of the configuration */

static void note_place(uint32_t place, vs_place_count count) {
  if (!vs_notes_are_wanted()) return;
  vs_note note;
  vs_note_begin(&note, "given");
  vs_note_string(&note, "place", given->places[place].text);
  vs_note_number(&note, "count", count.count);
  vs_note_number(&note, "misfits", count.misfits);
  vs_note_end(&note);
}

void vs_readback_sites_misfit(uint32_t place, uint64_t bytes) {
  if (place == NO_PLACE) return;
  (void)pthread_mutex_lock(&reads.lock);
  reads.places[place].misfits++;
  const vs_place_count count = reads.places[place];
  (void)pthread_mutex_unlock(&reads.lock);
  if (count.misfits != 1) return;
  note_place(place, count);
  char sentence[VS_CONFIGURATION_PROBLEM];
  vs_format(
      sentence, sizeof sentence,
      "--values %S does not fit a read of %U bytes, which keeps its value. Give the type of its elements: "
      "%S=1:int64",
      given->places[place].text, bytes, given->places[place].place);
  vs_simcuda_say_once(sentence);
}

/* ---- counting */

typedef struct vs_read_counted {
  bool is_first_elsewhere, is_many, is_stuck, is_first_of_place;
  uint32_t place;
} vs_read_counted;

static void count_read(vs_read_found *found, uint64_t bytes, const vs_readback_state *state,
                       vs_read_counted *counted) {
  vs_site *site = &reads.sites[found->id];
  const bool is_site = found->id != ELSEWHERE;
  counted->is_first_elsewhere = !is_site && site->count == 0;
  site->count++;
  site->bytes = vs_sat_add_u64(site->bytes, bytes);
  counted->is_many = is_site && site->count == VS_READBACK_MANY;
  reads.all_reads += vs_hash_u64(found->id);
  counted->is_stuck = is_site && state != NULL && is_stuck(site, state) && !loops_end();
  if (is_site) {
    found->place = site->place;
    found->depth = site->depth;
  }
  if (found->is_hooks && found->hooks_depth < found->depth) found->place = NO_PLACE;
  if (found->place == NO_PLACE) return;
  VS_ASSERT(found->place < given->count);
  found->is_hooks = false;
  counted->is_first_of_place = reads.places[found->place].count++ == 0;
}

vs_readback_override vs_readback_sites_note(uint64_t bytes, const vs_readback_state *state) {
  vs_readback_override override = {.place = NO_PLACE};
  vs_read_counted counted = {.is_many = false};
  if (!vs_notes_are_wanted() && !has_places()) return override;
  const int number = errno; /* calls into Python change errno */
  vs_read_found found = find_caller(bytes);
  (void)pthread_mutex_lock(&reads.lock);
  VS_ASSERT(found.id < VS_READBACK_SITES);
  count_read(&found, bytes, state, &counted);
  (void)pthread_mutex_unlock(&reads.lock);
  if (counted.is_first_elsewhere && vs_notes_are_wanted()) note_site(found.id, bytes, NULL, 0);
  if (counted.is_first_of_place) note_place(found.place, (vs_place_count){.count = 1});
  if (counted.is_stuck) report_stuck(found.id, bytes, state, found.place);
  if (counted.is_many)
    vs_simcuda_say_once(
        "one line has read 10,000 values from the GPU, where nothing is computed. If it waits for another "
        "value, stop "
        "the program (Ctrl-C): the report names the line. --values FILE:LINE=true gives it another value");
  if (found.is_hooks)
    override.value = (vs_given_value){.kind = VS_GIVEN_INTEGER, .integer = found.hooks_value};
  else if (found.place != NO_PLACE) override.value = given->places[found.place].value;
  override.is_there = found.is_hooks || found.place != NO_PLACE;
  override.place = found.place;
  errno = number;
  return override;
}

/* ---- the end */

static void note_count(uint32_t id, const vs_site *site) {
  vs_note note;
  vs_note_begin(&note, "reads");
  vs_note_number(&note, "id", id);
  vs_note_number(&note, "count", site->count);
  vs_note_number(&note, "bytes", site->bytes);
  vs_note_end(&note);
}

void vs_readback_sites_end(void) {
  if (!vs_notes_are_wanted()) return;
  for (uint32_t id = 0; id < reads.site_count; id++) {
    (void)pthread_mutex_lock(&reads.lock);
    const vs_site site = reads.sites[id];
    (void)pthread_mutex_unlock(&reads.lock);
    if (site.count != 0) note_count(id, &site);
  }
  for (uint32_t i = 0; has_places() && i < given->count; i++) {
    (void)pthread_mutex_lock(&reads.lock);
    const vs_place_count count = reads.places[i];
    (void)pthread_mutex_unlock(&reads.lock);
    if (count.count != 0) note_place(i, count);
  }
}
