/* Programs that train, as a text.
 *
 * "a@10" allocates a block with that letter, 10 MiB and one more for each block before it, "a@10=7" one of 7 MiB; "-a" frees it, "!@o"
 * is a failed request. Behind the @ stand the lines of its stack, innermost first:
 *   10 to 19   function forward of model.py       20 to 29   inner of model.py      30 to 39   another forward of model.py
 *   B          the backward pass, without frames  P          the backward of a Python function, in that pass
 *   o          other code of the program          p          last: called from another place */
#ifndef VS_TESTS_PLAYED_H
#define VS_TESTS_PLAYED_H

#include "analyze/edits.h"
#include "base/text.h"
#include "unit/analyze/made.h"

#define PLAYED_MIB  UINT64_C(1048576)
#define PLAYED_BASE UINT64_C(0x700000000000)

typedef struct played {
  made m;
  vs_lifetimes lifetimes;
  vs_replay_plan plan;
  vs_frames frames;
  uint64_t size_of[128];
} played;

static inline uint32_t played_frame_of_line(made *m, int line) {
  return made_frame(m, line / 10 == 2 ? "inner" : "forward", "/home/user/model.py", line);
}

static inline uint32_t played_stack_of(made *m, const char **at) {
  uint32_t frames[8];
  size_t count = 0;
  const char *text = *at;
  int64_t caller = 50;
  for (; *text != 0 && *text != ' ' && *text != '='; text++) {
    if (*text == 'o') caller = 60;
    else if (*text == 'p') caller = 51;
    else if (*text >= '0' && *text <= '9') {
      frames[count++] = played_frame_of_line(m, (text[0] - '0') * 10 + text[1] - '0');
      text++;
    } else if (*text == 'B') caller = 0;
    else if (*text == 'P') {
      frames[count++] = made_frame(m, "backward", "/home/user/model.py", 90);
      frames[count++] = made_frame(m, "apply", "/x/site-packages/torch/autograd/function.py", 300);
      caller = 0;
    }
  }
  if (caller != 0) frames[count++] = made_frame(m, "<module>", "/home/user/train.py", caller);
  *at = text;
  return count == 0 ? VS_LIST_EMPTY : made_stack_of(m, frames, count);
}

static inline uint64_t played_size_at(const char **at, uint64_t otherwise) {
  uint64_t size = 0;
  if (**at != '=') return otherwise;
  for (++*at; **at >= '0' && **at <= '9'; ++*at) size = size * 10 + (uint64_t)(**at - '0');
  return size;
}

static inline void play(played *p, const char *program) {
  *p = (played){.m = made_begin()};
  uint64_t blocks = 0;
  for (const char *at = program; *at != 0; at += *at == ' ') {
    const char name = *at;
    if (name == '-') {
      (void)made_free(&p->m, PLAYED_BASE + (uint64_t)at[1] * 256 * PLAYED_MIB,
                      p->size_of[(int)at[1]] * PLAYED_MIB);
      at += 2;
      continue;
    }
    at += 2;
    const uint32_t stack = played_stack_of(&p->m, &at);
    const uint64_t size = played_size_at(&at, 10 + blocks++);
    const uint32_t event =
        made_event(&p->m, name == '!' ? VS_EVENT_OOM : VS_EVENT_ALLOC,
                   name == '!' ? 0 : PLAYED_BASE + (uint64_t)name * 256 * PLAYED_MIB, size * PLAYED_MIB);
    p->size_of[(int)name] = size;
    expect_ok(vs_events_set_stack(p->m.host, &p->m.snapshot->events, p->m.first_event + event, stack));
  }
  made_trace(&p->m, 0);
  expect_ok(vs_lifetimes_build(p->m.host, made_slice(&p->m, 0), &p->lifetimes));
  expect_ok(vs_replay_plan_build(p->m.host, &p->lifetimes, &p->plan));
  expect_ok(vs_frames_init(p->m.host, p->m.snapshot, &p->frames));
}

static inline void played_end(played *p) {
  vs_frames_deinit(p->m.host, &p->frames);
  vs_replay_plan_deinit(p->m.host, &p->plan);
  vs_lifetimes_deinit(p->m.host, &p->lifetimes);
  made_end(&p->m);
}

#endif
