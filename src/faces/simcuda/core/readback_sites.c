#include "faces/simcuda/core/readback_sites.h"

#include "faces/simcuda/core/process_internal.h"
#include "faces/simcuda/core/notes.h"
#include "faces/simcuda/core/python.h"
#include <errno.h>

enum { SLOTS = 4 * VS_READBACK_SITES, ELSEWHERE = 0 };

typedef struct vs_site_count {
  uint64_t count, bytes;
} vs_site_count;

/* Sites by the hash of their stack, an open-addressing table; `ids` is 0 in a free slot. Site 0 is "elsewhere". */
static struct {
  pthread_mutex_t lock;
  uint64_t hashes[SLOTS];
  uint32_t ids[SLOTS];
  uint32_t site_count;
  vs_site_count counts[VS_READBACK_SITES];
} reads = {.lock = PTHREAD_MUTEX_INITIALIZER, .site_count = 1};

static bool asks_stacks; /* written before notes are wanted, read only while they are */

static _Thread_local bool
    is_asking; /* set while we call Python, because code that runs then may itself read values */

void vs_readback_sites_forked(void) { (void)pthread_mutex_init(&reads.lock, NULL); }

void vs_readback_sites_open(bool with_stacks) { asks_stacks = with_stacks; }

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

/* A new site keeps its references to code objects for ever: without them, a new code object could get the same
 * address, and with it the same hash. */
static uint32_t site_in_python(uint64_t bytes) {
  vs_python_frame frames[VS_READBACK_FRAMES];
  const size_t count = vs_python_stack(frames, VS_READBACK_FRAMES);
  bool is_new = false;
  const uint32_t id =
      count == 0 ? ELSEWHERE : find_site(hash_of(frames, count, bytes > VS_READBACK_LARGE), &is_new);
  if (is_new) note_site(id, bytes, frames, count);
  else vs_python_release(frames, count);
  return id;
}

static uint32_t site_of_caller(uint64_t bytes) {
  vs_python_visit visit;
  if (is_asking || !asks_stacks) return ELSEWHERE;
  is_asking = true;
  uint32_t id = ELSEWHERE;
  if (vs_python_enter(&visit)) {
    id = site_in_python(bytes);
    vs_python_leave(&visit);
  }
  is_asking = false;
  return id;
}

void vs_readback_sites_note(uint64_t bytes) {
  if (!vs_notes_are_wanted()) return;
  const int number = errno; /* calls into Python change errno */
  const uint32_t id = site_of_caller(bytes);
  (void)pthread_mutex_lock(&reads.lock);
  VS_ASSERT(id < VS_READBACK_SITES);
  vs_site_count *site = &reads.counts[id];
  const bool is_first_elsewhere = id == ELSEWHERE && site->count == 0;
  site->count++;
  site->bytes = vs_sat_add_u64(site->bytes, bytes);
  (void)pthread_mutex_unlock(&reads.lock);
  if (is_first_elsewhere) note_site(id, bytes, NULL, 0);
  errno = number;
}

void vs_readback_sites_end(void) {
  if (!vs_notes_are_wanted()) return;
  for (uint32_t id = 0; id < reads.site_count; id++) {
    (void)pthread_mutex_lock(&reads.lock);
    const vs_site_count site = reads.counts[id];
    (void)pthread_mutex_unlock(&reads.lock);
    if (site.count == 0) continue;
    vs_note note;
    vs_note_begin(&note, "reads");
    vs_note_number(&note, "id", id);
    vs_note_number(&note, "count", site.count);
    vs_note_number(&note, "bytes", site.bytes);
    vs_note_end(&note);
  }
}
