/* The notes file: what this process tells the report of a dry run, one JSON object per line in
 * FOLDER/notes.<pid>.jsonl. Each line is one write, made at once, so a process that is killed leaves the
 * notes that it made before.
 *
 *   {"note":"start","pid":..,"program":"..","face":".."}   first CUDA call; again after an exec
 *   {"note":"refused","name":"..","library":".."}          first call of each name that is not simulated
 *   {"note":"guess","what":"..","bytes":N,"most":M,"why":".."}
 *                                                          `bytes` is a sum so far, and so is its bound, which only some have; the last
 *                                                          line of a `what` counts
 *   {"note":"read","id":K,"bytes":N,"frames":[{"name":..,"file":..,"line":..},..]}
 *                                                          first read at a site (readback_sites.h)
 *   {"note":"given","place":"FILE:LINE=VALUE","count":N,"misfits":N}
 *                                                          first read of a place that has a value, first one that the value does not
 *                                                          fit, and at the end; the last line of a place counts
 *   {"note":"stuck","id":K,"repeats":N,"give":".."}        a site's loop makes no progress; what --values can give it
 *   {"note":"oom","device":D,"bytes":N,"free":N}           a card had too little free memory; the first 100
 *   {"note":"reads","id":K,"count":N,"bytes":N}
 *   {"note":"calls","library":"..","counts":{"cudaMalloc":12,..}}
 *   {"note":"no_gpu","why":".."}                           the process got no simulated GPU
 *   {"note":"exit"}                                        these three only when the process is not killed
 *
 * The program may close all files, change its folder, fork or exec. So before each line the descriptor is
 * checked, and the file is opened again if the descriptor no longer belongs to it. */
#ifndef VS_SIMCUDA_NOTES_H
#define VS_SIMCUDA_NOTES_H

#include "base/text.h"
#include "faces/simcuda/core/configuration.h"

/* Sets where notes go: into the file of this process in the configuration's folder. Writes nothing yet. */
void vs_notes_open(const vs_configuration *configuration);
/* The first note, when the simulation begins because the library `face` was called; and the last, when the
 * process ends. */
void vs_notes_begin(const char *face);
void vs_notes_end(void);

/* Whether notes are written at all; if not, callers skip the work of making them. */
bool vs_notes_are_wanted(void);

/* One line. Callers may append further members to `text`, as ,"name":... */
typedef struct vs_note {
  vs_text text;
} vs_note;

void vs_note_begin(vs_note *note, const char *kind);
void vs_note_number(vs_note *note, const char *name, uint64_t value);
void vs_note_string(vs_note *note, const char *name, vs_str value);
void vs_note_end(vs_note *note);

/* Appends a JSON string in quotes; bytes that are not UTF-8 become U+FFFD. */
void vs_note_quoted(vs_text *text, vs_str value);

/* A request did not fit on a card. */
void vs_note_out_of_memory(uint32_t device, uint64_t bytes, uint64_t free_bytes);

#endif
