#include "faces/simcuda/core/notes.h"

#include "base/utf8.h"
#include "faces/simcuda/core/process_internal.h"
#include "os/process.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file has its own lock: notes are written with and without the simulation's lock, and never wait for it. */
static struct {
  pthread_mutex_t lock;
  atomic_bool is_wanted;
  bool is_verbose;
  char path[VS_CONFIGURATION_PATH + 64]; /* "": none */
  int fd;                                /* -1: not open */
  dev_t device;                          /* identifies the file that we opened */
  ino_t number;
} file = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

void vs_notes_forked(void) {
  (void)pthread_mutex_init(&file.lock, NULL);
  atomic_store(&file.is_wanted, false); /* the notes file belongs to the parent */
  file.path[0] = 0;
  file.fd = -1; /* not closed: the child may have closed it and reused the number */
}

bool vs_notes_are_wanted(void) { return atomic_load_explicit(&file.is_wanted, memory_order_relaxed); }

/* ---- the file */

/* Moves the descriptor to 500 or above, away from the numbers that programs expect to get, if the limit allows
 * it. */
static int moved_up(int fd) {
  enum { HIGH = 500 };
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH);
  if (high < 0) return fd;
  (void)close(fd);
  return high;
}

/* Whether the descriptor still belongs to the file that we opened: the program may have closed it, and opened
 * another file with the same number. */
static bool is_still_ours(void) {
  struct stat about;
  return file.fd >= 0 && fstat(file.fd, &about) == 0 && about.st_dev == file.device &&
         about.st_ino == file.number;
}

static bool open_file(void) {
  struct stat about;
  file.fd = open(file.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file.fd < 0) return false;
  file.fd = moved_up(file.fd);
  if (fstat(file.fd, &about) != 0) return false;
  file.device = about.st_dev;
  file.number = about.st_ino;
  return true;
}

static void write_line(const char *data, size_t size) {
  const int number = errno; /* we are inside a call of CUDA, which does not change errno */
  (void)pthread_mutex_lock(&file.lock);
  if (file.path[0] != 0 && (is_still_ours() || open_file())) {
    ssize_t put;
    do put = write(file.fd, data, size);
    while (put < 0 && errno == EINTR);
  }
  (void)pthread_mutex_unlock(&file.lock);
  if (file.is_verbose) vs_stderr_put(data, size);
  errno = number;
}

/* ---- lines */

/* One surrogate, by which Python represents a byte of a file name that is not UTF-8. It is not valid UTF-8, but
 * JSON can escape it. */
static void put_surrogate(vs_text *text, const char *bytes) {
  static const char digits[] = "0123456789abcdef";
  const uint32_t point = 0xd000U | ((uint32_t)bytes[1] & 0x3f) << 6 | ((uint32_t)bytes[2] & 0x3f);
  VS_ASSERT(point >= 0xd800 && point <= 0xdfff);
  const char escaped[] = {
      '\\', 'u', digits[point >> 12], digits[point >> 8 & 15], digits[point >> 4 & 15], digits[point & 15]};
  vs_text_put(text, escaped, sizeof escaped);
}

void vs_note_quoted(vs_text *text, vs_str value) {
  static const char digits[] = "0123456789abcdef";
  vs_text_byte(text, '"');
  for (size_t size; value.size != 0; value = (vs_str){value.data + size, value.size - size}) {
    const uint8_t first = (uint8_t)value.data[0];
    size = vs_utf8_length(value);
    if (size == 0) {
      vs_text_code_point(text, 0xfffd);
      size = 1;
    } else if (first == '"' || first == '\\') {
      vs_text_byte(text, '\\');
      vs_text_byte(text, first);
    } else if (first < 0x20) {
      const char escaped[] = {'\\', 'u', '0', '0', digits[first >> 4], digits[first & 15]};
      vs_text_put(text, escaped, sizeof escaped);
    } else if (size == 3 && first == 0xed && ((uint8_t)value.data[1] & 0x20) != 0) {
      put_surrogate(text, value.data);
    } else {
      vs_text_put(text, value.data, size);
    }
  }
  vs_text_byte(text, '"');
}

void vs_note_begin(vs_note *note, const char *kind) {
  vs_text_init(&note->text, vs_host_default(), NULL);
  vs_text_format(&note->text, "{\"note\":\"%s\"", kind);
}

void vs_note_number(vs_note *note, const char *name, uint64_t value) {
  vs_text_format(&note->text, ",\"%s\":%U", name, value);
}

void vs_note_string(vs_note *note, const char *name, vs_str value) {
  vs_text_format(&note->text, ",\"%s\":", name);
  vs_note_quoted(&note->text, value);
}

void vs_note_end(vs_note *note) {
  vs_text_cstr(&note->text, "}\n");
  const vs_str line = vs_text_view(&note->text);
  if (note->text.status == VS_OK) write_line(line.data, line.size);
  vs_text_deinit(&note->text);
}

/* ---- begin and end */

void vs_notes_open(const vs_configuration *configuration) {
  if (configuration->run[0] != 0)
    vs_format(file.path, sizeof file.path, "%s/notes.%U.jsonl", configuration->run, vs_process_id());
  VS_ASSERT(file.path[0] == 0 || file.path[0] == '/');
  file.is_verbose = configuration->is_verbose;
  atomic_store(&file.is_wanted, configuration->run[0] != 0 || configuration->is_verbose);
}

void vs_notes_begin(const char *face) {
  if (!vs_notes_are_wanted()) return;
  vs_note note;
  vs_note_begin(&note, "start");
  vs_note_number(&note, "pid", vs_process_id());
  vs_note_string(&note, "program", vs_str_from(program_invocation_short_name));
  vs_note_string(&note, "face", vs_str_from(face));
  vs_note_end(&note);
}

void vs_notes_end(void) {
  if (!vs_notes_are_wanted()) return;
  vs_note note;
  vs_note_begin(&note, "exit");
  vs_note_end(&note);
}

void vs_note_out_of_memory(uint32_t device, uint64_t bytes, uint64_t free_bytes) {
  enum { MOST = 100 };
  static atomic_uint count;
  if (!vs_notes_are_wanted() || atomic_fetch_add(&count, 1) >= MOST) return;
  vs_note note;
  vs_note_begin(&note, "oom");
  vs_note_number(&note, "device", device);
  vs_note_number(&note, "bytes", bytes);
  vs_note_number(&note, "free", free_bytes);
  vs_note_end(&note);
}
