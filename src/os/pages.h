/* Memory in pages, straight from the operating system: for who may be called in the middle of a malloc,
 * and for tables whose largest size is reserved at once and filled as it comes. */
#ifndef VS_OS_PAGES_H
#define VS_OS_PAGES_H

#include <vramscope/base.h>

typedef enum vs_pages_use {
  VS_PAGES_LAZY,  /* costs memory only where it is touched */
  VS_PAGES_READY, /* touched already: no page fault later */
} vs_pages_use;

/* Zeroed memory, aligned to a page. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_pages_map(size_t size, vs_pages_use use, void **pages);
void vs_pages_unmap(void *pages, size_t size); /* NULL is nothing */

#endif
