/* Throws C++ exceptions from C: c10::OutOfMemoryError, which Python sees as torch.OutOfMemoryError.
 *
 * PyTorch does not check what its pluggable allocator returns: with a null pointer it continues with a tensor without memory.
 * So a failure has to be an exception. The C++ runtime is the one that PyTorch has loaded. The Itanium C++ ABI defines how an
 * exception is made and thrown (__cxa_allocate_exception, __cxa_throw); libc10 exports the class's constructor, type and
 * virtual table, whose first function is the destructor. The frames in between are our own C code, which has nothing to clean
 * up and for which compilers emit unwinding tables by default.
 *
 * All symbols are looked up when the allocator is opened, not when memory is short. */
#ifndef VS_TORCH_THROW_H
#define VS_TORCH_THROW_H

#include <vramscope/base.h>

/* Looks up all symbols. Fails: VS_UNSUPPORTED (`error` names the missing symbol) */
VS_MUST_CHECK vs_status vs_torch__throw_prepare(vs_error *error);

/* Throws c10::OutOfMemoryError with that text, or c10::Error, which is a RuntimeError in Python. If no exception can be made,
 * the process ends with the text on standard error. */
_Noreturn void vs_torch__throw_memory(const char *text, size_t size);
_Noreturn void vs_torch__throw_error(const char *text, size_t size);

#endif
