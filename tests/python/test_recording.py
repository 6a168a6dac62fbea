"""`vramscope.record` and VRAMSCOPE_RECORD: recordings that begin inside a running program, against what PyTorch knows of itself."""

import itertools
import json
import pickle
import signal
import subprocess

import pytest
from conftest import BINARY, PROGRAMS, command, finish, plain_environment, simulated_environment

SEEN = {"alloc", "free_requested", "segment_alloc", "segment_free", "segment_map"}


def ask(path, method, **params):
    words = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in params.items()]
    done = subprocess.run([BINARY, "query", path, method, *words], capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def device_of(path):
    (device,) = ask(path, "report")["devices"]
    return device


def kinds(device):
    return {finding["kind"] for finding in device["trust"]["findings"]}


def contradictions(device):
    return [finding for finding in device["trust"]["findings"] if finding["severity"] == "contradiction"]


def at_end(path):
    end = device_of(path)["end"]
    return {name: end[f"{name}_bytes"] for name in ("requested", "allocated", "reserved")}


def events_of(trace):
    return [(e["action"], e["addr"], e["size"], e["stream"]) for e in trace if e["action"] in SEEN]


def exported(recording):
    path = recording.with_suffix(".exported")
    subprocess.run([BINARY, "export", "-q", recording, "pickle", "-o", path], check=True, timeout=60)
    with open(path, "rb") as file:
        return pickle.load(file)


def stacks_of(snapshot):
    return [[(frame["filename"], frame["line"], frame["name"]) for frame in event["frames"]]
            for event in snapshot["device_traces"][0] if event["action"] == "alloc"]


def owners(path, at="end"):
    return {group["label"]: group["bytes"] for group in ask(path, "live", at=at, top=0)["groups"]}


@pytest.mark.parametrize(("settings", "options"), [("", []), ("expandable_segments:True", ["--keeps-cache"])])
def test_a_recording_from_the_middle(simulated, tmp_path, settings, options):
    """Every total is PyTorch's, every event that of its history; what is older has no owner. The calls are led back."""
    told = simulated("recording_late.py", tmp_path, *options, PYTORCH_CUDA_ALLOC_CONF=settings).result
    first = device_of(tmp_path / "first.vram")
    assert at_end(tmp_path / "first.vram") == told["after"]
    assert at_end(tmp_path / "second.vram") == told["at_end"]
    start = ask(tmp_path / "first.vram", "live", at="start", top=0)
    assert start["bytes"] == told["before"]["requested"]
    assert not contradictions(first) and not contradictions(device_of(tmp_path / "second.vram"))
    assert "began_late" in kinds(first) and "not_ended" not in kinds(first)
    assert "partial: recording started when" in subprocess.run(
        [BINARY, "report", tmp_path / "first.vram"], capture_output=True, text=True, check=True).stdout
    line = 1 + next(i for i, text in enumerate((PROGRAMS / "recording_late.py").read_text().splitlines()) if "newer = " in text)
    assert owners(tmp_path / "first.vram")[f"recording_late.py:{line} <module>"] == 20_000_000
    with open(tmp_path / "history.pickle", "rb") as file:
        theirs = pickle.load(file)
    ours = exported(tmp_path / "first.vram")
    wanted = events_of(theirs["device_traces"][0])
    assert len(wanted) > 100 and events_of(ours["device_traces"][0]) == wanted
    assert told["restored"] and told["slots"] == 5 and told["changed"] == told["slots"]
    assert told["twice"] == f"this process is being recorded already, to {tmp_path}/first.vram"
    assert not (tmp_path / "other.vram").exists() and told["is_on"] == [False, False]


def test_compiled_code_from_the_middle(simulated, tmp_path):
    """What was compiled before a recording begins, and what is compiled in it, has stacks with the lines of the model, as in PyTorch's
    history."""
    done = simulated("recording_compiled.py", tmp_path, TORCHINDUCTOR_CACHE_DIR=tmp_path / "torchinductor_test",
                     TRITON_CACHE_DIR=tmp_path / "triton", TORCHINDUCTOR_COMPILE_THREADS=1)
    assert done.code == 0, done.err
    source = (PROGRAMS / "recording_compiled.py").read_text().splitlines()
    for name, parts in (("first", ("self.up(x)", "x.exp()")), ("second", ("self.up(x)", "x.log()"))):
        with open(tmp_path / f"{name}.pickle", "rb") as file:
            theirs = stacks_of(pickle.load(file))
        ours = stacks_of(exported(tmp_path / f"{name}.vram"))
        assert len(theirs) > 10 and len(ours) == len(theirs)
        assert all(stack == wanted for stack, wanted in zip(ours, theirs, strict=True) if wanted)  # others are those of autograd's threads
        behind = {line for stack in ours for (file, *_), (_, line, _) in itertools.pairwise(stack) if "torchinductor_" in file}
        assert behind >= {1 + next(i for i, text in enumerate(source) if part in text) for part in parts}


def test_a_process_that_is_killed(simulated, tmp_path):
    """The state follows from the one at the beginning."""
    done = simulated("""
        import json, os, recorder, signal, sys, torch, vramscope
        older = [torch.empty(1000 * i, device="cuda") for i in range(1, 20)]
        vramscope.record(sys.argv[1])
        newer = [torch.empty(1_000_000 * i, device="cuda") for i in range(1, 5)]
        del older[::2]
        stats = torch.cuda.memory_stats()
        print(json.dumps([stats[f"{name}_bytes.all.current"] for name in ("requested", "allocated", "reserved")]), flush=True)
        recorder.wait_until_written()
        os.kill(os.getpid(), signal.SIGKILL)
        """, tmp_path / "run.vram")
    assert done.code == -signal.SIGKILL, done.err
    assert list(at_end(tmp_path / "run.vram").values()) == json.loads(done.out)
    assert kinds(device_of(tmp_path / "run.vram")) == {"began_late", "frees_at_request", "not_ended", "free_without_alloc", "live_without_alloc"}


def test_other_threads_allocate_meanwhile(simulated, tmp_path):
    """Recordings begin and end while threads allocate and free without Python's lock: no event is lost or doubled."""
    told = simulated("""
        import json, sys, threading, torch, vramscope
        x = torch.ones(100, 100, device="cuda", requires_grad=True)
        runs_on = True

        def storm(k):
            kept = []
            while runs_on:
                y = x
                for i in range(6):
                    y = torch.cat([y, y[: 10 + k + i]])
                y.sum().backward()
                x.grad = None
                kept.append(torch.empty(1000 + 100 * k + len(kept) % 37, device="cuda"))
                if len(kept) > 50:
                    del kept[::2]

        threads = [threading.Thread(target=storm, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for i in range(25):
            recording = vramscope.record(f"{sys.argv[1]}/{i}.vram")
            torch.empty(1000, device="cuda")
            if i == 24:
                runs_on = False
                for thread in threads:
                    thread.join()
                stats = torch.cuda.memory_stats()
            recording.stop()
        print(json.dumps([stats[f"{name}_bytes.all.current"] for name in ("requested", "allocated", "reserved")]))
        """, tmp_path).result
    for i in range(25):
        assert not contradictions(device_of(tmp_path / f"{i}.vram")), i
    assert list(at_end(tmp_path / "24.vram").values()) == told


def test_before_pytorch_is_loaded(simulated, tmp_path):
    """The recording is that of a preloaded recorder: nothing is missing."""
    told = simulated("""
        import json, sys, vramscope
        recording = vramscope.record(sys.argv[1])
        import torch
        held = [torch.empty(1000 * i, device="cuda") for i in range(1, 20)]
        print(json.dumps(torch.cuda.memory_stats()["requested_bytes.all.current"]))
        """, tmp_path / "run.vram").result
    device = device_of(tmp_path / "run.vram")
    assert device["end"]["requested_bytes"] in (told, 0)  # before or after the interpreter has freed its objects
    assert kinds(device) <= {"frees_at_request", "rounded_requests"} and device["peak"]["requested_bytes"] == told


def test_the_environment(simulated, tmp_path):
    """VRAMSCOPE_RECORD records a program that imports vramscope, before or after PyTorch; a child that does not use the GPU has no file."""
    program = """
        import os, subprocess, sys
        if sys.argv[1] == "late":
            import torch
            old = torch.empty(5000, device="cuda")
        import vramscope, torch
        new = torch.empty(1000, device="cuda")
        if len(sys.argv) == 2:
            subprocess.run([sys.executable, "-c", "import vramscope"], check=True)
        print(1)
        """
    for when in ("early", "late"):
        path = tmp_path / f"{when}.vram"
        assert simulated(program, when, VRAMSCOPE_RECORD=path).result == 1
        assert ("began_late" in kinds(device_of(path))) == (when == "late")
        assert ask(path, "live", at="peak", top=0)["bytes"] == {"early": 4000, "late": 24000}[when]
    assert sorted(path.name for path in tmp_path.glob("*.vram")) == ["early.vram", "late.vram"]
    done = simulated(program, "early", VRAMSCOPE_RECORD="/nowhere/run.vram")
    assert done.code == 0 and done.err.count("vramscope: not recording: ") == 1
    argv = [BINARY, "run", "-o", "run.vram", "--gpu", "8GiB", "--quiet", "--", *command(program, ["early"])]
    done = finish(argv, plain_environment(), tmp_path)
    assert done.code == 0 and "vramscope:" not in done.err, done.err
    assert ask(tmp_path / "run.vram", "live", at="peak", top=0)["bytes"] == 4000


def test_errors(simulated, tmp_path):
    told = simulated("""
        import json, os, sys, torch, vramscope
        said = []

        def attempt(*arguments, **options):
            try:
                vramscope.record(*arguments, **options).stop()
                said.append("")
            except Exception as error:
                said.append(f"{type(error).__name__}: {error}")

        os.chdir(sys.argv[1])
        torch.empty(1000, device="cuda")
        attempt("missing/run.vram")
        open("old.vram", "w").close()
        attempt("old.vram")
        attempt("old.vram", overwrite=True)
        attempt("new.vram")
        snapshot = torch.cuda.memory_snapshot
        torch.cuda.memory_snapshot = lambda *more, **options: 1 / 0
        attempt("other.vram")
        torch.cuda.memory_snapshot = snapshot
        attempt("other2.vram")
        print(json.dumps(said))
        """, tmp_path).result
    assert told == ["NotFoundError: missing/run.vram: its folder does not exist", "FileError: old.vram: file exists", "", "",
                    "ZeroDivisionError: division by zero", ""]
    assert sorted(path.name for path in tmp_path.glob("*.vram")) == ["new.vram", "old.vram", "other2.vram"]


def test_a_fork(simulated, tmp_path):
    """A child that uses the allocator has a file of its own, and does not end its parent's."""
    told = simulated("""
        import json, os, sys, time, vramscope
        recording = vramscope.record(sys.argv[1])
        import torch
        if os.fork() == 0:
            torch.empty(3000, device="cuda")
            recording.stop()
            time.sleep(0.3)  # what is recorded in the last hundredth of a second is lost
            os._exit(0 if not recording.is_on else 1)
        status = os.wait()[1]
        torch.empty(1000, device="cuda")
        recording.stop()
        print(json.dumps([status, os.path.exists(recording.path)]))
        """, tmp_path / "run.vram").result
    assert told == [0, True]
    assert ask(tmp_path / "run.vram", "live", at="peak", top=0)["bytes"] == 4000
    (other,) = tmp_path.glob("run.*.vram")
    assert ask(other, "live", at="peak", top=0)["bytes"] == 12000


def test_only_an_out_of_memory_error_is_kept(simulated, tmp_path):
    """Nothing is left where none happens; else the post-mortem works on what is kept, with what was allocated before."""
    result = simulated("""
        import json, os, sys, torch, vramscope
        os.chdir(sys.argv[1])
        older = torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
        with vramscope.record_on_oom("oom.vram") as recording:
            torch.empty(1000, device="cuda")
            during = len(os.listdir("."))
        said = [during, os.listdir("."), recording.kept]
        try:
            vramscope.record_on_oom("oom.vram", max_bytes=1000)
        except ValueError as error:
            said.append(str(error))
        open("oom.vram", "w").close()  # of another process: it is not replaced
        recording = vramscope.record_on_oom("oom.vram")
        try:
            held = [torch.empty(1 << 30, dtype=torch.uint8, device="cuda") for i in range(100)]
        except torch.OutOfMemoryError:
            said += [recording.kept == f"{os.getcwd()}/oom.{os.getpid()}.vram", recording.is_on]
        recording.stop()
        with vramscope.record("other.vram"):
            said += [recording.kept is not None, recording.is_on]
        print(json.dumps(said))
        """, tmp_path)
    assert result.result == [1, [], None, "max_bytes: at least 16777216 (16 MiB), so that the state of the memory has room",
                             True, True, True, False]
    assert result.err.count("vramscope: out of memory: what led to it is recorded in ") == 1
    (kept,) = tmp_path.glob("oom.*.vram")
    (oom,) = device_of(kept)["ooms"]
    assert oom["requested_bytes"] == 1 << 30 and not contradictions(device_of(kept))
    assert owners(kept)["allocated before recording"] == 1 << 28
    shown = subprocess.run([BINARY, "oom", kept], capture_output=True, text=True, check=True).stdout
    assert "failed to allocate 1.00 GiB" in shown and "allocated before recording" in shown and "Remedies" in shown
    assert sorted(path.name for path in tmp_path.glob("*")) == sorted([kept.name, "oom.vram", "other.vram"])


ENDS = {
    "unhandled": ("", "fail()", True),
    "followed by another error": ("", """
        try:
            fail()
        except torch.OutOfMemoryError:
            raise KeyError("of a handler")""", True),
    "out of the block": ("", """
        with recording:
            fail()""", True),
    "not wanted": (", show=False", "fail()", False),
    "handled": ("", """
        try:
            fail()
        except torch.OutOfMemoryError:
            pass
        raise KeyError("later")""", False),
    "after the recording": ("", """
        try:
            fail()
        except torch.OutOfMemoryError:
            pass
        recording.stop()
        fail()""", False),
    "in a session": ("", """
        sys.ps1 = ">>> "
        fail()""", False),
    "in a child": ("", """
        try:
            fail()
        except torch.OutOfMemoryError:
            pass
        if os.fork() == 0:
            raise torch.OutOfMemoryError
        os.wait()""", False),
}


@pytest.mark.parametrize("end", ENDS)
def test_the_post_mortem_is_shown_at_the_end(simulated, tmp_path, end):
    """If the process ends by the error that was recorded, behind Python's traceback."""
    options, program, is_shown = ENDS[end]
    done = simulated(f"""
        import os, sys, torch, vramscope

        def fail():
            torch.empty(1 << 40, dtype=torch.uint8, device="cuda")

        recording = vramscope.record_on_oom(sys.argv[1]{options})
        torch.empty(1, device="cuda")
        """ + program, tmp_path / "oom.vram")
    assert done.err.count("Traceback") >= (end not in ("in a child",)), done.err
    shown = done.err.rpartition("Traceback")[2].count("Out of memory  failed to allocate 1.00 TiB")
    assert shown == is_shown == done.err.count("Out of memory  failed"), done.err
    assert (tmp_path / "oom.vram").exists()


def test_the_recording_of_a_dry_run_gives_way(dryrun, tmp_path):
    """The program gets its own. The dry run says what of a killed process it does not know therefore."""
    done = dryrun(["--json"], """
        import os, sys, torch
        older = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
        import vramscope  # finds VRAMSCOPE_RECORD in the environment, and leaves the recording as it is
        more = torch.empty(2 << 20, dtype=torch.uint8, device="cuda")
        with vramscope.record(sys.argv[1]):
            torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
        newer = torch.empty(5 << 20, dtype=torch.uint8, device="cuda")
        os.kill(os.getpid(), 9)
        """, tmp_path / "own.vram")
    assert done.code == 137, done.err[-3000:]
    assert owners(tmp_path / "own.vram", at="peak") == {"<string>:7 <module>": 3 << 20, "allocated before recording": 3 << 20}
    reply = json.loads(done.out)
    (process,) = reply["processes"]
    assert [row["bytes"] for row in process["devices"][0]["owners"]] == [2 << 20, 1 << 20] and process["history_source"] == "recording"
    assert {"kind": "history_cut", "processes": 1, "bytes": 5 << 20} in reply["doubts"]
    assert "vramscope:" not in done.err


HUGGING_FACE = """
    import sys, torch, transformers
    if len(sys.argv) > 1:
        import vramscope
        vramscope.record_on_oom(sys.argv[1])

    config = transformers.LlamaConfig(hidden_size=2048, intermediate_size=5504, num_hidden_layers=16, num_attention_heads=16,
                                      vocab_size=32000)
    with torch.device("cuda"):
        model = transformers.LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters())
    for i in range(3):
        ids = torch.full((16, 1024), i, device="cuda")
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    """


def test_a_hugging_face_training_that_runs_out_of_memory(tmp_path):
    """An unmodified program on a card of 16 GiB ends with the post-mortem, and so does one that has the recorder in it."""
    argv = [BINARY, "run", "--on-oom", "oom.vram", "--gpu", "16GiB", "--", *command(HUGGING_FACE, [])]
    done = finish(argv, plain_environment(), tmp_path, 600)
    assert done.code == 1 and "OutOfMemoryError" in done.err, done.err[-3000:]
    assert "Out of memory  failed to allocate" in done.out and "modeling_llama.py" in done.out, done.out
    inside = finish(command(HUGGING_FACE, [tmp_path / "inside.vram"]), simulated_environment(gpu="16GiB"), tmp_path, 600)
    assert inside.code == 1 and f"is recorded in {tmp_path}/inside.vram" in inside.err, inside.err[-3000:]
    traceback, screen = inside.err.split("\nOut of memory  failed to allocate")
    assert "Traceback" in traceback and "modeling_llama.py" in screen and "Remedies" in screen, inside.err[-3000:]
    ours, theirs = (ask(tmp_path / name, "oom")["lines"][0] for name in ("inside.vram", "oom.vram"))
    assert ours["bytes"] == theirs["bytes"] and ours["about"] == "oom"
    assert owners(tmp_path / "inside.vram") == owners(tmp_path / "oom.vram")


def test_the_newest_seconds_are_kept(simulated, tmp_path):
    """Events that are older than that are overwritten; the state of the memory before them leads to that of the allocator."""
    result = simulated("""
        import json, os, sys, torch, vramscope
        os.chdir(sys.argv[1])
        said = []
        for bounds in ({"max_seconds": 0}, {"max_seconds": 5, "max_bytes": 1 << 30}):
            try:
                vramscope.record("run.vram", **bounds)
            except ValueError as error:
                said.append(str(error))
        with vramscope.record("run.vram", max_seconds=1):
            held = []
            for _ in range(400_000):  # takes longer than a second anywhere
                held.append(torch.empty(1000 + len(held), device="cuda"))
                if len(held) > 60:
                    del held[::2]
        print(json.dumps([said, torch.cuda.memory_stats()["requested_bytes.all.current"]]))
        """, tmp_path)
    said, requested = result.result
    assert said == ["max_seconds: at least 1, and not together with max_bytes"] * 2
    device = device_of(tmp_path / "run.vram")
    assert "ring_wrapped" in {finding["kind"] for finding in device["trust"]["findings"]} and not contradictions(device)
    assert device["end"]["requested_bytes"] == requested
