#include "intake/linked/symbols.h"
#include "os/infile.h"
#include "os/library.h"

#if VS_WITH_LIBDW
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <elfutils/version.h>
#include <stdlib.h>

#include "intake/linked/functions.h"

#define TEXT_OF(number)       #number
#define VERSION_TEXT(version) TEXT_OF(version)

/* ---- modules: each file is opened once; one that cannot be used is remembered, too */

enum { MOST_ID = 64, MOST_PATH = 4096, MOST_MODULES = 8192 };

typedef struct module {
  vs_str key; /* path and build id, concatenated */
  size_t path_size;
  Dwfl *dwfl; /* NULL: the file is missing or has another build id */
  Dwfl_Module *file;
  vs_functions functions; /* read when the first place has no debug information */
} module;

typedef char *demangle_function(const char *name, char *buffer, size_t *size, int *status);

struct vs_symbols {
  const vs_host *host;
  VS_VEC(module) modules;
  bool has_looked;
  vs_library cxx; /* libstdc++, if there is one */
  demangle_function *demangle;
  char *demangled[VS_MOST_PLACE_NAMES]; /* of the last answer */
  size_t demangled_count;
  char path[MOST_PATH]; /* of the last answer's module */
};

const char *vs_symbols_version(void) { return "0." VERSION_TEXT(_ELFUTILS_VERSION); }

vs_status vs_symbols_create(const vs_host *host, vs_symbols **out) {
  *out = vs_host_alloc(host, sizeof **out);
  if (*out == NULL) return VS_NO_MEMORY;
  memset(*out, 0, sizeof **out);
  (*out)->host = host;
  return VS_OK;
}

static void forget_answer(vs_symbols *s) {
  for (size_t i = 0; i < s->demangled_count; i++) free(s->demangled[i]);
  s->demangled_count = 0;
}

void vs_symbols_destroy(vs_symbols *s) {
  if (s == NULL) return;
  forget_answer(s);
  for (size_t i = 0; i < s->modules.count; i++) {
    vs_functions_deinit(&s->modules.data[i].functions);
    if (s->modules.data[i].dwfl != NULL) dwfl_end(s->modules.data[i].dwfl);
    vs_host_free(s->host, (void *)(uintptr_t)s->modules.data[i].key.data, s->modules.data[i].key.size);
  }
  vs_vec_free(s->host, &s->modules);
  vs_library_close(&s->cxx);
  vs_host_free(s->host, s, sizeof *s);
}

/* Looks for separate debug information on this machine only: elfutils would ask a server if the environment names one. */
static int find_debuginfo(Dwfl_Module *file, void **data, const char *name, Dwarf_Addr base,
                          const char *main_file, const char *link, GElf_Word crc, char **debug_file) {
  (void)unsetenv("DEBUGINFOD_URLS");
  return dwfl_standard_find_debuginfo(file, data, name, base, main_file, link, crc, debug_file);
}

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                         .find_debuginfo = find_debuginfo,
                                         .section_address = dwfl_offline_section_address};

static bool has_build_id(Dwfl_Module *file, vs_str wanted) {
  const unsigned char *bits;
  GElf_Addr address;
  const int size = dwfl_module_build_id(file, &bits, &address);
  return size > 0 && (size_t)size == wanted.size && memcmp(bits, wanted.data, wanted.size) == 0;
}

static bool open_file(module *m, const char *path, vs_str build_id) {
  if (!vs_infile_is_regular(path)) return false;
  m->dwfl = dwfl_begin(&callbacks);
  if (m->dwfl == NULL) return false;
  dwfl_report_begin(m->dwfl);
  m->file = dwfl_report_offline(m->dwfl, path, path, -1);
  (void)dwfl_report_end(m->dwfl, NULL, NULL);
  if (m->file != NULL && has_build_id(m->file, build_id)) return true;
  dwfl_end(m->dwfl);
  m->dwfl = NULL;
  return false;
}

/* Opens the separate debug information of a file, in the folder where distributions install it. */
static bool open_separate(const vs_host *host, module *m, vs_str build_id) {
  vs_text path;
  VS_ASSERT(build_id.size <= MOST_ID);
  char name[sizeof "/usr/lib/debug/.build-id//.debug" + 2 * MOST_ID];
  vs_text_init(&path, host, NULL);
  vs_text_cstr(&path, "/usr/lib/debug/.build-id/");
  for (size_t i = 0; i < build_id.size; i++) {
    const uint8_t byte = (uint8_t)build_id.data[i];
    vs_text_byte(&path, (uint8_t) "0123456789abcdef"[byte >> 4]);
    vs_text_byte(&path, (uint8_t) "0123456789abcdef"[byte & 15]);
    if (i == 0) vs_text_byte(&path, '/');
  }
  vs_text_cstr(&path, ".debug");
  const vs_str view = vs_text_view(&path);
  const bool is_whole = path.status == VS_OK && view.size < sizeof name;
  if (is_whole) {
    memcpy(name, view.data, view.size);
    name[view.size] = 0;
  }
  vs_text_deinit(&path);
  return is_whole && open_file(m, name, build_id);
}

static bool is_worth_opening(vs_str path, vs_str build_id) {
  return path.size != 0 && path.size < MOST_PATH && path.data[0] == '/' &&
         memchr(path.data, 0, path.size) == NULL && build_id.size >= 8 && build_id.size <= MOST_ID;
}

static module *add_module(vs_symbols *s, vs_str path, vs_str build_id) {
  const size_t size = path.size + build_id.size;
  if (s->modules.count == MOST_MODULES || vs_vec_reserve(s->host, &s->modules, 1) != VS_OK) return NULL;
  char *key = vs_host_alloc(s->host, size);
  if (key == NULL) return NULL;
  memcpy(key, path.data, path.size);
  memcpy(key + path.size, build_id.data, build_id.size);
  module *m = &s->modules.data[s->modules.count++];
  *m = (module){.key = {key, size}, .path_size = path.size};
  VS_ASSERT(path.size < sizeof s->path); /* is_worth_opening */
  memcpy(s->path, path.data, path.size);
  s->path[path.size] = 0;
  if (!open_file(m, s->path, build_id)) (void)open_separate(s->host, m, build_id);
  return m;
}

static module *module_of(vs_symbols *s, vs_str path, vs_str build_id) {
  for (size_t i = s->modules.count; i != 0; i--) {
    module *m = &s->modules.data[i - 1];
    if (m->path_size == path.size && m->key.size == path.size + build_id.size &&
        memcmp(m->key.data, path.data, path.size) == 0 &&
        memcmp(m->key.data + path.size, build_id.data, build_id.size) == 0)
      return m;
  }
  return add_module(s, path, build_id);
}

/* ---- names */

/* Without the library, names stay mangled. */
static void find_demangle(vs_symbols *s) {
  s->has_looked = true;
  static const char *const names[] = {"libstdc++.so.6", NULL};
  vs_error none; /* not passed on: names stay mangled */
  if (vs_library_open(&s->cxx, names, &none) == VS_OK)
    vs_library_find(&s->cxx, "__cxa_demangle", &s->demangle);
}

static vs_str plain_name(vs_symbols *s, const char *name) {
  if (name == NULL) return (vs_str){"", 0};
  if (name[0] != '_' || name[1] != 'Z') return vs_str_from(name);
  if (!s->has_looked) find_demangle(s);
  if (s->demangle == NULL || s->demangled_count == VS_MOST_PLACE_NAMES) return vs_str_from(name);
  int status;
  char *demangled = s->demangle(name, NULL, NULL, &status);
  if (demangled == NULL) return vs_str_from(name);
  VS_ASSERT(s->demangled_count < VS_MOST_PLACE_NAMES);
  s->demangled[s->demangled_count++] = demangled;
  return vs_str_from(demangled);
}

/* The linkage name, which contains namespace and types; if there is none, the name in the source. */
static const char *name_of(Dwarf_Die *die) {
  Dwarf_Attribute attribute;
  const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
  if (name == NULL) name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute));
  if (name == NULL) name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
  return name;
}

static int64_t number_of(Dwarf_Die *die, unsigned which) {
  Dwarf_Attribute attribute;
  Dwarf_Word value;
  return dwarf_formudata(dwarf_attr(die, which, &attribute), &value) == 0 ? (int64_t)value : 0;
}

/* Sets the place where an inlined function was called. */
static void set_call_site(vs_place_name *outer, Dwarf_Die *unit, Dwarf_Die *inlined) {
  Dwarf_Files *files;
  size_t count;
  const int64_t file = number_of(inlined, DW_AT_call_file);
  outer->line = number_of(inlined, DW_AT_call_line);
  if (file <= 0 || dwarf_getsrcfiles(unit, &files, &count) != 0 || (uint64_t)file >= count) return;
  const char *name = dwarf_filesrc(files, (size_t)file, NULL, NULL);
  if (name != NULL) outer->file = vs_str_from(name);
}

/* Stores the functions inlined at an address, innermost first, then the function that contains it. `found[0]` already has
 * the file and line of the address. */
static size_t expand(vs_symbols *s, Dwarf_Die *unit, Dwarf_Addr address, vs_place_name *found) {
  Dwarf_Die *inner = NULL, *scopes = NULL;
  const int inner_count = dwarf_getscopes(unit, address, &inner);
  int count = 0;
  if (inner_count > 0)
    count = dwarf_getscopes_die(&inner[0],
                                &scopes); /* the scopes of the inlined instance, not of its definition */
  size_t at = 0;
  for (int i = 0; i < count && at < VS_MOST_PLACE_NAMES; i++) {
    const int tag = dwarf_tag(&scopes[i]);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
    if (at != 0) found[at].file = found[at].file.data == NULL ? found[at - 1].file : found[at].file;
    found[at].name = plain_name(s, name_of(&scopes[i]));
    at++;
    if (tag == DW_TAG_subprogram || at == VS_MOST_PLACE_NAMES) break;
    found[at] = (vs_place_name){0};
    set_call_site(&found[at], unit, &scopes[i]);
  }
  free(scopes);
  free(inner);
  return at;
}

static void set_line(Dwfl_Module *file, Dwarf_Addr address, vs_place_name *found) {
  Dwfl_Line *line = dwfl_module_getsrc(file, address);
  int number = 0;
  if (line == NULL) return;
  const char *name = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
  if (name == NULL) return;
  found->file = vs_str_from(name);
  found->line = number;
}

/* By the symbol tables alone. NULL: they do not name it, or there is no memory to read them. */
static const char *function_name(const vs_host *host, module *m, Dwarf_Addr address) {
  Dwarf_Addr in_section = address, bias;
  if (!m->functions.is_read && vs_functions_read(&m->functions, host, m->file) != VS_OK) return NULL;
  Elf_Scn *section = dwfl_module_address_section(m->file, &in_section, &bias);
  return vs_functions_at(&m->functions, address, section == NULL ? 0 : (uint32_t)elf_ndxscn(section));
}

size_t vs_symbols_name(void *symbols, vs_str path, vs_str build_id, uint64_t offset, vs_place_name *names) {
  vs_symbols *s = symbols;
  if (s == NULL) return 0;
  forget_answer(s);
  if (offset == 0 || !is_worth_opening(path, build_id)) return 0;
  module *m = module_of(s, path, build_id);
  GElf_Addr bias;
  if (m == NULL || m->dwfl == NULL || dwfl_module_getelf(m->file, &bias) == NULL) return 0;
  const Dwarf_Addr address = offset - 1 + bias;
  names[0] = (vs_place_name){0};
  set_line(m->file, address, &names[0]);
  Dwarf_Addr unit_bias;
  Dwarf_Die *unit = dwfl_module_addrdie(m->file, address, &unit_bias);
  size_t count = unit == NULL ? 0 : expand(s, unit, address - unit_bias, names);
  if (count == 0 || names[count - 1].name.size == 0) { /* no debug information: try the symbol table */
    const char *name = function_name(s->host, m, address);
    if (name == NULL) return 0;
    names[0].name = plain_name(s, name);
    count = 1;
  }
  VS_ASSERT(count <= VS_MOST_PLACE_NAMES);
  for (size_t i = 0; i < count; i++)
    if (names[i].file.data == NULL) names[i].file = (vs_str){m->key.data, m->path_size};
  return count;
}

#else

const char *vs_symbols_version(void) { return NULL; }

vs_status vs_symbols_create(const vs_host *host, vs_symbols **out) {
  (void)host;
  *out = NULL;
  return VS_UNSUPPORTED;
}

void vs_symbols_destroy(vs_symbols *symbols) { (void)symbols; }

size_t vs_symbols_name(void *symbols, vs_str path, vs_str build_id, uint64_t offset, vs_place_name *names) {
  (void)symbols;
  (void)path;
  (void)build_id;
  (void)offset;
  (void)names;
  return 0;
}

#endif
