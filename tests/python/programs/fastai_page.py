"""Everything that fastai's page about its memory tools shows, done here: each use prints what that page says it prints.
What is printed is collected, what is returned is compared with torch.cuda.memory_stats. Prints one JSON object of
facts.
"""

import contextlib
import io
import json

import torch

import vramscope.fastai as mem
from vramscope.fastai import *  # noqa: F403 (the page does)
from vramscope.fastai import GPUMemTrace, gpu_mem_trace

MB = 2**20
facts, kept = {}, []


def printed(function):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        function()
    return out.getvalue()


def work(keep=24, blip=60):
    """Keeps some memory and needs more for a moment. What it does is measured by PyTorch's own figures, too."""
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_stats()["allocated_bytes.all.current"]
    extra = torch.empty(blip * MB, dtype=torch.uint8, device="cuda")
    kept.append(torch.empty(keep * MB, dtype=torch.uint8, device="cuda"))
    del extra
    stats = torch.cuda.memory_stats()
    used = stats["allocated_bytes.all.current"] // MB - before // MB
    return used, stats["allocated_bytes.all.peak"] // MB - before // MB - max(0, used)


# ---- how full

facts["before"] = [mem.gpu_mem_get(), len(mem.gpu_mem_get_all()), torch.cuda.is_initialized()]
mem.preload_pytorch()
import pynvml  # noqa: E402 (what fastai asked)

pynvml.nvmlInit()
nvml = pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0))
one = mem.gpu_mem_get()
facts["get"] = [one == (nvml.total // MB, nvml.free // MB, nvml.used // MB), one._fields, type(one).__name__]
facts["wrong"] = [mem.gpu_mem_get(99), mem.gpu_mem_get(-1), mem.gpu_mem_get("cuda:99")]
facts["forms"] = [mem.gpu_mem_get(form) == mem.gpu_mem_get(1) for form in ("cuda:1", torch.device("cuda", 1), "1")]
try:
    mem.gpu_mem_get("no")
except ValueError as error:
    facts["forms"].append(str(error))
facts["one"] = mem.gpu_mem_get(1) == mem.gpu_mem_get_all()[1] != one
facts["all"] = [len(mem.gpu_mem_get_all()), mem.gpu_mem_get_all()[0] == one]
facts["most"] = list(mem.gpu_with_max_free_mem())
facts["b2mb"] = [mem.b2mb(MB - 1), mem.b2mb(MB), mem.b2mb(5.9 * MB), mem.b2mb(-1.5 * MB)]
cached = torch.empty(300 * MB, dtype=torch.uint8, device="cuda")
facts["used"] = mem.gpu_mem_get_used() - one.used
del cached
facts["cached"] = [mem.gpu_mem_get_used() - one.used, one.free - mem.gpu_mem_get_free()]
facts["no_cache"] = [mem.gpu_mem_get_used_no_cache() - one.used <= 0, one.free - mem.gpu_mem_get_free_no_cache() <= 0]
facts["fast"] = [mem.gpu_mem_get_used_fast(pynvml.nvmlDeviceGetHandleByIndex(0)) == mem.gpu_mem_get_used(),
                 mem.gpu_mem_get_used_fast(0) == mem.gpu_mem_get_used()]
facts["names"] = [mem.use_gpu, mem.IS_IN_IPYTHON, mem.is_osx]
torch.cuda.set_device(1)
facts["current"] = mem.gpu_mem_get() == mem.gpu_mem_get(1)
torch.cuda.set_device(0)

# ---- traces

trace = GPUMemTrace()
truth = work()
facts["report"] = [printed(trace.report), list(truth), list(trace.data())]
facts["print"] = printed(lambda: print(trace))
facts["noted"] = printed(lambda: trace.report("a second run"))
trace.reset()
facts["after_reset"] = list(trace.data())
lines, truths = [], []
for i in range(3):
    trace.reset()
    truths.append("△Used Peaked MB: {:6,.0f} {:6,.0f} (i={})\n".format(*work(i + 1, 10), i))
    lines.append(printed(lambda: trace.report(f"i={i}")))
trace.reset()
for i in range(3):
    truths.append("△Used Peaked MB: {:6,.0f} {:6,.0f} (i={})\n".format(*work(i + 1, 10), i))
    lines.append(printed(lambda: trace.report_n_reset(f"i={i}")))
facts["loops"] = [lines, truths]
trace.start()
truth = work(2, 9)
trace.peak_monitor_func()  # a subclass of fastai's may call it; the figures are exact without it
trace.stop()
frozen = trace.data()
work(50, 60)
trace.stop()
facts["frozen"] = [list(truth), list(frozen), list(trace.data()), trace.is_running]
facts["mb"] = [trace.used_peak - trace.used_start, trace.delta_used, trace.delta_peaked]

trace = GPUMemTrace(ctx="foobar")
facts["ctx"] = [printed(trace.report), printed(lambda: trace.report("1st try")),
                printed(lambda: trace.report(subctx="2nd try"))]
trace = GPUMemTrace(silent=True)
facts["silent"] = [printed(trace.report), bool(trace.silent), trace.silent(silent=False), printed(trace.report)]
trace.silent(silent=True)
facts["silent"] += [printed(trace.report), trace.silent == True]  # noqa: E712
trace.silent = False
facts["silent"] += [printed(lambda: trace.report("x"))]


def with_default():
    with GPUMemTrace():
        work(3, 4)


def with_context():
    with GPUMemTrace(ctx="some context"):
        work(1000, 1500)


def returns():
    def some_func():
        with GPUMemTrace(ctx="some_func"):
            return 1

    some_func()


def without_report():
    with GPUMemTrace(ctx="some_func", on_exit_report=False) as trace:
        work(1, 2)
    trace.report("measured in ctx")


def as_text():
    with GPUMemTrace(on_exit_report=False) as trace:
        work(1, 2)
    print(trace)


facts["with"] = [printed(each) for each in (with_default, with_context, returns, without_report, as_text)]
kept.clear()


@gpu_mem_trace
def my_function(a, *, b):
    """Text."""
    work(5, 6)
    return a + b


class Class:
    @gpu_mem_trace
    def function(self):
        return self


facts["decorated"] = [printed(lambda: kept.append(my_function(1, b=2))), kept.pop(), my_function.__name__,
                      my_function.__doc__, printed(Class().function)]

# ---- nested traces, other kinds, and no figure of the user's changed

kept.clear()
torch.cuda.reset_peak_memory_stats()
with GPUMemTrace(silent=True) as outer:
    big = torch.empty(500 * MB, dtype=torch.uint8, device="cuda")
    del big
    with GPUMemTrace(silent=True) as inner:
        small = torch.empty(7 * MB, dtype=torch.uint8, device="cuda")
        del small
facts["nested"] = [list(outer.data()), list(inner.data()), torch.cuda.max_memory_allocated() // MB]
torch.cuda.empty_cache()
with GPUMemTrace(silent=True, kind="reserved") as reserved:
    small = torch.empty(100, dtype=torch.uint8, device="cuda")
facts["reserved"] = [*reserved.data(), reserved.figures().is_exact]
with GPUMemTrace(silent=True, kind="device") as device:
    big = torch.empty(100 * MB, dtype=torch.uint8, device="cuda")
facts["device"] = [device.data()[0], str(device), device.note]
shown = GPUMemTrace(kind="device", ctx="x")
facts["device"].append(printed(lambda: shown.report("y")))
shown.stop()
del big
with GPUMemTrace(on_exit_report=False) as doubtful:
    big = torch.empty(100 * MB, dtype=torch.uint8, device="cuda")
    doubtful.data()
    more = torch.empty(300 * MB, dtype=torch.uint8, device="cuda")
    del more, big
    torch._C._cuda_resetPeakMemoryStats.__wrapped__(0)
facts["doubtful"] = str(doubtful)
try:
    GPUMemTrace(kind="everything")
except ValueError as error:
    facts["kind"] = str(error)
print(json.dumps(facts))
