/* The Python interpreter of this process, if it has one: the stack of the calling thread.
 *
 * Functions are looked up by name, so building and running need no Python. Supports Python 3.9 and later. */
#ifndef VS_SIMCUDA_PYTHON_H
#define VS_SIMCUDA_PYTHON_H

#include "base/text.h"

/* One frame: the code object, and the position in it. Equal pairs are the same line of the same code, as long as
 * a reference keeps the code object alive. */
typedef struct vs_python_frame {
  void *code;
  int at;
} vs_python_frame;

/* vs_python_enter: whether the calling thread belongs to an interpreter that runs and is not finalizing. If so,
 * the thread then holds the interpreter's lock, and a pending exception is set aside until vs_python_leave. */
typedef struct vs_python_visit {
  int lock;
  void *exception[3];
} vs_python_visit;

bool vs_python_enter(vs_python_visit *visit);
void vs_python_leave(vs_python_visit *visit);

/* Called between enter and leave. Frames of the calling thread, the innermost first, each with a reference to
 * its code; returns their number. May run Python code, because Python's memory management may. */
size_t vs_python_stack(vs_python_frame *frames, size_t capacity);
void vs_python_release(vs_python_frame *frames, size_t count);

/* Where a frame is, for a person. Texts that are too long are cut. */
enum { VS_PYTHON_FILE = 1024, VS_PYTHON_NAME = 128 };
typedef struct vs_python_place {
  char file[VS_PYTHON_FILE], name[VS_PYTHON_NAME];
  int line;
} vs_python_place;
void vs_python_place_of(const vs_python_frame *frame, vs_python_place *place);
int vs_python_line(const vs_python_frame *frame);

/* Appends {"name":..,"file":..,"line":..} for each frame. */
void vs_python_put_frames(vs_text *text, const vs_python_frame *frames, size_t count);

#endif
