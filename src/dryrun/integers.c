#include "dryrun/integers.h"

#define REFUSE(error, ...) vs_fail((error), VS_BAD_ARGUMENT, VS_NO_OFFSET, __VA_ARGS__)

static vs_status parse_one(vs_str text, uint64_t *value, vs_error *error) {
  if (vs_parse_u64(text, value)) return VS_OK;
  return REFUSE(error, "takes integers, such as 1..256, 128..8192:128 or 1,2,4,8, not \"%S\"", text);
}

/* The place of a character or of "..", text.size if it is not there. */
static size_t find(vs_str text, vs_str wanted) {
  size_t at = 0;
  while (at < text.size && !vs_str_starts((vs_str){text.data + at, text.size - at}, wanted)) at++;
  return at;
}

static vs_str behind(vs_str text, size_t at) { return (vs_str){text.data + at, text.size - at}; }

static vs_status parse_range(vs_integers *integers, vs_str text, size_t dots, vs_error *error) {
  const vs_str rest = behind(text, dots + 2);
  const size_t colon = find(rest, VS_STR(":"));
  uint64_t last;
  integers->step = 1;
  VS_TRY(parse_one((vs_str){text.data, dots}, &integers->first, error));
  VS_TRY(parse_one((vs_str){rest.data, colon}, &last, error));
  if (colon != rest.size) VS_TRY(parse_one(behind(rest, colon + 1), &integers->step, error));
  if (integers->step == 0) return REFUSE(error, "the step of \"%S\" is 0", text);
  if (last < integers->first) return REFUSE(error, "\"%S\" ends below its beginning", text);
  integers->count = (last - integers->first) / integers->step;
  if (integers->count++ < VS_INTEGERS_MOST) return VS_OK;
  return REFUSE(error, "\"%S\" has more than %d values: give it a step, such as :16", text,
                (int)VS_INTEGERS_MOST);
}

static vs_status add(vs_integers *integers, vs_str text, vs_error *error) {
  uint64_t value;
  VS_TRY(parse_one(text, &value, error));
  if (integers->count == VS_INTEGERS_LISTED)
    return REFUSE(error, "a list has at most %d values: use a range, such as 1..256:8",
                  (int)VS_INTEGERS_LISTED);
  if (integers->count != 0 && value <= integers->list[integers->count - 1])
    return REFUSE(error, "the values have to ascend, and %U is behind %U", value,
                  integers->list[integers->count - 1]);
  integers->list[integers->count++] = value;
  return VS_OK;
}

static vs_status parse_list(vs_integers *integers, vs_str text, vs_error *error) {
  integers->is_list = true;
  for (;;) {
    const size_t comma = find(text, VS_STR(","));
    VS_TRY(add(integers, (vs_str){text.data, comma}, error));
    if (comma == text.size) return VS_OK;
    text = behind(text, comma + 1);
  }
}

vs_status vs_integers_parse(vs_integers *integers, vs_str text, vs_error *error) {
  const size_t dots = find(text, VS_STR(".."));
  *integers = (vs_integers){.count = 0};
  return dots == text.size ? parse_list(integers, text, error) : parse_range(integers, text, dots, error);
}

uint64_t vs_integers_at(const vs_integers *integers, uint64_t number) {
  VS_ASSERT(number < integers->count);
  return integers->is_list ? integers->list[number] : integers->first + number * integers->step;
}

uint64_t vs_integers_below(const vs_integers *integers, double value) {
  uint64_t low = 0, end = integers->count; /* the answer is low .. end - 1 */
  while (end - low > 1) {
    const uint64_t middle = low + (end - low) / 2;
    if ((double)vs_integers_at(integers, middle) <= value) low = middle;
    else end = middle;
  }
  return low;
}
