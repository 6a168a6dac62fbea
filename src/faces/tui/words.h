/* How `top` writes figures: short, and aligned in columns. */
#ifndef VS_TUI_WORDS_H
#define VS_TUI_WORDS_H

#include "faces/tui/canvas.h"
#include "faces/tui/sample.h"

enum { VS_TOP_WORD = 64 };

/* Hundredths of a GiB, rounded half up. */
uint64_t vs_top_hundredths(uint64_t bytes);

/* "84.52": GiB with two places, from hundredths. */
void vs_top_put_hundredths(char to[static VS_TOP_WORD], uint64_t hundredths);
/* The same of a metric; else its reason in a word. */
void vs_top_put_gib(char to[static VS_TOP_WORD], vs_metric bytes);

/* "60%", "<1%", "99%": only 0 is shown as 0%, and only all as 100%. "-" where either is unknown. */
void vs_top_put_share(char to[static VS_TOP_WORD], vs_metric part, vs_metric whole);

/* "97%", "64 degrees C" or "64C", "512W", "512/700W". */
void vs_top_put_percent(char to[static VS_TOP_WORD], vs_metric percent);
void vs_top_put_celsius(char to[static VS_TOP_WORD], vs_metric celsius, bool has_unicode);
void vs_top_put_power(char to[static VS_TOP_WORD], vs_metric draw, vs_metric limit);

/* "n/a", "denied", "lost": a reason in at most six columns. */
const char *vs_top_reason_word(vs_reason reason);

/* By nvitop's thresholds: light below 10%, heavy from 75% (of time) or 80% (of memory). */
vs_ink vs_top_ink_of_memory(uint64_t used, uint64_t total);
vs_ink vs_top_ink_of_utilization(vs_metric percent);

/* "13.0" */
void vs_top_put_cuda(char to[static VS_TOP_WORD], vs_metric version);

/* "45s", "12m", "3h12m", "5d03h". */
void vs_top_put_age(char to[static VS_TOP_WORD], uint64_t us);

/* The card's name without the maker's, of a MIG device only its profile. */
vs_str vs_top_short_name(const vs_devices_info *info);

#endif
