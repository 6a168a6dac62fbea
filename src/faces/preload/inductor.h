/* The maps of the code that TorchInductor has generated, as PyTorch keeps them: torch._inductor.codecache.PyCodeCache.linemaps has for each file
 * that it has run [(first lines), (stacks)]. They are copied to generated.h, so that stacks are made without asking Python.
 *
 * PyTorch adds a map right after it has run the file, and uses the code later. So the audit hook compares the number of maps with the one that it
 * knows: Python reports between the two to it, while dynamo makes the code that calls the compiled function, and in what a compiled backward pass
 * does first. A stack that is made before has the frame of the file alone.
 *
 * Nothing here imports a module, or runs code in Python: what is read are members of modules, dictionaries, tuples, numbers and strings. It is read
 * only by a thread that holds Python's lock; the program's exception remains as it was. */
#ifndef VS_PRELOAD_INDUCTOR_H
#define VS_PRELOAD_INDUCTOR_H

#include <stdbool.h>

/* Called for each event that Python reports; `is_run`: it runs a code object. True: a file was added. */
bool vs_inductor_hear(bool is_run);

/* Adds all files that PyTorch has maps of. True: a file was added. Adds none on a thread that does not hold Python's lock, as that of a C program
 * which begins a recording. */
bool vs_inductor_learn(void);

#endif
