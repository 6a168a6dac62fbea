/* Names of files as text: they may be of another machine, so nothing is looked up. Slashes and backslashes separate parts. */
#ifndef VS_BASE_PATH_H
#define VS_BASE_PATH_H

#include "base/text.h"

/* The last part of a path, behind the last slash or backslash. */
vs_str vs_path_base(vs_str path);
/* Whether `end` is a path or the last parts of it: "train.py" and "u/train.py" match "/home/u/train.py". */
bool vs_path_ends_with(vs_str path, vs_str end);
/* Whether a file has the name that TorchInductor gives to its code, in whichever folder its cache is: "cd/ccd….py", a letter and 51 digits of a hash
 * in base 32, in a folder of two of these. */
bool vs_path_is_generated(vs_str path);
/* The part of such a path that does not depend on where the cache is: the folder and the file. */
vs_str vs_path_generated_name(vs_str path);
/* Whether a file of Python code belongs to a package or to the interpreter, and not to the user. */
bool vs_path_is_library(vs_str path);

#endif
