/* Turns the rows of a list of names (core/face.h) into declarations: include this, the list, and declared.h. VS_LIKE,
 * VS_SAME and VS_PER_THREAD follow the row that they name. No macro uses another one, because a toolkit's header defines
 * some names as macros, which would then be expanded. */
#define VS_FACE(result, name, arguments) result sim_##name arguments;
#define VS_LIKE(name, as)                extern __typeof__(sim_##as) sim_##name;
#define VS_SAME(name, as)                extern __typeof__(sim_##as) sim_##name;
#define VS_PER_THREAD(name, as, stream)  extern __typeof__(sim_##as) sim_##name;
#define VS_ALSO(name, as)
#define VS_REFUSED(name)
#define VS_REFUSED_TEXT(name)
