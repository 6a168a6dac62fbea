#include "os/failure.h"
#include "base/text.h"
#include <errno.h>
#include <string.h>

/* A sentence without full stop for a value of errno. */
static const char *sentence(int number) {
  switch (number) {
    case ENOENT: return "there is no such file";
    case ENOTDIR: return "a part of its path is no folder";
    case EISDIR: return "it is a folder, not a file";
    case EACCES:
    case EPERM: return "permission denied";
    case EROFS: return "the file system is read-only";
    case EEXIST: return "it exists already";
    case ENOSPC: return "no space left on the device";
    case EDQUOT: return "the disk quota is used up";
    case EFBIG: return "the file would become too large";
    case EIO: return "the device reports an input/output error";
    case EBADF: return "it is closed";
    case ENAMETOOLONG: return "the name is too long";
    case ELOOP: return "its symbolic links lead in a circle";
    case EMFILE:
    case ENFILE: return "too many files are open";
    default: return strerror(number);
  }
}

vs_status vs_os__fail(vs_error *error, int number, const char *prefix) {
  const vs_status status = number == ENOENT ? VS_NOT_FOUND : number == ENOMEM ? VS_NO_MEMORY : VS_IO;
  return vs_fail(error, status, VS_NO_OFFSET, "%s%s%s", prefix, *prefix == 0 ? "" : ": ", sentence(number));
}
