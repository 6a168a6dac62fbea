#include "dryrun/replayed.h"
#include "codec/json_reply.h"

enum { SHARE = 100 }; /* one part in so many is not less */

static uint64_t reserved_of(vs_json run) { return vs_reply_u64(run, "reserved_peak_bytes"); }

/* The first of the runs with these settings that passes; absent if there is none. */
static vs_json run_of(vs_json runs, vs_str settings) {
  size_t i = 0;
  while (i < vs_json_count(runs) && (!vs_str_equal(vs_reply_str(vs_json_at(runs, i), "asked"), settings) ||
                                     !vs_reply_bool(vs_json_at(runs, i), "passes")))
    i++;
  return vs_json_at(runs, i);
}

/* The best run, or that of the usual settings where it reserves about as much, or where the run's own settings are the best. */
static vs_json choose(vs_json answer) {
  const vs_json runs = vs_reply_at(answer, "runs");
  const vs_json best = vs_json_at(runs, vs_json_u64(vs_reply_at(answer, "best"), SIZE_MAX));
  const vs_json usual = run_of(runs, VS_STR(VS_USUAL_SETTINGS));
  const bool is_own = vs_reply_str(best, "asked").size == 0;
  if (vs_json_is_absent(best) || (vs_json_is_absent(usual) && !is_own)) return best;
  return is_own || reserved_of(usual) <= reserved_of(best) + reserved_of(best) / SHARE ? usual : best;
}

vs_replayed vs_replayed_of(vs_json answer) {
  vs_replayed replayed = {.is_known = false};
  const vs_json run = choose(answer);
  const vs_str settings = vs_reply_str(run, "asked");
  if (!vs_reply_bool(vs_reply_at(answer, "check"), "is_equal") || settings.size == 0 ||
      settings.size >= sizeof replayed.settings)
    return replayed;
  replayed.is_known = true;
  replayed.tried = (uint32_t)vs_json_count(vs_reply_at(answer, "runs"));
  replayed.own_bytes = reserved_of(vs_reply_at(answer, "recorded"));
  replayed.bytes = reserved_of(run);
  vs_format(replayed.settings, sizeof replayed.settings, "%S", settings);
  return replayed;
}

bool vs_replayed_is_idle(const vs_replayed *replayed) {
  return replayed->is_known && replayed->bytes + replayed->own_bytes / SHARE > replayed->own_bytes;
}

void vs_replayed_put(vs_jsonw *w, const vs_replayed *replayed) {
  if (!replayed->is_known) {
    vs_jsonw_null(w);
    return;
  }
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "tried", replayed->tried);
  vs_jsonw_member_u64(w, "own_reserved_bytes", replayed->own_bytes);
  vs_jsonw_member_str(w, "settings", vs_str_from(replayed->settings));
  vs_jsonw_member_u64(w, "reserved_bytes", replayed->bytes);
  vs_jsonw_object_end(w);
}
