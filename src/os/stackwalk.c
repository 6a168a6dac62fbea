#include "os/stackwalk.h"
#include "base/hash.h"
#include "base/hot.h"
#include "os/pages.h"
#include "os/past_walks.h"
#include "os/thread.h"
#include "os/unwind.h"
#include <pthread.h>
#include <stdatomic.h>

/* On aarch64 clang's __builtin_dwarf_cfa is the address of the frame record, whatever lies behind that: no walk could begin there. */
#if defined(__x86_64__) || (defined(__aarch64__) && !defined(__clang__))
#define VS_HAS_STACKWALK 1
#else
#define VS_HAS_STACKWALK 0
#endif

bool vs_stackwalk_is_supported(void) { return VS_HAS_STACKWALK; }

/* ---- the cache of rules
 *
 * One word each: the low RULE_BITS are the rule, the others identify the program counter. A bijection maps the 48 bits of an address;
 * the high bits of the result choose the bucket, so the low bits identify the address in it. Threads read and store without a
 * lock: a word is read and stored as a whole, and a rule that was overwritten is searched again. */

enum {
  ADDRESS_BITS = 48,
  BUCKET_BITS = 14,
  BUCKET_WAYS = 8, /* a cache line */
  NAME_BITS = ADDRESS_BITS - BUCKET_BITS,
  RULE_BITS = 64 - NAME_BITS,
  KIND_BITS = 3,
  CFA_BITS = 17,
  FP_BITS = 9,
  ONLY_RETURN = 1 << (KIND_BITS + CFA_BITS + FP_BITS),
};
_Static_assert(KIND_BITS + CFA_BITS + FP_BITS + 1 <= RULE_BITS, "a rule fits");
_Static_assert(VS_UNWIND_MOST_CFA < 1 << CFA_BITS && VS_UNWIND_FP_AT_FP < 1 << FP_BITS, "its parts fit");

typedef struct bucket {
  _Alignas(64) _Atomic uint64_t entries[BUCKET_WAYS];
} bucket;

static bucket rules[1 << BUCKET_BITS];
static VS_HOT _Atomic uint32_t rules_version;

static uint64_t pack(vs_unwind_rule rule) {
  return (uint64_t)rule.kind | (uint64_t)rule.cfa << KIND_BITS | (uint64_t)rule.fp << (KIND_BITS + CFA_BITS) |
         (rule.saves_only_return ? (uint64_t)ONLY_RETURN : 0);
}

static inline vs_unwind_rule unpack(uint64_t packed) {
  return (vs_unwind_rule){.kind = (vs_unwind_kind)(packed & ((1 << KIND_BITS) - 1)),
                          .cfa = (uint32_t)(packed >> KIND_BITS) & ((1 << CFA_BITS) - 1),
                          .fp = (uint32_t)(packed >> (KIND_BITS + CFA_BITS)) & ((1 << FP_BITS) - 1),
                          .saves_only_return = (packed & ONLY_RETURN) != 0};
}

static uint64_t __attribute__((noinline)) search_rule(bucket *b, uint64_t name, uint64_t pc) {
  const uint64_t packed = pack(vs_unwind_find(pc));
  const uint64_t entry = name << RULE_BITS | packed;
  for (unsigned i = 0; i < BUCKET_WAYS; i++) {
    uint64_t empty = 0;
    if (atomic_compare_exchange_strong_explicit(&b->entries[i], &empty, entry, memory_order_relaxed,
                                                memory_order_relaxed))
      return packed;
  }
  atomic_store_explicit(&b->entries[name & (BUCKET_WAYS - 1)], entry, memory_order_relaxed);
  return packed;
}

/* The rule of a return address, which is that of the call before it. */
static inline vs_unwind_rule rule_of(uint64_t address) {
  const uint64_t pc = address - 1;
  if (pc >> ADDRESS_BITS != 0) return (vs_unwind_rule){.kind = VS_UNWIND_END};
  const uint64_t shuffled = (pc * UINT64_C(0x9e3779b97f4a7c15)) & ((UINT64_C(1) << ADDRESS_BITS) - 1);
  const uint64_t name = shuffled & ((UINT64_C(1) << NAME_BITS) - 1);
  bucket *b = &rules[shuffled >> NAME_BITS];
  for (unsigned i = 0; i < BUCKET_WAYS; i++) {
    const uint64_t entry = atomic_load_explicit(&b->entries[i], memory_order_relaxed);
    if (entry >> RULE_BITS == name && entry != 0) return unpack(entry & ((UINT64_C(1) << RULE_BITS) - 1));
  }
  return unpack(search_rule(b, name, pc));
}

void vs_stackwalk_forget(void) {
  for (unsigned b = 0; b < 1 << BUCKET_BITS; b++)
    for (unsigned i = 0; i < BUCKET_WAYS; i++)
      if (atomic_load_explicit(&rules[b].entries[i], memory_order_relaxed) != 0)
        atomic_store_explicit(&rules[b].entries[i], 0, memory_order_relaxed);
  atomic_fetch_add_explicit(&rules_version, 1, memory_order_relaxed);
}

/* ---- a thread's walks */

typedef struct walker {
  uint64_t low, high; /* of the stack: [low, high) */
  uint32_t version;   /* of the rules by which the frames were found */
  uint32_t count;     /* frames[0 .. count): the last walk, outermost first */
  bool is_cut;
  volatile bool is_busy;
  uint64_t note, note_before; /* what the caller noted, and what was there when the walk began */
  vs_past_walks *past;        /* NULL until there is something to keep */
  bool has_no_past;           /* there is no memory for it */
  vs_stackwalk_frame frames[VS_STACKWALK_MOST]; /* outermost first */
  vs_stackwalk_frame
      fresh[VS_STACKWALK_MOST]; /* of this walk, innermost first, until it meets the one before */
} walker;

/* initial-exec, because other thread-local variables may call malloc at their first use. */
static _Thread_local walker *own __attribute__((tls_model("initial-exec")));
static _Thread_local bool is_starting __attribute__((tls_model("initial-exec")));

static vs_thread_exit_hook exit_hook;

static void end_thread(void *value) {
  own = NULL;
  is_starting = true; /* no walk while the thread is being ended */
  vs_past_walks_destroy(((walker *)value)->past);
  vs_pages_unmap(value, sizeof(walker));
}

static void make_exit_hook(void) {
  if (vs_thread_exit_hook_make(&exit_hook, end_thread) != VS_OK) exit_hook.is_made = false;
}

/* The bounds of the thread's stack. For a program's first thread the C library reads a file, so this is called once
 * per thread. */
static bool find_stack(walker *w) {
  pthread_attr_t attributes;
  void *low = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
  const bool found = pthread_attr_getstack(&attributes, &low, &size) == 0;
  (void)pthread_attr_destroy(&attributes);
  w->low = (uint64_t)(uintptr_t)low;
  w->high = w->low + size;
  return found;
}

static walker *__attribute__((noinline)) start_thread(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (!VS_HAS_STACKWALK || is_starting) return NULL;
  is_starting = true; /* the following calls may call malloc, which may call a recorder */
  (void)pthread_once(&once, make_exit_hook);
  void *memory = NULL;
  if (!exit_hook.is_made || vs_pages_map(sizeof(walker), VS_PAGES_READY, &memory) != VS_OK) return NULL;
  walker *w = memory;
  if (!find_stack(w)) {
    vs_pages_unmap(memory, sizeof(walker));
    return NULL; /* is_starting stays true, so it is not tried again */
  }
  vs_thread_exit_hook_set(&exit_hook, w);
  is_starting = false;
  own = w;
  return w;
}

/* ---- walking */

typedef const uint64_t __attribute__((may_alias)) word;

/* To a sanitizer stack slots are variables of other functions, so it may not check these reads. */
__attribute__((no_sanitize("address", "undefined", "thread"))) static inline uint64_t load(uint64_t address) {
  return *(const volatile word *)(uintptr_t)address;
}

/* Whether a word may be read there: within the stack, and not below `sp`. */
static inline bool is_live(const walker *w, uint64_t sp, uint64_t address) {
  return address >= sp && address <= w->high - sizeof(uint64_t) && address % sizeof(uint64_t) == 0;
}

/* A return address without the signature that some machines add. */
static inline uint64_t plain(uint64_t address) {
#if defined(__aarch64__)
  return address & ((UINT64_C(1) << ADDRESS_BITS) - 1);
#else
  return address;
#endif
}

/* The caller's frame whose registers were saved in [from->sp, cfa). False: there is none. */
static inline bool enter(const walker *w, const vs_stackwalk_frame *from, uint64_t cfa, uint64_t return_slot,
                         uint64_t fp_slot, vs_stackwalk_frame *to) {
  if (cfa <= from->sp || cfa > w->high || !is_live(w, from->sp, return_slot)) return false;
  to->address = plain(load(return_slot));
  to->return_slot = (const uint64_t *)(uintptr_t)return_slot;
  to->sp = cfa;
  to->fp_slot = NULL;
  to->fp = from->fp;
  if (fp_slot != 0) {
    if (!is_live(w, from->sp, fp_slot)) return false;
    to->fp = load(fp_slot);
    to->fp_slot = (const uint64_t *)(uintptr_t)fp_slot;
  }
  return to->address != 0;
}

/* The slot of a value that was not read from the stack. It contains 0: no return address is 0, and a lost frame
 * pointer is 0. */
static const uint64_t zero;

/* Code without tables: a frame pointer points to its saved predecessor, and the return address follows
 * it. The caller's stack pointer is known on x86-64 only, where both are at the frame's outer end. */
static bool enter_by_guess(const walker *w, const vs_stackwalk_frame *from, vs_stackwalk_frame *to) {
#if defined(__x86_64__)
  if (!is_live(w, from->sp, from->fp) || !is_live(w, from->sp, from->fp + 8)) return false;
  return enter(w, from, from->fp + 16, from->fp + 8, from->fp, to);
#else
  (void)w;
  (void)from;
  (void)to;
  return false;
#endif
}

static inline bool step(const walker *w, vs_stackwalk_frame *from, vs_stackwalk_frame *to) {
  const vs_unwind_rule rule = rule_of(from->address);
  uint64_t cfa;
  from->uses_fp = rule.kind != VS_UNWIND_SP && rule.kind != VS_UNWIND_END;
  switch (rule.kind) {
    case VS_UNWIND_SP: cfa = from->sp + (uint64_t)rule.cfa * 8; break;
    case VS_UNWIND_FP: cfa = from->fp + (uint64_t)rule.cfa * 8; break;
    case VS_UNWIND_AT_FP:
      cfa = from->fp - (uint64_t)rule.cfa * 8;
      if (!is_live(w, from->sp, cfa)) return false;
      cfa = load(cfa);
      break;
    case VS_UNWIND_GUESS: return enter_by_guess(w, from, to);
    default: return false;
  }
#if defined(__aarch64__)
  uint64_t fp_slot = (rule.kind == VS_UNWIND_SP ? from->sp : from->fp) + (uint64_t)rule.fp * 8 - 8;
#else
  uint64_t fp_slot = cfa - (uint64_t)rule.fp * 8;
#endif
  if (rule.fp == VS_UNWIND_SAME_FP || rule.fp == VS_UNWIND_LOST_FP) fp_slot = 0;
  if (rule.fp == VS_UNWIND_FP_AT_FP) fp_slot = from->fp;
#if defined(__aarch64__)
  const uint64_t return_slot = rule.saves_only_return ? fp_slot : fp_slot + 8;
  if (rule.saves_only_return) fp_slot = 0;
#else
  const uint64_t return_slot = cfa - 8;
#endif
  if (!enter(w, from, cfa, return_slot, fp_slot, to)) return false;
  if (rule.fp == VS_UNWIND_LOST_FP) {
    to->fp = 0;
    to->fp_slot = &zero;
  }
  if (rule.kind == VS_UNWIND_AT_FP) to->return_slot = &zero;
  return true;
}

/* ---- meeting the walk before */

/* Whether the slots of `f` still have the values that were read from them. */
static inline bool is_unchanged(const vs_stackwalk_frame *f) {
  return plain(load((uint64_t)(uintptr_t)f->return_slot)) == f->address &&
         (!f->needs_fp || f->fp_slot == NULL || load((uint64_t)(uintptr_t)f->fp_slot) == f->fp);
}

/* Whether a walk at `f` continues like the last walk did from `before`, as long as memory is unchanged. */
static inline bool is_equal(const vs_stackwalk_frame *f, const vs_stackwalk_frame *before) {
  return f->sp == before->sp && f->address == before->address && (!before->needs_fp || f->fp == before->fp);
}

/* Frame `f` of the last walk with the registers of this walk, which comes from the frame `inside`. */
static inline void take_over(const vs_stackwalk_frame *f, const vs_stackwalk_frame *inside,
                             vs_stackwalk_frame *to) {
  *to = *f;
  to->fp = f->fp_slot == NULL ? inside->fp : load((uint64_t)(uintptr_t)f->fp_slot);
}

/* The walk so far is fresh[0 .. *fresh), innermost first, and is at fresh[*fresh - 1]. Frames of the last walk that
 * are inside of it are dropped: *before is the number of the others. If the walk is at one of those, it takes over
 * the unchanged frames outside of it. True: all of them are unchanged, and the walk ends like the last one. */
static bool join(walker *w, uint32_t *fresh, uint32_t *before) {
  const vs_stackwalk_frame *at = &w->fresh[*fresh - 1];
  while (*before != 0 && w->frames[*before - 1].sp < at->sp) --*before;
  if (*before == 0 || !is_equal(at, &w->frames[*before - 1])) return false;
  uint32_t outside = *before - 1;
  while (outside != 0 && is_unchanged(&w->frames[outside - 1])) outside--;
  if (outside == 0) {
    --*fresh; /* it is frames[*before - 1] */
    return true;
  }
  w->fresh[*fresh - 1].uses_fp = w->frames[*before - 1].uses_fp;
  for (uint32_t i = *before - 1; i > outside && *fresh < VS_STACKWALK_MOST; i--, ++*fresh)
    take_over(&w->frames[i - 1], &w->fresh[*fresh - 1], &w->fresh[*fresh]);
  *before = outside;
  return false;
}

/* Appends the fresh frames to the `kept` outermost ones of the last walk. */
static void append(walker *w, uint32_t kept, uint32_t fresh) {
  uint64_t sum = kept == 0 ? 0 : w->frames[kept - 1].sum;
  bool needs_fp = kept != 0 && w->frames[kept - 1].fp_slot == NULL && w->frames[kept - 1].needs_fp;
  w->count = kept;
  while (fresh != 0) {
    vs_stackwalk_frame *f = &w->frames[w->count++];
    *f = w->fresh[--fresh];
    sum = sum * VS_STACKWALK_BASE + vs_hash_u64(f->address);
    f->sum = sum;
    f->needs_fp = f->uses_fp || needs_fp;
    needs_fp = f->needs_fp && f->fp_slot == NULL;
  }
}

/* True: it joined the last walk. */
static bool walk_from(walker *w, const vs_stackwalk_frame *first) {
  uint32_t fresh = 1, before = w->is_cut ? 0 : w->count;
  w->fresh[0] = *first;
  bool is_joined;
  for (;;) {
    is_joined = join(w, &fresh, &before);
    w->is_cut = is_joined ? before + fresh > VS_STACKWALK_MOST : fresh == VS_STACKWALK_MOST;
    if (is_joined || w->is_cut || !step(w, &w->fresh[fresh - 1], &w->fresh[fresh])) break;
    fresh++;
  }
  if (is_joined && w->is_cut) return false;
  append(w, is_joined ? before : 0, fresh);
  return true;
}

static inline vs_stackwalk_frame first_frame(vs_stackwalk_start start) {
  const uint64_t *frame = start.frame;
  return (vs_stackwalk_frame){.address = plain(frame[1]),
                              .fp = frame[0],
                              .sp = (uint64_t)(uintptr_t)start.cfa,
                              .return_slot = &frame[1],
                              .fp_slot = &frame[0]};
}

static inline bool is_own_stack(const walker *w, uint64_t sp) { return sp >= w->low && sp < w->high; }

static void walk(walker *w, vs_stackwalk_start start) {
  const vs_stackwalk_frame first = first_frame(start);
  const uint32_t version = atomic_load_explicit(&rules_version, memory_order_relaxed);
  if (w->version != version) w->count = 0;
  w->version = version;
  const uint32_t count = w->count;
  const uint64_t sum = count == 0 ? 0 : w->frames[count - 1].sum;
  if (!is_own_stack(w, first.sp)) { /* another one, whose bounds are unknown */
    w->fresh[0] = first;
    append(w, 0, 1);
    w->is_cut = true;
  } else if (!walk_from(w, &first)) {
    w->count = 0; /* together they are too many frames: walk again without the last walk */
    w->is_cut = false;
    (void)walk_from(w, &first);
  }
  if (w->count != count || w->frames[count - 1].sum != sum) w->note = 0;
  w->note_before = w->note;
}

/* NULL: there are no walks now. */
static inline walker *enter_thread(void) {
  walker *w = own;
  if (__builtin_expect(w == NULL, 0)) {
    w = start_thread();
    if (w == NULL) return NULL;
  }
  if (w->is_busy) return NULL;
  w->is_busy = true;
  atomic_signal_fence(memory_order_seq_cst);
  return w;
}

static inline void leave_thread(walker *w) {
  atomic_signal_fence(memory_order_seq_cst);
  w->is_busy = false;
}

uint64_t vs_stackwalk_recall(vs_stackwalk_start start) {
  const vs_stackwalk_frame first = first_frame(start);
  walker *w = enter_thread();
  if (w == NULL) return 0;
  uint64_t note = 0;
  if (w->past != NULL && is_own_stack(w, first.sp))
    note = vs_past_walks_find(w->past, &first, w->high,
                              atomic_load_explicit(&rules_version, memory_order_relaxed));
  leave_thread(w);
  return note;
}

bool vs_stackwalk_begin(vs_stackwalk_start start, vs_stackwalk_result *result) {
  walker *w = enter_thread();
  if (w == NULL) return false;
  walk(w, start);
  *result =
      (vs_stackwalk_result){.frames = w->frames, .count = w->count, .is_cut = w->is_cut, .note = &w->note};
  return true;
}

static void __attribute__((noinline)) keep(walker *w) {
  if (w->past == NULL && !w->has_no_past) w->past = vs_past_walks_create();
  w->has_no_past = w->past == NULL;
  if (!w->has_no_past) vs_past_walks_keep(w->past, w->frames, w->count, w->high, w->version, w->note);
}

void vs_stackwalk_end(void) {
  walker *w = own;
  if (w->note != 0 && w->note != w->note_before && !w->is_cut) keep(w);
  leave_thread(w);
}
