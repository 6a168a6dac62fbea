#include "codec/arrow_c.h"
#include "base/check.h"

/* Errors of the interface are those of errno.h, which a compiler without a C library does not have. */
enum { NO_MEMORY = 12, BAD_FORMAT = 22 };

/* ---- reading flatbuffers: every place is checked, so damaged bytes are a failure */

typedef struct reading {
  vs_str bytes;
  bool is_bad;
} reading;

static uint64_t number_at(reading *r, size_t at, size_t size) {
  uint64_t value = 0;
  if (at > r->bytes.size || size > r->bytes.size - at) r->is_bad = true;
  if (!r->is_bad) memcpy(&value, r->bytes.data + at, size);
  return value;
}

/* What an offset at `at` refers to. */
static size_t follow(reading *r, size_t at) { return at + (size_t)number_at(r, at, 4); }

/* The place of a field of the table at `at`; 0: it is not there. */
static size_t field_of(reading *r, size_t at, size_t field) {
  const size_t vtable = at - (size_t)(int64_t)(int32_t)number_at(r, at, 4);
  if (r->is_bad || 4 + 2 * field + 2 > number_at(r, vtable, 2)) return 0;
  const size_t offset = (size_t)number_at(r, vtable + 4 + 2 * field, 2);
  return offset == 0 ? 0 : at + offset;
}

typedef struct vector {
  size_t at, count; /* the first item */
} vector;

/* The vector that a field refers to, of items of `size` bytes. */
static vector vector_of(reading *r, size_t field, size_t size) {
  vector v = {0};
  if (field == 0) {
    r->is_bad = true;
    return v;
  }
  v.at = follow(r, field);
  v.count = (size_t)number_at(r, v.at, 4);
  v.at += 4;
  if (r->is_bad || v.at > r->bytes.size || v.count > (r->bytes.size - v.at) / size) {
    r->is_bad = true;
    v.count = 0;
  }
  return v;
}

/* ---- who keeps the bytes */

typedef struct keeper {
  const vs_host *host;
  vs_arrow_bytes bytes;
  size_t parts; /* that are not released; atomic */
} keeper;

static keeper *keep(keeper *k) {
  __atomic_fetch_add(&k->parts, 1, __ATOMIC_RELAXED);
  return k;
}

static void drop(keeper *k) {
  if (__atomic_fetch_sub(&k->parts, 1, __ATOMIC_ACQ_REL) != 1) return;
  k->bytes.drop(k->bytes.owner);
  vs_host_free(k->host, k, sizeof *k);
}

/* ---- the file */

enum { MOST_COLUMNS = 64, BUFFERS = 3 };

typedef struct column {
  const char *format; /* of the C data interface */
  size_t buffers;
  vs_str name;
} column;

/* Invariant: columns[0 .. count) are those of the schema, blocks.at refers to the places of the batches. */
typedef struct stream {
  keeper *keeper;
  const char *error; /* the sentence of the last failure; NULL: there was none */
  column columns[MOST_COLUMNS];
  size_t count;
  vector blocks;
  size_t next; /* block */
} stream;

/* Field: name, nullable, type_type, type. */
static column column_of(reading *r, size_t field) {
  enum { TYPE_INT = 2, TYPE_FLOAT = 3, TYPE_UTF8 = 5, TYPE_BOOL = 6 };
  const size_t kind_at = field_of(r, field, 2), type_at = field_of(r, field, 3),
               name_at = field_of(r, field, 0);
  const vector name = vector_of(r, name_at, 1);
  column c = {.buffers = 2, .name = {r->bytes.data + name.at, name.count}};
  if (kind_at == 0 || type_at == 0) {
    r->is_bad = true;
    return c;
  }
  switch (number_at(r, kind_at, 1)) {
    case TYPE_INT: {
      const size_t is_signed = field_of(r, follow(r, type_at), 1);
      c.format = is_signed != 0 && number_at(r, is_signed, 1) != 0 ? "l" : "L";
      break;
    }
    case TYPE_FLOAT: c.format = "g"; break;
    case TYPE_BOOL: c.format = "b"; break;
    case TYPE_UTF8:
      c.format = "u";
      c.buffers = 3;
      break;
    default: r->is_bad = true;
  }
  return c;
}

/* Footer: version, schema, dictionaries, recordBatches; behind it its size and the magic. */
static bool read_footer(stream *s) {
  enum { TAIL = 10, BLOCK = 24 };
  reading r = {.bytes = s->keeper->bytes.file};
  if (r.bytes.size < TAIL || !vs_str_ends(r.bytes, VS_STR("ARROW1"))) return false;
  const size_t size = (size_t)number_at(&r, r.bytes.size - TAIL, 4);
  if (size > r.bytes.size - TAIL) return false;
  const size_t footer = follow(&r, r.bytes.size - TAIL - size);
  const size_t schema_at = field_of(&r, footer, 1);
  if (schema_at == 0) return false;
  const vector fields = vector_of(&r, field_of(&r, follow(&r, schema_at), 1), 4);
  s->blocks = vector_of(&r, field_of(&r, footer, 3), BLOCK);
  if (r.is_bad || fields.count > MOST_COLUMNS) return false;
  for (s->count = 0; s->count < fields.count && !r.is_bad; s->count++)
    s->columns[s->count] = column_of(&r, follow(&r, fields.at + 4 * s->count));
  return !r.is_bad;
}

/* ---- schemas */

typedef struct exported_schema {
  const vs_host *host;
  size_t size; /* of the whole allocation */
  struct ArrowSchema *pointers[MOST_COLUMNS], children[MOST_COLUMNS];
} exported_schema;

static void release_field(struct ArrowSchema *field) {
  keeper *k = field->private_data;
  vs_host_free(k->host, (char *)(uintptr_t)field->name, vs_str_from(field->name).size + 1);
  field->release = NULL;
  drop(k);
}

static void release_schema(struct ArrowSchema *schema) {
  exported_schema *e = schema->private_data;
  for (int64_t i = 0; i < schema->n_children; i++)
    if (e->children[i].release != NULL) e->children[i].release(&e->children[i]);
  vs_host_free(e->host, e, e->size);
  schema->release = NULL;
}

static bool export_field(const stream *s, const column *c, struct ArrowSchema *out) {
  char *name = vs_host_alloc(s->keeper->host, c->name.size + 1);
  if (name == NULL) return false;
  memcpy(name, c->name.data, c->name.size);
  name[c->name.size] = 0;
  *out = (struct ArrowSchema){.format = c->format,
                              .name = name,
                              .flags = ARROW_FLAG_NULLABLE,
                              .release = release_field,
                              .private_data = keep(s->keeper)};
  return true;
}

static int get_schema(struct ArrowArrayStream *exported, struct ArrowSchema *out) {
  stream *s = exported->private_data;
  exported_schema *e = vs_host_alloc(s->keeper->host, sizeof *e);
  s->error = "there is no memory for the schema";
  if (e == NULL) return NO_MEMORY;
  e->host = s->keeper->host;
  e->size = sizeof *e;
  *out = (struct ArrowSchema){
      .format = "+s", .name = "", .children = e->pointers, .release = release_schema, .private_data = e};
  for (size_t i = 0; i < s->count; i++, out->n_children++) {
    e->pointers[i] = &e->children[i];
    if (export_field(s, &s->columns[i], &e->children[i])) continue;
    out->release(out);
    return NO_MEMORY;
  }
  s->error = NULL;
  return 0;
}

/* ---- arrays */

typedef struct exported_column {
  keeper *keeper;
  const void *buffers[BUFFERS];
} exported_column;

typedef struct exported_array {
  const vs_host *host;
  const void *buffers[1]; /* a struct has one, which is absent: no row of the table is unknown as a whole */
  struct ArrowArray *pointers[MOST_COLUMNS], children[MOST_COLUMNS];
} exported_array;

static void release_column(struct ArrowArray *array) {
  exported_column *e = array->private_data;
  keeper *k = e->keeper;
  vs_host_free(k->host, e, sizeof *e);
  array->release = NULL;
  drop(k);
}

static void release_array(struct ArrowArray *array) {
  exported_array *e = array->private_data;
  for (int64_t i = 0; i < array->n_children; i++)
    if (e->children[i].release != NULL) e->children[i].release(&e->children[i]);
  vs_host_free(e->host, e, sizeof *e);
  array->release = NULL;
}

/* A batch: RecordBatch is length, nodes, buffers; the buffers lie in the body. */
typedef struct batch {
  int64_t rows;
  vector nodes, buffers;
  size_t body, body_size;
} batch;

static batch batch_of(reading *r, size_t block) {
  enum { PREFIX = 8, NODE = 16, BUFFER = 16 };
  const size_t message = (size_t)number_at(r, block, 8), metadata = (size_t)number_at(r, block + 8, 4);
  batch b = {.body = message + metadata, .body_size = (size_t)number_at(r, block + 16, 8)};
  if (r->is_bad || message > r->bytes.size || b.body > r->bytes.size ||
      b.body_size > r->bytes.size - b.body) {
    r->is_bad = true;
    return b;
  }
  const size_t header_at = field_of(r, follow(r, message + PREFIX), 2);
  const size_t header = header_at == 0 ? 0 : follow(r, header_at);
  const size_t rows_at = header == 0 ? 0 : field_of(r, header, 0);
  if (rows_at == 0) r->is_bad = true;
  if (r->is_bad) return b;
  b.rows = (int64_t)number_at(r, rows_at, 8);
  b.nodes = vector_of(r, field_of(r, header, 1), NODE);
  b.buffers = vector_of(r, field_of(r, header, 2), BUFFER);
  return b;
}

static bool export_column(const stream *s, reading *r, const batch *b, size_t number, size_t *buffer,
                          struct ArrowArray *out) {
  exported_column *e = vs_host_alloc(s->keeper->host, sizeof *e);
  if (e == NULL) return false;
  *e = (exported_column){.keeper = keep(s->keeper)};
  *out = (struct ArrowArray){.length = b->rows,
                             .null_count = (int64_t)number_at(r, b->nodes.at + 16 * number + 8, 8),
                             .n_buffers = (int64_t)s->columns[number].buffers,
                             .buffers = e->buffers,
                             .release = release_column,
                             .private_data = e};
  for (size_t i = 0; i < s->columns[number].buffers; i++, ++*buffer) {
    const size_t at = (size_t)number_at(r, b->buffers.at + 16 * *buffer, 8);
    const size_t size = (size_t)number_at(r, b->buffers.at + 16 * *buffer + 8, 8);
    const bool is_inside = at <= b->body_size && size <= b->body_size - at;
    r->is_bad = r->is_bad || !is_inside;
    if (is_inside && (size != 0 || i != 0)) /* the first one may be absent */
      e->buffers[i] = r->bytes.data + b->body + at;
  }
  return true;
}

static int fail_next(stream *s, struct ArrowArray *out, int code, const char *sentence) {
  if (out->release != NULL) out->release(out);
  s->error = sentence;
  return code;
}

static int get_next(struct ArrowArrayStream *exported, struct ArrowArray *out) {
  stream *s = exported->private_data;
  reading r = {.bytes = s->keeper->bytes.file};
  size_t buffer = 0, buffers = 0;
  *out = (struct ArrowArray){.release = NULL}; /* the end */
  if (s->next == s->blocks.count) return 0;
  const batch b = batch_of(&r, s->blocks.at + 24 * s->next);
  for (size_t i = 0; i < s->count; i++) buffers += s->columns[i].buffers;
  if (r.is_bad || b.nodes.count != s->count || b.buffers.count != buffers)
    return fail_next(s, out, BAD_FORMAT, "a record batch is damaged");
  exported_array *e = vs_host_alloc(s->keeper->host, sizeof *e);
  if (e == NULL) return fail_next(s, out, NO_MEMORY, "there is no memory for a record batch");
  e->host = s->keeper->host;
  e->buffers[0] = NULL;
  *out = (struct ArrowArray){.length = b.rows,
                             .n_buffers = 1,
                             .buffers = e->buffers,
                             .children = e->pointers,
                             .release = release_array,
                             .private_data = e};
  for (size_t i = 0; i < s->count; i++, out->n_children++) {
    e->pointers[i] = &e->children[i];
    if (!export_column(s, &r, &b, i, &buffer, &e->children[i]))
      return fail_next(s, out, NO_MEMORY, "there is no memory for a column");
  }
  if (r.is_bad) return fail_next(s, out, BAD_FORMAT, "a record batch is damaged");
  s->next++;
  s->error = NULL;
  return 0;
}

/* ---- the stream */

static const char *get_last_error(struct ArrowArrayStream *exported) {
  const stream *s = exported->private_data;
  return s->error;
}

static void release_stream(struct ArrowArrayStream *exported) {
  stream *s = exported->private_data;
  keeper *k = s->keeper;
  vs_host_free(k->host, s, sizeof *s);
  exported->release = NULL;
  drop(k);
}

vs_status vs_arrow_stream(const vs_host *host, const vs_arrow_bytes *bytes, struct ArrowArrayStream *out) {
  stream *s = vs_host_alloc(host, sizeof *s);
  keeper *k = vs_host_alloc(host, sizeof *k);
  vs_status status = s == NULL || k == NULL ? VS_NO_MEMORY : VS_OK;
  if (status == VS_OK) {
    *k = (keeper){.host = host, .bytes = *bytes, .parts = 1};
    *s = (stream){.keeper = k};
    if (!read_footer(s)) status = VS_BAD_FORMAT;
  }
  if (status == VS_OK) {
    *out = (struct ArrowArrayStream){.get_schema = get_schema,
                                     .get_next = get_next,
                                     .get_last_error = get_last_error,
                                     .release = release_stream,
                                     .private_data = s};
    return VS_OK;
  }
  if (s != NULL) vs_host_free(host, s, sizeof *s);
  if (k != NULL) vs_host_free(host, k, sizeof *k);
  bytes->drop(bytes->owner);
  return status;
}
