#include "faces/cli/page.h"
#include "base/check.h"
#include "codec/json_writer.h"
#include "os/infile.h"
#include <string.h>

/* ---- the page: the assembler includes the file between two symbols */

extern const char vs_page_begin[], vs_page_end[];

__asm__(".pushsection .rodata\n"
        ".global vs_page_begin, vs_page_end\n"
        ".hidden vs_page_begin, vs_page_end\n"
        "vs_page_begin: .incbin \"" VS_PAGE_FILE "\"\n"
        "vs_page_end: .byte 0\n"
        ".popsection\n");

static vs_str whole(void) { return (vs_str){vs_page_begin, (size_t)(vs_page_end - vs_page_begin)}; }

/* Where `part` begins in `text`; the size of `text` if it is not in it. */
static size_t find(vs_str text, vs_str part) {
  const char *at = memmem(text.data, text.size, part.data, part.size);
  return at == NULL ? text.size : (size_t)(at - text.data);
}

bool vs_page_has_engine(void) { return find(whole(), VS_STR(" id=\"engine\"")) != whole().size; }

static vs_str first(vs_str text, size_t size) { return (vs_str){text.data, size}; }
static vs_str behind(vs_str text, size_t size) { return (vs_str){text.data + size, text.size - size}; }

/* The text behind `part`, which it contains. */
static vs_str after(vs_str text, vs_str part) {
  const size_t at = find(text, part);
  VS_ASSERT(at != text.size);
  return at == text.size ? behind(text, at) : behind(text, at + part.size);
}

void vs_page_open(vs_page *page) {
  const vs_str boot = VS_STR("{\"mode\":\"empty\"}"), end = VS_STR("</script>");
  const vs_str rest = after(whole(), boot);
  page->before = first(whole(), find(whole(), boot));
  page->after = after(rest, end);
  page->between = first(rest, rest.size - page->after.size);
  const vs_str policy =
      after(after(page->before, VS_STR("http-equiv=\"Content-Security-Policy\"")), VS_STR("content=\""));
  page->policy = first(policy, find(policy, VS_STR("\"")));
  VS_ASSERT(page->before.size + boot.size + page->between.size + page->after.size == whole().size);
  VS_ASSERT(page->policy.data + page->policy.size < page->before.data + page->before.size);
}

/* ---- what is inserted */

static void put_file(vs_jsonw *w, vs_page_mode mode, const vs_page_file *file, size_t number) {
  char element[24];
  vs_format(element, sizeof element, "data-%U", (uint64_t)number);
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "name", vs_str_from(file->name));
  if (file->bytes == VS_NO_SIZE) vs_jsonw_member_null(w, "bytes");
  else vs_jsonw_member_u64(w, "bytes", file->bytes);
  if (mode == VS_PAGE_INLINED) vs_jsonw_member_str(w, "element", vs_str_from(element));
  vs_jsonw_object_end(w);
}

static void put_json(vs_text *text, vs_page_mode mode, const vs_page_file *files, size_t count) {
  static const char *const words[] = {
      [VS_PAGE_EMPTY] = "empty", [VS_PAGE_SERVER] = "server", [VS_PAGE_INLINED] = "inlined"};
  vs_jsonw w;
  VS_ASSERT((mode == VS_PAGE_EMPTY) == (count == 0));
  vs_jsonw_begin(&w, text, 0);
  vs_jsonw_object_begin(&w);
  vs_jsonw_member_str(&w, "mode", vs_str_from(words[mode]));
  if (mode != VS_PAGE_EMPTY) {
    vs_jsonw_key(&w, VS_STR("files"));
    vs_jsonw_array_begin(&w);
    for (size_t i = 0; i < count; i++) put_file(&w, mode, &files[i], i);
    vs_jsonw_array_end(&w);
  }
  vs_jsonw_object_end(&w);
  vs_jsonw_end(&w);
}

/* A file name may contain "</script>". In JSON "<" occurs only in strings, where it can be escaped. */
void vs_page_put_boot(vs_text *text, vs_page_mode mode, const vs_page_file *files, size_t count) {
  vs_text json;
  vs_text_init(&json, text->host, NULL);
  put_json(&json, mode, files, count);
  const vs_str bytes = vs_text_view(&json);
  if (json.status != VS_OK && text->status == VS_OK) text->status = json.status;
  for (size_t i = 0; i < bytes.size; i++)
    if (bytes.data[i] == '<') vs_text_cstr(text, "\\u003c");
    else vs_text_byte(text, (uint8_t)bytes.data[i]);
  vs_text_deinit(&json);
}

void vs_page_put_above(vs_text *text, vs_str before, vs_str above) {
  const vs_str rest = after(before, VS_STR("<body>"));
  vs_text_str(text, first(before, before.size - rest.size));
  vs_text_str(text, above);
  vs_text_str(text, rest);
}

void vs_page_put_served(vs_text *text, vs_str part) {
  const vs_str no_requests = VS_STR("connect-src 'none'");
  const size_t at = find(part, no_requests);
  vs_text_str(text, first(part, at));
  if (at == part.size) return;
  vs_text_cstr(text, "connect-src 'self'");
  vs_text_str(text, behind(part, at + no_requests.size));
}
