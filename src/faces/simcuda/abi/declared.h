/* Undefines the macros of declare.h. */
#undef VS_FACE
#undef VS_LIKE
#undef VS_SAME
#undef VS_PER_THREAD
#undef VS_ALSO
#undef VS_REFUSED
#undef VS_REFUSED_TEXT
