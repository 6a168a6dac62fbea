/* User objects: objects of the program that graphs keep alive, and the destructors that are called afterwards. */
#include "device/sim/graph_internal.h"

enum { MOST_REFERENCES = INT32_MAX }; /* in one call, and from one graph to one object */

/* ---- callbacks ---- */

vs_sim_error vs_sim_callbacks_reserve(vs_sim *sim, size_t count) {
  vs_sim_graphs *graphs = &sim->graphs;
  if (graphs->first_callback != 0) {
    graphs->callbacks.count -= graphs->first_callback;
    memmove(graphs->callbacks.data, graphs->callbacks.data + graphs->first_callback,
            graphs->callbacks.count * sizeof *graphs->callbacks.data);
    graphs->first_callback = 0;
  }
  const size_t room = (size_t)graphs->live_user_objects + count;
  return vs_vec_reserve(sim->host, &graphs->callbacks, room) == VS_OK ? VS_SIM_OK : VS_SIM_OUT_OF_MEMORY;
}

void vs_sim_callback_push(vs_sim *sim, uint64_t function, uint64_t argument) {
  vs_sim_graphs *graphs = &sim->graphs;
  VS_ASSERT(graphs->callbacks.count < graphs->callbacks.capacity);
  graphs->callbacks.data[graphs->callbacks.count++] = (vs_sim_callback){function, argument};
}

bool vs_sim_next_callback(vs_sim *sim, vs_sim_callback *callback) {
  vs_sim_graphs *graphs = &sim->graphs;
  if (graphs->first_callback == graphs->callbacks.count) return false;
  *callback = graphs->callbacks.data[graphs->first_callback++];
  if (graphs->first_callback == graphs->callbacks.count) graphs->first_callback = graphs->callbacks.count = 0;
  return true;
}

/* ---- objects ---- */

static vs_sim_user_object *find(const vs_sim *sim, uint64_t handle) {
  return vs_sim_handle_find(&sim->graphs.user_objects, VS_SIM_HANDLE_USER_OBJECT, handle, NULL);
}

/* After the last reference was released: queues the destructor and invalidates the handle. */
static void end_unless_wanted(vs_sim *sim, vs_sim_user_object *object) {
  if (object->held != 0 || object->kept != 0) return;
  vs_sim_handles_remove(&sim->graphs.user_objects, object->number);
  VS_ASSERT(sim->graphs.live_user_objects > 0);
  sim->graphs.live_user_objects--;
  vs_sim_callback_push(sim, object->function, object->argument);
  vs_host_free(sim->host, object, sizeof *object);
}

static bool is_count(uint32_t count) { return count != 0 && count <= MOST_REFERENCES; }

vs_sim_error vs_sim_user_object_create(vs_sim *sim, uint64_t function, uint64_t argument, uint32_t count,
                                       uint32_t flags, uint64_t *handle) {
  vs_sim_handles *objects = &sim->graphs.user_objects;
  if (handle == NULL || function == 0 || !is_count(count) || flags != VS_SIM_USER_OBJECT_NO_SYNC)
    return VS_SIM_INVALID_VALUE;
  VS_SIM_TRY(vs_sim_callbacks_reserve(sim, 1));
  vs_sim_user_object *object = vs_host_alloc(sim->host, sizeof *object);
  if (object == NULL) return VS_SIM_OUT_OF_MEMORY;
  *object = (vs_sim_user_object){.function = function, .argument = argument, .held = count};
  const vs_sim_error error = vs_sim_handles_add(sim->host, objects, object, &object->number);
  if (error != VS_SIM_OK) {
    vs_host_free(sim->host, object, sizeof *object);
    return error;
  }
  object->handle = *handle = vs_sim_handle_make(objects, VS_SIM_HANDLE_USER_OBJECT, object->number, 0);
  sim->graphs.live_user_objects++;
  return VS_SIM_OK;
}

vs_sim_error vs_sim_user_object_retain(vs_sim *sim, uint64_t handle, uint32_t count) {
  vs_sim_user_object *object = find(sim, handle);
  if (object == NULL) return VS_SIM_INVALID_HANDLE;
  if (!is_count(count)) return VS_SIM_INVALID_VALUE;
  object->held += count;
  return VS_SIM_OK;
}

vs_sim_error vs_sim_user_object_release(vs_sim *sim, uint64_t handle, uint32_t count) {
  vs_sim_user_object *object = find(sim, handle);
  if (object == NULL) return VS_SIM_INVALID_HANDLE;
  if (!is_count(count) || count > object->held) return VS_SIM_INVALID_VALUE;
  object->held -= count;
  end_unless_wanted(sim, object);
  return VS_SIM_OK;
}

/* ---- references of graphs ---- */

static vs_sim_graph_reference *find_reference(const vs_sim_graph *graph, const vs_sim_user_object *object) {
  for (size_t i = 0; i < graph->references.count; i++)
    if (graph->references.data[i].object == object->number) return &graph->references.data[i];
  return NULL;
}

static vs_sim_user_object *object_of(const vs_sim *sim, const vs_sim_graph_reference *reference) {
  return sim->graphs.user_objects.slots.data[reference->object].object;
}

vs_sim_error vs_sim_graph_retain(vs_sim *sim, uint64_t graph_handle, uint64_t object_handle, uint32_t count,
                                 uint32_t flags) {
  vs_sim_graph *graph = vs_sim_graph_find(sim, graph_handle);
  vs_sim_user_object *object = find(sim, object_handle);
  if (graph == NULL || object == NULL) return VS_SIM_INVALID_HANDLE;
  if (!is_count(count) || (flags & ~(uint32_t)VS_SIM_USER_OBJECT_MOVE) != 0) return VS_SIM_INVALID_VALUE;
  if (flags == VS_SIM_USER_OBJECT_MOVE && count > object->held) return VS_SIM_INVALID_VALUE;
  vs_sim_graph_reference *reference = find_reference(graph, object);
  if (reference == NULL) {
    if (vs_vec_reserve(sim->host, &graph->references, 1) != VS_OK) return VS_SIM_OUT_OF_MEMORY;
    reference = &graph->references.data[graph->references.count++];
    *reference = (vs_sim_graph_reference){.object = object->number};
  } else if (count > MOST_REFERENCES - reference->count) {
    return VS_SIM_INVALID_VALUE;
  }
  reference->count += count;
  object->kept += count;
  if (flags == VS_SIM_USER_OBJECT_MOVE) object->held -= count;
  return VS_SIM_OK;
}

vs_sim_error vs_sim_graph_release(vs_sim *sim, uint64_t graph_handle, uint64_t object_handle,
                                  uint32_t count) {
  vs_sim_graph *graph = vs_sim_graph_find(sim, graph_handle);
  vs_sim_user_object *object = find(sim, object_handle);
  if (graph == NULL || object == NULL) return VS_SIM_INVALID_HANDLE;
  vs_sim_graph_reference *reference = find_reference(graph, object);
  if (reference == NULL || !is_count(count) || count > reference->count) return VS_SIM_INVALID_VALUE;
  VS_ASSERT(object->kept >= count);
  reference->count -= count;
  object->kept -= count;
  if (reference->count == 0) *reference = graph->references.data[--graph->references.count];
  end_unless_wanted(sim, object);
  return VS_SIM_OK;
}

void vs_sim_references_drop(vs_sim *sim, vs_sim_graph *graph) {
  for (size_t i = 0; i < graph->references.count; i++) {
    vs_sim_user_object *object = object_of(sim, &graph->references.data[i]);
    VS_ASSERT(object != NULL && object->kept >= graph->references.data[i].count);
    object->kept -= graph->references.data[i].count;
    end_unless_wanted(sim, object);
  }
  graph->references.count = 0;
}

vs_sim_error vs_sim_references_copy(vs_sim *sim, const vs_sim_graph *from, vs_sim_graph *to) {
  if (vs_vec_reserve(sim->host, &to->references, from->references.count) != VS_OK)
    return VS_SIM_OUT_OF_MEMORY;
  for (size_t i = 0; i < from->references.count; i++) {
    to->references.data[i] = from->references.data[i];
    object_of(sim, &from->references.data[i])->kept += from->references.data[i].count;
  }
  to->references.count = from->references.count;
  return VS_SIM_OK;
}
