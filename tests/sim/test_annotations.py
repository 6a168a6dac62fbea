"""Named ranges in recordings (`vramscope run`, and a recording that begins later): record_function, optimizers' and the profiler's steps, and
NVTX, against what the program writes down itself and what PyTorch keeps of it.
"""

import json
import os
import pickle
import signal
import subprocess
import textwrap
import time
from pathlib import Path

import pytest
from answers import ask
from conftest import BINARY, PROGRAMS, PYTHON, ROOT, command, environment, environment_of, finish, preload
from test_run import exported, kinds, report_of, run
from test_recorder import RECORDER, libraries  # noqa: F401  (a fixture)

PROGRAM = [str(PYTHON), str(PROGRAMS / "annotated.py"), "told.json"]
MOST = 256  # bytes of a name


def cut(name):
    """To so many bytes, and whole characters."""
    return name.encode()[:MOST].decode(errors="ignore")


def ends(snapshot):
    return [[entry["name"], entry["stage"]] for entry in snapshot.get("external_annotations", [])]


def told_of(folder):
    return [[cut(name), stage] for name, stage in json.loads((folder / "told.json").read_text())]


def annotated(folder, *arguments, options=("-o", "run.vram", "--gpu", "24GiB"), **settings):
    done = run(folder, *options, program=PROGRAM, arguments=arguments, **settings)
    return done, exported(folder, folder / "run.vram") if (folder / "run.vram").exists() else None


def test_ranges_are_the_programs(tmp_path):
    """All of them in order, with the time at which they began and ended; and those of PyTorch's own history."""
    has_history = "global_record_annotations" in (PYTHON.parent.parent / "lib/python3.11/site-packages/torch/cuda/memory.py").read_text()
    done, ours = annotated(tmp_path, *(("--history", "history.pickle") if has_history else ()))
    assert done.code == 0 and "vramscope" not in done.err, done.err
    told = told_of(tmp_path)
    assert ends(ours) == told and len(told) > 70
    times = [entry["time_us"] for entry in ours["external_annotations"]]
    events = [event["time_us"] for event in ours["device_traces"][0]]
    assert times == sorted(times) and times[0] < events[0] and {entry["device"] for entry in ours["external_annotations"]} == {0}
    if has_history:
        theirs = ends(pickle.loads((tmp_path / "history.pickle").read_bytes()))
        functions = {"inner", "thread's", *(name for name, _ in told if name.startswith(("step ", "Optimizer.")))}
        assert [end for end in ends(ours) if end[0] in functions] == [end for end in theirs if end[0] in functions]
    device = report_of(tmp_path / "run.vram")
    assert kinds(device) == {"frees_at_request"}
    assert device["steps"]["source"] == "annotations" and device["steps"]["count"] == 3
    by_range = ask(tmp_path / "run.vram", "groups", by="annotation")["groups"]
    assert {group["key"] for group in by_range} >= {"inner", "second"}, by_range


def test_a_profiler_runs_at_the_same_time(tmp_path):
    """It marks its steps, and its trace has the ranges that it has without a recorder."""
    done, ours = annotated(tmp_path, "--profile", "profile.json")
    assert done.code == 0, done.err
    told = told_of(tmp_path)
    assert ["ProfilerStep#1", "START"] in told and ends(ours) == told
    traced = [event for event in json.loads((tmp_path / "profile.json").read_text())["traceEvents"] if event.get("cat") == "user_annotation"]
    names = [event["name"] for event in sorted(traced, key=lambda event: (event["ts"], -event["dur"]))]
    begun = [name for name, stage in told if stage == "START" and name != "forward"]
    assert names == begun[begun.index("ProfilerStep#1"):]


def test_a_process_that_is_killed_leaves_open_ranges(tmp_path):
    done, ours = annotated(tmp_path, "--end", "kill")
    assert done.code == 128 + signal.SIGKILL, done.err
    told = told_of(tmp_path)
    assert ends(ours) == told and told.count(["outer", "START"]) == 1 and ["outer", "END"] not in told
    (outer,) = [range for range in ask(tmp_path / "run.vram", "info")["devices"][0]["annotations"] if range["name"] == "outer"]
    assert outer["end_us"] is None and outer["depth"] == 0


@pytest.mark.parametrize("end", ["exit", "kill"])
def test_a_file_that_keeps_the_newest_part_has_open_ranges(tmp_path, end):
    """The beginning of the outer one is overwritten long before the file ends."""
    settings = {"LD_PRELOAD": f"{RECORDER}:{preload()}", "VRAMSCOPE_RECORD": tmp_path / "run.vram", "VRAMSCOPE_RECORD_RING": 1 << 20,
                "VRAMSCOPE_SIM_GPU": "24GiB"}
    done = finish([*PROGRAM, "--storm", "250000", "--end", end], environment_of(settings), tmp_path, 240)
    assert done.code == (-signal.SIGKILL if end == "kill" else 0), done.err
    assert "ring_wrapped" in kinds(report_of(tmp_path / "run.vram"))
    assert ends(exported(tmp_path, tmp_path / "run.vram")) == [["outer", "START"], ["outer", "END"]][: 1 + (end == "exit")]


def test_what_leads_to_an_error_has_open_ranges(tmp_path):
    """The second recording begins within the ranges of the first."""
    program = """
        import torch
        with torch.profiler.record_function("outer"):
            for i in range(2):
                with torch.profiler.record_function(f"attempt {i}"):
                    try:
                        held = [torch.empty(1 << 30, dtype=torch.uint8, device="cuda") for _ in range(1000)]
                    except torch.OutOfMemoryError:
                        pass
    """
    done = run(tmp_path, "--on-oom", "oom.vram", "--gpu", "4GiB", program=command(program, []))
    assert done.code == 0, done.err
    assert ends(exported(tmp_path, tmp_path / "oom.vram")) == [["outer", "START"], ["attempt 0", "START"], ["attempt 0", "END"], ["attempt 1", "START"]]


def test_threads_and_forks(tmp_path):
    """Each thread's ranges are in its order; a child has none of its parent's, and its ends are not its parent's."""
    program = """
        import os, threading, torch

        def work(thread):
            for i in range(50):
                with torch.profiler.record_function(f"{thread}: {i}"):
                    torch.cuda.nvtx.range_push(f"{thread}: pushed")
                    torch.empty(1000, device="cuda")
                    torch.cuda.nvtx.range_pop()

        with torch.profiler.record_function("parent"):
            torch.cuda.nvtx.range_push("pushed by the parent")
            if os.fork() == 0:
                torch.cuda.nvtx.range_pop()
                with torch.profiler.record_function("child"):
                    torch.empty(1, device="cuda")
            else:
                os.wait()
                threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
                [thread.start() for thread in threads]
                [thread.join() for thread in threads]
                torch.cuda.nvtx.range_pop()
    """
    done = run(tmp_path, "-o", "run.vram", "--gpu", "24GiB", program=command(program, []))
    assert done.code == 0, done.err
    (parent,) = tmp_path.glob("run.*.vram")
    assert ends(exported(tmp_path, tmp_path / "run.vram")) == [["child", "START"], ["child", "END"]]  # which used the GPU first
    ours = ends(exported(tmp_path, parent))
    assert ours[:2] == [["parent", "START"], ["pushed by the parent", "START"]]
    assert ours[-2:] == [["pushed by the parent", "END"], ["parent", "END"]]
    for thread in range(4):
        pushed = f"{thread}: pushed"
        wanted = [[name, stage] for i in range(50)
                  for name, stage in ((f"{thread}: {i}", "START"), (pushed, "START"), (pushed, "END"), (f"{thread}: {i}", "END"))]
        assert [end for end in ours if end[0].startswith(f"{thread}: ")] == wanted


def test_threads_that_do_not_hold_pythons_lock(tmp_path):
    """Our functions are in PyTorch's list once, for the thread that makes a range: each range begins and ends once."""
    threads, count = 4, 2000
    program = [str(PYTHON), str(PROGRAMS / "scripted_ranges.py"), str(threads), str(count)]
    done = run(tmp_path, "-o", "run.vram", "--gpu", "24GiB", program=program)
    assert done.code == 0, done.err
    ours = ends(exported(tmp_path, tmp_path / "run.vram"))
    for thread in range(threads):
        stages = [stage for name, stage in ours if name == f"thread {thread}"]
        assert len(stages) == 2 * count and set(stages[::2]) == {"START"} and set(stages[1::2]) == {"END"}
    assert len(ours) == threads * 2 * count


@pytest.mark.parametrize("is_late", [False, True])
def test_the_list_of_functions_is_empty(tmp_path, is_late):
    """While nothing makes a range, on any thread: so the nodes of a backward pass, which copy the list, do not get slower."""
    program = """
        import ctypes, glob, os, threading, torch
        (path,) = glob.glob(os.path.dirname(torch.__file__) + "/lib/libtorch_cpu.so")
        has_any = ctypes.CDLL(path)._ZN2at18hasGlobalCallbacksEv
        has_any.restype = ctypes.c_bool
        found = []

        def work(thread):
            for i in range(200):
                with torch.profiler.record_function(f"{thread}: {i}"):
                    torch.empty(1000, device="cuda")

        def train():
            torch.empty(1, device="cuda")
            threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            found.append(has_any())
            with torch.profiler.record_function("held"):
                found.append(has_any())

        if LATE:
            import vramscope
            with vramscope.record("run.vram"):
                train()
        else:
            train()
        assert found == [False, False], found
    """.replace("LATE", str(is_late))
    if is_late:
        settings = {"LD_PRELOAD": preload(), "VRAMSCOPE_SIM_GPU": "24GiB", "PYTHONPATH": Path(BINARY).parent / "python"}
        done = finish(command(program, []), environment_of(settings), tmp_path, 240)
    else:
        done = run(tmp_path, "-o", "run.vram", "--gpu", "24GiB", program=command(program, []))
    assert done.code == 0, done.err
    ours = ends(exported(tmp_path, tmp_path / "run.vram"))
    for thread in range(4):
        assert [end for end in ours if end[0].startswith(f"{thread}: ")] == [[f"{thread}: {i}", stage] for i in range(200) for stage in ("START", "END")]
    assert ours[-2:] == [["held", "START"], ["held", "END"]] and len(ours) == 4 * 400 + 2


def test_recordings_that_begin_later(tmp_path):
    """Twice: each has the ranges that begin in it, and no end of others."""
    late = f"{ROOT / 'python/vramscope/_recorder.py'}:{RECORDER}:{tmp_path / 'run.vram'}"
    settings = {"LD_PRELOAD": preload(), "VRAMSCOPE_SIM_GPU": "24GiB"}
    done = finish([*PROGRAM, "--late", late], environment_of(settings), tmp_path, 240)
    assert done.code == 0 and done.err == "", done.err
    told = told_of(tmp_path)
    assert [ends(exported(tmp_path, tmp_path / f"run.vram.{i}")) for i in range(2)] == [told[:3], told[3:]]
    assert [name for name, _ in told] == ["recorded 0", "recorded 0", "cut off", "recorded 1", "recorded 1", "cut off"]


RANGES = """
        import torch

        def pushed(*names):
            for name in names:
                assert torch.cuda.nvtx.range_push(name) == -2
            torch.empty(100, device="cuda")
            for name in names:
                torch.cuda.nvtx.range_pop()
"""


@pytest.mark.parametrize("is_called", [False, True])
def test_nvtx_in_recordings_that_begin_later(tmp_path, is_called):
    """Whether NVTX was called before or not. The end of a range that began before a recording is not in it, and balances nothing."""
    program = RANGES + f"""
        import vramscope
        torch.empty(1, device="cuda")
        if {is_called}:
            torch.cuda.nvtx.range_push("before")
        for i in range(3):
            with vramscope.record(f"run.{{i}}.vram"):
                torch.cuda.nvtx.range_pop()
                pushed(f"outer {{i}}", "inner")
                started = torch.cuda.nvtx.range_start("started")
                torch.empty(100, device="cuda")
                torch.cuda.nvtx.range_end(started)
                torch.cuda.nvtx.range_push("cut off")
            pushed("between")
    """
    settings = {"LD_PRELOAD": preload(), "VRAMSCOPE_SIM_GPU": "24GiB", "PYTHONPATH": Path(BINARY).parent / "python"}
    done = finish(command(program, []), environment_of(settings), tmp_path, 240)
    assert done.code == 0 and "vramscope" not in done.err, done.err
    for i in range(3):
        assert ends(exported(tmp_path, tmp_path / f"run.{i}.vram")) == [
            [f"outer {i}", "START"], ["inner", "START"], ["inner", "END"], [f"outer {i}", "END"], ["started", "START"], ["started", "END"],
            ["cut off", "START"]]


@pytest.mark.parametrize("is_called", [False, True])
def test_nvtx_of_a_program_that_is_attached_to(tmp_path, is_called):
    """Twice; between the two recordings, and after them, its calls do what they do without a tool."""
    program = RANGES + f"""
        import select, sys
        if {is_called}:
            pushed("before")
        torch.empty(1, device="cuda")
        print("ready", flush=True)
        steps = 0
        while not select.select([sys.stdin], [], [], 0.005)[0] and steps < 100000:
            pushed("step", "forward")
            steps += 1
        print(steps, torch.cuda.nvtx.range_start("none"))
    """
    process = subprocess.Popen(command(program, []), env=environment(gpu="8GiB"), cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        for i in range(2):
            for words in (["attach", str(process.pid), "-o", f"run.{i}.vram"], ["detach", str(process.pid)]):
                done = finish([BINARY, *words], dict(os.environ), tmp_path, 120)
                assert done.code == 0, done.err
                time.sleep(0.5)
        out, err = process.communicate("", timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0 and "vramscope" not in err and out.split()[1] == "0", err
    step = [["step", "START"], ["forward", "START"], ["forward", "END"], ["step", "END"]]
    for i in range(2):
        ours = ends(exported(tmp_path, tmp_path / f"run.{i}.vram"))
        ours = ours[next(at for at, end in enumerate(ours) if end == step[0]):]  # it may begin in a range
        assert len(ours) > 20 and ours == (step * len(ours))[: len(ours)]


def test_a_step_of_two_programs(tmp_path):
    for name in ("before", "after"):
        done = run(tmp_path, "-o", f"{name}.vram", "--gpu", "24GiB", program=PROGRAM, arguments=[])
        assert done.code == 0, done.err
    done = finish([BINARY, "diff", "--at", "step 2", "before.vram", "after.vram"], environment_of({}), tmp_path)
    assert done.code == 0 and "step 2" in done.out, done.out + done.err


# ---- without PyTorch


def compiled(path, *definitions):
    words = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", *definitions, "-o", path, ROOT / "tests/sim/recorder/nvtx.c", "-ldl"]
    subprocess.run(words, check=True, timeout=60)
    return path


@pytest.fixture
def nvtx(tmp_path):
    """NVTX in a library, and a tool: files of those."""
    return compiled(tmp_path / "libnvtx.so"), compiled(tmp_path / "libtool.so", "-DTOOL=1")


def without_pytorch(folder, program, *arguments, **more):
    settings = {"LD_PRELOAD": RECORDER, "VRAMSCOPE_RECORD": folder / "run.vram", "PYTHONPATH": None, **more}
    env = environment_of(settings)
    env.pop("PYTHONPATH")
    done = finish([str(PYTHON), ROOT / "tests/sim/recorder" / program, *arguments], env, folder)
    return done, exported(folder, folder / "run.vram")


def real_nvtx():
    """NVIDIA's own, which older releases of PyTorch bring."""
    return sorted((PYTHON.parent.parent / "lib").glob("python*/site-packages/nvidia/nvtx/lib/libnvToolsExt.so.1"))


def nvtx_of_headers(folder):
    """Compiled from NVIDIA's own headers, of the toolkit that is installed, if there is one; older headers cannot export their functions."""
    header = Path("/usr/local/cuda/include/nvtx3/nvToolsExt.h")
    is_usable = header.exists() and "NVTX_EXPORT_API" in header.read_text()
    return [compiled(folder / "libheaders.so", "-DHEADER=1", "-I", header.parent.parent)] if is_usable else []


def test_all_ranges_of_nvtx(libraries, nvtx, tmp_path):  # noqa: F811
    """Domains, registered strings, wide characters; names that are too long, not UTF-8, or none; ends without a beginning."""
    for library in (nvtx[0], *nvtx_of_headers(tmp_path), *real_nvtx()):
        done, ours = without_pytorch(tmp_path, "nvtx_calls.py", libraries["new"], library, "told.json")
        assert done.code == 0, done.err
        told = json.loads((tmp_path / "told.json").read_text())
        assert [end for end in ends(ours) if end[0] != "never ends"] == told and len(told) == 40
        assert ask(tmp_path / "run.vram", "info")["devices"][0]["annotation_count"] == 20 + 3000
        (tmp_path / "run.vram").unlink()


def test_another_tool_keeps_its_place(libraries, nvtx, tmp_path):  # noqa: F811
    done, ours = without_pytorch(tmp_path, "nvtx_calls.py", libraries["new"], nvtx[0], "told.json", nvtx[1], NVTX_INJECTION64_PATH=nvtx[1])
    assert done.code == 0, done.err
    assert ends(ours) == []


# ---- NVTX in recordings that begin later


def without_preload(folder, program, *arguments, recordings=(), **more):
    """A program that is recorded from the inside, and what its recordings have."""
    env = environment_of({"PYTHONPATH": None, **more})
    for name in {"PYTHONPATH", "LD_PRELOAD"} - set(more):
        env.pop(name, None)
    done = finish([str(PYTHON), ROOT / "tests/sim/recorder" / program, *arguments], env, folder)
    assert done.code == 0, done.err
    return done, [ends(exported(folder, folder / recording)) for recording in recordings]


@pytest.mark.parametrize("is_called", [False, True])
def test_all_ranges_of_nvtx_later(libraries, nvtx, tmp_path, is_called):  # noqa: F811
    """As in a recording from the beginning, whether NVTX has looked for a tool before or not; and no function is there when it has ended."""
    late = f"{ROOT / 'python/vramscope/_recorder.py'}:{RECORDER}:{tmp_path / 'run.vram'}"
    for library in (nvtx[0], *nvtx_of_headers(tmp_path)):
        done, (ours,) = without_preload(tmp_path, "nvtx_calls.py", libraries["new"], library, "told.json", recordings=["run.vram"], LATE=late,
                                        **({"CALLED": 1} if is_called else {}))
        assert "vramscope" not in done.err, done.err
        told = json.loads((tmp_path / "told.json").read_text())
        assert [end for end in ours if end[0] != "never ends"] == told and len(told) == 40
        (tmp_path / "run.vram").unlink()


def several(folder, libraries, others, **more):
    """Recordings of a program with several NVTX, the last of which is loaded later: what it says, and what they have."""
    words = [libraries["new"], ROOT / "python/vramscope/_recorder.py", RECORDER, folder / "run.vram", *others]
    return without_preload(folder, "nvtx_late.py", *words, recordings=["run.vram.0", "run.vram.1"], **more)


@pytest.mark.parametrize("is_recorded", [False, True])
def test_each_library_has_an_nvtx(libraries, tmp_path, is_recorded):  # noqa: F811
    """One that has been called, one that has not, and one that is loaded while a recording goes on; in two recordings, which begin while nothing is
    recorded, or take the place of a dry run's."""
    dry_run = {"LD_PRELOAD": RECORDER, "VRAMSCOPE_RECORD": tmp_path / "early.vram", "VRAMSCOPE_RECORD_QUIET": 1}
    libs = [compiled(tmp_path / f"lib{name}.so") for name in ("called", "fresh", "loaded")]
    done, ours = several(tmp_path, libraries, libs, **(dry_run if is_recorded else {}))
    assert "vramscope" not in done.err, done.err
    for i, recorded in enumerate(ours):
        begun = [[f"{i}: {number}", "START"] for number in range(3)]
        assert recorded == [*begun, *([name, "END"] for name, _ in begun[::-1]), ["cut off", "START"]]


def test_another_tool_keeps_its_place_later(libraries, nvtx, tmp_path):  # noqa: F811
    """In the library that has found it. The recording has the ranges of the others, and says what is missing."""
    done, ours = several(tmp_path, libraries, [nvtx[0], *(compiled(tmp_path / f"lib{name}.so") for name in ("fresh", "loaded"))], TOOL=nvtx[1])
    assert done.err.count("vramscope: not all named ranges of the program are seen") == 2, done.err
    for i, recorded in enumerate(ours):
        begun = [[f"{i}: {number}", "START"] for number in (1, 2)]
        assert recorded == [*begun, *([name, "END"] for name, _ in begun[::-1])]
        assert "missing_annotations" in kinds(report_of(tmp_path / f"run.vram.{i}"))


def test_threads_call_nvtx_while_recordings_begin_and_end(libraries, nvtx, tmp_path):  # noqa: F811
    """From its first call on: no call is lost while one goes on, and none goes to where there is no function."""
    program = """
        import ctypes, importlib.util, sys, threading
        allocator, module, path, recording = ctypes.CDLL(sys.argv[1]), *sys.argv[2:5]
        allocator.test_allocate.restype, allocator.test_allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        spec = importlib.util.spec_from_file_location("recorder", module)
        recorder = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(recorder)
        late, nvtx, is_over, calls = recorder.load(path), [ctypes.CDLL(library) for library in sys.argv[5:]], threading.Event(), [0] * 4

        def work(number):
            name = str(number).encode()
            while not is_over.is_set():
                for library in nvtx:
                    assert library.nvtxRangePushA(name) == -2
                    assert library.nvtxRangePop() == -2
                calls[number] += 1

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for i in range(40):
            recorder.begin(late, recording, recorder.REPLACE)
            allocator.test_allocate(1000)
            before = list(calls)
            while i % 10 == 9 and min(now - then for now, then in zip(calls, before)) < 20:
                is_over.wait(0.001)
            recorder.end(late)
        is_over.set()
        for thread in threads:
            thread.join()
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    words = [libraries["new"], ROOT / "python/vramscope/_recorder.py", RECORDER, tmp_path / "run.vram", nvtx[0], *nvtx_of_headers(tmp_path)]
    done, (ours,) = without_preload(tmp_path, tmp_path / "program.py", *words, recordings=["run.vram"])
    assert "named ranges" not in done.err, done.err
    for number in range(4):
        stages = [stage for name, stage in ours if name == str(number)]
        assert len(stages) >= 40 and set(stages[::2]) == {"START"} and set(stages[1::2]) == {"END"}


@pytest.mark.parametrize("definitions", [[], ["-DSTUCK=1"]])
def test_nvtx_that_cannot_be_joined(libraries, nvtx, tmp_path, definitions):  # noqa: F811
    """The environment names another tool, or a thread looks for one and does not end: NVTX is left alone, and the recording says so."""
    library = compiled(tmp_path / "libother.so", *definitions)
    program = """
        import ctypes, sys
        allocator, module, path, recording, library = ctypes.CDLL(sys.argv[1]), *sys.argv[2:5], ctypes.CDLL(sys.argv[5])
        allocator.test_allocate.restype, allocator.test_allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        import importlib.util
        spec = importlib.util.spec_from_file_location("recorder", module)
        recorder = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(recorder)
        late = recorder.load(path)
        before = library.nvtx_functions()
        recorder.begin(late, recording)
        allocator.test_allocate(1000)
        recorder.end(late)
        assert before == library.nvtx_functions() == 64
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    words = [libraries["new"], ROOT / "python/vramscope/_recorder.py", RECORDER, tmp_path / "run.vram", library]
    done, (ours,) = without_preload(tmp_path, tmp_path / "program.py", *words, recordings=["run.vram"],
                                    **({} if definitions else {"NVTX_INJECTION64_PATH": nvtx[1]}))
    assert done.err.count("vramscope: not all named ranges of the program are seen") == 1, done.err
    assert ours == [] and "missing_annotations" in kinds(report_of(tmp_path / "run.vram"))


# ---- another PyTorch


def another_pytorch(folder, definitions, calls, new):
    """A program that loads another libtorch_cpu.so, then another libc10_cuda.so, and makes these calls."""
    path = folder / "libtorch_cpu.so"
    subprocess.run(["cc", "-shared", "-fPIC", *definitions, "-o", path, ROOT / "tests/sim/recorder/torch_cpu.c"], check=True, timeout=60)
    (folder / "program.py").write_text("import ctypes, sys\ncpu, cuda = [ctypes.CDLL(path) for path in sys.argv[1:]]\n" + "\n".join(calls) + "\n")
    return without_pytorch(folder, folder / "program.py", path, new)


@pytest.mark.parametrize("definitions", [[], ["-DNONE=1"]])
def test_a_list_of_functions_that_is_not_known(libraries, tmp_path, definitions):  # noqa: F811
    """Is left as it was, and the recording says so."""
    done, _ = another_pytorch(tmp_path, definitions, ["cuda.test_allocate(1)", "cuda.test_allocate(2)"], libraries["new"])
    assert done.code == 0 and done.out == ("" if definitions else "removed\n"), done.err
    assert done.err.count("vramscope: not all named ranges of the program are seen") == 1
    assert "missing_annotations" in kinds(report_of(tmp_path / "run.vram"))


def test_ranges_that_are_made_in_another_way(libraries, tmp_path):  # noqa: F811
    """The functions stay in the list, once it was seen to be as it is known."""
    calls = ["cuda.test_allocate(1)", "cpu.test_range(b'one')", "cuda.test_allocate(2)", "cpu.test_range(b'two')"]
    done, ours = another_pytorch(tmp_path, ["-DKNOWN=1"], calls, libraries["new"])
    assert done.code == 0 and done.out == "removed\n" and "vramscope" not in done.err, done.err
    assert ends(ours) == [["one", "START"], ["one", "END"], ["two", "START"], ["two", "END"]]
