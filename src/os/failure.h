/* What the operating system says, in our words. Private to os. */
#ifndef VS_OS_FAILURE_H
#define VS_OS_FAILURE_H

#include <vramscope/base.h>

/* Fills `error` from a value of errno, as "`prefix`: sentence" or the sentence alone, and returns its status:
 * VS_NOT_FOUND for ENOENT, VS_NO_MEMORY for ENOMEM, else VS_IO. */
vs_status vs_os__fail(vs_error *error, int number, const char *prefix);

#endif
