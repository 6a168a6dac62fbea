"""Runs blocks of the guide: BLOCKS.json is [[line, source, goes_on], ...]; one that goes on has the names of those before it. Prints,
as JSON, what each printed, or the traceback that ended it."""

import contextlib
import gc
import io
import json
import os
import sys
import traceback

outcomes, space = [], {}
with open(sys.argv[1], encoding="utf-8") as file:
    blocks = json.load(file)
for line, source, goes_on in blocks:
    if not goes_on:
        space.clear()
        space["__name__"] = "__main__"
        gc.collect()
    out, failure = io.StringIO(), None
    try:
        code = compile("\n" * line + source, "python.md", "exec")
        with contextlib.redirect_stdout(out):
            exec(code, space)
    except BaseException:
        failure = traceback.format_exc()
    outcomes.append({"out": out.getvalue(), "failure": failure})
print(json.dumps(outcomes), flush=True)
# A block may end in the middle of what autograd's threads do, and PyTorch then sometimes aborts when Python ends: so it does not.
os._exit(0)
