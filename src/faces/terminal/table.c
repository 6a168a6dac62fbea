#include "faces/terminal/table.h"

void vs_table_begin(vs_table *table, vs_screen *screen, size_t indent, const vs_column *columns,
                    size_t count) {
  VS_ASSERT(count <= VS_TABLE_COLUMNS);
  *table = (vs_table){
      .screen = screen, .indent = indent, .columns = columns, .column_count = count, .status = VS_OK};
  vs_scratch_init(&table->text, screen);
}

/* The cell that is open ends where the text ends now. */
static void close_cell(vs_table *table) {
  if (table->cells.count == 0 || table->status != VS_OK) return;
  vs_cell *cell = &table->cells.data[table->cells.count - 1];
  const vs_str view = vs_text_view(&table->text);
  const size_t start = cell->has_wide ? cell->start + cell->size : cell->start, size = view.size - start;
  const size_t width = size == 0 ? 0 : vs_screen_width((vs_str){view.data + start, size});
  *(cell->has_wide ? &cell->wide_size : &cell->size) = size;
  *(cell->has_wide ? &cell->wide_width : &cell->width) = width;
}

vs_text *vs_table_wide(vs_table *table) {
  close_cell(table);
  if (table->status == VS_OK) table->cells.data[table->cells.count - 1].has_wide = true;
  return &table->text;
}

vs_text *vs_table_cell(vs_table *table) {
  close_cell(table);
  if (table->status == VS_OK) table->status = vs_vec_reserve(table->screen->text.host, &table->cells, 1);
  if (table->status == VS_OK)
    table->cells.data[table->cells.count++] = (vs_cell){.start = vs_text_view(&table->text).size};
  return &table->text;
}

void vs_table_bar(vs_table *table, double share) {
  (void)vs_table_cell(table);
  if (table->status == VS_OK) table->cells.data[table->cells.count - 1].share = share;
}

static bool is_flexible(vs_column_kind kind) { return kind >= VS_COLUMN_PATH; }

/* Shows the wide texts of a column if all of them fit. */
static void widen(vs_table *table, size_t column, size_t room) {
  size_t widest = 0;
  for (size_t i = column; i < table->cells.count; i += table->column_count) {
    const vs_cell *cell = &table->cells.data[i];
    const size_t width = cell->has_wide ? cell->wide_width : cell->width;
    if (width > widest) widest = width;
  }
  if (widest > room) return;
  for (size_t i = column; i < table->cells.count; i += table->column_count) {
    vs_cell *cell = &table->cells.data[i];
    if (!cell->has_wide) continue;
    cell->start += cell->size;
    cell->size = cell->wide_size;
    cell->width = cell->wide_width;
  }
}

/* ---- headings */

static vs_str first_line(vs_str text) {
  size_t size = 0;
  while (size < text.size && text.data[size] != '\n') size++;
  return (vs_str){text.data, size};
}

static size_t count_lines(const char *heading) {
  size_t lines = 1;
  for (; *heading != 0; heading++) lines += *heading == '\n';
  return lines;
}

/* A line of a heading, counted from 0. */
static vs_str line_of(const char *heading, size_t line) {
  vs_str rest = vs_str_from(heading);
  for (; line > 0; line--) {
    const size_t size = first_line(rest).size + 1;
    rest = (vs_str){rest.data + size, rest.size - size};
  }
  return first_line(rest);
}

size_t vs_table_heading_width(const char *heading) {
  size_t widest = 0;
  for (size_t i = 0; i < count_lines(heading); i++)
    if (line_of(heading, i).size > widest) widest = line_of(heading, i).size;
  return widest;
}

/* ---- widths */

/* As wide as the widest cell; the flexible column gets what is left of the screen. */
static void measure(vs_table *table, size_t widths[static VS_TABLE_COLUMNS]) {
  size_t used = table->indent, flexible = table->column_count;
  for (size_t c = 0; c < table->column_count; c++) {
    const vs_column *column = &table->columns[c];
    widths[c] = table->columns[0].heading == NULL ? 0 : vs_table_heading_width(column->heading);
    for (size_t i = c; i < table->cells.count; i += table->column_count)
      if (table->cells.data[i].width > widths[c]) widths[c] = table->cells.data[i].width;
    if (column->kind == VS_COLUMN_BAR) widths[c] = VS_TABLE_BAR;
    if (is_flexible(column->kind)) flexible = c;
    else used += widths[c];
    used += c == 0 ? 0 : 2;
  }
  if (flexible == table->column_count) return;
  const size_t room = table->screen->columns > used ? table->screen->columns - used : 0;
  widen(table, flexible, room);
  for (size_t i = flexible; i < table->cells.count; i += table->column_count)
    if (table->cells.data[i].width > widths[flexible]) widths[flexible] = table->cells.data[i].width;
  if (widths[flexible] > room) widths[flexible] = room < VS_TABLE_NARROWEST ? VS_TABLE_NARROWEST : room;
}

/* Blanks are printed only before text, so that no line ends in blanks. */
typedef struct vs_row {
  vs_table *table;
  const size_t *widths;
  size_t blanks;
} vs_row;

static void put_blanks(vs_row *row) {
  vs_screen_spaces(&row->table->screen->text, row->blanks);
  row->blanks = 0;
}

static void put_cell(vs_row *row, size_t column, vs_str text, size_t width) {
  const vs_column_kind kind = row->table->columns[column].kind;
  const size_t room = row->widths[column], slack = width < room ? room - width : 0;
  vs_text *out = &row->table->screen->text;
  if (column != 0) row->blanks += 2;
  if (kind == VS_COLUMN_RIGHT) row->blanks += slack;
  if (text.size != 0) {
    put_blanks(row);
    if (kind == VS_COLUMN_PATH) vs_screen_fit_end(out, text, room);
    else if (kind == VS_COLUMN_NAME) vs_screen_fit_start(out, text, room);
    else vs_text_str(out, text);
  }
  if (kind != VS_COLUMN_RIGHT) row->blanks += slack;
}

/* How much of the text goes on a line: whole items, at least one. */
static size_t items_of_line(vs_str text, size_t room) {
  size_t end = 0;
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] != ',' && i + 1 != text.size) continue;
    if (end != 0 && vs_screen_width((vs_str){text.data, i + 1}) > room) break;
    end = i + 1;
  }
  return end;
}

/* Puts the first line of the text, and returns what is left for the lines below. */
static vs_str put_items(vs_row *row, size_t column, vs_str text) {
  const size_t size = items_of_line(text, row->widths[column]);
  const vs_str items = {text.data, size};
  put_cell(row, column, items, vs_screen_width(items));
  return (vs_str){text.data + size, text.size - size};
}

static void put_bar(vs_row *row, size_t column, double share) {
  row->blanks += column != 0 ? 2 : 0;
  put_blanks(row);
  row->blanks = row->widths[column] - vs_screen_bar(row->table->screen, share, row->widths[column]);
}

/* Headings with fewer lines than others stand in the lowest ones. */
static void put_heading_line(vs_table *table, const size_t *widths, size_t line, size_t lines) {
  vs_row row = {.table = table, .widths = widths, .blanks = table->indent};
  vs_screen_style(table->screen, VS_STYLE_FAINT);
  for (size_t c = 0; c < table->column_count; c++) {
    const char *heading = table->columns[c].heading;
    const size_t above = lines - count_lines(heading);
    const vs_str text = line < above ? VS_STR("") : line_of(heading, line - above);
    put_cell(&row, c, text, text.size);
  }
  vs_screen_style(table->screen, VS_STYLE_PLAIN);
  vs_text_byte(&table->screen->text, '\n');
}

static void put_headings(vs_table *table, const size_t *widths) {
  size_t lines = 1;
  for (size_t c = 0; c < table->column_count; c++)
    if (count_lines(table->columns[c].heading) > lines) lines = count_lines(table->columns[c].heading);
  for (size_t line = 0; line < lines; line++) put_heading_line(table, widths, line, lines);
}

/* Columns left of the last one, but for the gap that every cell behind the first one has. */
static size_t left_of_last(const vs_table *table, const size_t *widths) {
  size_t sum = table->indent;
  for (size_t c = 0; c + 1 < table->column_count; c++) sum += widths[c] + (c == 0 ? 0 : 2);
  return sum;
}

static void put_row(vs_table *table, const size_t *widths, size_t first) {
  vs_row row = {.table = table, .widths = widths, .blanks = table->indent};
  vs_str below = VS_STR("");
  for (size_t c = 0; c < table->column_count; c++) {
    const vs_cell *cell = &table->cells.data[first + c];
    const vs_str text =
        cell->size == 0 ? VS_STR("") : (vs_str){table->text.bytes.data + cell->start, cell->size};
    if (table->columns[c].kind == VS_COLUMN_BAR) put_bar(&row, c, cell->share);
    else if (table->columns[c].kind == VS_COLUMN_LIST) below = put_items(&row, c, text);
    else put_cell(&row, c, text, cell->width);
  }
  vs_text_byte(&table->screen->text, '\n');
  while (below.size != 0) {
    row.blanks = left_of_last(table, widths);
    below = put_items(&row, table->column_count - 1, below);
    vs_text_byte(&table->screen->text, '\n');
  }
}

void vs_table_put(vs_table *table) {
  close_cell(table);
  if (table->status == VS_OK) table->status = table->text.status;
  if (table->status == VS_OK) {
    VS_ASSERT(table->cells.count % table->column_count == 0);
    size_t widths[VS_TABLE_COLUMNS];
    measure(table, widths);
    if (table->columns[0].heading != NULL) put_headings(table, widths);
    for (size_t i = 0; i < table->cells.count; i += table->column_count) put_row(table, widths, i);
  } else if (table->screen->text.status == VS_OK) {
    table->screen->text.status = table->status;
  }
  vs_vec_free(table->screen->text.host, &table->cells);
  vs_text_deinit(&table->text);
}
