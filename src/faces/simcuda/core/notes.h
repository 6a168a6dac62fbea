/* The notes file: what this process has to say to the report of a dry run, one JSON object a line in
 * FOLDER/notes.<pid>.jsonl. Each line is written at once and in one piece, so a process that is killed
 * leaves what it had.
 *
 *   {"note":"start","pid":..,"program":"..","face":".."}   first CUDA call; again after an exec
 *   {"note":"refused","name":"..","library":".."}          first call of each name that is not simulated
 *   {"note":"guess","what":"..","bytes":N,"why":".."}      the last one of a `what` counts: a sum so far
 *   {"note":"read","id":K,"bytes":N,"frames":[{"name":..,"file":..,"line":..},..]}
 *                                                          first read at a place (readback_sites.h)
 *   {"note":"oom","device":D,"bytes":N,"free":N}           a card had no room; the first 100
 *   {"note":"reads","id":K,"count":N,"bytes":N}
 *   {"note":"calls","library":"..","counts":{"cudaMalloc":12,..}}
 *   {"note":"exit"}                                        these three when the process ends by itself
 *
 * The program may close every file, change its folder, fork or become another program: before each line
 * the file is looked at and opened again where it is not ours any more. */
#ifndef VS_SIMCUDA_NOTES_H
#define VS_SIMCUDA_NOTES_H

#include "base/text.h"
#include "faces/simcuda/core/configuration.h"

/* From now on notes go where the configuration says, into the file of this process. Nothing is written
 * yet. */
void vs_notes_open(const vs_configuration *configuration);
/* The world begins, because the library `face` was called, and the process ends: the first note, and the last. */
void vs_notes_begin(const char *face);
void vs_notes_end(void);

/* Whether anybody wants them; what it takes to make one can be saved otherwise. */
bool vs_notes_are_wanted(void);

/* One line. Members may be added to `text` too, as ,"name":... */
typedef struct vs_note {
  vs_text text;
} vs_note;

void vs_note_begin(vs_note *note, const char *kind);
void vs_note_number(vs_note *note, const char *name, uint64_t value);
void vs_note_string(vs_note *note, const char *name, vs_str value);
void vs_note_end(vs_note *note);

/* As JSON writes them, in quotes; bytes that are no text become U+FFFD. */
void vs_note_quoted(vs_text *text, vs_str value);

/* A card had no room. */
void vs_note_out_of_memory(uint32_t device, uint64_t bytes, uint64_t free_bytes);

#endif
