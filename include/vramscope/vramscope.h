/* Everything that vramscope offers to C programs. */
#ifndef VRAMSCOPE_H
#define VRAMSCOPE_H

#include <vramscope/base.h>
#include <vramscope/devices.h>
#include <vramscope/dryrun.h>
#include <vramscope/files.h>
#include <vramscope/live.h>
#include <vramscope/query.h>
#include <vramscope/summary.h>
#include <vramscope/torch.h>

#endif
