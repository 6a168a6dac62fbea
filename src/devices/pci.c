#include "devices/pci.h"

static int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char small = (char)(c | 0x20);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/* Reads 1 to `most` hexadecimal digits at the start of *rest, and `end` after them (0: the end of the text). */
static bool take(vs_str *rest, size_t most, char end, uint32_t *number) {
  size_t digits = 0;
  VS_ASSERT(most >= 1 && most <= 8); /* `number` has 32 bits */
  *number = 0;
  while (digits < rest->size && digits < most && digit_of(rest->data[digits]) >= 0)
    *number = *number << 4 | (uint32_t)digit_of(rest->data[digits++]);
  const bool ends = end == 0 ? digits == rest->size : digits < rest->size && rest->data[digits] == end;
  if (digits == 0 || !ends) return false;
  const size_t taken = digits + (end != 0);
  *rest = (vs_str){rest->data + taken, rest->size - taken};
  return true;
}

static size_t count_of(vs_str text, char c) {
  size_t count = 0;
  for (size_t i = 0; i < text.size; i++) count += text.data[i] == c;
  return count;
}

bool vs_pci_parse(vs_str text, vs_pci *pci) {
  const bool has_function = count_of(text, '.') == 1;
  *pci = (vs_pci){.has_domain = count_of(text, ':') == 2};
  if (!pci->has_domain && !has_function) return false;
  if (pci->has_domain && !take(&text, 8, ':', &pci->domain)) return false;
  if (!take(&text, 2, ':', &pci->bus)) return false;
  if (!take(&text, 2, has_function ? '.' : 0, &pci->device)) return false;
  return !has_function || take(&text, 1, 0, &pci->function);
}

bool vs_pci_fits(const vs_pci *a, const vs_pci *b) {
  return a->bus == b->bus && a->device == b->device && a->function == b->function &&
         (!a->has_domain || !b->has_domain || a->domain == b->domain);
}
