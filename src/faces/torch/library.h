/* What is loaded in this process already: PyTorch's libraries, the C++ runtime. They are not opened for us, so that what we
 * find is what PyTorch uses. */
#ifndef VS_FACES_TORCH_LIBRARY_H
#define VS_FACES_TORCH_LIBRARY_H

#include <stddef.h>

/* The address of a symbol in the loaded library of that soname (NULL: in whatever the program itself sees); NULL: no such
 * library, or no such symbol. The library stays loaded. */
void *vs_torch__find(const char *library, const char *symbol);

/* The same for a function, stored in *function, a pointer to a function. */
void vs_torch__find_function(const char *library, const char *symbol, void *function);

#endif
