"""Devices in Python over a fake NVML (tests/fake): the figures equal those of an independent client, reasons for what is
unknown, and a machine without a driver."""

import json
import os
import sys
from pathlib import Path

import pytest
from conftest import PACKAGE, ROOT

sys.path.insert(0, str(PACKAGE))

FAKE = Path(os.environ["VRAMSCOPE_FAKE"])
SCENARIOS = ROOT / "tests" / "fake" / "scenarios"


def machine(name):
    """The environment of a child on that machine."""
    return {"VRAMSCOPE_NVML": FAKE / "libnvidia-ml.so.1", "VRAMSCOPE_FAKE_NVML": SCENARIOS / f"{name}.txt"}


def test_the_figures_are_those_of_pynvml(plain):
    """nvidia-ml-py looks the library up by its name; both ask the same one in one process."""
    result = plain("""
        import json
        import pynvml
        from vramscope import devices
        pynvml.nvmlInit()
        rows = []
        for device in devices.all():
            handle = pynvml.nvmlDeviceGetHandleByIndex(device.index)
            memory = pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
            processes = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
            theirs = [memory.total, memory.reserved, memory.used, memory.free, pynvml.nvmlDeviceGetName(handle),
                      pynvml.nvmlDeviceGetUUID(handle), pynvml.nvmlDeviceGetPowerUsage(handle),
                      pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU),
                      sorted([p.pid, p.usedGpuMemory] for p in processes)]
            mine = device.memory(with_processes=True)
            ours = [mine.total, mine.reserved, mine.used, mine.free, device.name, device.uuid,
                    device.metric("power_draw"), device.metric("TEMPERATURE"),
                    sorted([p.pid, p.bytes] for p in device.processes())]
            rows.append([ours == theirs, mine.used == device.used_fast(),
                         mine.total == mine.reserved + mine.used + mine.free,
                         mine.used == mine.attributed + mine.unattributed, len(processes)])
        most, free = devices.most_free()
        print(json.dumps([rows, most.index, free == most.memory().free]))
        """, LD_LIBRARY_PATH=FAKE, **machine("two")).result
    assert result == [[[True, True, True, True, 0], [True, True, True, True, 1]], 0, True]


def test_what_is_not_known_is_none_and_says_why(plain):
    program = """
        import json, sys
        from vramscope import devices
        device = devices.all()[int(sys.argv[1])]
        memory = device.memory()
        print(json.dumps([memory.total, memory.reasons.get("total"), device.metric("FAN_SPEED"),
                          device.metric_reason("FAN_SPEED"), memory.attributed, memory.reasons["attributed"]]))
        """
    total, reason, fan, fan_reason, attributed, asked = plain(program, 0, **machine("h200")).result
    assert total == 150754820096 and reason is None and (attributed, asked) == (None, "NOT_SAMPLED")
    assert (fan, fan_reason) == (None, "NOT_SUPPORTED")
    for number, name, why in ((1, "lost", "LOST"), (0, "not_permitted", "NO_PERMISSION")):
        total, reason, *_ = plain(program, number, **machine(name)).result
        assert total is None and reason == why


def test_mig_devices_stand_behind_their_card(plain):
    result = plain("""
        import json
        from vramscope import devices
        found = devices.all()
        by_name = [[d.index, d.mig_index] for d in devices.select("0:1,0")]
        print(json.dumps([[d.is_divided, d.is_mig, d.parent, d.cuda_index] for d in found] + [by_name, devices.text()]))
        """, **machine("mig")).result
    *units, by_name, text = result
    assert units[0] == [True, False, None, None] and units[1] == [False, True, 0, 0]
    assert by_name == [[0, 1], [0, None]] and "0:1 " in text and "GiB" in text


@pytest.mark.parametrize("name, kind, code, sentence", [("no_driver", "NotFoundError", 9, "driver"),
                                                        ("mismatch", "DeviceError", 18, "versions")])
def test_no_driver(plain, name, kind, code, sentence):
    result = plain("""
        import json
        from vramscope import devices, errors
        def ask(function, *arguments):
            try:
                return function(*arguments)
            except errors.Error as error:
                return [type(error).__name__, str(error), getattr(error, "code", None)]
        print(json.dumps([ask(devices.all), ask(devices.most_free), ask(devices.driver), devices.text()]))
        """, **machine(name)).result
    found, most, driver, text = result
    assert driver[0] == kind and driver[2] == code and sentence in driver[1] and text == driver[1]
    assert (found, most) == (([], [None, 0]) if kind == "NotFoundError" else (driver, driver))


def test_a_card_by_its_uuid_after_a_fork_and_in_threads(plain):
    """A child has its own NVML; a Device finds its card again."""
    result = plain("""
        import json, os, threading
        from vramscope import devices
        device = devices.all()[1]
        used = device.memory().used
        seen = []
        def ask():
            seen.extend(device.memory().used for _ in range(200))
        threads = [threading.Thread(target=ask) for _ in range(4)]
        [t.start() for t in threads]; [t.join() for t in threads]
        pid = os.fork()
        if pid == 0:
            os._exit(0 if device.memory().used == used and devices._shared is not None else 1)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        devices.close()
        print(json.dumps([set(seen) == {used}, len(seen), status, device.memory().used == used]))
        """, **machine("two")).result
    assert result == [True, 800, 0, True]


def test_each_metric_can_be_asked_for(plain):
    result = plain("""
        import json
        from vramscope import devices, errors
        device = devices.all()[0]
        known = 0
        for name, (unit, cost, meaning) in devices.METRICS.items():
            value = device.text(name) if unit == "TEXT" else device.metric(name)
            known += value is not None
            assert meaning and cost in ("CHEAP", "SLOW", "LOCKS")
            assert unit == "TEXT" or (value is None) == (device.metric_reason(name) != "KNOWN") or cost != "CHEAP", name
        try:
            device.metric("nonsense")
        except errors.ArgumentError as error:
            print(json.dumps([len(devices.METRICS), known, str(error)]))
        """, **machine("h200")).result
    assert result[0] > 60 and result[1] > 50 and "NONSENSE" in result[2]


def test_cuda_is_not_initialized_for_its_numbers(plain):
    """Different cards, fastest first: only CUDA's driver knows the order. A process where it is initialized cannot use CUDA
    in a forked child, so that is left alone; with the order of the PCI bus the numbers are known."""
    program = """
        import json
        from vramscope import devices, errors
        try:
            found = [device.name for device in devices.select("cuda:0")]
        except errors.UnsupportedError as error:
            found = str(error)
        with open("/proc/self/maps") as maps:
            loaded = any("libcuda" in line for line in maps)
        print(json.dumps([found, [device.cuda_index for device in devices.all()], loaded]))
        """
    found, numbers, loaded = plain(program, **machine("mixed")).result
    assert isinstance(found, str) and set(numbers) == {None} and not loaded
    found, numbers, loaded = plain(program, CUDA_DEVICE_ORDER="PCI_BUS_ID", **machine("mixed")).result
    assert len(found) == 1 and 0 in numbers and not loaded


def test_nothing_leaks(plain):
    """Opened, asked everything and closed 60 times; and errors."""
    grown = plain("""
        import gc, json, resource
        from vramscope import _native, errors
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * resource.getpagesize()
        def everything():
            found = _native.Devices()
            for unit in range(found.count()):
                found.info(unit), found.memory(unit, True), found.processes(unit), found.accounts(unit)
                found.used_fast(unit), found.metric(unit, "TEMPERATURE"), found.text(unit, "NAME")
            found.driver(), found.costs(), found.select("all"), found.most_free(), found.refresh(), found.spared()
            for wrong in (lambda: found.select("99"), lambda: found.info(99), lambda: found.metric(0, "x"),
                          lambda: found.preload(0)):
                try:
                    wrong()
                except errors.Error:
                    pass
            found.close()
            try:
                found.count()
            except ValueError:
                return
            raise AssertionError("closed, and it answers")
        for _ in range(20):
            everything()
        gc.collect()
        before = resident()
        for _ in range(60):
            everything()
        gc.collect()
        print(json.dumps(resident() - before))
        """, **machine("two")).result
    assert grown < 1 << 20


def test_cuda_context_of_a_simulated_gpu(simulated):
    """preload makes the context: CUDA's own figure of it, and the second time it was there."""
    result = simulated("""
        import json
        from vramscope import devices
        first, second = devices.preload(0), devices.preload(0)
        print(json.dumps([first["was_there"], first["bytes"], second["was_there"], devices.all()[0].is_simulated,
                          devices.all()[0].memory().used]))
        """, gpu="8GiB").result
    was_there, taken, again, is_simulated, used = result
    assert (was_there, again, is_simulated) == (False, True, True) and taken and used >= taken


def test_pick_is_the_commands(plain):
    assert plain("""
        import json, vramscope
        from vramscope import devices
        said = []
        for options in ({"count": 3}, {"free": "200GiB"}, {"free": "much"}, {"count": 0}, {"among": "9"}):
            try:
                devices.pick(**options)
            except vramscope.Error as error:
                said.append([type(error).__name__, str(error)])
        print(json.dumps([[device.index for device in devices.pick(2)], devices.pick(free=100 << 30)[0].uuid,
                          devices.pick(among="1")[0].index, said]))
        """, **machine("two")).result == [
        [0, 1], "GPU-a1b2c3d4-0000-4000-8000-000000000001", 1,
        [["NotFoundError", "3 GPUs were requested, and there are 2"],
         ["NotFoundError", "no GPU has 200.0 GiB free; GPU 0 has the most, 139.8 GiB"],
         ["ArgumentError", "'much' is not a size: write \"2 GiB\", \"512 MiB\", \"24 GB\" or a number of bytes"],
         ["ArgumentError", "count is a number from 1 to 512, not 0"],
         ["NotFoundError", 'no GPU is called "9": 2 here, numbers 0 to 1 (at byte 0)']]]


def test_a_collector_sums_up_by_tag(plain):
    """Samples of a machine whose figures move: 8, 40, 120, 60, 20 GiB used after the first look."""
    result = plain("""
        import json, os
        from vramscope import devices
        collector = devices.Collector(interval=None, pids=[])
        collector.sample()                       # no tag is open: nothing is read
        with collector.tag("train"):
            collector.sample()
            with collector.tag("step"):
                collector.sample()
                with collector.tag("step"):      # open twice: a sample counts once
                    collector.sample()
                collector.sample()
        with collector.tag("after"):
            collector.sample()
        kept = collector.collect("step", reset=False)
        names = ("mean", "max", "min", "last")
        figures = collector.collect()
        rows = {tag: [figures[f"{tag}/gpu:0/memory_used_bytes/{name}"] / 2**30 for name in names] for tag in ("train", "step", "after")}
        used = [figures[f"train/gpu:0/gpu_utilization_percent/{name}"] for name in names]
        try:
            collector.collect("never")
        except LookupError as error:
            said = str(error)
        print(json.dumps([collector.samples, rows, used, {k: v for k, v in figures.items() if k.startswith("step")} == kept,
                          collector.collect("train"), said, sorted({key.split("/")[2] for key in figures})]))
        """, **machine("moving")).result
    samples, rows, used, same, then, said, names = result
    assert samples == 5 and same and then == {} and said == "no tag 'never' was opened"
    assert rows == {"train": [57, 120, 8, 60], "step": [220 / 3, 120, 40, 60], "after": [20, 20, 20, 20]}
    assert used == [46.25, 95, 5, 95]
    assert {"memory_used_bytes", "gpu_utilization_percent", "temperature_celsius", "power_milliwatts"} <= set(names)


def test_a_collector_in_a_thread(plain):
    assert plain("""
        import json, threading, time
        from vramscope import devices
        with devices.Collector(devices.select("1"), interval=0.001, pids=[5001]) as collector, collector.tag("all"):
            while collector.samples < 3:
                time.sleep(0.001)
        figures, count = collector.collect(), collector.samples
        collector.stop()
        print(json.dumps([count >= 3, figures["all/gpu:1/processes_bytes/max"] >> 20, [k for k in figures if "gpu:0" in k],
                          [thread.name for thread in threading.enumerate()], collector.samples == count]))
        """, **machine("two")).result == [True, 28000, [], ["MainThread"], True]


def test_a_collector_has_no_zero_for_an_unknown(plain):
    """Under WSL the driver lists processes without their bytes; a process that is not listed has none, if the list is whole."""
    assert plain("""
        import json
        from vramscope import devices
        def names(pids):
            collector = devices.Collector(interval=None, pids=pids)
            with collector.tag("t"):
                collector.sample()
            return sorted({key.split("/")[2] for key in collector.collect() if "processes" in key})
        print(json.dumps(names([18])))
        """, **machine("wsl")).result == []
