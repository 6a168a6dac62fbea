#include "dryrun/vary_run.h"
#include "dryrun/plan_options.h"

/* ---- words */

static vs_status push(vs_vary_run *run, const char *word) {
  VS_TRY(vs_vec_reserve(run->host, &run->words, 1));
  run->words.data[run->words.count++] = (char *)(uintptr_t)word;
  return VS_OK;
}

/* "--" + "batch" + "" and the like, as one text that lives as long as the run. NULL: no memory. */
static const char *make(vs_vary_run *run, vs_str before, vs_str name, const char *after) {
  const size_t tail = strlen(after), size = before.size + name.size + tail + 1;
  if (vs_vec_reserve(run->host, &run->made, 1) != VS_OK) return NULL;
  char *text = vs_host_alloc(run->host, size);
  if (text == NULL) return NULL;
  if (before.size != 0) memcpy(text, before.data, before.size);
  if (name.size != 0) memcpy(text + before.size, name.data, name.size);
  memcpy(text + before.size + name.size, after, tail + 1);
  run->made.data[run->made.count++] = (vs_vary_made){.text = text, .size = size};
  return text;
}

static vs_status push_made(vs_vary_run *run, vs_str before, vs_str name, const char *after) {
  const char *text = make(run, before, name, after);
  return text == NULL ? VS_NO_MEMORY : push(run, text);
}

/* "--batch=" of "--batch=8". */
static vs_str with_equals(const char *word) {
  size_t size = 0;
  while (word[size] != '=') size++;
  return (vs_str){word, size + 1};
}

/* Puts what stands for the name in the command, whose value is not empty, in the place of `word`. */
static vs_status put_value(vs_vary_run *run, const vs_vary_name *name, const char *word, const char *value) {
  if (name->kind == VS_VARY_FLAG) return push(run, word);
  if (name->is_attached) return push_made(run, with_equals(word), VS_STR(""), value);
  VS_TRY(push(run, word));
  return push(run, value);
}

/* Adds the name and its value at the end of the command. */
static vs_status add_value(vs_vary_run *run, const vs_vary_name *name, const char *value) {
  const bool is_exact = name->text.data[0] == '-';
  VS_TRY(push_made(run, is_exact ? VS_STR("") : VS_STR("--"), is_exact ? name->text : name->bare, ""));
  return name->kind == VS_VARY_FLAG ? VS_OK : push(run, value);
}

static bool is_left_away(const vs_vary_name *name, const char *value) {
  return name->kind == VS_VARY_FLAG ? strcmp(value, "off") == 0 : *value == 0;
}

/* The name that stands at this word of the command; vary->name_count: none. */
static uint32_t name_at(const vs_vary *vary, size_t word) {
  uint32_t i = 0;
  while (i < vary->name_count && vary->names[i].word != word) i++;
  return i;
}

/* ---- placeholders */

/* The name whose placeholder begins at `at`; vary->name_count: none. */
static uint32_t placed_at(const vs_vary *vary, const char *at) {
  uint32_t n = 0;
  while (n < vary->name_count && !vs_vary_is_placed(&vary->names[n], at)) n++;
  return n;
}

static bool has_placeholders(const vs_vary *vary, const char *word) {
  while (*word != 0 && placed_at(vary, word) == vary->name_count) word++;
  return *word != 0;
}

/* A word with the values in place of its placeholders. */
static vs_status push_filled(vs_vary_run *run, const vs_vary *vary, uint32_t number, const char *word) {
  if (!has_placeholders(vary, word)) return push(run, word);
  vs_text text;
  vs_text_init(&text, run->host, NULL);
  while (*word != 0) {
    const uint32_t n = placed_at(vary, word);
    if (n == vary->name_count) {
      vs_text_byte(&text, (uint8_t)*word++);
      continue;
    }
    vs_text_cstr(&text, vs_vary_value(vary, number, n));
    word += vary->names[n].bare.size + 2;
  }
  vs_status status = text.status;
  if (status == VS_OK) status = push_made(run, vs_text_view(&text), VS_STR(""), "");
  vs_text_deinit(&text);
  return status;
}

/* ---- the command */

static vs_status compose(vs_vary_run *run, const vs_vary *vary, uint32_t number) {
  char *const *command = vary->plan->command;
  for (size_t i = 0; command[i] != NULL; i++) {
    const uint32_t n = name_at(vary, i);
    if (n == vary->name_count) {
      VS_TRY(push_filled(run, vary, number, command[i]));
      continue;
    }
    const vs_vary_name *name = &vary->names[n];
    const char *value = vs_vary_value(vary, number, n), *word = command[i];
    if (name->kind == VS_VARY_OPTION && !name->is_attached) i++; /* the old value */
    if (!is_left_away(name, value)) VS_TRY(put_value(run, name, word, value));
  }
  for (uint32_t n = 0; n < vary->name_count; n++) {
    const char *value = vs_vary_value(vary, number, n);
    if (vs_vary_is_added(&vary->names[n]) && !is_left_away(&vary->names[n], value))
      VS_TRY(add_value(run, &vary->names[n], value));
  }
  return push(run, NULL);
}

/* ---- what is not in the command */

static vs_status set_variable(vs_vary_run *run, const vs_vary_name *name, const char *value) {
  const char *text = make(run, VS_STR(""), name->bare, "");
  if (text == NULL) return VS_NO_MEMORY;
  run->variables[run->variable_count++] =
      (vs_child_variable){.name = text, .value = *value == 0 ? NULL : value};
  return VS_OK;
}

static vs_status set_around(vs_vary_run *run, const vs_vary *vary, uint32_t number) {
  for (uint32_t n = 0; n < vary->name_count; n++) {
    const vs_vary_name *name = &vary->names[n];
    const char *value = vs_vary_value(vary, number, n);
    if (name->kind == VS_VARY_ENVIRONMENT) VS_TRY(set_variable(run, name, value));
    if (name->kind == VS_VARY_DRYRUN && !vs_plan_option_set(&run->plan, name->option, value))
      return VS_BAD_ARGUMENT; /* vs_vary_init has refused it */
  }
  return VS_OK;
}

vs_status vs_vary_run_init(vs_vary_run *run, const vs_vary *vary, uint32_t number) {
  *run = (vs_vary_run){.host = vary->host, .plan = *vary->plan};
  run->plan.vary = NULL;
  run->plan.find_largest = NULL;
  VS_TRY(compose(run, vary, number));
  VS_TRY(set_around(run, vary, number));
  run->plan.command = run->words.data;
  return VS_OK;
}

void vs_vary_run_deinit(vs_vary_run *run) {
  for (size_t i = 0; i < run->made.count; i++)
    vs_host_free(run->host, run->made.data[i].text, run->made.data[i].size);
  vs_vec_free(run->host, &run->made);
  vs_vec_free(run->host, &run->words);
}

/* ---- the command line of the run alone */

typedef struct line {
  vs_text *scratch;
  void *ctx;
  void (*each)(void *ctx, vs_str word);
} line;

static vs_text *begin(const line *l) {
  l->scratch->bytes.count = 0;
  return l->scratch;
}

static void end(const line *l) {
  if (l->scratch->status == VS_OK) l->each(l->ctx, vs_text_view(l->scratch));
}

static void put_variables(const line *l, const vs_vary_run *run) {
  if (run->variable_count == 0) return;
  l->each(l->ctx, VS_STR("env"));
  for (size_t i = 0; i < run->variable_count; i++) {
    if (run->variables[i].value != NULL) continue;
    l->each(l->ctx, VS_STR("-u"));
    l->each(l->ctx, vs_str_from(run->variables[i].name));
  }
  for (size_t i = 0; i < run->variable_count; i++) {
    if (run->variables[i].value == NULL) continue;
    vs_text_format(begin(l), "%s=", run->variables[i].name);
    vs_text_cstr(l->scratch, run->variables[i].value);
    end(l);
  }
}

void vs_vary_run_alone(const vs_vary_run *run, vs_text *scratch, void *ctx,
                       void (*each)(void *ctx, vs_str word)) {
  const line l = {.scratch = scratch, .ctx = ctx, .each = each};
  put_variables(&l, run);
  each(ctx, VS_STR("vramscope"));
  each(ctx, VS_STR("dryrun"));
  for (unsigned i = 0; i < vs_plan_option_count(); i++) {
    if (!vs_plan_option_is_given(&run->plan, i)) continue;
    vs_text_format(begin(&l), "--%s", vs_plan_option_name(i));
    end(&l);
    begin(&l);
    vs_plan_option_put(scratch, &run->plan, i);
    end(&l);
  }
  if (run->plan.is_random) each(ctx, VS_STR("--random"));
  each(ctx, VS_STR("--"));
  for (size_t i = 0; run->plan.command[i] != NULL; i++) each(ctx, vs_str_from(run->plan.command[i]));
}
