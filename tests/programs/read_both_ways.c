/* Reads the snapshot on standard input as a whole and opcode by opcode (tests/support/both_ways.h). Prints how many dicts were read at once,
 * and whether the build reads in small pieces (hostile), in which fewer are; or what differs, with exit status 1. */
#include "support/both_ways.h"

#include <stdio.h>
#include <stdlib.h>

int main(void) {
  vs_text text;
  char block[65536];
  fold_counts counts;
  vs_text_init(&text, vs_host_default(), NULL);
  for (size_t got; (got = fread(block, 1, sizeof block, stdin)) != 0;) vs_text_put(&text, block, got);
  const char *difference =
      fold_both_ways(vs_host_default(), &(fold_case){.pickle = vs_text_view(&text)}, &counts);
  if (difference == NULL) difference = read_both_ways(vs_host_default(), vs_text_view(&text));
  vs_text_deinit(&text);
  if (difference != NULL) printf("different in: %s\n", difference);
  else printf("%llu %d\n", (unsigned long long)counts.at_once, VS_HOSTILE);
  return difference != NULL;
}
