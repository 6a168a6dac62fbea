/* A C++ exception thrown from C: c10::OutOfMemoryError, which Python sees as torch.OutOfMemoryError.
 *
 * PyTorch takes whatever its pluggable allocator returns, a null pointer too, and goes on with a tensor that lies nowhere.
 * The one way to say "no" is an exception. We have no C++ runtime of our own and need none: PyTorch brought one. The
 * Itanium C++ ABI says how an exception is made and thrown (__cxa_allocate_exception, __cxa_throw); the class' constructor,
 * type and virtual table are exported by libc10, and its destructor is the first of that table. The frames between are
 * ours, in C, with nothing to clean up: compilers write unwinding tables for them unasked.
 *
 * What is needed is looked up when the allocator is opened, not when memory is short. */
#ifndef VS_TORCH_THROW_H
#define VS_TORCH_THROW_H

#include <vramscope/base.h>

/* Looks everything up. Fails: VS_UNSUPPORTED (`error` names what is missing) */
VS_MUST_CHECK vs_status vs_torch__throw_prepare(vs_error *error);

/* Throws c10::OutOfMemoryError with that text, or c10::Error, which is a RuntimeError. Where an exception cannot be made
 * the process ends with the text on standard error. */
_Noreturn void vs_torch__throw_memory(const char *text, size_t size);
_Noreturn void vs_torch__throw_error(const char *text, size_t size);

#endif
