#include "os/failure.h"
#include "base/text.h"
#include <errno.h>
#include <string.h>

/* A sentence without full stop for a value of errno. */
static const char *sentence(int number) {
  switch (number) {
    case ENOENT: return "no such file";
    case ENOTDIR: return "part of the path is not a directory";
    case EISDIR: return "is a directory";
    case EACCES:
    case EPERM: return "permission denied";
    case EROFS: return "the file system is read-only";
    case EEXIST: return "file exists";
    case ENOSPC: return "no space left on the device";
    case EDQUOT: return "disk quota exceeded";
    case EFBIG: return "file too large";
    case EIO: return "input/output error";
    case EBADF: return "closed";
    case ENAMETOOLONG: return "file name too long";
    case ELOOP: return "too many symbolic links";
    case EMFILE:
    case ENFILE: return "too many files are open";
    default: return strerror(number);
  }
}

vs_status vs_os__fail(vs_error *error, int number, const char *prefix) {
  const vs_status status = number == ENOENT ? VS_NOT_FOUND : number == ENOMEM ? VS_NO_MEMORY : VS_IO;
  return vs_fail(error, status, VS_NO_OFFSET, "%s%s%s", prefix, *prefix == 0 ? "" : ": ", sentence(number));
}
