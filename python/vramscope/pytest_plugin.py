"""The pytest plugin: GPU memory limits, leaks and figures in tests, and tests of GPU memory on a machine without a GPU.

    @pytest.mark.limit_gpu_memory("2 GiB")         fails a test that allocates more than 2 GiB at its peak
    @pytest.mark.limit_gpu_leaks("0 B", warmup=2)  fails a test that does not free its memory
    @pytest.mark.memory_baseline(tolerance="2%")   fails a test that allocates more than its baseline, a file beside the tests
    def test_step(gpu_memory): ...                 the figures, while the test runs

    pytest --vramscope-simulate H100               runs the tests on a simulated GPU
    pytest --vramscope                             measures every test and lists those with the highest peaks
    pytest --vramscope-fail-on-increase            fails a test whose peak is higher than when it last passed
    pytest --vramscope-update-baselines            writes the baselines

PyTorch is not imported, and nothing is measured, before the first test that needs it.
"""

from __future__ import annotations

import functools
import gc
import os
import re
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from vramscope import _baselines
from vramscope._marks import MARKS, Baseline, Leaks, Limit, why_wrong
from vramscope._sizes import bytes_text

if TYPE_CHECKING:
    from vramscope._watch import Watch
    from vramscope.scopes import Figures, Scope

__all__ = ["GPUMemoryFixture"]

_SIMULATED = "VRAMSCOPE_PYTEST_SIMULATED"  # set to the name of the GPU in the run on the simulated GPU
_PROPERTY = "vramscope_gpu_peak_bytes"  # among a report's properties, and in JUnit's XML
_BASELINE = "vramscope_gpu_baseline"  # likewise: "holds", "written", "unchanged", or a sentence that it can be tightened
_TIGHTER = "can be tightened: "
_CACHE = "vramscope/gpu_peaks"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("vramscope", "GPU memory (vramscope)")
    group.addoption("--vramscope", action="store_true", help="measure the GPU memory of every test")
    group.addoption("--vramscope-most", type=int, metavar="N", help="show the N tests with the highest peaks (default: 5)")
    group.addoption("--vramscope-fail-on-increase", action="store_true",
                    help="measure every test, and fail those whose peak is higher than when they last passed")
    group.addoption("--vramscope-update-baselines", action="store_true",
                    help="write the baselines of tests marked memory_baseline instead of comparing with them")
    group.addoption("--vramscope-simulate", metavar="GPU",
                    help="run the tests on a simulated GPU: H100, 24GiB, 2xA100 ... (vramscope doctor lists the names)")
    group.addoption("--vramscope-snapshots", metavar="DIR",
                    help="write PyTorch's memory snapshot of each test that fails because of its GPU memory to this folder")
    parser.addini("vramscope", "measure the GPU memory of every test", type="bool", default=False)
    parser.addini("vramscope_most", "show the N tests with the highest peaks", default="5")
    parser.addini("vramscope_fail_on_increase", "fail tests whose peak is higher than when they last passed",
                  type="bool", default=False)
    parser.addini("vramscope_snapshots", "folder for snapshots of tests that fail because of their GPU memory", default="")


# ---- the simulated GPU: the same command again, below `vramscope dryrun`


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    gpu = early_config.known_args_namespace.vramscope_simulate
    if not gpu or os.environ.get(_SIMULATED):
        return
    from vramscope._command import binary

    capture = early_config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.suspend_global_capture(in_=True)  # the new process writes to pytest's own output
    sys.stdout.flush()
    sys.stderr.flush()
    command = [os.fspath(binary()), "dryrun", "--gpu", gpu, "--quiet", "--no-history", "--force", "--exit-code", "child",
               "--output", os.devnull, "--", sys.executable, *sys.orig_argv[1:]]
    os.execve(command[0], command, {**os.environ, _SIMULATED: gpu})


def pytest_report_header() -> list[str]:
    gpu = os.environ.get(_SIMULATED)
    return [f"vramscope: on a simulated GPU ({gpu}): memory is exact, kernels compute nothing"] if gpu else []


# ---- marks and options of a test


class _Plan:
    """What to measure for one test, from its marks and the options."""

    def __init__(self, item: pytest.Item):
        config = item.config
        self.limits = [Limit.of(mark) for mark in item.iter_markers(Limit.name)]
        self.leaks = [Leaks.of(mark) for mark in item.iter_markers(Leaks.name)]
        closest = item.get_closest_marker(Baseline.name)
        self.baseline = Baseline.of(closest) if closest is not None else None
        self.fail_on_increase = _option(config, "vramscope_fail_on_increase")
        self.measure = _option(config, "vramscope") or self.fail_on_increase

    @property
    def is_marked(self) -> bool:
        return bool(self.limits or self.leaks or self.baseline)

    @property
    def devices(self) -> list[int | None]:
        return [None, *(limit.device for limit in self.limits), *([self.baseline.device] if self.baseline else [])]


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, None]:
    """A wrong mark is an error of the file or class that has the test, before any test runs."""
    report = (yield).get_result()
    registered = {re.split("[:(]", line)[0].strip() for line in collector.config.getini("markers")}
    problems: dict[str, str] = {}  # each once, with its first test
    for item in report.result or ():
        for mark in item.iter_markers() if isinstance(item, pytest.Item) else ():
            if (problem := why_wrong(item, mark, registered)) is not None:
                problems.setdefault(problem, item.nodeid)
    if problems:
        report.outcome, report.result = "failed", []
        report.longrepr = "\n".join(f"{nodeid}: {problem}" for problem, nodeid in problems.items())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("vramscope_update_baselines"):
        config.stash[_UNUSED] = _unused_baselines(config, items)


def _option(config: pytest.Config, name: str) -> Any:
    given = config.getoption(name, None)
    return given if given not in (None, False) else config.getini(name)


def _cache(config: pytest.Config) -> Any:
    """pytest's cache; None if it is switched off."""
    return getattr(config, "cache", None)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", 'limit_gpu_memory(limit, device=None, kind="allocated"): fail a test whose peak of GPU '
                            "memory, above its value at the beginning, is over the limit (vramscope)")
    config.addinivalue_line("markers", 'limit_gpu_leaks(limit="0 B", warmup=2, filter_fn=None, device=None): call the test '
                            "warmup times, then once more; fail if the last call does not free its GPU memory (vramscope)")
    config.addinivalue_line("markers", "memory_baseline(tolerance=0, max_allocated=None, no_oom=False, warmup=0, device=None): "
                            "fail a test that allocates more GPU memory than its baseline (vramscope)")


# ---- measuring


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips marked tests without a GPU before their fixtures run, which may need a GPU themselves."""
    if not any(mark.name in MARKS for mark in item.iter_markers()):
        return
    from vramscope._watch import why_not

    if (why := why_not()) is not None:
        pytest.skip(f"GPU memory cannot be measured: {why}")


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    plan = _Plan(pyfuncitem)
    if not plan.is_marked and not plan.measure:
        yield
        return
    from vramscope._watch import why_not

    if why_not() is not None:
        yield
        return
    test = pyfuncitem.obj
    pyfuncitem.obj = functools.wraps(test)(functools.partial(_measured, pyfuncitem, plan, test))
    try:
        yield
    finally:
        pyfuncitem.obj = test


def _measured(item: pytest.Function, plan: _Plan, test: Callable[..., Any], **arguments: Any) -> Any:
    """Calls the test and measures it. If the test itself fails, that failure is reported instead of the limits."""
    from vramscope._watch import Watch

    watch = Watch(plan.devices, owners=plan.is_marked or plan.fail_on_increase,
                  sampled=[limit.device for limit in plan.limits if limit.kind == "device"])
    if plan.baseline is not None:
        _warm_up(plan.baseline, functools.partial(test, **arguments))
    try:
        with watch:
            result = test(**arguments)
        item.user_properties.append((_PROPERTY, _rise(watch, None, "allocated")))
        problems = [text for limit in plan.limits for text in _over_limit(item, limit, watch)]
        if plan.fail_on_increase:
            problems += _increase(item, watch)
        if problems:
            problems += _kept(item, watch)
        run = watch.inventory(plan.baseline.device) if plan.baseline is not None else None
    finally:
        watch.close()
    for leaks in plan.leaks:
        problems += _leaked(item, leaks, functools.partial(test, **arguments))
    if plan.baseline is not None:
        problems += _against_baseline(item, plan.baseline, run, may_write=not problems)
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)
    return result


def _rise(watch: Watch, device: int | None, kind: str) -> int:
    """The peak of the figure minus its value at the beginning."""
    figures = watch.figures(kind, device)
    return figures.peak - figures.start


def _over_limit(item: pytest.Function, limit: Limit, watch: Watch) -> list[str]:
    from vramscope._watch import device_text, owners_text

    rise = _rise(watch, limit.device, limit.kind)
    if rise <= limit.bytes:
        return []
    note = watch.note(limit.kind, limit.device)
    start = bytes_text(watch.figures(limit.kind, limit.device).start)
    return [
        f"{item.name} took {bytes_text(rise)} of GPU memory at its peak; its limit is {bytes_text(limit.bytes)}",
        (f"({limit.kind}, on {device_text(watch.number(limit.device))}, above the {start} at its beginning"
         f"{'; ' + note if note else ''})"),
        "Requested at the peak:",
        *owners_text(watch.owners("peak", limit.device)),
    ]


def _leaked(item: pytest.Function, leaks: Leaks, test: Callable[[], Any]) -> list[str]:
    """The memory that one more call of the test does not free. The test was called once before; it is called until `warmup` is
    reached first, because contexts, workspaces and caches are allocated in the first calls."""
    from vramscope._watch import Watch, device_text, owners_text

    for _ in range(leaks.warmup - 1):
        test()
    gc.collect()
    watch = Watch([leaks.device])
    try:
        with watch:
            test()
            gc.collect()
        left = watch.figures("allocated", leaks.device).used
        reply = watch.owners("left", leaks.device, top=0 if leaks.filter_fn else 5)
        if reply is not None and leaks.filter_fn is not None:
            reply["groups"] = [group for group in reply["groups"] if leaks.filter_fn(group)]
            left = sum(group["bytes"] for group in reply["groups"])
        if left <= leaks.bytes:
            return []
        return [
            f"{item.name} left {bytes_text(left)} of GPU memory behind; its limit is {bytes_text(leaks.bytes)}",
            f"(of one call after {leaks.warmup} others, on {device_text(watch.number(leaks.device))})",
            "Allocated by:",
            *owners_text(reply),
            *_kept(item, watch),
        ]
    finally:
        watch.close()


def _increase(item: pytest.Function, watch: Watch) -> list[str]:
    from vramscope._watch import owners_text

    cache = _cache(item.config)
    last = cache.get(_CACHE, {}).get(item.nodeid) if cache is not None else None
    peak = _rise(watch, None, "allocated")
    if last is None or peak <= last:
        return []
    return [
        (f"{item.name} took {bytes_text(peak)} of GPU memory at its peak, {bytes_text(peak - last)} more than the "
         f"{bytes_text(last)} when it last passed"),
        "Requested at the peak:",
        *owners_text(watch.owners("peak")),
    ]


def _kept(item: pytest.Function, watch: Watch) -> list[str]:
    """Writes the snapshot if the option asks for it; returns a line with its path."""
    folder = _option(item.config, "vramscope_snapshots")
    if not folder or watch.snapshot() is None:
        return []
    os.makedirs(folder, exist_ok=True)
    name = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in item.nodeid)
    path = os.path.join(folder, name[-200:] + ".pickle")
    with open(path, "wb") as file:
        file.write(watch.snapshot_bytes())
    return [f"Look closer: vramscope report {path}"]


# ---- baselines


_UNUSED = pytest.StashKey[list[str]]()  # paths of baselines that no test uses


def _baseline_of(item: pytest.Item) -> Path:
    return _baselines.path_of(item.path, item.nodeid)


def _warm_up(baseline: Baseline, test: Callable[[], Any]) -> None:
    """Calls the test as often as the mark says, and empties the cache: the size of a block depends on the free block that it is
    taken from."""
    from vramscope import memory

    for _ in range(baseline.warmup):
        test()
    gc.collect()
    memory.empty_cache()


def _against_baseline(item: pytest.Function, baseline: Baseline, run: dict[str, Any] | None, may_write: bool) -> list[str]:
    if run is None:
        return [f"{item.name} cannot be compared with a memory baseline: PyTorch keeps no history with this allocator"]
    path, updates = _baseline_of(item), item.config.getoption("vramscope_update_baselines")
    if updates:
        return _write_baseline(item, baseline, _baselines.of_test(run, __file__), path) if may_write else []
    if not path.exists():
        return [f"{item.name} has no memory baseline: write {_shown(item.config, path)} with --vramscope-update-baselines"]
    check = _baselines.Check(_baselines.of_test(run, __file__), baseline.settings, path)
    if check.code == 0:
        item.user_properties.append((_BASELINE, _TIGHTER + check.tighter if check.tighter else "holds"))
        return []
    return [f"{item.name}, compared with {_shown(item.config, path)}:", check.text,
            "If the change is wanted, write the baseline anew with --vramscope-update-baselines"]


def _write_baseline(item: pytest.Function, baseline: Baseline, run: dict[str, Any], path: Path) -> list[str]:
    """Writes it, unless limits that need no baseline are broken."""
    if baseline.limits:
        check = _baselines.Check(run, baseline.limits)
        if check.code != 0:
            return [f"{item.name}, whose memory baseline was not written:", check.text]
    old = path.read_bytes() if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    check = _baselines.Check(run, baseline.settings, path, update=True)
    if check.code != 0:
        return [f"{item.name}: {check.text}"]
    item.user_properties.append((_BASELINE, "unchanged" if path.read_bytes() == old else "written"))
    return []


def _unused_baselines(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    """Those of files whose tests were all collected: not where the command line names single tests, or only those that failed."""
    if any("::" in argument for argument in config.args) or config.getoption("lf", False):
        return []
    used = {_baseline_of(item) for item in items if item.get_closest_marker(Baseline.name)}
    return [_shown(config, path) for path in _baselines.unused({item.path for item in items}, used)]


def _shown(config: pytest.Config, path: Path) -> str:
    return os.path.relpath(path, config.rootpath)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker of xdist ended: workers collect the tests, the summary is written here."""
    unused = getattr(node, "workeroutput", {}).get("vramscope_unused")
    if unused:
        node.config.stash[_UNUSED] = unused


def _baseline_lines(peaks: _Peaks, unused: list[str]) -> list[str]:
    states, lines = list(peaks.baselines.values()), []
    if "written" in states or "unchanged" in states:
        lines.append(f"{states.count('written')} written, {states.count('unchanged')} unchanged")
    lines += [f"{nodeid}: {state.removeprefix(_TIGHTER)}" for nodeid, state in peaks.baselines.items()
              if state.startswith(_TIGHTER)]
    return lines + [f"{path}: no test uses it" for path in unused]


# ---- the peaks of all tests


class _Peaks:
    """The peaks of all tests, taken from their reports, so they are complete also if workers of xdist ran the tests."""

    def __init__(self) -> None:
        self.bytes: dict[str, int] = {}
        self.passed: dict[str, int] = {}
        self.baselines: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties if report.when == "call" else ():
            if name == _BASELINE and isinstance(value, str):
                self.baselines[report.nodeid] = value
            if name == _PROPERTY and isinstance(value, int):
                self.bytes[report.nodeid] = value
                if report.passed:
                    self.passed[report.nodeid] = value


_PEAKS = pytest.StashKey[_Peaks]()


def pytest_sessionstart(session: pytest.Session) -> None:
    peaks = session.config.stash[_PEAKS] = _Peaks()
    session.config.pluginmanager.register(peaks, "vramscope_peaks")


def pytest_sessionfinish(session: pytest.Session) -> None:
    peaks = session.config.stash.get(_PEAKS, None)
    cache = _cache(session.config)
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["vramscope_unused"] = session.config.stash.get(_UNUSED, [])
    if peaks is None or cache is None or hasattr(session.config, "workerinput") or not peaks.passed:
        return
    cache.set(_CACHE, {**cache.get(_CACHE, {}), **peaks.passed})


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    peaks = config.stash.get(_PEAKS, None)
    if peaks is not None and (lines := _baseline_lines(peaks, config.stash.get(_UNUSED, []))):
        terminalreporter.section("GPU memory: baselines")
        for line in lines:
            terminalreporter.write_line(line)
    if peaks is None or not peaks.bytes or not (_option(config, "vramscope") or config.getoption("vramscope_most")):
        return
    most = int(_option(config, "vramscope_most"))
    terminalreporter.section("GPU memory: the tests that took most")
    for nodeid, size in sorted(peaks.bytes.items(), key=lambda entry: (-entry[1], entry[0]))[:most]:
        terminalreporter.write_line(f"{bytes_text(size):>10}  {nodeid}")


# ---- the fixture


class GPUMemoryFixture:
    """GPU memory of the running test on one device, exact, in bytes: `gpu_memory`.

    start      allocated when the test began (or at the last reset)
    used       allocated now, minus start
    peak       the highest allocated bytes since the start, minus start
    reserved_peak, requested_peak
               the same for reserved and for requested bytes
    """

    def __init__(self, device: int):
        self.device = device
        self._scope: Scope | None = None
        self.reset()

    def reset(self) -> None:
        """Resets this scope; other scopes keep their figures."""
        from vramscope.scopes import Scope

        self.close()
        self._scope = Scope(self.device).begin()

    def close(self) -> None:
        if self._scope is not None:
            self._scope.end()
            self._scope = None

    def _figures(self, kind: str) -> Figures:
        import torch

        torch.cuda.synchronize(self.device)
        assert self._scope is not None
        return self._scope.of(kind)

    @property
    def start(self) -> int:
        return self._figures("allocated").start

    @property
    def used(self) -> int:
        return self._figures("allocated").used

    @property
    def peak(self) -> int:
        figures = self._figures("allocated")
        return figures.peak - figures.start

    @property
    def reserved_peak(self) -> int:
        figures = self._figures("reserved")
        return figures.peak - figures.start

    @property
    def requested_peak(self) -> int:
        figures = self._figures("requested")
        return figures.peak - figures.start

    def __repr__(self) -> str:
        return f"<GPU memory of cuda:{self.device}: used {bytes_text(self.used)}, peak {bytes_text(self.peak)}>"


@pytest.fixture
def gpu_memory() -> Iterator[GPUMemoryFixture]:
    """Exact GPU memory of this test on the current device; skips the test without a GPU."""
    from vramscope._watch import why_not

    if (why := why_not()) is not None:
        pytest.skip(f"GPU memory cannot be measured: {why}")
    import torch

    torch.cuda.init()
    memory = GPUMemoryFixture(torch.cuda.current_device())
    try:
        yield memory
    finally:
        memory.close()
