/* Variables that each event of a recording reads. They lie beside each other, so that a few lines of the processor's cache have all of them: a
 * program that computes between two events leaves none of its own there. A variable that is written often is none of these, because its
 * line would be taken from other threads' caches. */
#ifndef VS_BASE_HOT_H
#define VS_BASE_HOT_H

#define VS_HOT __attribute__((section(".data.vs_hot")))

#endif
