/* The calling thread's Python stack, read from the interpreter's own frames.
 *
 * A thread's frames change only while it runs Python. It does not while it is in a call of PyTorch's, whether it gave Python's lock
 * away for that or not; and its frames keep their code objects alive. So the walk takes no lock, calls nothing of Python's that takes
 * one, and changes nothing. Threads without a Python frame, such as those of autograd, have no Python stack.
 *
 * Layouts are known for some versions (python_layouts.def). Before one is trusted, the first stack is read in a way that survives wrong
 * addresses, and each object in it has to be of the type that is expected there.
 *
 * Frames become the words of record/stacks.h. What a code object says is read once; a cache has the word for a code object and an
 * instruction of it. A code object can be freed and another one come to lie at its address. So an audit hook counts when Python makes code:
 * an entry holds until then, and is compared with all that the code object says when it is used next.
 *
 * Behind a frame of a file that TorchInductor has generated are the frames of the program that it was made from (generated.h), as in PyTorch's
 * own history. The hook learns of such files (inductor.h). */
#ifndef VS_PRELOAD_PYTHON_H
#define VS_PRELOAD_PYTHON_H

#include "record/stacks.h"

typedef enum vs_python_state {
  VS_PYTHON_UNKNOWN, /* no stack was read yet */
  VS_PYTHON_ABSENT,  /* there is no Python in this process */
  VS_PYTHON_TRUSTED,
  VS_PYTHON_UNTRUSTED, /* another version, or another layout */
} vs_python_state;

bool vs_python_is_running(void);

/* Called once, when the library is loaded, before the interpreter begins: installs the audit hook. Without it (the interpreter is loaded
 * later) each frame is compared each time. */
void vs_python_prepare(void);

/* The same where a recording is begun in a running interpreter, by a thread that holds Python's lock: files that TorchInductor has generated up
 * to then become known, too. The hook cannot be removed. */
void vs_python_prepare_late(void);

/* `imported` is called before Python imports a module, by the thread that does, where the audit hook is there. */
void vs_python_on_import(void (*imported)(void));

/* The stack of the calling thread; VS_CONTEXT_NONE: it has none, or it cannot be read. */
vs_context vs_python_capture(vs_record_stacks *stacks);

vs_python_state vs_python_state_of(void);

/* "3.15.0" of an interpreter whose stacks cannot be read. */
const char *vs_python_version(void);

#endif
