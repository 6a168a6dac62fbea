"""Does memory come back after an error? The same cells in a real IPython shell or in the kernel of a notebook.

    restore.py shell|kernel

Each story is a cell that fails while its function holds tensors; what PyTorch has allocated afterwards, in MB, is the
fact. Prints one JSON object.
"""

import json
import sys

FIRST = """
import gc, os, sys, torch
import vramscope.fastai as mem
MB = 2**20
def block(megabytes): return torch.empty(megabytes * MB, dtype=torch.uint8, device="cuda")
def grab():
    held = [block(1000)]
    while True: held.append(block(1000))
def fail(kind=ValueError, text="not about memory"):
    held = block(1000)
    raise kind(text)
def inner_failed():
    try:
        fail()
    except ValueError as error:
        held = block(500)
        grab()
def as_cause():
    try:
        grab()
    except torch.OutOfMemoryError as error:
        raise RuntimeError("training failed") from error
grab_restored, fail_restored = mem.gpu_mem_restore(grab), mem.gpu_mem_restore(fail)
"""
LOOK = "print(torch.cuda.memory_allocated() // MB)"
HELD = ("control", "restored_chain")
WHO = """
import json
print(json.dumps([[held.function, held.bytes // MB, held.variables] for held in mem.gpu_mem_held_by_error()]))
"""
FORGET = "1 / 0"  # IPython keeps the last error only
STORIES = {
    "control": "grab()",
    "restored": "grab_restored()",
    "restored_chain": "mem.gpu_mem_restore(inner_failed)()",
    "restored_cause": "mem.gpu_mem_restore(as_cause)()",
    "other_error": "fail_restored()",
    "assert": "fail_restored(RuntimeError, 'CUDA error: device-side assert triggered')",
    "cublas": "fail_restored(RuntimeError, 'CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)')",
    "never": "os.environ['FASTAI_TB_CLEAR_FRAMES'] = '0'; grab_restored()",
    "always": "os.environ['FASTAI_TB_CLEAR_FRAMES'] = '1'; fail_restored()",
    "interrupted": "fail_restored(KeyboardInterrupt, 'by hand')",
    "default": "del os.environ['FASTAI_TB_CLEAR_FRAMES']; grab_restored()",
    "context": "with mem.gpu_mem_restore_ctx(): fail()",
}


def first_words(kind, text):
    return f"{kind}: {text.splitlines()[0][:40] if text else ''}"


class Shell:
    def __init__(self):
        from IPython.core.interactiveshell import InteractiveShell

        self.shell = InteractiveShell.instance()

    def run(self, cell):
        """(its output, the error's name or None)."""
        import contextlib
        import io

        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            result = self.shell.run_cell(cell)
        error = result.error_in_exec
        name = None if error is None else first_words(type(error).__name__, str(error))
        del result, error
        return out.getvalue(), name

    def close(self):
        pass


class Kernel:
    def __init__(self):
        from jupyter_client.manager import KernelManager

        self.manager = KernelManager()
        self.manager.kernel_spec.argv[0] = sys.executable
        self.manager.start_kernel()
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def run(self, cell):
        out, error = [], []

        def hook(message):
            content = message["content"]
            if message["msg_type"] == "stream" and content["name"] == "stdout":
                out.append(content["text"])
            if message["msg_type"] == "error":
                error.append(first_words(content["ename"], content["evalue"]))

        self.client.execute_interactive(cell, timeout=120, output_hook=hook)
        return "".join(out), error[0] if error else None

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


place = {"shell": Shell, "kernel": Kernel}[sys.argv[1]]()
try:
    facts = {"first": place.run(FIRST), "start": int(place.run(LOOK)[0])}
    for name, cell in STORIES.items():
        _, error = place.run(cell)
        facts[name] = [int(place.run(LOOK)[0]), error]
        if name in HELD:
            facts[name].append(json.loads(place.run(WHO)[0]))
            facts[name].append(int(place.run(LOOK)[0]))
        place.run(FORGET)
        place.run("gc.collect()")
    facts["end"] = int(place.run(LOOK)[0])
    facts["in_ipython"] = place.run("print(mem.IS_IN_IPYTHON)")[0].strip()
finally:
    place.close()
print(json.dumps(facts))
