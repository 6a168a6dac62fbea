/* The settings of an allocator: the values of PYTORCH_CUDA_ALLOC_CONF.
 *
 *   PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128,roundup_power2_divisions:[256:1,512:2,>:4]
 *
 * settings.def lists the keys (name, type, default, bounds, versions, meaning) for the parser, the report of effective
 * settings, --help and the documentation. torch_versions.def lists the versions of PyTorch whose rules can be followed. */
#ifndef VS_ALLOC_SETTINGS_H
#define VS_ALLOC_SETTINGS_H

#include "base/host.h"
#include "base/text.h"

#define VS_MIB UINT64_C(1048576)

#define VS_ALLOC_MIN_BLOCK  UINT64_C(512)
#define VS_ALLOC_SMALL_SIZE VS_MIB /* largest rounded size of a small pool */

/* From this rounded size on, a request gets a segment of its own size; below it, one of large_segment_size. */
#define VS_ALLOC_MIN_LARGE (10 * VS_MIB)

typedef enum vs_alloc_backend { VS_ALLOC_NATIVE, VS_ALLOC_ASYNC } vs_alloc_backend;

/* The forms of the message of an out-of-memory error; oom.c. */
typedef enum vs_alloc_oom_form {
  VS_ALLOC_OOM_SHORT,   /* "(GPU 0; 23.69 GiB total capacity; ..." */
  VS_ALLOC_OOM_CAPACTY, /* sentences, one of them misspelt */
  VS_ALLOC_OOM_ADVICE,  /* the advice is expandable_segments */
  VS_ALLOC_OOM_ALLOWED, /* and a limit is named */
  VS_ALLOC_OOM_MOVED,   /* and the documentation has its present address */
  VS_ALLOC_OOM_REASONS, /* and the advice depends on why */
} vs_alloc_oom_form;

/* What differs from version to version; one row of torch_versions.def. */
typedef struct vs_alloc_rules {
  const char *name;           /* "torch-2.15" */
  uint32_t version;           /* 215; settings.def says from which on a key is known */
  bool has_expandable;        /* expandable_segments exists */
  bool has_non_split_setting; /* max_non_split_rounding_mb exists; else the tolerance is one large segment */
  bool has_requested_bytes;   /* the statistic requested_bytes exists */
  bool has_device_counters;   /* num_sync_all_streams, num_device_alloc, num_device_free exist */
  bool has_rejections;        /* throw_on_cudamalloc_oom and num_oom_rejections exist */
  bool has_division_list;     /* roundup_power2_divisions may be a list */
  bool has_zero_divisions;    /* which may say 0 */
  bool has_private_bytes;     /* reserved_bytes_by_private_pools exists */
  bool rest_is_behind;        /* ">" in the list means sizes above the last one named, not from it on */
  bool resets_non_split;      /* every parse resets max_non_split_rounding_mb to a large segment */
  bool may_equal_segment;     /* max_split_size_mb may equal a large segment; else it has to be larger */
  bool
      orders_by_segment; /* of equal free blocks that of the oldest segment comes first, else the lowest address */
  vs_alloc_oom_form oom;
} vs_alloc_rules;

enum { VS_ALLOC_DIVISIONS = 16, VS_ALLOC_MOST_CLASSES = 16, VS_ALLOC_CLASS_NAME = 32, VS_ALLOC_TEXT = 512 };

/* Part of the card's memory or an absolute size: how many addresses an expandable segment reserves. */
typedef struct vs_alloc_reserve {
  bool is_set;
  bool is_fraction;
  double value; /* a fraction of the card, or GiB */
} vs_alloc_reserve;

typedef struct vs_alloc_settings {
  const vs_alloc_rules *rules; /* never NULL */
  vs_alloc_backend backend;
  uint64_t large_segment_size;     /* bytes */
  uint64_t max_split_size;         /* bytes; UINT64_MAX: unlimited */
  uint64_t max_non_split_rounding; /* bytes */
  uint64_t roundup_bypass;         /* bytes; larger requests ignore divisions (torch-1.13). UINT64_MAX: off */
  /* By size: [0] below 2 MiB, [i] from 2^i MiB; 0 and 1: none. */
  uint64_t roundup_divisions[VS_ALLOC_DIVISIONS];
  double garbage_collection_threshold; /* 0: off */
  double memory_fraction;              /* 1: no limit */
  bool expandable_segments;
  bool release_lock;      /* around calls of the driver */
  bool reject_over_limit; /* throw_on_cudamalloc_oom */
  bool capture_reuse;     /* graph_capture_record_stream_reuse */
  bool no_caching;        /* PYTORCH_NO_CUDA_MEMORY_CACHING: reported, not acted on */
  vs_alloc_reserve reserve;
  uint32_t class_count;
  struct {
    char name[VS_ALLOC_CLASS_NAME];
    vs_alloc_reserve reserve;
  } classes[VS_ALLOC_MOST_CLASSES];
  /* of pinned host memory: kept and reported, not acted on by this allocator of device memory */
  bool pinned_use_register, pinned_use_background_threads, pinned_free_catch_all;
  uint64_t pinned_register_threads, pinned_reserve_segment_size;
  uint64_t pinned_max_round_threshold, pinned_max_cached_size; /* bytes; UINT64_MAX: off */
  uint16_t text_size;
  char text[VS_ALLOC_TEXT]; /* the last settings string as it was given, cut where it is longer */
} vs_alloc_settings;

/* The rows of torch_versions.def; NULL for a name that is none. "torch-2.15" is the default. */
const vs_alloc_rules *vs_alloc_rules_find(vs_str name);
const vs_alloc_rules *vs_alloc_rules_default(void);

/* The row of the next newer version; NULL for the newest. */
const vs_alloc_rules *vs_alloc_rules_newer(const vs_alloc_rules *rules);

/* The rows, newest first. */
const vs_alloc_rules *vs_alloc_rules_list(uint32_t *count);

/* A row of settings.def. */
typedef enum vs_alloc_setting_kind {
  VS_ALLOC_PROFILE,
  VS_ALLOC_BACKEND,
  VS_ALLOC_FLAG,
  VS_ALLOC_SEGMENT_MIB,   /* above 10 */
  VS_ALLOC_ABOVE_SEGMENT, /* MiB, not below a large segment */
  VS_ALLOC_MIB,
  VS_ALLOC_SOME_MIB, /* 1 or more */
  VS_ALLOC_THREADS,  /* a power of two up to 128 */
  VS_ALLOC_DIVISION_LIST,
  VS_ALLOC_OPEN_FRACTION,   /* between 0 and 1, neither of them */
  VS_ALLOC_CLOSED_FRACTION, /* 0 and 1 included */
  VS_ALLOC_RESERVE,
  VS_ALLOC_RESERVE_LIST,
} vs_alloc_setting_kind;

typedef struct vs_alloc_setting {
  const char *key;
  const char *fallback; /* its default, in words */
  const char *bounds;   /* "True or False" */
  const char *sentence;
  vs_alloc_setting_kind kind;
  uint32_t since, until; /* versions of the rules that know it */
  bool is_native;        /* backend:cudaMallocAsync ignores it */
  size_t offset;         /* in vs_alloc_settings */
} vs_alloc_setting;

const vs_alloc_setting *vs_alloc_setting_list(uint32_t *count);

/* The environment variables that settings are taken from, the first that is set wins, though it be empty. */
enum { VS_ALLOC_VARIABLES = 4 };
extern const char *const vs_alloc_variables[VS_ALLOC_VARIABLES];

/* Given their values, NULL for those that are not set: which one counts; VS_ALLOC_VARIABLES: none. */
uint32_t vs_alloc_variable_choose(const char *const values[VS_ALLOC_VARIABLES]);

/* All defaults, by the default rules. */
void vs_alloc_settings_init(vs_alloc_settings *settings);

/* Bytes of the block that a request of up to 2^62 bytes needs: rounded up to 512, or by roundup_power2_divisions. */
uint64_t vs_alloc_settings_round(const vs_alloc_settings *settings, uint64_t size);

/* Applies a settings string as a run of PyTorch would. On every parse max_split_size_mb,
 * roundup_power2_divisions and garbage_collection_threshold go back to their defaults unless the string has
 * them, and max_non_split_rounding_mb to large_segment_size_mb as it is then; the others keep their values.
 * `profile` (ours alone) and then large_segment_size_mb count first, wherever they stand. All or nothing.
 *
 * Stricter than PyTorch, which accepts letters behind numbers, signs, numbers that wrap or are cut to what
 * fits, white space within words, missing and needless separators, empty lists; and which warns of reserves
 * that are none. It refuses in the middle, with half of the string in force.
 *
 * Fails: VS_BAD_FORMAT (`error`: the sentence, with "did you mean", and the byte), VS_LIMIT (more classes
 * than fit) */
VS_MUST_CHECK vs_status vs_alloc_settings_parse(vs_alloc_settings *settings, vs_str text, vs_error *error);

/* Whether a program takes these settings, whose version of PyTorch is not known: one version at least takes them, and none of them is ours alone.
 * Fails: as above; `error` is what the newest version says against them, without an offset */
VS_MUST_CHECK vs_status vs_alloc_settings_accepted(vs_str text, vs_error *error);

/* The same for the settings of a run that is replayed, however it came to them: a key also counts where the version has only
 * a function for it (VS_ALLOC_FUNCTION). Fails as above. */
VS_MUST_CHECK vs_status vs_alloc_settings_parse_run(vs_alloc_settings *settings, vs_str text,
                                                    vs_error *error);

/* One key by call: "max_split_size_mb", "128"; resets nothing. The error's byte is one of `value`, or none
 * when the key is wrong. Fails as above. */
VS_MUST_CHECK vs_status vs_alloc_settings_set(vs_alloc_settings *settings, vs_str key, vs_str value,
                                              vs_error *error);

/* The value of one setting as a settings string would say it, or "unlimited", "off". */
void vs_alloc_setting_write(const vs_alloc_settings *settings, const vs_alloc_setting *setting, vs_text *out);

/* Appends the effective settings, "key value" a line, and "(default: value)" behind those that differ from
 * theirs. Keys that the rules do not know are left out. */
VS_MUST_CHECK vs_status vs_alloc_settings_write(const vs_alloc_settings *settings, vs_text *out);

/* Appends one sentence a line for every combination that does nothing or is known to hurt (a threshold
 * without a fraction; native keys with the asynchronous back end; max_split_size_mb with expandable segments
 * ...). */
VS_MUST_CHECK vs_status vs_alloc_settings_warn(const vs_alloc_settings *settings, vs_text *out);

#endif
