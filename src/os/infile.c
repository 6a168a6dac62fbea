#include "os/infile.h"
#include "os/failure.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Takes ownership of an open descriptor; refuses one that cannot be read as a stream of bytes. */
static vs_status adopt(vs_infile *file, int fd, bool is_ours, vs_error *error) {
  *file = (vs_infile){.fd = fd, .is_ours = is_ours, .size = VS_NO_SIZE};
  struct stat facts;
  int number = 0;
  if (fstat(fd, &facts) != 0) number = errno;
  else if (S_ISDIR(facts.st_mode)) number = EISDIR;
  if (number != 0) {
    vs_infile_close(file);
    return vs_os__fail(error, number, "");
  }
  if (S_ISREG(facts.st_mode)) file->size = (uint64_t)facts.st_size;
  return VS_OK;
}

vs_status vs_infile_open(vs_infile *file, const char *path, vs_error *error) {
  *file = (vs_infile){.fd = -1, .size = VS_NO_SIZE};
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return vs_os__fail(error, errno, "");
  return adopt(file, fd, true, error);
}

vs_status vs_infile_stdin(vs_infile *file, vs_error *error) {
  return adopt(file, STDIN_FILENO, false, error);
}

bool vs_infile_is_regular(const char *path) {
  struct stat facts;
  return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

void vs_infile_close(vs_infile *file) {
  if (file->is_ours && file->fd >= 0) (void)close(file->fd);
  file->fd = -1;
}

static vs_status read_infile(void *ctx, void *data, size_t capacity, size_t *count) {
  vs_infile *file = ctx;
  ssize_t got;
  do got = read(file->fd, data, capacity);
  while (got < 0 && errno == EINTR);
  *count = got < 0 ? 0 : (size_t)got;
  return got < 0 ? vs_os__fail(&file->error, errno, "reading failed") : VS_OK;
}

vs_reader vs_infile_reader(vs_infile *file) { return (vs_reader){.ctx = file, .read = read_infile}; }

vs_status vs_infile_text(const char *path, size_t most, vs_text *text, vs_error *error) {
  vs_infile file;
  char piece[4096];
  VS_TRY(vs_infile_open(&file, path, error));
  vs_status status = VS_OK;
  for (size_t count = 1; count != 0 && most != 0 && status == VS_OK && text->status == VS_OK;) {
    status = read_infile(&file, piece, most < sizeof piece ? most : sizeof piece, &count);
    vs_text_put(text, piece, count);
    most -= count;
  }
  if (status != VS_OK) *error = file.error;
  vs_infile_close(&file);
  return status == VS_OK ? text->status : status;
}
