#include "base/sort.h" /* before the header: the module is empty without elfutils */
#if VS_WITH_LIBDW
#include "intake/linked/functions.h"

/* ---- reading */

/* From what is asked for last to what is asked for first. */
static int preference(const GElf_Sym *symbol) {
  const int binding = GELF_ST_BIND(symbol->st_info);
  return binding == STB_GLOBAL ? 2 : binding == STB_WEAK ? 1 : 0;
}

static bool is_function(const GElf_Sym *symbol, const char *name) {
  const int type = GELF_ST_TYPE(symbol->st_info);
  return name != NULL && *name != 0 && symbol->st_shndx != SHN_UNDEF &&
         (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

typedef struct reading {
  vs_functions *functions;
  VS_VEC(uint8_t) preferences; /* of each row */
  VS_VEC(uint32_t) order;
} reading;

static vs_status take(reading *r, Dwfl_Module *module, int index) {
  const vs_host *host = r->functions->host;
  GElf_Sym symbol;
  GElf_Addr start;
  GElf_Word section;
  const char *name = dwfl_module_getsym_info(module, index, &symbol, &start, &section, NULL, NULL);
  if (!is_function(&symbol, name)) return VS_OK;
  VS_TRY(vs_vec_reserve(host, &r->functions->rows, 1));
  VS_TRY(vs_vec_reserve(host, &r->preferences, 1));
  VS_TRY(vs_vec_reserve(host, &r->order, 1));
  const uint64_t end = symbol.st_size > UINT64_MAX - start ? UINT64_MAX : start + symbol.st_size;
  const uint32_t row = (uint32_t)r->functions->rows.count;
  r->functions->rows.data[r->functions->rows.count++] =
      (vs_function){.start = start, .end = end, .name = name, .section = section};
  r->preferences.data[r->preferences.count++] = (uint8_t)preference(&symbol);
  r->order.data[r->order.count++] = row;
  return VS_OK;
}

static bool is_before(const void *ctx, uint32_t a, uint32_t b) {
  const reading *r = ctx;
  const vs_function *rows = r->functions->rows.data;
  if (rows[a].start != rows[b].start) return rows[a].start < rows[b].start;
  if (r->preferences.data[a] != r->preferences.data[b])
    return r->preferences.data[a] < r->preferences.data[b];
  return a > b; /* the table's first one comes last */
}

/* Moves the rows to their places. */
static vs_status arrange(reading *r) {
  const vs_host *host = r->functions->host;
  const size_t count = r->functions->rows.count;
  VS_VEC(vs_function) sorted = {0};
  VS_TRY(vs_sort_rows(host, r->order.data, count, is_before, r));
  VS_TRY(vs_vec_reserve(host, &sorted, count));
  uint64_t reach = 0;
  for (size_t i = 0; i < count; i++) {
    vs_function row = r->functions->rows.data[r->order.data[i]];
    row.reach = reach = vs_max_u64(reach, row.end);
    sorted.data[sorted.count++] = row;
  }
  VS_ASSERT(sorted.count == count);
  if (count != 0) memcpy(r->functions->rows.data, sorted.data, count * sizeof *sorted.data);
  vs_vec_free(host, &sorted);
  return VS_OK;
}

vs_status vs_functions_read(vs_functions *functions, const vs_host *host, Dwfl_Module *module) {
  reading r = {.functions = functions};
  *functions = (vs_functions){.host = host, .is_read = true};
  vs_status status = VS_OK;
  const int count = dwfl_module_getsymtab(module);
  for (int i = 1; i < count && status == VS_OK; i++) status = take(&r, module, i); /* 0 is no symbol */
  if (status == VS_OK) status = arrange(&r);
  vs_vec_free(host, &r.preferences);
  vs_vec_free(host, &r.order);
  if (status != VS_OK) functions->rows.count = 0;
  return status;
}

void vs_functions_deinit(vs_functions *functions) {
  if (functions->host != NULL) vs_vec_free(functions->host, &functions->rows);
  *functions = (vs_functions){0};
}

/* ---- asking */

/* How many rows begin at or below the address. */
static size_t count_below(const vs_functions *functions, uint64_t address) {
  size_t low = 0, high = functions->rows.count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (functions->rows.data[middle].start <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}

const char *vs_functions_at(const vs_functions *functions, uint64_t address, uint32_t section) {
  const vs_function *rows = functions->rows.data;
  const size_t count = count_below(functions, address);
  for (size_t i = count; i != 0 && rows[i - 1].reach > address; i--)
    if (rows[i - 1].end > address) return rows[i - 1].name;
  for (size_t i = count; i != 0 && rows[i - 1].start == rows[count - 1].start; i--)
    if (rows[i - 1].end == rows[i - 1].start && rows[i - 1].section == section) return rows[i - 1].name;
  return NULL;
}
#endif
