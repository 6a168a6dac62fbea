#include "dryrun/vary.h"
#include "base/path.h"
#include "dryrun/plan_options.h"

/* An axis while it is read. */
typedef struct reading {
  vs_vary *vary;
  const char *whole; /* as given, for errors */
  vs_error *error;
} reading;

#define REFUSE(r, format, ...)                                                            \
  vs_fail((r)->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s %S: " format, (r)->vary->option, \
          vs_str_from((r)->whole), __VA_ARGS__)

/* ---- words of the command */

static vs_str from(vs_str text, size_t at) { return (vs_str){text.data + at, text.size - at}; }

/* The text before its first '=', all of it if it has none. */
static vs_str head_of(vs_str text) {
  size_t size = 0;
  while (size < text.size && text.data[size] != '=') size++;
  return (vs_str){text.data, size};
}

static char plain(char c) { return c == '_' ? '-' : c; }

static bool is_same_name(vs_str a, vs_str b) {
  if (a.size != b.size) return false;
  for (size_t i = 0; i < a.size; i++)
    if (plain(a.data[i]) != plain(b.data[i])) return false;
  return true;
}

static bool is_long(vs_str word) { return word.size > 2 && vs_str_starts(word, VS_STR("--")); }
static bool is_exact(const vs_vary_name *name) { return name->text.data[0] == '-'; }
static bool is_short(const vs_vary_name *name) { return is_exact(name) && !is_long(name->text); }

/* Whether the name stands at this word of the command; then *kind and *is_attached say how. A name without a prefix or dashes may be an
 * option or an argument. */
static bool is_at(const vs_vary_name *name, vs_str word, vs_vary_kind *kind, bool *is_attached) {
  const vs_str head = head_of(word);
  *is_attached = head.size != word.size;
  *kind = name->kind == VS_VARY_FLAG ? VS_VARY_FLAG : VS_VARY_OPTION;
  if (is_short(name)) return vs_str_equal(head, name->text);
  if (is_long(word)) return is_same_name(from(head, 2), name->bare);
  if (is_exact(name) || name->kind == VS_VARY_FLAG || !*is_attached) return false;
  size_t pluses = 0;
  while (pluses < 2 && pluses < head.size && head.data[pluses] == '+') pluses++;
  *kind = VS_VARY_ARGUMENT;
  return is_same_name(from(head, pluses), name->bare);
}

/* The place of the name in the command, if it has one; returns how often it is there. */
static unsigned find(vs_vary_name *name, char *const *command) {
  unsigned count = 0;
  for (size_t i = 1; command[0] != NULL && command[i] != NULL; i++) {
    vs_vary_kind kind;
    bool is_attached;
    if (!is_at(name, vs_str_from(command[i]), &kind, &is_attached)) continue;
    if (count++ != 0) continue;
    name->word = i;
    name->kind = kind;
    name->is_attached = is_attached;
  }
  return count;
}

bool vs_vary_is_placed(const vs_vary_name *name, const char *at) {
  if (name->kind != VS_VARY_PLACEHOLDER || at[0] != '{') return false;
  return strncmp(at + 1, name->bare.data, name->bare.size) == 0 && at[1 + name->bare.size] == '}';
}

/* Whether a word of the command has the placeholder. */
static bool has_place(const vs_vary_name *name, const char *word) {
  while (*word != 0 && !vs_vary_is_placed(name, word)) word++;
  return *word != 0;
}

static bool is_placeholder(const vs_vary_name *name, char *const *command) {
  const vs_vary_name place = {.bare = name->bare, .kind = VS_VARY_PLACEHOLDER};
  for (size_t i = 0; command[i] != NULL; i++)
    if (has_place(&place, command[i])) return true;
  return false;
}

/* Whether the word behind an option cannot be its value: there is none, or it is an option itself. A number may be negative. */
static bool is_no_value(const char *word) {
  if (word == NULL) return true;
  return word[0] == '-' && word[1] != 0 && word[1] != '.' && (word[1] < '0' || word[1] > '9');
}

/* A shell that gets a script on its command line: words at its end are parameters of the script, which nearly always ignores them. */
static bool is_script(char *const *command) {
  static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh", "fish"};
  const vs_str program = vs_path_base(vs_str_from(command[0]));
  bool is_shell = false;
  for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
    is_shell |= vs_str_equal(program, vs_str_from(shells[i]));
  for (size_t i = 1; is_shell && command[i] != NULL && command[i][0] == '-' && command[i][1] != '-'; i++)
    if (vs_str_contains(vs_str_from(command[i]), VS_STR("c"))) return true;
  return false;
}

/* ---- names */

static vs_status check_place(reading *r, const vs_vary_name *name, unsigned count) {
  char *const *command = r->vary->plan->command;
  if (count > 1) return REFUSE(r, "the command has \"%S\" %u times", name->bare, count);
  if (count == 0 && is_script(command))
    return REFUSE(r,
                  "\"%S\" is not a word of the command, and a word at the end of a shell's script may have "
                  "no effect: write {%S} in the script, or use env:%S and $%S in it",
                  name->text, name->bare, name->bare, name->bare);
  if (count == 0) return VS_OK;
  if (name->kind == VS_VARY_FLAG && name->is_attached)
    return REFUSE(r, "\"%s\" has a value, so it is no flag: %S=VALUE,...", command[name->word], name->bare);
  if (name->kind == VS_VARY_OPTION && !name->is_attached && is_no_value(command[name->word + 1]))
    return REFUSE(r, "\"%s\" has no value in the command: flag:%S=off,on", command[name->word], name->bare);
  return VS_OK;
}

static vs_status place(reading *r, vs_vary_name *name) {
  if (name->bare.size == 0 || name->bare.data[0] == '-') return REFUSE(r, "%s", "a name is missing");
  const unsigned count = find(name, r->vary->plan->command);
  return check_place(r, name, count);
}

static bool find_option(vs_vary_name *name) {
  for (unsigned i = 0; i < vs_plan_option_count(); i++) {
    if (!vs_str_equal(name->bare, vs_str_from(vs_plan_option_name(i)))) continue;
    name->option = i;
    return true;
  }
  return false;
}

static vs_status take_option(reading *r, vs_vary_name *name) {
  name->kind = VS_VARY_DRYRUN;
  if (!vs_plan_option_is_given(r->vary->plan, name->option)) return VS_OK;
  return REFUSE(r, "--%S is given, too: leave it away", name->bare);
}

static vs_status name_options(reading *r, vs_str bare) {
  char list[128] = "", longer[128];
  for (unsigned i = 0; i < vs_plan_option_count(); i++) {
    vs_format(longer, sizeof longer, "%s%s%s", list, i == 0 ? "" : ", ", vs_plan_option_name(i));
    memcpy(list, longer, sizeof list);
  }
  return REFUSE(r, "\"%S\" is no option of dryrun that can vary (these can: %s)", bare, list);
}

static bool is_variable(vs_str name) {
  for (size_t i = 0; i < name.size; i++) {
    const char c = name.data[i];
    const bool is_digit = c >= '0' && c <= '9';
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!is_letter && !(is_digit && i != 0)) return false;
  }
  return name.size != 0;
}

/* The simulated CUDA needs these variables as it sets them. */
static bool is_ours(vs_str name) {
  static const char *const ours[] = {"LD_PRELOAD", "PYTHONPATH", "PYTHONHASHSEED", "PYTORCH_CUDA_ALLOC_CONF",
                                     "PYTORCH_ALLOC_CONF"};
  for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
    if (vs_str_equal(name, vs_str_from(ours[i]))) return true;
  return vs_str_starts(name, VS_STR("VRAMSCOPE_"));
}

static vs_status take_variable(reading *r, vs_vary_name *name) {
  name->kind = VS_VARY_ENVIRONMENT;
  if (!is_variable(name->bare)) return REFUSE(r, "\"%S\" is no name of a variable", name->bare);
  if (is_ours(name->bare))
    return REFUSE(r, "dryrun sets %S itself%s", name->bare,
                  vs_str_contains(name->bare, VS_STR("ALLOC_CONF")) ? ": use conf=SETTINGS,..." : "");
  return VS_OK;
}

static bool takes_prefix(vs_vary_name *name, vs_str prefix) {
  if (!vs_str_starts(name->text, prefix)) return false;
  name->bare = from(name->text, prefix.size);
  return true;
}

/* "{batch}" */
static bool takes_braces(vs_vary_name *name) {
  const vs_str text = name->text;
  if (text.size < 3 || text.data[0] != '{' || text.data[text.size - 1] != '}') return false;
  name->bare = (vs_str){text.data + 1, text.size - 2};
  name->kind = VS_VARY_PLACEHOLDER;
  return true;
}

static vs_status take_placeholder(reading *r, const vs_vary_name *name) {
  if (is_placeholder(name, r->vary->plan->command)) return VS_OK;
  return REFUSE(r, "the command has no \"%S\"", name->text);
}

/* A name without a prefix and dashes: of dryrun or of the program, if that is clear. */
static vs_status take_plain(reading *r, vs_vary_name *name) {
  const bool is_dryruns = find_option(name);
  if (is_placeholder(name, r->vary->plan->command)) {
    name->kind = VS_VARY_PLACEHOLDER;
    if (!is_dryruns) return VS_OK;
    return REFUSE(r, "dryrun has an option \"%S\", and the command has {%S}: write dryrun:%S or {%S}",
                  name->bare, name->bare, name->bare, name->bare);
  }
  const unsigned count = find(name, r->vary->plan->command);
  if (is_dryruns && count != 0)
    return REFUSE(r, "dryrun and the command have \"%S\": write dryrun:%S or, for the program's, --%S",
                  name->bare, name->bare, name->bare);
  return is_dryruns ? take_option(r, name) : check_place(r, name, count);
}

static vs_status take_name(reading *r, vs_vary_name *name, vs_str text) {
  *name = (vs_vary_name){.text = text, .bare = text, .kind = VS_VARY_OPTION, .word = VS_VARY_ADDED};
  if (text.size == 0) return REFUSE(r, "%s", "a name is missing");
  if (takes_braces(name)) return take_placeholder(r, name);
  if (takes_prefix(name, VS_STR("env:"))) return take_variable(r, name);
  if (takes_prefix(name, VS_STR("dryrun:")))
    return find_option(name) ? take_option(r, name) : name_options(r, name->bare);
  if (takes_prefix(name, VS_STR("flag:"))) {
    name->kind = VS_VARY_FLAG;
    return place(r, name);
  }
  if (!is_exact(name)) return take_plain(r, name);
  (void)takes_prefix(name, VS_STR("-"));
  (void)(is_long(text) && takes_prefix(name, VS_STR("--")));
  return place(r, name);
}

/* The words of the command that a name stands for: [word, word + size). */
static size_t words_of(const vs_vary_name *name) {
  if (name->word == VS_VARY_ADDED) return 0;
  return name->kind == VS_VARY_OPTION && !name->is_attached ? 2 : 1;
}

static bool is_in_command(const vs_vary_name *name) {
  return name->kind != VS_VARY_DRYRUN && name->kind != VS_VARY_ENVIRONMENT;
}

/* Whether the placeholder is in the words of the command that the other name stands for. */
static bool is_within(char *const *command, const vs_vary_name *place, const vs_vary_name *other) {
  if (other->kind == VS_VARY_PLACEHOLDER) return vs_str_equal(place->bare, other->bare);
  for (size_t i = 0; i < words_of(other); i++)
    if (has_place(place, command[other->word + i])) return true;
  return false;
}

static bool overlap(char *const *command, const vs_vary_name *a, const vs_vary_name *b) {
  if (a->kind == VS_VARY_PLACEHOLDER) return is_within(command, a, b);
  if (b->kind == VS_VARY_PLACEHOLDER) return is_within(command, b, a);
  if (is_in_command(a) != is_in_command(b)) return false;
  if (!is_in_command(a)) return a->kind == b->kind && vs_str_equal(a->bare, b->bare);
  if (a->word == VS_VARY_ADDED || b->word == VS_VARY_ADDED) return is_same_name(a->bare, b->bare);
  return a->word < b->word + words_of(b) && b->word < a->word + words_of(a);
}

static vs_status add_name(reading *r, vs_str text) {
  vs_vary *vary = r->vary;
  if (vary->name_count == VS_VARY_NAMES) return REFUSE(r, "at most %d names can vary", (int)VS_VARY_NAMES);
  vs_vary_name *name = &vary->names[vary->name_count];
  VS_TRY(take_name(r, name, text));
  for (uint32_t i = 0; i < vary->name_count; i++)
    if (overlap(vary->plan->command, name, &vary->names[i]))
      return REFUSE(r, "\"%S\" and \"%S\" are the same part of the command line", name->text,
                    vary->names[i].text);
  vary->name_count++;
  return VS_OK;
}

static vs_status add_names(reading *r, vs_vary_axis *axis, vs_str names) {
  for (size_t begin = 0, i = 0; i <= names.size; i++) {
    if (i != names.size && names.data[i] != '+') continue;
    VS_TRY(add_name(r, (vs_str){names.data + begin, i - begin}));
    axis->name_count++;
    begin = i + 1;
  }
  return VS_OK;
}

/* ---- values */

static vs_status check_value(reading *r, const vs_vary_name *name, const char *value) {
  if (name->kind == VS_VARY_FLAG && strcmp(value, "on") != 0 && strcmp(value, "off") != 0)
    return REFUSE(r, "%S is \"on\" or \"off\", not \"%S\"", name->text, vs_str_from(value));
  vs_dryrun_plan plan = *r->vary->plan;
  if (name->kind == VS_VARY_DRYRUN && !vs_plan_option_set(&plan, name->option, value))
    return REFUSE(r, "--%S takes a number, not \"%S\"", name->bare, vs_str_from(value));
  return VS_OK;
}

/* Ends the value that was appended to `texts` since `begin`. */
static vs_status end_value(reading *r, const vs_vary_axis *axis, size_t begin) {
  vs_vary *vary = r->vary;
  const size_t number = (vary->values.count - axis->first_value) % axis->name_count;
  vs_text_byte(&vary->texts, 0);
  VS_TRY(vary->texts.status);
  VS_TRY(vs_vec_reserve(vary->host, &vary->values, 1));
  vary->values.data[vary->values.count++] = begin;
  return check_value(r, &vary->names[axis->first_name + number], vary->texts.bytes.data + begin);
}

static bool is_escape(const char *at) {
  return at[0] == '\\' && (at[1] == ',' || at[1] == '+' || at[1] == '\\');
}

/* The values of one combination, up to a comma or the end; *at moves behind it. */
static vs_status add_parts(reading *r, vs_vary_axis *axis, const char **at) {
  size_t begin = r->vary->texts.bytes.count;
  uint32_t parts = 1;
  for (; **at != 0 && **at != ','; ++*at) {
    if (**at == '+' && axis->name_count > 1) {
      if (parts++ == axis->name_count) break;
      VS_TRY(end_value(r, axis, begin));
      begin = r->vary->texts.bytes.count;
      continue;
    }
    if (is_escape(*at)) ++*at;
    vs_text_byte(&r->vary->texts, (uint8_t) * *at);
  }
  if (parts == axis->name_count) return end_value(r, axis, begin);
  return REFUSE(r, "value %u does not have one part for each of the %u names, with a + between them",
                axis->value_count + 1, axis->name_count);
}

static vs_status add_axis(reading *r) {
  vs_vary *vary = r->vary;
  const vs_str names = head_of(vs_str_from(r->whole));
  const char *at = r->whole + names.size;
  vs_vary_axis axis = {.first_name = vary->name_count, .first_value = vary->values.count};
  if (*at != '=') return REFUSE(r, "%s", "takes NAME=VALUE,VALUE,... such as gpu=H100,L4");
  VS_TRY(add_names(r, &axis, names));
  do {
    at++;
    VS_TRY(add_parts(r, &axis, &at));
    axis.value_count++;
  } while (*at == ',');
  vary->axes[vary->axis_count++] = axis;
  return VS_OK;
}

static vs_status count_runs(vs_vary *vary, vs_error *error) {
  uint64_t runs = 1;
  for (uint32_t i = 0; i < vary->axis_count; i++)
    if (__builtin_mul_overflow(runs, (uint64_t)vary->axes[i].value_count, &runs)) runs = UINT64_MAX;
  vary->run_count = runs <= VS_VARY_RUNS ? (uint32_t)runs : 0;
  if (vary->run_count != 0) return VS_OK;
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                 "--vary: these are %U runs, and a table has at most %d: vary fewer values at once", runs,
                 (int)VS_VARY_RUNS);
}

/* ---- all */

vs_status vs_vary_init(vs_vary *vary, const vs_host *host, const vs_dryrun_plan *plan, vs_error *error) {
  *vary = (vs_vary){.host = host, .plan = plan, .option = "--vary"};
  vs_text_init(&vary->texts, host, NULL);
  for (size_t i = 0; plan->vary[i] != NULL; i++)
    VS_TRY(add_axis(&(reading){.vary = vary, .whole = plan->vary[i], .error = error}));
  VS_TRY(count_runs(vary, error));
  VS_ASSERT(vs_vary_check(vary));
  return VS_OK;
}

vs_status vs_vary_init_open(vs_vary *vary, const vs_host *host, const vs_dryrun_plan *plan,
                            const char *option, const char *axis, vs_error *error) {
  *vary = (vs_vary){.host = host, .plan = plan, .option = option, .axis_count = 1};
  vs_text_init(&vary->texts, host, NULL);
  reading r = {.vary = vary, .whole = axis, .error = error};
  VS_TRY(add_names(&r, &vary->axes[0], head_of(vs_str_from(axis))));
  if (vary->name_count != 1) return REFUSE(&r, "%s", "takes one name");
  if (vary->names[0].kind == VS_VARY_FLAG) return REFUSE(&r, "%s", "a flag has no numbers as values");
  return VS_OK;
}

vs_status vs_vary_append(vs_vary *vary, const char *value, vs_error *error) {
  const size_t begin = vary->texts.bytes.count;
  VS_ASSERT(vary->axis_count == 1 && vary->run_count < VS_VARY_RUNS);
  vs_text_cstr(&vary->texts, value);
  VS_TRY(end_value(&(reading){.vary = vary, .whole = value, .error = error}, &vary->axes[0], begin));
  vary->run_count = ++vary->axes[0].value_count;
  VS_ASSERT(vs_vary_check(vary));
  return VS_OK;
}

void vs_vary_deinit(vs_vary *vary) {
  vs_vec_free(vary->host, &vary->values);
  vs_text_deinit(&vary->texts);
}

static const vs_vary_axis *axis_of(const vs_vary *vary, uint32_t name, uint32_t *stride) {
  uint32_t axis = vary->axis_count - 1;
  *stride = 1;
  while (name < vary->axes[axis].first_name) *stride *= vary->axes[axis--].value_count;
  return &vary->axes[axis];
}

const char *vs_vary_value(const vs_vary *vary, uint32_t run, uint32_t name) {
  uint32_t stride;
  VS_ASSERT(run < vary->run_count && name < vary->name_count);
  const vs_vary_axis *axis = axis_of(vary, name, &stride);
  const size_t value = run / stride % axis->value_count;
  const size_t at = axis->first_value + value * axis->name_count + (name - axis->first_name);
  return vary->texts.bytes.data + vary->values.data[at];
}

const char *vs_vary_kind_word(vs_vary_kind kind) {
  static const char *const words[] = {"dryrun", "option", "argument", "flag", "environment", "placeholder"};
  VS_ASSERT((size_t)kind < sizeof words / sizeof *words);
  return words[kind];
}

bool vs_vary_check(const vs_vary *vary) {
  uint32_t names = 0, runs = 1;
  size_t values = 0;
  for (uint32_t i = 0; i < vary->axis_count; i++) {
    const vs_vary_axis *axis = &vary->axes[i];
    if (axis->first_name != names || axis->first_value != values) return false;
    if (axis->name_count == 0 || axis->value_count == 0) return false;
    names += axis->name_count;
    values += (size_t)axis->value_count * axis->name_count;
    runs *= axis->value_count;
  }
  if (names != vary->name_count || values != vary->values.count || runs != vary->run_count) return false;
  for (uint32_t i = 0; i < vary->name_count; i++)
    for (uint32_t k = 0; k < i; k++)
      if (overlap(vary->plan->command, &vary->names[i], &vary->names[k])) return false;
  return vary->run_count >= 1 && vary->run_count <= VS_VARY_RUNS;
}
