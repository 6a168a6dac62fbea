#include "dryrun/plan_options.h"

/* A member of vs_dryrun_plan: a text, or a number with its flag. */
typedef struct plan_option {
  const char *name;
  bool is_number;
  size_t value, has; /* offsets; `has` only of a number */
} plan_option;

static const plan_option options[] = {
#define VS_PLAN_TEXT(name_, member) {.name = name_, .value = offsetof(vs_dryrun_plan, member)},
#define VS_PLAN_NUMBER(name_, member, has_member) \
  {.name = name_,                                 \
   .is_number = true,                             \
   .value = offsetof(vs_dryrun_plan, member),     \
   .has = offsetof(vs_dryrun_plan, has_member)},
#include "dryrun/plan_options.def"
#undef VS_PLAN_TEXT
#undef VS_PLAN_NUMBER
};
enum { COUNT = sizeof options / sizeof options[0] };

unsigned vs_plan_option_count(void) { return COUNT; }

const char *vs_plan_option_name(unsigned option) {
  VS_ASSERT(option < COUNT);
  return options[option].name;
}

/* The value of a text. */
static const char *text_in(const vs_dryrun_plan *plan, const plan_option *option) {
  const char *text;
  memcpy(&text, (const char *)plan + option->value, sizeof text);
  return text;
}

static bool has_number(const vs_dryrun_plan *plan, const plan_option *option) {
  bool has;
  memcpy(&has, (const char *)plan + option->has, sizeof has);
  return has;
}

bool vs_plan_option_is_given(const vs_dryrun_plan *plan, unsigned option) {
  VS_ASSERT(option < COUNT);
  return options[option].is_number ? has_number(plan, &options[option])
                                   : text_in(plan, &options[option]) != NULL;
}

bool vs_plan_option_set(vs_dryrun_plan *plan, unsigned option, const char *value) {
  VS_ASSERT(option < COUNT);
  const plan_option *o = &options[option];
  const bool has = *value != 0;
  uint64_t number = 0;
  if (!o->is_number) {
    const char *text = has ? value : NULL;
    memcpy((char *)plan + o->value, &text, sizeof text);
    return true;
  }
  if (has && !vs_parse_u64(vs_str_from(value), &number)) return false;
  memcpy((char *)plan + o->value, &number, sizeof number);
  memcpy((char *)plan + o->has, &has, sizeof has);
  return true;
}

void vs_plan_option_put(vs_text *text, const vs_dryrun_plan *plan, unsigned option) {
  VS_ASSERT(vs_plan_option_is_given(plan, option));
  uint64_t number;
  if (!options[option].is_number) {
    vs_text_cstr(text, text_in(plan, &options[option]));
    return;
  }
  memcpy(&number, (const char *)plan + options[option].value, sizeof number);
  vs_text_u64(text, number);
}
