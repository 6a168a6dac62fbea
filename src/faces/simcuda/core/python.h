/* The Python interpreter of this process, if there is one: who called?
 *
 * Everything is looked up by name, so nothing of Python is needed to build or to run. Python 3.9 and
 * later. */
#ifndef VS_SIMCUDA_PYTHON_H
#define VS_SIMCUDA_PYTHON_H

#include "base/text.h"

/* One frame: the code object, and how far it is in it. Equal pairs are the same line of the same code, as
 * long as somebody holds the code object. */
typedef struct vs_python_frame {
  void *code;
  int at;
} vs_python_frame;

/* Whether the calling thread is one of the interpreter's, which runs and is not about to end. If so the
 * thread holds the interpreter's lock now, and a pending exception is put aside until leave. */
typedef struct vs_python_visit {
  int lock;
  void *exception[3];
} vs_python_visit;

bool vs_python_enter(vs_python_visit *visit);
void vs_python_leave(vs_python_visit *visit);

/* Between the two. Frames of the calling thread, the innermost first, each with a reference to its code;
 * how many there are. May run Python code (its memory management does). */
size_t vs_python_stack(vs_python_frame *frames, size_t capacity);
void vs_python_release(vs_python_frame *frames, size_t count);

/* {"name":..,"file":..,"line":..} for each. */
void vs_python_put_frames(vs_text *text, const vs_python_frame *frames, size_t count);

#endif
