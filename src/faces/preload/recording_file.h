/* The names of recordings' files. Paths are of VS_PRELOAD_PATH bytes. */
#ifndef VS_PRELOAD_RECORDING_FILE_H
#define VS_PRELOAD_RECORDING_FILE_H

#include <vramscope/base.h>

enum { VS_PRELOAD_PATH = 4096, VS_PRELOAD_MOST_NAMES = 1000 };

/* The path of try number `try` for `wanted`, NAME.vram: 0 is that itself, 1 is NAME.PID.vram, 2 NAME.PID.2.vram ... With has_rank, of a process that is
 * one of several ranks (RANK and WORLD_SIZE in its environment), NAME.rank3.vram, NAME.rank3.PID.vram ... */
void vs_recording_name(char path[VS_PRELOAD_PATH], const char *wanted, uint32_t try, bool has_rank);

bool vs_recording_is_there(const char *path);

/* NAME.PID.part.vram, then NAME.PID.part1.vram ...: a recording of which it is not known whether it is kept. */
void vs_recording_name_part(char path[VS_PRELOAD_PATH], const char *wanted, uint32_t number);

/* Gives the complete file `part` its name: `kept`, if that is set, which is replaced; else the first one of `wanted` that is free, which is
 * written to `kept`. Fails with a sentence: VS_IO; the file has its old name then */
VS_MUST_CHECK vs_status vs_recording_keep(const char *part, const char *wanted, char kept[VS_PRELOAD_PATH],
                                          vs_error *error);

#endif
