#ifndef VS_WASM_STDIO_H
#define VS_WASM_STDIO_H
#include <stddef.h>
typedef struct FILE FILE;
#define stderr ((FILE *)0)
int fprintf(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
#endif
