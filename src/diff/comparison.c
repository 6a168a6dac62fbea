#include "diff/comparison.h"
#include "base/path.h"
#include "diff/files.h"

static void put_owner(vs_part_name *name, vs_diff_by by, const vs_side_stack *stack) {
  const vs_str base = vs_path_base(vs_text_view(&name->file));
  if (by == VS_DIFF_BY_operation) {
    vs_text_str(&name->owner, stack->operation.size != 0 ? stack->operation : VS_STR("(unknown operation)"));
  } else if (stack->owner == VS_SIDE_NONE || base.size == 0 || by == VS_DIFF_BY_line ||
             by == VS_DIFF_BY_stack) {
    vs_text_str(&name->owner, stack->label);
  } else {
    vs_text_str(&name->owner, base);
    if (by == VS_DIFF_BY_file || name->function.size == 0) return;
    vs_text_byte(&name->owner, ' ');
    vs_text_str(&name->owner, name->function);
  }
}

void vs_part_name_init(vs_part_name *name, const vs_comparison *c, const vs_diff_row *row, unsigned side) {
  const vs_diff_part *part = &row->parts[side];
  const vs_host *host = c->host;
  const vs_diff_by by = c->options.by;
  *name = (vs_part_name){.function = VS_STR(""), .line = VS_SIDE_NO_LINE};
  vs_text_init(&name->owner, host, NULL);
  vs_text_init(&name->file, host, NULL);
  VS_ASSERT(part->count != 0);
  if (by == VS_DIFF_BY_size) {
    vs_text_bytes(&name->owner, part->least, VS_UNIT_PLAIN);
    return;
  }
  const vs_side_stack *stack = &c->sides[side].stacks.data[part->stack];
  if (stack->owner != VS_SIDE_NONE && by != VS_DIFF_BY_operation) {
    const vs_side_frame *frame = &c->sides[side].frames.data[stack->owner];
    vs_files_put(&name->file, c->roots[side], frame);
    if (by != VS_DIFF_BY_file) name->function = frame->function;
    if (by != VS_DIFF_BY_file && by != VS_DIFF_BY_function) name->line = frame->line;
  }
  put_owner(name, by, stack);
}

void vs_part_name_deinit(vs_part_name *name) {
  vs_text_deinit(&name->owner);
  vs_text_deinit(&name->file);
}

bool vs_part_names_differ(const vs_part_name *before, const vs_part_name *after) {
  return before->line != after->line || !vs_str_equal(before->function, after->function) ||
         !vs_str_equal(vs_text_view(&before->file), vs_text_view(&after->file));
}
