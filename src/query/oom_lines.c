/* The sentences of "oom". */
#include "query/advice.h"
#include "query/failure_lines.h"
#include "query/oom_answer.h"
#include "query/whatif_answer.h"

enum { MOST_EACH = 2 }; /* remedies of one kind that have a line of their own */

static const vs_line_id ids[VS_REMEDY_KINDS] = {
    [VS_REMEDY_SETTINGS] = VS_LINE_remedy_settings, [VS_REMEDY_EMPTY_CACHE] = VS_LINE_remedy_cache,
    [VS_REMEDY_GROWTH] = VS_LINE_remedy_growth,     [VS_REMEDY_OWNER] = VS_LINE_remedy_owner,
    [VS_REMEDY_SHRINK] = VS_LINE_remedy_shrink,     [VS_REMEDY_ACTIVATIONS] = VS_LINE_remedy_activations,
    [VS_REMEDY_LIMIT] = VS_LINE_remedy_limit,       [VS_REMEDY_CARD] = VS_LINE_remedy_card,
};

/* ---- the text of a remedy ------------------------------------------------------------------------------ */

static void put_line(vs_lines *lines, const vs_group *group) {
  vs_put_group_label(lines->call, VS_BY_LINE, group);
  vs_text_str(&lines->text, vs_text_view(&lines->call->scratch));
  lines->call->scratch.bytes.count = 0;
}

static void put_settings(vs_lines *lines, const vs_remedies *remedies, const vs_remedy *remedy) {
  const uint64_t before = remedies->baseline.device_allocs;
  vs_line_put(lines, "%s: peak reserved %B",
              *remedy->settings == 0 ? "the default settings" : remedy->settings, remedy->reserved_peak);
  if (remedy->device_allocs > before)
    vs_line_put(lines, "; price: %C", remedy->device_allocs - before, "more driver allocation");
}

static void put_growth(vs_lines *lines, const vs_remedies *remedies, const vs_remedy *remedy) {
  const vs_remedy_part *part = vs_remedy_part_at(remedies, remedy, 0);
  vs_line_put(lines, "free right before it what earlier steps allocated at ");
  put_line(lines, &part->group);
  vs_line_put(lines, ": %C, %B", (uint64_t)part->count, "block", part->bytes);
}

/* "any one of the 11 blocks of models.py:174 (512 MiB each)" */
static void put_alone(vs_lines *lines, const vs_remedy *remedy, const vs_remedy_part *part) {
  const uint64_t of = part->group.count;
  vs_line_put(lines, "right before it, ");
  if (of == 1) vs_line_put(lines, "the block of ");
  else if (remedy->is_any) vs_line_put(lines, "any one of the %N blocks of ", of);
  else if (remedy->alone > 1)
    vs_line_put(lines, "any one of %N of the %N blocks of ", (uint64_t)remedy->alone, of);
  else vs_line_put(lines, "one of the %N blocks of ", of);
  put_line(lines, &part->group);
  if (part->group.each != 0 && of != 1) vs_line_put(lines, " (%B each)", part->bytes);
  else if (remedy->alone > 1) vs_line_put(lines, " (the smallest has %B)", part->bytes);
  else vs_line_put(lines, " (%B)", part->bytes);
}

static void put_several(vs_lines *lines, const vs_remedy_part *part) {
  const uint64_t count = part->count, of = part->group.count;
  if (of == 1) vs_line_put(lines, "the block of ");
  else if (count == of) vs_line_put(lines, "all %N blocks of ", of);
  else if (part->group.each != 0) vs_line_put(lines, "%N of the %N blocks of ", count, of);
  else vs_line_put(lines, "the %N largest of the %N blocks of ", count, of);
  put_line(lines, &part->group);
}

static void put_owner(vs_lines *lines, const vs_remedies *remedies, const vs_remedy *remedy) {
  const vs_remedy_part *part = vs_remedy_part_at(remedies, remedy, 0);
  if (remedy->part_count == 1 && part->count == 1) {
    put_alone(lines, remedy, part);
    return;
  }
  vs_line_put(lines, "right before it, ");
  put_several(lines, part);
  if (remedy->part_count == 2) {
    vs_line_put(lines, " and ");
    put_several(lines, vs_remedy_part_at(remedies, remedy, 1));
  }
  vs_line_put(lines, " (%B)", remedy->bytes);
}

static void put_shrink(vs_lines *lines, const vs_remedies *remedies, const vs_remedy *remedy) {
  vs_text_format(&lines->text, "%u%% smaller allocations at ", remedy->percent);
  put_line(lines, &vs_remedy_part_at(remedies, remedy, 0)->group);
  vs_line_put(lines, ": %B less", remedy->bytes);
}

static void put_activations(vs_lines *lines, const vs_remedies *remedies, const vs_remedy *remedy) {
  vs_text_format(&lines->text, "%u%% smaller", remedy->percent);
  vs_line_put(lines, ", for example by a smaller batch: %B less at ", remedy->bytes);
  put_line(lines, &vs_remedy_part_at(remedies, remedy, 0)->group);
  if (remedy->part_count > 1) vs_line_put(lines, " and %C", (uint64_t)remedy->part_count - 1, "other line");
}

static void put_card(vs_lines *lines, const vs_oom_answer *a, const vs_remedy *remedy) {
  const uint64_t had = a->remedies.capacity;
  vs_line_put(lines, "%B for the allocator, %B more than it had", remedy->capacity, remedy->capacity - had);
  if (remedy->kind == VS_REMEDY_LIMIT) {
    vs_line_put(lines, "; the GPU had %B free", a->failure->device_free);
    return;
  }
  if (remedy->card == NULL) {
    vs_line_put(lines, "; no GPU that vramscope knows has that much");
    return;
  }
  vs_line_put(lines, ": %s, with %B of headroom", remedy->card->name, remedy->room - remedy->capacity);
}

static void put_remedy(vs_lines *lines, const vs_oom_answer *a, const vs_remedy *remedy) {
  switch (remedy->kind) {
    case VS_REMEDY_SETTINGS: put_settings(lines, &a->remedies, remedy); break;
    case VS_REMEDY_EMPTY_CACHE:
      vs_line_put(lines, "call torch.cuda.empty_cache() right before the request");
      break;
    case VS_REMEDY_GROWTH: put_growth(lines, &a->remedies, remedy); break;
    case VS_REMEDY_OWNER: put_owner(lines, &a->remedies, remedy); break;
    case VS_REMEDY_SHRINK: put_shrink(lines, &a->remedies, remedy); break;
    case VS_REMEDY_ACTIVATIONS: put_activations(lines, &a->remedies, remedy); break;
    case VS_REMEDY_LIMIT:
    case VS_REMEDY_CARD: put_card(lines, a, remedy); break;
  }
}

/* ---- lines --------------------------------------------------------------------------------------------- */

static void say_more(vs_lines *lines, const vs_oom_answer *a, vs_remedy_kind kind, uint64_t more) {
  vs_line_begin(lines, VS_LINE_remedy_more, VS_TONE_plain);
  vs_line_put(lines, "and %N more", more);
  if (kind == VS_REMEDY_SETTINGS)
    vs_line_put(lines, " of the %N settings tried", (uint64_t)a->remedies.settings_tried);
  vs_line_end(lines);
}

static void say_kind(vs_lines *lines, const vs_oom_answer *a, vs_remedy_kind kind) {
  uint64_t count = 0;
  for (size_t i = 0; i < a->remedies.list.count; i++) {
    const vs_remedy *remedy = &a->remedies.list.data[i];
    if (remedy->kind != kind || ++count > MOST_EACH) continue;
    vs_line_begin(lines, count == 1 ? ids[kind] : VS_LINE_remedy_more, VS_TONE_good);
    put_remedy(lines, a, remedy);
    vs_line_end(lines);
  }
  if (count > MOST_EACH) say_more(lines, a, kind, count - MOST_EACH);
}

/* Why no settings help. */
static void say_no_settings(vs_lines *lines, const vs_oom_answer *a) {
  const vs_remedies *r = &a->remedies;
  vs_line_begin(lines, VS_LINE_remedy_settings, VS_TONE_plain);
  if (r->is_full)
    vs_line_put(lines,
                "none: live blocks of %B and the request of %B are more than the %B that the process could "
                "reserve",
                r->held, a->failure->size, r->capacity);
  else vs_line_put(lines, "none of the %N tried", (uint64_t)r->settings_tried);
  vs_line_end(lines);
}

static void say_unproven(vs_lines *lines, const vs_oom_answer *a) {
  vs_line_begin(lines, VS_LINE_remedies, VS_TONE_warning);
  vs_text_cstr(&lines->value, "unknown");
  if (a->search == VS_OTHER_ALLOCATOR)
    vs_line_put(lines, "unknown: only the memory of PyTorch's caching allocator for GPUs can be replayed");
  else if (a->remedies.baseline.is_cut)
    vs_line_put(lines, "unknown: a replay up to this request takes too long");
  else if (a->remedies.baseline.ran_out && a->remedies.baseline.ran_out_at != VS_NO_EVENT)
    vs_line_put(lines,
                "unknown: a replay of the recorded settings already fails at event %N, so nothing can be "
                "proven about this request",
                (uint64_t)a->remedies.baseline.ran_out_at);
  else
    vs_line_put(lines,
                "unknown: a replay of the recorded settings does not fail at this request, so nothing can "
                "be proven about it");
  vs_line_end(lines);
}

static void say_cut(vs_lines *lines) {
  vs_line_begin(lines, VS_LINE_remedy_more, VS_TONE_warning);
  vs_line_put(lines, "not all blocks were tried");
  vs_line_end(lines);
}

static void say_remedies(vs_lines *lines, const vs_oom_answer *a) {
  const vs_remedies *r = &a->remedies;
  const bool has_any = r->list.count != 0;
  if (r->basis == VS_BASIS_NONE) {
    say_unproven(lines, a);
    return;
  }
  vs_line_begin(lines, VS_LINE_remedies, has_any ? VS_TONE_good : VS_TONE_warning);
  if (!has_any) {
    vs_text_cstr(&lines->value, "none");
    vs_line_put(lines, "none found");
  } else {
    vs_line_value(lines, r->capacity);
    if (!vs_whatif_is_equal(&a->replays->check)) vs_line_put(lines, "estimates: ");
    vs_line_put(lines, "each alone lets this request pass, in a replay that may reserve %B", r->capacity);
    if (r->basis == VS_BASIS_LEAST)
      vs_line_put(lines, ", the most that the process is known to have reserved");
  }
  vs_line_end(lines);
  if (r->settings_passing == 0) say_no_settings(lines, a);
  for (int kind = 0; kind < VS_REMEDY_KINDS; kind++) say_kind(lines, a, (vs_remedy_kind)kind);
  if (r->is_cut) say_cut(lines);
}

static void say_afterwards(vs_lines *lines) {
  vs_line_begin(lines, VS_LINE_afterwards, VS_TONE_plain);
  vs_text_cstr(&lines->value, "unknown");
  vs_line_put(lines, "unknown: what the program would have allocated after this request was not recorded");
  vs_line_end(lines);
}

/* "; GPU 1 has one (--device 1)" */
static void put_other_gpu(vs_lines *lines, const vs_call *call) {
  vs_device_cache *other = vs_default_device(&call->engine->devices);
  if (other == NULL || other == call->device || vs_cached_failures(other)->count == 0) return;
  vs_line_put(lines, "; GPU %N has one (--device %N)", (uint64_t)other->slice->device,
              (uint64_t)other->slice->device);
}

/* Without events of requests and frees only the end state is known. */
static bool has_history(const vs_oom_answer *answer) {
  const uint32_t *counts = answer->told.report->slice->counts;
  return counts[VS_EVENT_ALLOC] + counts[VS_EVENT_FREE_REQUESTED] + counts[VS_EVENT_OOM] != 0;
}

static void say_no_failure(vs_lines *lines, const vs_oom_answer *a) {
  const bool is_traced = has_history(a);
  vs_line_begin(lines, VS_LINE_oom, is_traced ? VS_TONE_good : VS_TONE_warning);
  vs_text_cstr(&lines->value, is_traced ? "none" : "unknown");
  if (is_traced) vs_line_put(lines, "none: no request failed in the recorded events");
  else
    vs_line_put(lines,
                "unknown: only the end state was recorded, not whether a request failed. To record that, %s",
                vs_advice_how_to_record);
  put_other_gpu(lines, lines->call);
  vs_line_end(lines);
}

/* "failed to allocate 4.94 GiB at models.py:181 update_nodes, short by 1.02 GiB: full" */
static void write_summary(vs_call *call, const vs_oom_answer *a) {
  vs_text *text = &call->scratch;
  const vs_unit unit = call->request->unit;
  if (a->failure == NULL) {
    vs_text_cstr(text, has_history(a) ? "no out-of-memory error" : "no history recorded");
    vs_reply_scratch(call, "summary");
    return;
  }
  vs_text_cstr(text, "failed to allocate ");
  vs_text_bytes(text, a->failure->size, unit);
  if (a->failure->stack != VS_LIST_NONE) {
    vs_text_cstr(text, " at ");
    vs_frames_put_owner(&call->engine->frames, text, a->failure->stack, false, VS_PATH_SHORT);
  }
  if (a->failure->is_short_known) {
    vs_text_cstr(text, ", short by ");
    vs_text_bytes(text, a->failure->short_by, unit);
  }
  vs_text_format(text, "; cause: %s", vs_oom_verdict_name(a->failure->verdict));
  vs_reply_scratch(call, "summary");
}

void vs_oom_lines(vs_call *call, const vs_oom_answer *a) {
  vs_lines lines;
  vs_lines_begin(&lines, call);
  if (a->failure == NULL) say_no_failure(&lines, a);
  else vs_say_failure(&lines, &a->told, a->failure, a->told.report->ooms.list.count);
  if (a->search == VS_SEARCHED) {
    vs_say_check(&lines, &a->replays->check);
    say_remedies(&lines, a);
    say_afterwards(&lines);
  } else if (a->search == VS_OTHER_ALLOCATOR) {
    say_unproven(&lines, a);
  }
  vs_lines_end(&lines);
  write_summary(call, a);
}
