#ifndef VS_WASM_STRING_H
#define VS_WASM_STRING_H
#include "base/mem.h"
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t most);
char *strchr(const char *text, int c);
char *strrchr(const char *text, int c);
char *strstr(const char *text, const char *part);
#endif
