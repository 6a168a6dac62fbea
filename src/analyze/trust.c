#include "analyze/trust.h"
#include "analyze/address_check.h"
#include "analyze/end_state.h"
#include "analyze/whatif_mark.h"
#include "base/text.h"

typedef struct description {
  const char *name, *noun, *sentence;
  vs_severity severity;
} description;

static const description DESCRIPTIONS[VS_FINDING_KINDS] = {
#define VS_FINDING(name, kind, severity, noun, sentence) {kind, noun, sentence, VS_SEVERITY_##severity},
#include "analyze/findings.def"
#undef VS_FINDING
};

static const description *describe(vs_finding_kind kind) {
  VS_ASSERT((int)kind < VS_FINDING_KINDS);
  return &DESCRIPTIONS[kind];
}

const char *vs_finding_name(vs_finding_kind kind) { return describe(kind)->name; }
const char *vs_finding_noun(vs_finding_kind kind) { return describe(kind)->noun; }
const char *vs_finding_sentence(vs_finding_kind kind) { return describe(kind)->sentence; }
vs_severity vs_finding_severity(vs_finding_kind kind) { return describe(kind)->severity; }

const char *vs_severity_name(vs_severity severity) {
  return severity == VS_SEVERITY_CONTRADICTION ? "contradiction"
         : severity == VS_SEVERITY_GAP         ? "gap"
                                               : "note";
}

static void found(vs_trust *out, vs_finding_kind kind, uint64_t count, int64_t first_event) {
  vs_tally *tally = &out->findings[kind];
  VS_ASSERT((int)kind < VS_FINDING_KINDS && first_event >= -1);
  if (count > 0 && tally->count == 0) tally->first_event = first_event;
  tally->count += count;
}

/* ---- what the file says about itself ------------------------------------------------------------------- */

/* The setting trace_alloc_overflowed is about the ring buffers of devices; pinned memory has its own buffer.
 * PyTorch's own recorder never writes it, other producers do. */
static bool ring_wrapped(const vs_slice *slice) {
  const vs_snapshot *s = slice->snapshot;
  if (s->recording.earlier_frames != 0) return true;
  for (size_t i = 0; i < s->settings.count && slice->device != VS_DEVICE_HOST; i++) {
    const vs_setting *setting = &s->settings.data[i];
    if (setting->depth == 0 && setting->kind == VS_SETTING_BOOL && setting->bits != 0 &&
        vs_str_equal(vs_snapshot_string(s, setting->key), VS_STR("trace_alloc_overflowed")))
      return true;
  }
  return false;
}

/* The first event after the first gap of that cause; the last one if nothing follows, -1 if there is none. */
static int64_t event_after(const vs_slice *slice, vs_gap_cause cause) {
  const vs_trace *trace = vs_snapshot_trace(slice->snapshot, slice->device);
  if (trace == NULL || trace->missing_from[cause] == 0 || trace->count == 0) return -1;
  VS_ASSERT(trace->missing_from[cause] <= (uint64_t)trace->count + 1);
  return (int64_t)vs_min_u64(trace->missing_from[cause] - 1, trace->count - 1);
}

static uint64_t missing_by(const vs_recording *recording, vs_gap_cause cause) {
  uint64_t events = 0;
  for (size_t i = 0; i < recording->gaps.count; i++)
    if (recording->gaps.data[i].cause == cause)
      events = vs_sat_add_u64(events, recording->gaps.data[i].events);
  return events;
}

typedef struct loss {
  vs_finding_kind kind;
  uint64_t count; /* 0: there is none */
} loss;

enum { LOSSES = 4 };

static void losses_of(const vs_recording *recording, loss losses[static LOSSES]) {
  const bool is_damaged = recording->lost_bytes != 0 || recording->lost_events != 0;
  const bool is_stopped = recording->stopped != VS_STRING_NONE;
  const uint64_t after = missing_by(recording, VS_GAP_STOPPED);
  losses[0] = (loss){VS_FINDING_DAMAGED_FILE, vs_max_u64(recording->lost_frames, is_damaged)};
  losses[1] =
      (loss){VS_FINDING_UNRECORDED_EVENTS, recording->unrecorded - vs_min_u64(after, recording->unrecorded)};
  losses[2] = (loss){VS_FINDING_STOPPED, is_stopped ? vs_max_u64(after, 1) : 0};
  losses[3] = (loss){VS_FINDING_NOT_ENDED, !recording->is_ended && !is_stopped};
}

static int64_t event_of_loss(const vs_slice *slice, vs_finding_kind kind) {
  if (kind == VS_FINDING_NOT_ENDED) return -1;
  return event_after(slice, kind == VS_FINDING_DAMAGED_FILE ? VS_GAP_DAMAGED
                            : kind == VS_FINDING_STOPPED    ? VS_GAP_STOPPED
                                                            : VS_GAP_UNRECORDED);
}

/* The losses of a recording are findings of each of its devices, because it is unknown which device the lost events
 * were about. */
static void check_recording(const vs_slice *slice, vs_trust *out) {
  loss losses[LOSSES];
  if (slice->snapshot->format != VS_FORMAT_VRAM) return;
  losses_of(&slice->snapshot->recording, losses);
  for (size_t i = 0; i < LOSSES; i++)
    found(out, losses[i].kind, losses[i].count, event_of_loss(slice, losses[i].kind));
}

/* ---- losses of a recording, in what was exported of it */

#define LOSSES_NAME VS_STR("vramscope_losses")

static void check_lost(const vs_snapshot *s, const vs_setting *member, vs_trust *out) {
  static const vs_finding_kind kinds[] = {VS_FINDING_DAMAGED_FILE, VS_FINDING_UNRECORDED_EVENTS,
                                          VS_FINDING_STOPPED, VS_FINDING_NOT_ENDED, VS_FINDING_RING_WRAPPED};
  const bool is_count = member->kind == VS_SETTING_INT && (int64_t)member->bits > 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds && is_count; i++)
    if (vs_str_equal(vs_snapshot_string(s, member->key), vs_str_from(vs_finding_name(kinds[i]))))
      found(out, kinds[i], member->bits, -1);
}

static void check_exported(const vs_slice *slice, vs_trust *out) {
  const vs_snapshot *s = slice->snapshot;
  for (size_t i = 0; i < s->settings.count; i++) {
    const vs_setting *setting = &s->settings.data[i];
    if (setting->depth != 0 || !vs_str_equal(vs_snapshot_string(s, setting->key), LOSSES_NAME)) continue;
    for (size_t m = i + 1; m < s->settings.count && s->settings.data[m].depth != 0; m++)
      check_lost(s, &s->settings.data[m], out);
  }
}

static vs_status add_loss(vs_snapshot *s, const loss *one) {
  const uint64_t most = INT64_MAX;
  const vs_setting setting = {.kind = VS_SETTING_INT, .depth = 1, .bits = vs_min_u64(one->count, most)};
  if (one->count == 0) return VS_OK;
  return vs_snapshot_setting_add(s, vs_str_from(vs_finding_name(one->kind)), setting, VS_STR(""));
}

vs_status vs_losses_mark_add(vs_snapshot *s) {
  loss losses[LOSSES + 1];
  if (s->format != VS_FORMAT_VRAM) return VS_OK;
  losses_of(&s->recording, losses);
  losses[LOSSES] = (loss){VS_FINDING_RING_WRAPPED, s->recording.earlier_frames != 0};
  uint64_t members = 0;
  for (size_t i = 0; i <= LOSSES; i++) members += losses[i].count != 0;
  if (members == 0) return VS_OK;
  const vs_setting dict = {.kind = VS_SETTING_DICT, .bits = members};
  VS_TRY(vs_snapshot_setting_add(s, LOSSES_NAME, dict, VS_STR("")));
  for (size_t i = 0; i <= LOSSES; i++) VS_TRY(add_loss(s, &losses[i]));
  s->has |= VS_HAS_SETTINGS;
  return VS_OK;
}

/* What the recorder of `vramscope run` says of itself: "vramscope_" and a finding, as an entry of allocator_settings. */
static bool says_recorder(const vs_snapshot *s, vs_finding_kind finding) {
  const vs_str prefix = VS_STR("vramscope_"), name = vs_str_from(vs_finding_name(finding));
  for (size_t i = 0; i < s->settings.count; i++) {
    const vs_str key = vs_snapshot_string(s, s->settings.data[i].key);
    if (s->settings.data[i].depth == 0 && vs_str_starts(key, prefix) &&
        vs_str_equal((vs_str){key.data + prefix.size, key.size - prefix.size}, name))
      return true;
  }
  return false;
}

static void check_recorder(const vs_snapshot *s, vs_trust *out) {
  static const vs_finding_kind kinds[] = {VS_FINDING_ROUNDED_REQUESTS, VS_FINDING_INFERRED_SEGMENTS,
                                          VS_FINDING_UNKNOWN_STREAMS, VS_FINDING_NATIVE_STACKS,
                                          VS_FINDING_MISSING_ANNOTATIONS};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    found(out, kinds[i], says_recorder(s, kinds[i]), -1);
}

/* What the account of another program does not say. */
static void check_account(const vs_slice *slice, vs_trust *out) {
  const vs_snapshot *s = slice->snapshot;
  if (!vs_format_is_account(s->format)) return;
  found(out, VS_FINDING_NO_SEGMENTS, (vs_snapshot_lacks(s) & VS_LACKS_SEGMENTS) != 0, -1);
  found(out, VS_FINDING_NO_ROUNDING, (vs_snapshot_lacks(s) & VS_LACKS_ROUNDING) != 0, -1);
  found(out, VS_FINDING_UNKNOWN_STREAMS, (vs_snapshot_lacks(s) & VS_LACKS_STREAMS) != 0, -1);
  found(out, VS_FINDING_NO_STACKS, (vs_snapshot_lacks(s) & VS_LACKS_STACKS) != 0, -1);
  found(out, VS_FINDING_LEFT_OUT, s->left_out, -1);
  found(out, VS_FINDING_UNKNOWN_KINDS, s->unknown_kinds, -1);
  for (size_t i = 0; i < s->shown.count; i++)
    if (s->shown.data[i].device == slice->device)
      found(out, VS_FINDING_OTHER_PROCESSES, s->shown.data[i].others, -1);
}

static void check_mark(const vs_slice *slice, vs_trust *out) {
  const vs_whatif_mark mark = vs_whatif_mark_of(slice->snapshot);
  found(out, VS_FINDING_WHATIF, mark.is_there, -1);
  found(out, VS_FINDING_WHATIF_ESTIMATE, mark.is_there && mark.is_estimate, -1);
}

static bool sums_agree(const vs_segment *segment, const vs_end_sums *sums) {
  if (segment->total_size != sums->reserved) return false;
  if ((segment->has & VS_SEGMENT_HAS_ALLOCATED) != 0 && segment->allocated_size != sums->allocated)
    return false;
  if ((segment->has & VS_SEGMENT_HAS_ACTIVE) != 0 && segment->active_size != sums->active) return false;
  return (segment->has & VS_SEGMENT_HAS_REQUESTED) == 0 || segment->requested_size == sums->requested;
}

static void check_segment(const vs_snapshot *s, const vs_segment *segment, vs_trust *out) {
  const vs_end_sums sums = vs_segment_sums(s, segment);
  if (!sums_agree(segment, &sums)) found(out, VS_FINDING_SEGMENT_SUMS, 1, -1);
  uint64_t next = segment->address;
  bool in_order = true;
  for (uint32_t b = 0; b < segment->block_count; b++) {
    const vs_block *block = &s->blocks.data[segment->first_block + b];
    in_order &= block->address == next;
    next = block->address + block->size;
    if (block->state == VS_BLOCK_UNKNOWN) found(out, VS_FINDING_UNKNOWN_STATE, 1, -1);
  }
  if (!in_order) found(out, VS_FINDING_BLOCK_LAYOUT, 1, -1);
}

static vs_status check_segments(const vs_host *host, const vs_slice *slice, vs_trust *out) {
  const vs_snapshot *s = slice->snapshot;
  for (uint32_t i = 0; i < slice->segment_count; i++)
    check_segment(s, &s->segments.data[slice->segments[i]], out);
  vs_segment_index index;
  VS_TRY(vs_segment_index_build(host, slice, &index));
  for (size_t i = 1; i < index.rows.count; i++) {
    const vs_segment *low = &s->segments.data[index.rows.data[i - 1]];
    const vs_segment *high = &s->segments.data[index.rows.data[i]];
    if (high->address - low->address < low->total_size) found(out, VS_FINDING_SEGMENT_OVERLAP, 1, -1);
  }
  vs_segment_index_deinit(host, &index);
  return VS_OK;
}

static void check_entries(const vs_slice *slice, vs_trust *out) {
  const vs_events *events = &slice->snapshot->events;
  int64_t last = VS_NO_TIME;
  for (uint32_t i = 0; i < slice->other_count; i++)
    if (vs_events_kind(events, vs_slice_row(slice, slice->others[i])) == VS_EVENT_UNKNOWN)
      found(out, VS_FINDING_UNKNOWN_ACTION, 1, slice->others[i]);
  const int64_t *times = vs_slice_times(slice);
  for (uint32_t event = 0; event < slice->event_count && times != NULL; event++) {
    const int64_t time = times[event];
    if (time < last && time == VS_NO_TIME) continue;
    if (time < last) found(out, VS_FINDING_TIME_BACKWARDS, 1, event);
    last = time;
  }
}

/* ---- findings of the other analyses -------------------------------------------------------------------- */

static void take(vs_trust *out, vs_finding_kind kind, vs_tally tally) {
  found(out, kind, tally.count, tally.first_event);
}

static void check_lives(const vs_lifetimes *lifetimes, const vs_curves *curves, vs_trust *out) {
  const vs_lifetime_doubts *doubts = &lifetimes->doubts;
  take(out, VS_FINDING_FREE_WITHOUT_ALLOC, doubts->free_without_alloc);
  take(out, VS_FINDING_LIVE_WITHOUT_ALLOC, doubts->live_without_alloc);
  take(out, VS_FINDING_ALLOC_NOT_AT_END, doubts->alloc_not_at_end);
  take(out, VS_FINDING_DOUBLE_FREE, doubts->double_free);
  take(out, VS_FINDING_DOUBLE_ALLOC, doubts->double_alloc);
  take(out, VS_FINDING_SIZE_MISMATCH, doubts->size_mismatch);
  const bool was_reserved = curves->curve[VS_CURVE_RESERVED].baseline > 0;
  if (lifetimes->older > 0 || was_reserved)
    found(out, VS_FINDING_BEGAN_LATE, lifetimes->older > 0 ? lifetimes->older : 1, -1);
}

/* The held curve is not checked: where free_requested was not recorded it is only an estimate. */
static void check_curves(const vs_curves *curves, vs_trust *out) {
  const vs_curve *requested = &curves->curve[VS_CURVE_REQUESTED],
                 *reserved = &curves->curve[VS_CURVE_RESERVED];
  vs_tally tally = {requested->below_zero, requested->first_below_zero};
  if (reserved->below_zero > 0 && (tally.count == 0 || reserved->first_below_zero < tally.first_event))
    tally.first_event = reserved->first_below_zero;
  tally.count += reserved->below_zero;
  take(out, VS_FINDING_NEGATIVE_CURVE, tally);
}

static void check_addresses(const vs_address_check *addresses, vs_trust *out) {
  take(out, VS_FINDING_OVERLAP, addresses->overlap);
  take(out, VS_FINDING_OUTSIDE_SEGMENT, addresses->outside_segment);
  take(out, VS_FINDING_DOUBLE_MAP, addresses->double_map);
  take(out, VS_FINDING_UNMAP_UNKNOWN, addresses->unmap_unknown);
  take(out, VS_FINDING_UNMAP_LIVE, addresses->unmap_live);
}

vs_status vs_trust_build(const vs_host *host, const vs_lifetimes *lifetimes, const vs_curves *curves,
                         const vs_address_check *addresses, vs_trust *out) {
  const vs_slice *slice = lifetimes->slice;
  *out = (vs_trust){.is_complete = true};
  VS_ASSERT(lifetimes->row_of_event.count == slice->event_count);
  for (int kind = 0; kind < VS_FINDING_KINDS; kind++) out->findings[kind].first_event = -1;
  VS_TRY(check_segments(host, slice, out));
  check_recording(slice, out);
  check_exported(slice, out);
  check_recorder(slice->snapshot, out);
  check_account(slice, out);
  check_mark(slice, out);
  found(out, VS_FINDING_UNKNOWN_KEYS, slice->snapshot->unknown_key_count, -1);
  if (slice->event_count == 0) {
    found(out, VS_FINDING_NO_TRACE, 1, -1);
  } else {
    found(out, VS_FINDING_RING_WRAPPED, ring_wrapped(slice), -1);
    if (lifetimes->closing.at_request) found(out, VS_FINDING_FREES_AT_REQUEST, 1, -1);
    check_entries(slice, out);
    check_curves(curves, out);
    check_lives(lifetimes, curves, out);
    check_addresses(addresses, out);
  }
  for (int kind = 0; kind < VS_FINDING_KINDS; kind++)
    if (out->findings[kind].count > 0 && DESCRIPTIONS[kind].severity != VS_SEVERITY_NOTE)
      out->is_complete = false;
  return VS_OK;
}

/* Gaps in what was before the moment. A full ring has lost the events in front of the first one. */
static bool is_about_before(vs_finding_kind kind, vs_moment since) {
  return kind == VS_FINDING_BEGAN_LATE || kind == VS_FINDING_FREE_WITHOUT_ALLOC ||
         kind == VS_FINDING_LIVE_WITHOUT_ALLOC || (kind == VS_FINDING_RING_WRAPPED && since > VS_AT_START);
}

bool vs_trust_is_complete_since(const vs_trust *trust, vs_moment since) {
  for (int kind = 0; kind < VS_FINDING_KINDS; kind++)
    if (trust->findings[kind].count > 0 && DESCRIPTIONS[kind].severity != VS_SEVERITY_NOTE &&
        !is_about_before((vs_finding_kind)kind, since))
      return false;
  return true;
}
