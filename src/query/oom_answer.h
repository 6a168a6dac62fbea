/* The answer of "oom" before it is written. */
#ifndef VS_QUERY_OOM_ANSWER_H
#define VS_QUERY_OOM_ANSWER_H

#include "analyze/remedies.h"
#include "query/replays.h"
#include "query/told.h"

/* Whether remedies were searched, and if not, why. */
typedef enum vs_remedy_search {
  VS_SEARCHED,
  VS_NOT_ASKED_FOR,
  VS_NO_FAILURE,
  VS_OTHER_ALLOCATOR, /* which is not replayed */
} vs_remedy_search;

typedef struct vs_oom_answer {
  vs_told told;
  const vs_oom *failure; /* the last one; NULL: no request failed */
  vs_remedy_search search;
  /* From here on meaningful where VS_SEARCHED: */
  const vs_replay_cache *replays; /* borrowed from the device */
  vs_remedies remedies;
} vs_oom_answer;

static inline const vs_remedy_part *vs_remedy_part_at(const vs_remedies *remedies, const vs_remedy *remedy,
                                                      uint32_t index) {
  VS_ASSERT(index < remedy->part_count);
  return &remedies->parts.data[remedy->first_part + index];
}

/* The member "lines", and "summary": all of it in one line. */
void vs_oom_lines(vs_call *call, const vs_oom_answer *answer);

#endif
