#include "query/scene.h"

vs_status vs_stage_build(vs_call *call, vs_stage *out) {
  *out = (vs_stage){0};
  VS_TRY(vs_things_init(call->engine, call->view, call->request->drawn, &out->things));
  return vs_things_matches(call, &out->things, &call->request->filter, &out->matches);
}

static vs_str filter_of(const vs_stage *stage) {
  return stage->matches == NULL ? VS_STR("")
                                : (vs_str){stage->matches->filter.data, stage->matches->filter.count};
}

/* Which of the two scenes the stage has; that of another filter is cleared. */
static vs_scene *choose_scene(vs_call *call, const vs_stage *stage) {
  const vs_host *host = call->engine->host;
  const vs_drawn drawn = stage->things.drawn;
  if (stage->matches == NULL) return &call->view->everything[drawn];
  vs_scene *scene = &call->view->filtered[drawn];
  if (!vs_str_equal((vs_str){scene->filter.data, scene->filter.count}, filter_of(stage)))
    vs_scene_deinit(host, scene);
  return scene;
}

static vs_status build_spans(vs_call *call, const vs_stage *stage, vs_scene *scene) {
  const vs_host *host = call->engine->host;
  const vs_things *things = &stage->things;
  const vs_str filter = filter_of(stage);
  if (things->drawn == VS_DRAWN_allocations && stage->matches == NULL) {
    scene->spans = &call->view->past.spans;
    scene->has_spans = true;
    return VS_OK;
  }
  VS_TRY(vs_vec_reserve(host, &scene->filter, filter.size));
  if (filter.size != 0) memcpy(scene->filter.data, filter.data, filter.size);
  scene->filter.count = filter.size;
  const uint64_t *kept = stage->matches == NULL ? NULL : stage->matches->bits.data;
  if (things->drawn == VS_DRAWN_segments)
    VS_TRY(vs_spans_of_mappings(host, things->mappings, kept, &scene->own));
  else VS_TRY(vs_spans_of_lifetimes(host, things->lifetimes, kept, &scene->own));
  scene->spans = &scene->own;
  scene->has_spans = true;
  return VS_OK;
}

vs_status vs_stage_spans(vs_call *call, const vs_stage *stage, const vs_spans **out) {
  vs_scene *scene = choose_scene(call, stage);
  if (!scene->has_spans) VS_TRY(build_spans(call, stage, scene));
  *out = scene->spans;
  return VS_OK;
}

vs_status vs_stage_levels(vs_call *call, const vs_stage *stage, const vs_levels **out) {
  const vs_spans *spans;
  VS_TRY(vs_stage_spans(call, stage, &spans));
  vs_scene *scene = choose_scene(call, stage);
  if (!scene->has_levels) VS_TRY(vs_levels_of_spans(call->engine->host, spans, &scene->levels));
  scene->has_levels = true;
  *out = &scene->levels;
  return VS_OK;
}
