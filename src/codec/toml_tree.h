/* The tables, arrays and values of a TOML document while it is read. A key may add to a table again and again, also far from where the table
 * began, so the document is a tree until its end. */
#ifndef VS_CODEC_TOML_TREE_H
#define VS_CODEC_TOML_TREE_H

#include "base/map.h"
#include "base/text.h"
#include "codec/json_writer.h"

enum { VS_TOML_NONE = UINT32_MAX, VS_TOML_ROOT = 0 };

typedef enum vs_toml_kind {
  VS_TOML_TABLE,
  VS_TOML_TABLES, /* [[name]]: an array to which tables are added */
  VS_TOML_ARRAY,
  VS_TOML_STRING, /* text: decoded */
  VS_TOML_BOOL,   /* integer: 0 or 1 */
  VS_TOML_INTEGER,
  VS_TOML_REAL,
} vs_toml_kind;

typedef struct vs_toml_node {
  uint32_t kind;
  uint32_t parent, first, last, next;    /* VS_TOML_NONE: none */
  uint32_t depth;                        /* of the root: 0 */
  bool is_explicit;                      /* a header made it: no other one may */
  bool is_closed;                        /* an inline table: nothing is added */
  uint32_t section;                      /* the section whose dotted keys made it; 0: none did */
  size_t key, key_size, text, text_size; /* in `bytes` */
  int64_t integer;
  double real;
} vs_toml_node;

typedef struct vs_toml_tree {
  const vs_host *host;
  VS_VEC(vs_toml_node) nodes; /* [0]: the root */
  VS_VEC(char) bytes;
  vs_map by_key; /* hash of table and key -> node */
} vs_toml_tree;

VS_MUST_CHECK vs_status vs_toml_tree_init(vs_toml_tree *tree, const vs_host *host);
void vs_toml_tree_deinit(vs_toml_tree *tree);

/* The member of a table with that key, VS_TOML_NONE if there is none. */
uint32_t vs_toml_find(const vs_toml_tree *tree, uint32_t table, vs_str key);

/* Appends a member to a table, or with an empty key an item to an array; what is new is *node. Fails: VS_LIMIT  too deep; VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_toml_add(vs_toml_tree *tree, uint32_t parent, vs_str key, vs_toml_kind kind,
                                    uint32_t *node);

VS_MUST_CHECK vs_status vs_toml_set_text(vs_toml_tree *tree, uint32_t node, vs_str text);

/* Writes the whole tree. */
void vs_toml_put(const vs_toml_tree *tree, vs_jsonw *w);

#endif
