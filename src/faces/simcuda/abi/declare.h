/* Makes declarations of the rows of a list of names (core/face.h says what they are): include this, the list, and
 * declared.h. VS_LIKE, VS_SAME and VS_PER_THREAD stand behind what they name. None is made of another: a toolkit's header
 * makes macros of some names, which would be expanded on the way. */
#define VS_FACE(result, name, arguments) result sim_##name arguments;
#define VS_LIKE(name, as)                extern __typeof__(sim_##as) sim_##name;
#define VS_SAME(name, as)                extern __typeof__(sim_##as) sim_##name;
#define VS_PER_THREAD(name, as, stream)  extern __typeof__(sim_##as) sim_##name;
#define VS_ALSO(name, as)
#define VS_REFUSED(name)
#define VS_REFUSED_TEXT(name)
