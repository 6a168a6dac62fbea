/* Pages of memory from the operating system: for code that may be called in the middle of a malloc, and for tables
 * whose largest size is reserved at once and used gradually. */
#ifndef VS_OS_PAGES_H
#define VS_OS_PAGES_H

#include <vramscope/base.h>

typedef enum vs_pages_use {
  VS_PAGES_LAZY,  /* takes memory when a page is first touched */
  VS_PAGES_READY, /* all pages are present: no page fault later */
} vs_pages_use;

/* Zeroed memory, aligned to a page. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_pages_map(size_t size, vs_pages_use use, void **pages);
void vs_pages_unmap(void *pages, size_t size); /* does nothing for NULL */

/* Returns the memory of all whole pages in [memory, memory + size) to the system. They stay mapped, read as zeros, and take
 * memory again when they are touched. */
void vs_pages_release(void *memory, size_t size);

/* The same of pages of a file: if [bytes, bytes + size) is in a segment of a loaded program or library that cannot be written, its whole
 * pages are returned, and a later access maps them again as they were. All other memory stays as it is. From any thread. */
void vs_pages_release_file(const void *bytes, size_t size);

#endif
