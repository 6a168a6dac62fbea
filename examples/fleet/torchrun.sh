#!/bin/sh
# Starts a program on all GPUs of this machine with torchrun. A rank that runs out of memory leaves a recording of what led to it in FOLDER; at the
# end these are explained, the first one first.
#
#   torchrun.sh FOLDER PROGRAM [ARGUMENT]...
#
# VRAMSCOPE_RUN_OPTIONS: more options of vramscope run, for example "--gpu 2xA100" for simulated GPUs. The exit status is that of torchrun.
folder=$1
shift
mkdir -p "$folder" || exit
# shellcheck disable=SC2086  # a list of options
vramscope run --quiet --on-oom "$folder/$(uname -n).vram" ${VRAMSCOPE_RUN_OPTIONS:-} -- torchrun --standalone --nproc-per-node gpu "$@"
status=$?
[ -z "$(ls "$folder")" ] || vramscope oom "$folder"
exit $status
