"""`vramscope run`: programs with the recorder in them, against what PyTorch knows of itself in the same process."""

import itertools
import json
import os
import pickle
import signal
import subprocess
from collections import Counter

import pytest
from answers import ask
from conftest import BINARY, PROGRAMS, PYTHON, command, environment_of, finish, preload

SEEN = {"alloc", "free_requested", "segment_alloc", "segment_free", "segment_map", "segment_unmap"}
PROGRAM = [str(PYTHON), str(PROGRAMS / "recorded.py")]


def run(folder, *options, program=PROGRAM, arguments=(), timeout=600, **settings):
    argv = [BINARY, "run", *options, "--", *program, *map(str, arguments)]
    return finish(argv, environment_of(settings), folder, timeout)


def told(done):
    """What PyTorch says of itself."""
    return json.loads(next(line for line in (done.out + done.err).splitlines() if line.startswith('{"pid"')))


def events_of(trace):
    return [(e["action"], e["addr"], e["size"], e["stream"]) for e in trace if e["action"] in SEEN]


def exported(folder, recording):
    path = folder / "exported.pickle"
    subprocess.run([BINARY, "export", "-q", "-f", recording, "pickle", "-o", path], check=True, timeout=120)
    with open(path, "rb") as file:
        return pickle.load(file)


def live_blocks(snapshot, freed=()):
    """The segments, and the blocks in them that are allocated, but for those at these addresses."""
    return sorted((segment["address"], segment["total_size"], segment["stream"], segment["segment_type"],
                   [(block["address"], block["size"], block["requested_size"])
                    for block in segment["blocks"] if block["state"] == "active_allocated" and block["address"] not in freed])
                  for segment in snapshot["segments"])


def frames_of(event):
    return [(frame["filename"], frame["line"], frame["name"]) for frame in event["frames"]]


def python_stacks(ours, theirs):
    """How many allocations have a Python stack, in both the same one; where theirs have none, ours has native frames alone."""
    count = 0
    allocs = ([e for e in snapshot["device_traces"][0] if e["action"] == "alloc"] for snapshot in (ours, theirs))
    for mine, its in zip(*allocs, strict=False):
        got, wanted = frames_of(mine), frames_of(its)
        assert got == wanted if wanted else not any(file.endswith((".py", ">")) for file, *_ in got)
        count += bool(wanted)
    return count


def report_of(recording):
    (device,) = ask(recording, "report")["devices"]
    return device


def kinds(device):
    return {finding["kind"] for finding in device["trust"]["findings"]}


@pytest.mark.parametrize("settings", ["", "max_split_size_mb:64,roundup_power2_divisions:4"])
def test_events_are_those_of_pytorchs_history(tmp_path, settings):
    """The same events in the same order: kind, address, bytes requested, stream; from the first request on."""
    done = run(tmp_path, "-o", "run.vram", "--gpu", "24GiB", arguments=["--history", "history.pickle"],
               PYTORCH_CUDA_ALLOC_CONF=settings)
    assert done.code == 0, done.err
    with open(tmp_path / "history.pickle", "rb") as file:
        theirs = pickle.load(file)
    ours = exported(tmp_path, tmp_path / "run.vram")
    wanted, got = events_of(theirs["device_traces"][0]), events_of(ours["device_traces"][0])
    assert len(wanted) > 500 and {"segment_alloc", "segment_free"} <= {action for action, *_ in wanted}
    assert got[: len(wanted)] == wanted
    assert {action for action, *_ in got[len(wanted):]} <= {"free_requested"}  # what the program frees when it ends
    assert kinds(report_of(tmp_path / "run.vram")) == {"frees_at_request"}
    reserved = ask(tmp_path / "run.vram", "reserved")
    assert "(simulated)" in reserved["card_name"] and {"library", "bytes"} <= set(reserved["libraries"][0])
    assert "run.vram: recording" in done.out and "vramscope" not in done.err
    freed = {address for _, address, *_ in got[len(wanted):]}
    assert live_blocks(ours) == live_blocks(theirs, freed)
    assert python_stacks(ours, theirs) > 200


def made_from(snapshot):
    """How many allocations have each line of the program behind a frame of a generated file."""
    found = Counter()
    for event in snapshot["device_traces"][0]:
        frames = frames_of(event) if event["action"] == "alloc" else []
        for (file, *_), (behind, line, _) in itertools.pairwise(frames):
            found[line] += "torchinductor_" in file and behind.endswith("recorded_compiled.py")
    return found


def test_generated_code_has_the_lines_of_the_model(tmp_path):
    """Stacks of a compiled program are PyTorch's frame by frame, those of the lines that the code was made from included: in the
    forward and the backward pass, compiled now and from TorchInductor's cache. So the owners are the same lines."""
    source = (PROGRAMS / "recorded_compiled.py").read_text().splitlines()
    parts = ("self.up(x)", "self.down(hidden)", "torch.cat(")
    lines = [1 + next(i for i, text in enumerate(source) if part in text) for part in parts]
    for hits in ("none", "all"):
        recording = tmp_path / f"{hits}.vram"
        done = run(tmp_path, "-o", recording, "--gpu", "24GiB", program=command("recorded_compiled.py", ["history.pickle"]),
                   TORCHINDUCTOR_CACHE_DIR=tmp_path / "torchinductor_test", TRITON_CACHE_DIR=tmp_path / "triton",
                   TORCHINDUCTOR_COMPILE_THREADS=1)
        assert done.code == 0, done.err
        assert (told(done)["hits"] > 0) == (hits == "all")
        with open(tmp_path / "history.pickle", "rb") as file:
            theirs = pickle.load(file)
        ours = exported(tmp_path, recording)
        wanted = events_of(theirs["device_traces"][0])
        assert events_of(ours["device_traces"][0])[: len(wanted)] == wanted
        assert python_stacks(ours, theirs) > 30
        assert made_from(ours) == made_from(theirs) and all(made_from(ours)[line] for line in lines)
        replies = [ask(tmp_path / name, "live", at="peak", top=0) for name in (recording.name, "history.pickle")]
        owners, of_snapshot = ({group["label"]: group["bytes"] for group in reply["groups"]} for reply in replies)
        assert owners == of_snapshot
        assert any(f"recorded_compiled.py:{line} " in label for line in lines for label in owners)


def test_a_profiler_runs_at_the_same_time(tmp_path):
    """PyTorch's profiler hears of memory through the functions that the recorder stands before: both are told everything."""
    done = run(tmp_path, "-o", "run.vram", "--gpu", "24GiB", arguments=["--history", "history.pickle", "--profile", "profile.json"])
    assert done.code == 0, done.err
    with open(tmp_path / "history.pickle", "rb") as file:
        wanted = events_of(pickle.load(file)["device_traces"][0])
    got = events_of(exported(tmp_path, tmp_path / "run.vram")["device_traces"][0])
    assert len(wanted) > 500 and got[: len(wanted)] == wanted
    traced = [event for event in json.loads((tmp_path / "profile.json").read_text())["traceEvents"] if event["name"] == "[memory]"]
    on_gpu = [event for event in sorted(traced, key=lambda event: event["ts"]) if event["args"]["Device Type"] == 1]
    calls = [(address, action == "alloc") for action, address, *_ in got if action in ("alloc", "free_requested")]
    for thread in {event["tid"] for event in on_gpu}:  # each in its order; the profiler does not follow threads that the program starts
        rest = iter(calls)
        assert all((event["args"]["Addr"], event["args"]["Bytes"] > 0) in rest for event in on_gpu if event["tid"] == thread)
    assert len(on_gpu) > 400


def test_expandable_segments(tmp_path):
    """Pages are not reported: they follow from the blocks and the total."""
    done = run(tmp_path, "-o", "run.vram", "--gpu", "24GiB", arguments=["--history", "history.pickle", "--keeps-cache"],
               PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    assert done.code == 0, done.err
    with open(tmp_path / "history.pickle", "rb") as file:
        theirs = pickle.load(file)
    ours = exported(tmp_path, tmp_path / "run.vram")
    wanted, got = events_of(theirs["device_traces"][0]), events_of(ours["device_traces"][0])
    assert "segment_map" in {action for action, *_ in wanted}
    assert got[: len(wanted)] == wanted
    assert report_of(tmp_path / "run.vram")["trust"]["complete"]


def test_pages_that_are_unmapped_unseen_are_said(tmp_path):
    done = run(tmp_path, "-o", "run.vram", "--gpu", "24GiB", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    assert done.code == 0, done.err
    assert "inferred_segments" in kinds(report_of(tmp_path / "run.vram"))


@pytest.mark.parametrize(("end", "code"), [("kill", 137), ("_exit", 7)])
def test_a_process_that_ends_at_once(tmp_path, end, code):
    """What was flushed is in the file, and the state that follows from it is that of the allocator."""
    done = run(tmp_path, "-o", "run.vram", "--gpu", "24GiB", arguments=["--end", end])
    assert done.code == code, done.err
    stats = told(done)["stats"]
    device = report_of(tmp_path / "run.vram")
    assert kinds(device) == {"frees_at_request", "not_ended"}
    live = ask(tmp_path / "run.vram", "live", at="end", top=0)
    assert live["bytes"] == stats["requested_bytes.all.current"] and live["rest"]["count"] == 0
    owners = {group["key"]["place"]: group["bytes"] for group in live["groups"]}
    source = (PROGRAMS / "recorded.py").read_text().splitlines()
    line = 1 + next(i for i, text in enumerate(source) if "30_000_000" in text)
    assert owners[f"recorded.py:{line}"] == 120_000_000
    assert device["end"]["reserved_bytes"] == stats["reserved_bytes.all.current"]
    assert device["end"]["allocated_bytes"] == stats["allocated_bytes.all.current"]


def test_out_of_memory_ends_with_the_post_mortem(tmp_path):
    done = run(tmp_path, "-o", "run.vram", "--gpu", "4GiB", arguments=["--end", "oom"])
    assert done.code == 1 and "OutOfMemoryError" in done.err
    assert "failed to allocate 1.00 GiB" in done.out, done.out
    (oom,) = report_of(tmp_path / "run.vram")["ooms"]
    assert oom["requested_bytes"] == 1 << 30
    free = float(done.err.split(" of which ")[1].split(" MiB is free")[0])
    assert abs(oom["device_free_bytes"] / 2**20 - free) < 0.01


def test_a_caught_failure_is_a_report(tmp_path):
    done = run(tmp_path, "-o", "run.vram", "--gpu", "4GiB", arguments=["--end", "caught"])
    assert done.code == 0, done.err
    assert "Peak " in done.out and len(report_of(tmp_path / "run.vram")["ooms"]) == 1


def test_json_and_names(tmp_path):
    """Without -o: the name of the program and its process. The program's output is on standard error."""
    done = run(tmp_path, "--json", "--gpu", "24GiB", arguments=["--end", "fail"])
    assert done.code == 5
    reply = json.loads(done.out)
    pid = told(done)["pid"]
    assert reply["method"] == "run" and reply["exit_code"] == 5
    assert reply["recordings"] == [{"file": str(tmp_path / f"recorded.{pid}.vram"), "pid": pid, "has_pytorch": True}]
    assert reply["libraries"]["has_pytorch"] and [device["device"] for device in reply["libraries"]["devices"]] == [0]
    assert reply["report"]["devices"] == ask(tmp_path / f"recorded.{pid}.vram", "report")["devices"]


def test_several_processes(tmp_path):
    """A child of a fork and the program that replaces a process have recordings of their own; workers without a GPU have none."""
    program = """
        import os, recorder, sys, torch
        from torch.utils.data import DataLoader

        def use(n):
            torch.empty(n, device="cuda")

        if os.fork() == 0:
            use(1000)
            recorder.wait_until_written()
            os.execv(sys.executable, [sys.executable, "-c", "import torch; torch.empty(3000, device='cuda')"])
        os.wait()
        list(DataLoader(range(8), num_workers=2))
        use(2000)
        list(DataLoader(range(8), num_workers=2))
        print(os.getpid())
    """
    done = run(tmp_path, "-o", "run.vram", "--gpu", "24GiB", program=command(program, []))
    assert done.code == 0, done.err
    parent = next(line for line in done.out.splitlines() if line.isdigit())
    sizes = {path.name: [e["size"] for e in exported(tmp_path, path)["device_traces"][0] if e["action"] == "alloc"]
             for path in tmp_path.glob("*.vram")}
    assert sizes.pop("run.vram") == [4000] and sizes.pop(f"run.{parent}.vram") == [8000]  # the child used the GPU first
    assert list(sizes.values()) == [[12000]]
    assert all(path.name in done.out for path in tmp_path.glob("*.vram")) and "3 recordings" in done.out


def test_signals_reach_the_program(tmp_path):
    argv = [BINARY, "run", "-o", "run.vram", "--gpu", "24GiB", "--", *PROGRAM, "--end", "wait"]
    with subprocess.Popen(argv, env=environment_of({}), cwd=tmp_path, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout.readline().startswith('{"pid"')
        os.kill(started.pid, signal.SIGTERM)
        assert started.wait(60) == 128 + signal.SIGTERM
    assert report_of(tmp_path / "run.vram")["trace"]["events"] > 500


def test_a_program_without_pytorch(tmp_path):
    """Its first memory of a simulated GPU begins the recording, which has the library's totals."""
    program = command("""
        import ctypes
        runtime, memory = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
        assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(48 << 20)) == 0
        assert runtime.cudaFree(memory) == 0
        assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(8 << 20)) == 0
    """, [])
    done = run(tmp_path, "-o", "run.vram", "--gpu", "24GiB", program=program)
    assert done.code == 0 and "recording without PyTorch's memory" in done.out, done.err
    (device,) = ask(tmp_path / "run.vram", "libraries")["devices"]
    (library,) = device["libraries"]
    assert (library["peak_bytes"], library["end_bytes"], device["card_bytes"]) == (48 << 20, 8 << 20, 24 << 30)


def test_a_path_that_cannot_be_written(tmp_path):
    """Is refused before the program runs."""
    program = command("print('ran')", [])
    done = run(tmp_path, "-o", "missing/run.vram", program=program)
    assert done.code == 3 and done.out == "" and "missing/run.vram: its folder does not exist" in done.err
    (tmp_path / "old.vram").write_text("mine")
    done = run(tmp_path, "-o", "old.vram", program=program)
    assert done.code == 3 and done.out == "" and "old.vram: file exists; use --force to overwrite it" in done.err
    assert (tmp_path / "old.vram").read_text() == "mine"
    done = run(tmp_path, "-f", "-o", "old.vram", program=program)
    assert done.code == 0 and done.out == "ran\n" and not (tmp_path / "old.vram").exists()
    assert "nothing was recorded: the program did not use PyTorch's CUDA allocator" in done.err
    done = run(tmp_path, program=["no-such-program"])
    assert done.code == 127 and "no-such-program: no such program" in done.err


def test_a_full_disk_does_not_stop_the_program(tmp_path):
    limited = ["sh", "-c", 'ulimit -f 1024; exec "$@"', "sh", *PROGRAM]  # half of what the recorder reserves at first
    done = run(tmp_path, "-o", "run.vram", "--gpu", "24GiB", program=limited)
    assert done.code == 0, done.err
    assert done.err.count("vramscope: not recording: ") == 1 and '{"pid"' in done.out


def test_nothing_is_recorded_unless_it_is_wanted(tmp_path):
    """The library alone, as it is in a process whose environment was cleaned."""
    library = os.path.join(os.path.dirname(BINARY), "preload", "libvramscope-record.so")
    done = finish([str(PYTHON), "-c", "print(1)"], environment_of({"LD_PRELOAD": library}), tmp_path)
    assert done.code == 0 and done.out == "1\n" and done.err == "" and not list(tmp_path.iterdir())


def totals(device):
    return {name: device["end"][f"{name}_bytes"] for name in ("requested", "allocated", "reserved")}


def totals_of_pytorch(done):
    return {name: told(done)["stats"][f"{name}_bytes.all.current"] for name in ("requested", "allocated", "reserved")}


@pytest.mark.parametrize("end", ["kill", "exit"])
def test_a_file_that_keeps_the_newest_part(tmp_path, end):
    """However the process ends, the file is no larger, and the state at its end is that of the allocator, with its owners."""
    library = os.path.join(os.path.dirname(BINARY), "preload", "libvramscope-record.so")
    done = run(tmp_path, "-o", "run.vram", "--ring", "16MiB", "--gpu", "24GiB", arguments=["--end", "exit"])
    assert done.code == 0, done.err
    assert "ring_wrapped" not in kinds(report_of(tmp_path / "run.vram"))  # it is not full
    settings = {"LD_PRELOAD": f"{library}:{preload()}", "VRAMSCOPE_RECORD": tmp_path / "ring.vram", "VRAMSCOPE_RECORD_RING": 1 << 20,
                "VRAMSCOPE_SIM_GPU": "24GiB", "PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"}
    done = finish([*PROGRAM, "--storm", "250000", "--end", end], environment_of(settings), tmp_path, 600)
    assert done.code == (-signal.SIGKILL if end == "kill" else 0), done.err
    path = tmp_path / "ring.vram"
    assert path.stat().st_size == 1 << 20
    device = report_of(path)
    assert {"ring_wrapped", "frees_at_request"} <= kinds(device) and ("not_ended" in kinds(device)) == (end == "kill")
    assert not [finding for finding in device["trust"]["findings"] if finding["severity"] == "contradiction"]
    recording = ask(path, "report")["file"]["recording"]
    assert recording["earlier_frames"] > 16 and recording["lost_events"] == 0
    assert exported(tmp_path, path)["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"] == "max_split_size_mb:64"
    if end == "kill":
        assert totals(device) == totals_of_pytorch(done)
        owners = {group["key"]["place"] for group in ask(path, "live", at="end", top=0)["groups"]}
        source = (PROGRAMS / "recorded.py").read_text().splitlines()
        line = 1 + next(i for i, text in enumerate(source) if "30_000_000" in text)
        assert f"recorded.py:{line}" in owners  # long before the first event of the file


def test_a_file_that_keeps_a_time(tmp_path):
    """Its events are the newest, and the state of memory before them leads to that of the allocator."""
    done = run(tmp_path, "-o", "run.vram", "--ring", "1s", "--gpu", "24GiB", arguments=["--storm", "600000", "--end", "kill"])
    assert done.code == 128 + signal.SIGKILL, done.err
    device = report_of(tmp_path / "run.vram")
    recording = ask(tmp_path / "run.vram", "report")["file"]["recording"]
    assert recording["earlier_frames"] > 0 and recording["lost_events"] == recording["lost_frames"] == 0
    assert "ring_wrapped" in kinds(device) and totals(device) == totals_of_pytorch(done)
    assert not [finding for finding in device["trust"]["findings"] if finding["severity"] == "contradiction"]


def test_only_out_of_memory_errors_are_kept(tmp_path):
    """What led to the last one, also of those that are handled; nothing else is left."""
    done = run(tmp_path, "--on-oom", "oom.vram", "--gpu", "4GiB", arguments=["--end", "oom"])
    assert done.code == 1 and "OutOfMemoryError" in done.err
    assert f"vramscope: out of memory: what led to it is recorded in {tmp_path}/oom.vram" in done.err
    assert "failed to allocate 1.00 GiB" in done.out and "Remedies" in done.out, done.out
    device = report_of(tmp_path / "oom.vram")
    assert len(device["ooms"]) == 1 and kinds(device) == {"frees_at_request"} and device["trace"]["events"] > 500
    last = exported(tmp_path, tmp_path / "oom.vram")["device_traces"][0][-1]
    assert last["action"] == "oom" and sorted(os.listdir(tmp_path)) == ["exported.pickle", "oom.vram"]
    os.unlink(tmp_path / "oom.vram")
    done = run(tmp_path, "--on-oom", "oom.vram", "--gpu", "4GiB", arguments=["--end", "caught"])
    assert done.code == 0 and "failed to allocate 1.00 GiB" in done.out, done.err
    os.unlink(tmp_path / "oom.vram")
    done = run(tmp_path, "--on-oom", "oom.vram", "--gpu", "4GiB", arguments=["--end", "exit"])
    assert done.code == 0 and "nothing was kept: no request of PyTorch's CUDA allocator failed" in done.err
    done = run(tmp_path, "--on-oom", "oom.vram", "-o", "run.vram")
    assert done.code == 2 and "--on-oom names the file itself" in done.err
    for ring, why in (("1MiB", "at least 16MiB"), ("0s", "at least 1s"), ("5 minutes", "a size such as 200MB or a time such as 5min")):
        done = run(tmp_path, "--ring", ring)
        assert done.code == 2 and f"--ring takes {why}" in done.err
    assert os.listdir(tmp_path) == ["exported.pickle"]


def test_a_killed_process_leaves_its_part(tmp_path):
    """With the state at which it began, after an error that was handled."""
    program = """
        import json, os, recorder, signal, torch
        early = torch.empty(1 << 29, dtype=torch.uint8, device="cuda")
        try:
            held = [torch.empty(1 << 30, dtype=torch.uint8, device="cuda") for _ in range(1000)]
        except torch.OutOfMemoryError:
            pass
        later = torch.empty(1000, device="cuda")
        stats = torch.cuda.memory_stats()
        print(json.dumps({"pid": os.getpid(), "torch": torch.__version__, "stats": {k: v for k, v in stats.items() if isinstance(v, int)}}), flush=True)
        recorder.wait_until_written()
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = run(tmp_path, "--on-oom", "oom.vram", "--gpu", "4GiB", program=command(program, []))
    assert done.code == 137 and "failed to allocate 1.00 GiB" in done.out, done.err
    (part,) = tmp_path.glob("oom.*.part*.vram")
    assert totals(report_of(part)) == totals_of_pytorch(done)


def test_several_failures(tmp_path):
    """Each that is handled ends a recording, and begins one with the state: its blocks have their owners."""
    program = """
        import torch

        def first():
            return [torch.empty(1 << 30, dtype=torch.uint8, device="cuda") for _ in range(1000)]

        def second(n):
            return [torch.empty(n, dtype=torch.uint8, device="cuda") for _ in range(1000)]

        early = torch.empty(1 << 29, dtype=torch.uint8, device="cuda")
        for attempt in (first, lambda: second(1 << 30), lambda: second(1 << 28)):
            try:
                attempt()
            except torch.OutOfMemoryError:
                pass
    """
    done = run(tmp_path, "--on-oom", "oom.vram", "--gpu", "4GiB", program=command(program, []))
    assert done.code == 0 and done.err.count("out of memory") == 1, done.err
    assert os.listdir(tmp_path) == ["oom.vram"]
    (oom,) = report_of(tmp_path / "oom.vram")["ooms"]
    assert oom["requested_bytes"] == 1 << 28
    owners = {group["key"]["name"]: group["bytes"] for group in ask(tmp_path / "oom.vram", "live", at="end", top=0)["groups"]}
    assert owners["<module>"] == 1 << 29 and set(owners) == {"<module>", "<listcomp>"}
