/* Text inside of XML: an element's text, or the value of an attribute in double quotes. */
#ifndef VS_CODEC_XML_TEXT_H
#define VS_CODEC_XML_TEXT_H

#include "base/text.h"

/* Puts the beginning of `s` that takes at most `columns` columns of a terminal (vs_glyph_columns); a longer one ends with "…". The characters
 * & < > " ' are escaped. Bytes that are not UTF-8, characters that XML does not allow, and those that are unsafe (vs_glyph_is_unsafe) become
 * U+FFFD. */
void vs_xml_text(vs_text *text, vs_str s, size_t columns);

#endif
