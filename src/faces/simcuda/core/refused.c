/* What is not simulated, what is a guess, and which calls were made: each reported and noted once. */
#include "faces/simcuda/core/process_internal.h"

#include "faces/simcuda/core/notes.h"
#include "os/process.h"

/* One lock for the three lists below. It is held while a list is read or changed, never while something is
 * written out. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_lists(void) { (void)pthread_mutex_lock(&lock); }
static void unlock_lists(void) { (void)pthread_mutex_unlock(&lock); }

void vs_refused_forked(void) { (void)pthread_mutex_init(&lock, NULL); }

/* ---- faces */

static vs_face *faces;

void vs_simcuda_add_face(vs_face *face) {
  lock_lists();
  VS_ASSERT(face->begin <= face->end && face->next == NULL);
  face->next = faces;
  faces = face;
  unlock_lists();
}

static void note_calls(const vs_face *face) {
  vs_note note;
  bool is_first = true;
  vs_note_begin(&note, "calls");
  vs_note_string(&note, "library", vs_str_from(face->library));
  vs_text_cstr(&note.text, ",\"counts\":{");
  for (const vs_face_call *call = face->begin; call != face->end; call++) {
    const uint64_t count = __atomic_load_n(&call->count, __ATOMIC_RELAXED);
    if (count == 0) continue;
    vs_text_format(&note.text, "%s\"%s\":%U", is_first ? "" : ",", call->name, count);
    is_first = false;
  }
  vs_text_byte(&note.text, '}');
  if (is_first) vs_text_deinit(&note.text);
  else vs_note_end(&note);
}

/* Called when the library is unloaded, by the program or at the end of the process. */
void vs_simcuda_remove_face(vs_face *face) {
  lock_lists();
  for (vs_face **at = &faces; *at != NULL; at = &(*at)->next) {
    if (*at != face) continue;
    *at = face->next;
    break;
  }
  unlock_lists();
  if (vs_notes_are_wanted()) note_calls(face);
}

const char *vs_first_face(void) {
  const char *library = "";
  lock_lists();
  for (const vs_face *face = faces; face != NULL; face = face->next)
    for (const vs_face_call *call = face->begin; call != face->end; call++)
      if (__atomic_load_n(&call->count, __ATOMIC_RELAXED) != 0) {
        library = face->library;
        break;
      }
  unlock_lists();
  return library;
}

static const char *library_of(const vs_face_call *call) {
  const char *library = "";
  lock_lists();
  for (const vs_face *face = faces; face != NULL; face = face->next)
    if (call >= face->begin && call < face->end) library = face->library;
  unlock_lists();
  return library;
}

/* ---- messages that are printed once */

/* Whether this text is reported for the first time. The list is bounded: when it is full, no text counts as new. */
static bool is_new(vs_str text) {
  enum { MOST = 1024 };
  static uint64_t said[MOST];
  static size_t count;
  const uint64_t hash = vs_hash_bytes(text.data, text.size);
  lock_lists();
  size_t i = 0;
  while (i < count && said[i] != hash) i++;
  const bool fresh = i == count && count < MOST;
  if (fresh) said[count++] = hash;
  unlock_lists();
  return fresh;
}

void vs_simcuda_say_once(const char *sentence) {
  if (!is_new(vs_str_from(sentence))) return;
  char line[VS_CONFIGURATION_PROBLEM + 128];
  vs_format(line, sizeof line - 1, "vramscope: %s", sentence);
  const size_t size = strlen(line);
  line[size] = '\n';
  vs_stderr_put(line, size + 1);
}

void vs_simcuda_cannot_run(const char *file, const char *sentence) {
  vs_simcuda_say_once(sentence);
  char key[256];
  vs_format(key, sizeof key, "cannot run: %s", file);
  if (!vs_notes_are_wanted() || !is_new(vs_str_from(key))) return;
  vs_note note;
  vs_note_begin(&note, "cannot_run");
  vs_note_string(&note, "file", vs_str_from(file));
  vs_note_string(&note, "why", vs_str_from(sentence));
  vs_note_end(&note);
}

void vs_simcuda_not_simulated(const char *library, const char *what) {
  char sentence[512];
  vs_format(sentence, sizeof sentence, "%s (%s) is not simulated", what, library);
  if (!is_new(vs_str_from(sentence))) return;
  char line[sizeof sentence + 16];
  vs_format(line, sizeof line, "vramscope: %s\n", sentence);
  vs_stderr_put(line, strlen(line));
  if (!vs_notes_are_wanted()) return;
  vs_note note;
  vs_note_begin(&note, "refused");
  vs_note_string(&note, "name", vs_str_from(what));
  vs_note_string(&note, "library", vs_str_from(library));
  vs_note_end(&note);
}

void vs_refused_note(const vs_face_call *call) { vs_simcuda_not_simulated(library_of(call), call->name); }

/* ---- guesses */

enum { MOST_GUESSES = 64, GUESS_KEY = 48, GUESS_SENTENCE = 240 };

static struct guess {
  char what[GUESS_KEY], why[GUESS_SENTENCE];
  uint64_t bytes, most;             /* sums; most UINT64_MAX: no bound */
  uint64_t noted_bytes, noted_most; /* noted_bytes UINT64_MAX: not noted yet */
} guesses[MOST_GUESSES];
static size_t guess_count;

static void note_guess(const struct guess *guess) {
  vs_note note;
  vs_note_begin(&note, "guess");
  vs_note_string(&note, "what", vs_str_from(guess->what));
  vs_note_number(&note, "bytes", guess->bytes);
  if (guess->most != UINT64_MAX) vs_note_number(&note, "most", guess->most);
  vs_note_string(&note, "why", vs_str_from(guess->why));
  vs_note_end(&note);
}

/* NULL: the table is full. */
static struct guess *find_guess(const char *what, const char *why) {
  for (size_t i = 0; i < guess_count; i++)
    if (strncmp(guesses[i].what, what, GUESS_KEY - 1) == 0) return &guesses[i];
  VS_ASSERT(guess_count <= MOST_GUESSES);
  if (guess_count == MOST_GUESSES) return NULL;
  struct guess *guess = &guesses[guess_count++];
  vs_format(guess->what, GUESS_KEY, "%s", what);
  vs_format(guess->why, GUESS_SENTENCE, "%s", why);
  guess->noted_bytes = UINT64_MAX;
  return guess;
}

static bool has_doubled(uint64_t sum, uint64_t noted) { return sum != 0 && sum / 2 >= noted; }

/* The first guess of a key is noted at once, then whenever a sum has doubled, and at the end. So a process
 * that is killed leaves at least half of the sums, and one that guesses often does not write many lines. */
void vs_guess_note(const char *what, uint64_t bytes, uint64_t most, const char *why) {
  lock_lists();
  struct guess *guess = find_guess(what, why), now;
  bool is_due = false;
  if (guess != NULL) {
    guess->bytes = vs_sat_add_u64(guess->bytes, bytes);
    guess->most = vs_sat_add_u64(guess->most, most);
    is_due = guess->noted_bytes == UINT64_MAX || has_doubled(guess->bytes, guess->noted_bytes) ||
             has_doubled(guess->most, guess->noted_most);
    if (is_due) guess->noted_bytes = guess->bytes, guess->noted_most = guess->most;
    now = *guess;
  }
  unlock_lists();
  if (is_due && vs_notes_are_wanted()) note_guess(&now);
}

void vs_guesses_end(void) {
  for (size_t i = 0; i < guess_count && vs_notes_are_wanted(); i++)
    if (guesses[i].bytes != guesses[i].noted_bytes || guesses[i].most != guesses[i].noted_most)
      note_guess(&guesses[i]);
}
