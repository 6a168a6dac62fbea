/* What subjects (files, functions, lines) are told by: sets of weighted features, and how similar two of them are.
 *
 * A feature is a hash, such as that of the name of a called function; its weight is how often it was seen. */
#ifndef VS_DIFF_FEATURES_H
#define VS_DIFF_FEATURES_H

#include "base/hash.h"
#include "base/vec.h"

typedef struct vs_feature {
  uint64_t hash, weight;
  uint32_t subject;
} vs_feature;

/* Invariant once sorted: by subject, then by hash, each pair once; those of subject i are list[ends[i - 1], ends[i]). */
typedef struct vs_features {
  VS_VEC(vs_feature) list;
  VS_VEC(uint32_t) ends; /* empty until sorted */
} vs_features;

void vs_features_deinit(const vs_host *host, vs_features *features);
VS_MUST_CHECK vs_status vs_features_add(const vs_host *host, vs_features *features, uint32_t subject,
                                        uint64_t hash, uint64_t weight);
/* After the last one was added, for subjects 0 to count - 1. */
VS_MUST_CHECK vs_status vs_features_sort(const vs_host *host, vs_features *features, uint32_t count);

enum { VS_SIMILARITY_MOST = 1000 };

/* The weights that two subjects share, in thousandths of those that one of them has (Jaccard's measure, weighted); 0 where neither
 * has any. */
uint32_t vs_features_similarity(const vs_features *a, uint32_t in_a, const vs_features *b, uint32_t in_b);

#endif
