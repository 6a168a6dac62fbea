/* The report of a dry run while it is written: the reply, and the current line.
 *
 * A line: vs_sheet_begin, text appended to `line`, vs_sheet_end. Text from the reply is made safe. */
#ifndef VS_FACES_DRYRUN_SHEET_H
#define VS_FACES_DRYRUN_SHEET_H

#include "faces/words/reply_words.h"

typedef struct vs_sheet {
  vs_screen *screen;
  vs_json reply;
  vs_str verdict;
  vs_json cards;  /* the simulated ones */
  vs_json card;   /* the busiest of these, or the one that was out of memory: the report is about it */
  vs_json device; /* of the engine's report: the one to look into; absent where there is none */
  vs_text line;
} vs_sheet;

void vs_sheet_init(vs_sheet *p, vs_screen *screen, vs_json reply);
static inline void vs_sheet_deinit(vs_sheet *p) { vs_text_deinit(&p->line); }

static inline bool vs_sheet_is(const vs_sheet *p, const char *verdict) {
  return vs_str_equal(p->verdict, vs_str_from(verdict));
}

static inline vs_text *vs_sheet_begin(vs_sheet *p) {
  p->line.bytes.count = 0;
  return &p->line;
}
void vs_sheet_end(vs_sheet *p, const char *label, vs_style style);
/* The line as a paragraph of its own, for the answer at the top. */
void vs_sheet_headline(vs_sheet *p, vs_style style);

/* "H100 80GB HBM3 (simulated)": the name of a card or row without the maker, to save room. */
vs_str vs_sheet_short_name(vs_json named);
/* The sum of a figure of PyTorch's over the cards. */
uint64_t vs_sheet_torch_sum(const vs_sheet *p, const char *name);

/* The figures of the library that has a pool of its own on that card, and its name: "JAX". Unknown and NULL where there is none. */
vs_json vs_sheet_pool(vs_json card, const char **owner);

/* ---- into the cell of a table, about a row with a "verdict" and an "exit_code" */

/* "fits", "out of memory", "exit status 3". */
void vs_sheet_put_ended(vs_text *cell, vs_json row);
/* The bytes; "-" where they are unknown. */
void vs_sheet_put_figure(const vs_sheet *p, vs_text *cell, vs_json figure);

/* "3.47": how many requests a KV cache holds. */
void vs_sheet_put_requests(vs_text *text, vs_json cache);

/* ---- into the line */

static inline void vs_sheet_bytes(vs_sheet *p, uint64_t bytes) {
  vs_text_bytes(&p->line, bytes, p->screen->unit);
}
static inline void vs_sheet_name(vs_sheet *p, vs_json named) {
  vs_screen_safe(&p->line, vs_sheet_short_name(named));
}
/* "exit status 3", "ended by signal 9 (Killed)": how the program of a reply ended. */
void vs_sheet_failure(vs_sheet *p, vs_json reply);
/* "2 x H100 80GB HBM3 (simulated)". */
void vs_sheet_machine(vs_sheet *p);
/* "9.90 GiB of 24.00 GiB": the peak of a card. */
void vs_sheet_shares(vs_sheet *p, vs_json card);

#endif
