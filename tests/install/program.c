/* The smallest user of the library: proves that the installed headers, library and flags belong together. */
#include <stdio.h>
#include <string.h>
#include <vramscope/vramscope.h>

int main(void) {
  puts(vs_version_text());
  return strcmp(vs_version_text(), VS_VERSION_TEXT) != 0;
}
