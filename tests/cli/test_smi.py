"""vramscope smi over a fake NVML: byte for byte what nvidia-smi prints, its streams and exit codes; and what is ours.

The lines of golden/smi were written by hand from what is known of nvidia-smi (see the README there). The machines are the
scenarios of tests/fake. Here stdout is compared as bytes, but for time stamps, which must be of this moment.
"""

import contextlib
import csv
import io
import json
import mmap
import os
import re
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime
from pathlib import Path

import pytest

from conftest import BINARY, environment

FAKE = Path(os.environ.get("VRAMSCOPE_FAKE", ""))
SCENARIOS = Path(__file__).parents[1] / "fake" / "scenarios"
LINES = Path(__file__).parent / "golden" / "smi"
ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guide" / "smi.md"
TIME = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}")
# nvidia-smi has the PCI id here, which NVML does not tell of a card that is lost: ours says its number.
LOST = "Unable to determine the device handle for GPU 1: GPU is lost. Reboot the system to recover this GPU\n"
SOME_TIME = "2026/07/03 22:10:46.109"
MiB = 1 << 20
TWELVE = ("timestamp,name,pci.bus_id,driver_version,pstate,pcie.link.gen.max,pcie.link.gen.current,temperature.gpu,"
          "utilization.gpu,utilization.memory,memory.total,memory.free,memory.used")

pytestmark = pytest.mark.skipif(not FAKE.name, reason="VRAMSCOPE_FAKE does not name the folder of the fake NVML")


NOWHERE = 4_100_000  # added to the numbers of processes: near the end of what Linux has, so they are hardly here


def flat(name):
    """The lines of a scenario and of the files that it includes, with processes that are not visible."""
    text = (SCENARIOS / f"{name}.txt").read_text()
    text = re.sub(r"^include = (.*)\.txt$", lambda m: flat(m[1]), text, flags=re.M)
    return re.sub(r"^((?:process|account) = )(\d{1,6}) ", lambda m: f"{m[1]}{int(m[2]) + NOWHERE} ", text, flags=re.M)


@pytest.fixture
def machine(tmp_path):
    """machine("h200", "[card 0]", "pstate = 2") -> the environment of a machine like that scenario, but for these lines."""

    def write(name, *lines, library=None):
        path = tmp_path / "scenario.txt"
        path.write_text("\n".join([flat(name), *lines]) + "\n")
        return {"VRAMSCOPE_NVML": str(library or FAKE / "libnvidia-ml.so.1"), "VRAMSCOPE_FAKE_NVML": str(path)}

    return write


@pytest.fixture
def smi(vramscope, machine):
    """smi("h200", "--query-gpu=name", ...) -> Run. In place of a scenario's name what machine() returns."""

    def run(here, *args, **more):
        env = here if isinstance(here, dict) else machine(here)
        return vramscope("smi", *args, env={**env, **more.pop("env", {})}, **more)

    return run


def timeless(text):
    """The text with some time in place of the times, which have to be of the last minute."""
    for found in TIME.findall(text):
        assert abs(datetime.strptime(found, "%Y/%m/%d %H:%M:%S.%f").timestamp() - time.time()) < 60, found
    return TIME.sub(SOME_TIME, text)


def value(done):
    assert done.code == 0, (done.out, done.err)
    lines = done.out.splitlines()
    assert len(lines) == 1, lines
    return lines[0]


# ---- the vendor's lines


@pytest.mark.parametrize("name", ("h200", "two", "mig", "gb10", "not_permitted"))
def test_twelve_fields(smi, name):
    done = smi(name, f"--query-gpu={TWELVE}", "--format=csv")
    assert timeless(done.out) == (LINES / f"{name}.csv").read_text()
    assert (done.code, done.err) == (0, "")


def test_no_driver(smi):
    done = smi("no_driver", f"--query-gpu={TWELVE}", "--format=csv")
    assert done.out == (LINES / "no_driver.csv").read_text()
    assert (done.code, done.err) == (9, "")


@pytest.mark.parametrize("format", ("csv,noheader", "noheader,csv"))
def test_noheader(smi, format):
    whole = smi("two", f"--query-gpu={TWELVE}", "--format=csv")
    done = smi("two", f"--query-gpu={TWELVE}", f"--format={format}")
    assert timeless(done.out) == timeless(whole.out.split("\n", 1)[1])


def test_nounits_leaves_the_brackets(smi):
    done = smi("two", "--query-gpu=memory.used,utilization.gpu,power.draw,clocks.sm", "--format=csv,nounits")
    assert done.out == ("memory.used [MiB], utilization.gpu [%], power.draw [W], clocks.current.sm [MHz]\n"
                        "0, 0, 77.71, 345\n28010, 88, 401.23, 345\n")


@pytest.mark.parametrize(
    "fields, line",
    (
        ("index,count,serial,uuid", "0, 1, 1650000000001, GPU-a1b2c3d4-0000-4000-8000-000000000001"),
        ("gpu_name,gpu_bus_id,gpu_serial", "NVIDIA H200, 00000000:83:00.0, 1650000000001"),
        ("pci.domain,pci.bus,pci.device,pci.baseClass,pci.subClass", "0x0000, 0x83, 0x00, 0x3, 0x2"),
        ("pci.device_id,pci.sub_device_id", "0x233510DE, 0x18BE10DE"),
        ("vbios_version,compute_cap,compute_mode", "96.00.A5.00.03, 9.0, Default"),
        ("memory.total,memory.reserved,memory.used,memory.free", "143771 MiB, 614 MiB, 0 MiB, 143158 MiB"),
        ("temperature.gpu,temperature.gpu.tlimit,temperature.memory", "28, 58, 33"),
        ("power.draw,power.draw.instant,gpu.power.requested_limit,power.min_limit", "77.71 W, 77.69 W, 700.00 W, 200.00 W"),
        ("clocks.gr,clocks.sm,clocks.mem,clocks.video,clocks.max.mem", "345 MHz, 345 MHz, 3201 MHz, 765 MHz, 3201 MHz"),
        ("clocks_event_reasons.supported,clocks_event_reasons.active", "0x00000000000001EF, 0x0000000000000001"),
        ("clocks_event_reasons.gpu_idle,clocks_throttle_reasons.sw_power_cap", "Active, Not Active"),
        ("clocks_event_reasons_counters.sw_power_cap", "2000 us"),
        ("pcie.link.gen.gpumax,pcie.link.gen.hostmax,pcie.link.width.current", "5, [N/A], 16"),
        ("display_mode,power.management,clocks.applications.gr",
         ", ".join(["[Requested functionality has been deprecated]"] * 3)),
        ("driver_model.current,module.power.limit,fabric.health.summary", "[N/A], [N/A], N/A"),
        ("bar1.total,bar1.used,bar1.free", "262144 MiB, 1 MiB, 262143 MiB"),
        ("driver_version, pstate", "590.48.01, P0"),  # spaces do not count
        ("name,name", "NVIDIA H200, NVIDIA H200"),
    ),
)
def test_forms(smi, fields, line):
    assert value(smi("h200", f"--query-gpu={fields}", "--format=csv,noheader")) == line


@pytest.mark.parametrize(
    "name, fields, line",
    (
        ("rtx2080", "temperature.memory,temperature.gpu.tlimit,serial", "N/A, [N/A], [N/A]"),
        ("rtx2080", "power.default_limit,display_attached,display_active", "[Unknown Error], Yes, Enabled"),
        ("gb10", "addressing_mode,persistence_mode,pci.domain", "ATS, Enabled, 0x000F"),
        ("mig", "mig.mode.current,mig.mode.pending,count", "Enabled, Enabled, 1"),
        ("mig", "index,uuid", "0, GPU-a1b2c3d4-0000-4000-8000-000000000001"),
        ("not_permitted", "serial,power.limit", "[Insufficient Permissions], [Insufficient Permissions]"),
    ),
)
def test_forms_of_other_machines(smi, name, fields, line):
    assert value(smi(name, f"--query-gpu={fields}", "--format=csv,noheader")) == line


@pytest.mark.parametrize(
    "field, raw, shown",
    (
        ("memory.used", "501481472", "479 MiB"),  # 478.25 MiB: up
        ("memory.used", "1", "1 MiB"),
        ("memory.used", "1048576", "1 MiB"),
        ("memory.used", "1048577", "2 MiB"),
        ("power.draw", "0", "0.00 W"),
        ("power.draw", "5", "0.01 W"),  # 0.005 is a bit more as a number of the machine
        ("power.draw", "125", "0.12 W"),  # this is exact: to the even one
        ("power.draw", "401235", "401.24 W"),
        ("power.draw", "999999", "1000.00 W"),
        ("pstate", "12", "P12"),
        ("pstate", "32", "[N/A]"),
        ("compute_mode", "3", "Exclusive_Process"),
        ("gpu_recovery_action", "0", "None"),
        ("temperature.gpu", "-5", "-5"),
        ("temperature.gpu.tlimit", "-3", "-3"),
        ("clocks_event_reasons.active", "0x1EF", "0x00000000000001EF"),
        ("clocks_event_reasons.sw_thermal_slowdown", "", "[N/A]"),
        ("utilization.gpu", "!3", "[N/A]"),
        ("utilization.gpu", "!4", "[Insufficient Permissions]"),
        ("utilization.gpu", "!13", "[Function Not Found]"),
        ("utilization.gpu", "!999", "[Unknown Error]"),
    ),
)
def test_values(smi, machine, field, raw, shown):
    key = "clocks_event_reasons.active" if field.startswith("clocks_event_reasons.") else field
    here = machine("h200", "[card 0]", f"{key} = {raw or '!3'}")
    assert value(smi(here, f"--query-gpu={field}", "--format=csv,noheader")) == shown


def test_every_field_answers(smi):
    """As many cells as fields, and nothing empty: whatever a machine does not know has a token."""
    names = re.findall(r'^"([^"]+)"', smi("h200", "--help-query-gpu").out, re.M)
    assert len(names) > 200
    for name in ("h200", "rtx2080", "mig"):
        done = smi(name, f"--query-gpu={','.join(names)}", "--format=csv")
        header, line = done.out.splitlines()
        assert [cell.split(" ")[0] for cell in header.split(", ")] == names
        cells = line.split(", ")
        assert len(cells) == len(names) and all(cells)


# ---- the vendor's errors: on standard output, with NVML's numbers


@pytest.mark.parametrize("query", ("gpu", "compute-apps", "accounted-apps"))
@pytest.mark.parametrize("name", ("device_minor", "", "Name", "memory"))
def test_unknown_field(smi, query, name):
    done = smi("h200", f"--query-{query}=timestamp,{name}", "--format=csv")
    assert done.out == f'Field "{name}" is not a valid field to query.\n\n'
    assert (done.code, done.err) == (2, "")


@pytest.mark.parametrize("which", ("7", "GPU-ffff", "0:9", "00000000:99:00.0", "nonsense"))
def test_no_such_gpu(smi, which):
    done = smi("two", "-i", which, "--query-gpu=name", "--format=csv")
    assert (done.out, done.code, done.err) == ("No devices were found\n", 6, "")


@pytest.mark.parametrize(
    "name, out, code",
    (
        ("none", "No devices were found\n", 6),
        ("mismatch", "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.144\n", 18),
        ("no_permission_init", "Failed to initialize NVML: Insufficient Permissions\n", 4),
        ("lost", LOST, 15),
        ("lost_handle", LOST, 15),
    ),
)
def test_errors(smi, name, out, code):
    done = smi(name, "--query-gpu=name", "--format=csv")
    assert (done.out, done.code, done.err) == (out, code, "")


def test_version_of_the_library(smi, machine):
    """nvidia-smi writes two of its parts."""
    done = smi(machine("mismatch", "nvml = 12.550.144.03"), "--query-gpu=name", "--format=csv")
    assert done.code == 18 and done.out.endswith("\nNVML library version: 550.144\n")


def test_no_library(smi):
    done = smi("h200", "--query-gpu=name", "--format=csv", env={"VRAMSCOPE_NVML": "nowhere/libnvidia-ml.so.1"})
    assert (done.code, done.err) == (12, "")
    assert len(done.out.splitlines()) == 1 and "NVML library" in done.out


def test_the_lost_one_alone(smi):
    """Who asks only for the card that is there gets it."""
    assert value(smi("lost_handle", "-i", "0", "--query-gpu=index", "--format=csv,noheader")) == "0"


@pytest.mark.parametrize("format", ("noheader", "csv,", "xml", "csv,nounit", ""))
def test_bad_format(smi, format):
    done = smi("h200", "--query-gpu=name", f"--format={format}")
    assert (done.code, done.err) == (2, "") and done.out.count("\n") == 1


def test_one_query_at_a_time(smi):
    done = smi("h200", "--query-gpu=name", "--query-compute-apps=pid", "--format=csv")
    assert (done.code, done.err) == (2, "") and done.out


# ---- which GPUs


@pytest.mark.parametrize(
    "which, indices",
    (
        ("1", ["1"]),
        ("1,0", ["1", "0"]),
        ("GPU-a1b2c3d4-0000-4000-8000-000000000002", ["1"]),
        ("00000000:84:00.0", ["1"]),
        ("84:00.0", ["1"]),
        ("1650000000001", ["0"]),
    ),
)
def test_selection(smi, which, indices):
    for spelling in (["-i", which], [f"--id={which}"], [f"-i{which}"]):
        done = smi("two", *spelling, "--query-gpu=index", "--format=csv,noheader")
        assert done.out.split() == indices


def test_selection_of_mig(smi):
    done = smi("mig", "-i", "0:4", "--query-gpu=uuid,memory.total,memory.used", "--format=csv,noheader")
    assert value(done) == "MIG-11111111-0000-4000-8000-000000000003, 16384 MiB, 15 MiB"


# ---- loops


def rows_of_loop(smi, *args, **more):
    done = smi("h200", "--query-gpu=timestamp,index", "--format=csv", *args, **more)
    assert (done.code, done.err) == (0, "")
    return done.out.splitlines()


@pytest.mark.parametrize("spelling", (["-lms", "50"], ["-lms=50"], ["--loop-ms=50"], ["--loop-ms", "50"]))
def test_loop(smi, spelling):
    lines = rows_of_loop(smi, *spelling, "-c", "4")
    assert lines[0] == "timestamp, index" and len(lines) == 5  # one header
    assert all(TIME.fullmatch(line.removesuffix(", 0")) for line in lines[1:])


def test_loop_keeps_its_moments(smi, machine):
    """A driver that takes 70 ms for an answer does not shift what comes after it: all lie on a grid of 200 ms, but for those
    that a busy machine is late with."""
    here = machine("h200", "slow = nvmlDeviceGetPerformanceState 70000")
    done = smi(here, "--query-gpu=timestamp,pstate", "--format=csv,noheader", "-lms", "200", "-c", "7")
    times = [datetime.strptime(line.split(", ")[0], "%Y/%m/%d %H:%M:%S.%f").timestamp() for line in done.out.splitlines()]
    assert len(times) == 7
    beside = sorted(abs((at - times[0] + 0.1) % 0.2 - 0.1) for at in times[1:])
    assert beside[len(beside) // 2] < 0.04, times


@contextlib.contextmanager
def running(env, *args):
    """vramscope smi while it runs, for at most ten seconds."""
    argv = [BINARY, "smi", *args]
    with subprocess.Popen(argv, env=environment(**env), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        end = threading.Timer(10, child.kill)
        end.start()
        try:
            yield child
        finally:
            end.cancel()
            child.kill()


def test_each_line_goes_out_at_once(machine):
    """Who reads a pipe has the first lines while the loop goes on."""
    with running(machine("h200"), "--query-gpu=index,name", "--format=csv", "-l", "3600") as child:
        assert child.stdout.readline() == b"index, name\n" and child.stdout.readline() == b"0, NVIDIA H200\n"
        child.send_signal(signal.SIGTERM)
        assert child.wait(10) == -signal.SIGTERM


def test_broken_pipe(machine):
    """A reader that leaves ends it without a word."""
    with running(machine("h200"), "--query-gpu=index", "--format=csv,noheader", "-lms", "10") as child:
        child.stdout.readline()
        child.stdout.close()
        assert child.wait(10) == 0 and child.stderr.read() == b""


def test_a_gpu_gets_lost_in_a_loop(smi, machine):
    """It says so in its cells or in the vendor's sentence, and does not repeat old figures."""
    here = machine("h200", "[card 0]", "pstate = 0 | !15")
    done = smi(here, "--query-gpu=pstate", "--format=csv,noheader", "-lms", "10", "-c", "3")
    assert done.out.splitlines()[:2] == ["P0", "[GPU is lost]"]


# ---- files


def test_file(smi, folder):
    (folder / "log.csv").write_text("old\n")
    for spelling in (["-f", "log.csv"], ["--filename=log.csv"]):
        done = smi("two", "--query-gpu=index", "--format=csv", *spelling, "-lms", "10", "-c", "2")
        assert (done.code, done.out, done.err) == (0, "", "")
        assert (folder / "log.csv").read_text() == "index\n0\n1\n0\n1\n"


def test_file_that_cannot_be(smi, folder):
    done = smi("two", "--query-gpu=index", "--format=csv", "-f", "nowhere/log.csv")
    assert done.code == 3 and done.out == "" and "nowhere/log.csv" in done.err


def test_errors_do_not_touch_the_file(smi, folder):
    (folder / "log.csv").write_text("old\n")
    done = smi("two", "--query-gpu=indx", "--format=csv", "-f", "log.csv")
    assert done.code == 2 and "indx" in done.out and (folder / "log.csv").read_text() == "old\n"


# ---- processes

EIGHT = "timestamp,gpu_name,gpu_bus_id,gpu_serial,gpu_uuid,pid,process_name,used_gpu_memory"
HEADER = "timestamp, gpu_name, gpu_bus_id, gpu_serial, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
CARD = f"{SOME_TIME}, NVIDIA H200, 00000000:83:00.0, 1650000000001, GPU-a1b2c3d4-0000-4000-8000-000000000001"


@contextlib.contextmanager
def program(folder, name, *arguments):
    """A process by a name of our choice that has mapped a file called like CUDA's driver, as one that uses a GPU has."""
    (folder / "libcuda.so.1").write_bytes(b"x" * mmap.PAGESIZE)
    code = ("import mmap, sys; f = open('libcuda.so.1', 'rb'); m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ); "
            "print('up', flush=True); sys.stdin.read()")
    with subprocess.Popen([name, "-c", code, *arguments], executable=sys.executable, cwd=folder, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"up\n"
        try:
            yield child.pid
        finally:
            child.kill()


def test_compute_apps(smi):
    done = smi("h200_loaded", f"--query-compute-apps={EIGHT}", "--format=csv")
    assert timeless(done.out) == (f"{HEADER}{CARD}, {NOWHERE + 41234}, [Not Found], 28234 MiB\n{CARD}, {NOWHERE + 41300}, [Not Found], 3584 MiB\n")
    assert (done.code, done.err) == (0, "")  # 990 draws only


def test_compute_apps_by_their_numbers(smi, machine):
    here = machine("h200", "[card 0]", *(f"process = {NOWHERE + pid} C {pid}MiB" for pid in (200, 300, 100)))
    done = smi(here, "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits")
    assert done.out == "".join(f"{NOWHERE + pid}, {pid}\n" for pid in (100, 200, 300))


def test_no_compute_apps(smi):
    done = smi("h200", f"--query-compute-apps={EIGHT}", "--format=csv")
    assert (done.out, done.code, done.err) == (HEADER, 0, "")
    assert smi("h200", f"--query-compute-apps={EIGHT}", "--format=csv,noheader").out == ""


def test_process_name(smi, machine, folder):
    with program(folder, "/opt/a, b/job\t1", "--rate", "1,5") as pid:
        here = machine("h200", "[card 0]", f"process = {pid} C 512MiB")
        assert value(smi(here, "--query-compute-apps=pid,name,used_memory", "--format=csv,noheader,nounits")) == (
            f"{pid}, /opt/a? b/job?1, 512")
        row = json.loads(smi(here, "--query-compute-apps=process_name,user,start_time,command", "--json").out)["rows"][0]
        assert row["is_visible"] and row["values"]["process_name"] == "/opt/a, b/job\t1"
        assert row["values"]["command"].endswith("--rate 1,5") and row["values"]["user"]
        assert abs(datetime.strptime(row["values"]["start_time"], "%Y/%m/%d %H:%M:%S.%f").timestamp() - time.time()) < 60


def test_apps_under_mig(smi):
    done = smi("mig", "--query-compute-apps=gpu_uuid,pid,used_memory,gi,ci,type", "--format=csv,noheader")
    uuid = "GPU-a1b2c3d4-0000-4000-8000-000000000001"  # of the card
    first, second = NOWHERE + 7001, NOWHERE + 7002
    assert done.out == f"{uuid}, {first}, 8400 MiB, 2, 0, C\n{uuid}, {second}, 8400 MiB, 2, 1, C\n"
    done = smi("mig", "-i", "0:1", "--query-compute-apps=gpu_uuid,pid,gpu_name", "--format=csv,noheader")
    assert done.out == f"{uuid}, {second}, NVIDIA H200\n"


def test_memory_that_windows_does_not_tell(smi):
    assert value(smi("wsl", "--query-compute-apps=pid,used_memory", "--format=csv,noheader")) == f"{NOWHERE + 18}, [N/A]"


def test_accounted_apps(smi):
    fields = "gpu_bus_id,pid,gpu_util,mem_util,max_memory_usage,time,vgpu_instance"
    done = smi("accounting", f"--query-accounted-apps={fields}", "--format=csv")
    assert done.out == (
        "gpu_bus_id, pid, gpu_utilization [%], mem_utilization [%], max_memory_usage [MiB], time [ms], vgpu_instance\n"
        f"00000000:83:00.0, {NOWHERE + 41234}, 97 %, 41 %, 28500 MiB, 61000 ms, [N/A]\n"
        f"00000000:83:00.0, {NOWHERE + 40001}, 55 %, 12 %, 70000 MiB, 3600000 ms, [N/A]\n"
    )
    assert smi("h200", "--query-accounted-apps=pid", "--format=csv,noheader").out == ""


# ---- JSON


def cell_of(field, unit, value):
    """What CSV shows for a member of JSON, without its unit."""
    if isinstance(value, bool):
        yes = {"display_attached", "retired_pages.pending", "remapped_rows.pending", "remapped_rows.failure",
               "ecc.errors.uncorrected.aggregate.sram.thresholdExceeded"}
        words = ("No", "Yes") if field in yes else ("Disabled", "Enabled")
        return (("Not Active", "Active") if field.startswith("clocks_") else words)[value]
    if field.startswith("clocks_event_reasons.") and isinstance(value, int):
        return f"0x{value:016X}"
    if field.endswith("_bytes"):
        return str(-(-value // MiB))
    return f"{value:.2f}" if unit == "W" else str(value)


@pytest.mark.parametrize("name", ("h200", "h200_loaded", "rtx2080", "mig", "not_permitted", "gb10"))
def test_json_equals_csv(smi, name):
    names = [n for n in re.findall(r'^"([^"]+)"', smi(name, "--help-query-gpu").out, re.M) if n != "timestamp"]
    query = f"--query-gpu={','.join(names)}"
    rows = list(csv.reader(io.StringIO(smi(name, query, "--format=csv,noheader,nounits").out), skipinitialspace=True))
    reply = json.loads(smi(name, query, "--json").out)
    assert reply["schema"] == 1 and reply["query"] == "gpu" and [f["name"] for f in reply["fields"]] == names
    assert abs(reply["time_us"] / 1e6 - time.time()) < 60
    units = [field["unit"] for field in reply["fields"]]
    assert len(reply["rows"]) == len(rows)
    for row, cells in zip(reply["rows"], rows, strict=True):
        assert list(row["unknown"]) == [key for key, value in row["values"].items() if value is None]
        for (key, value), unit, cell in zip(row["values"].items(), units, cells, strict=True):
            if value is None:
                assert cell.startswith("[") or cell == "N/A", (key, cell)
            else:
                assert cell_of(key, unit, value) == cell, key


def test_json(smi):
    fields = "name,memory.used,power.draw,temperature.gpu,temperature.memory,fan.speed,pstate,utilization.gpu,memory.used"
    reply = json.loads(smi("rtx2080", f"--query-gpu={fields}", "--json").out)
    assert reply["driver"]["version"] == "595.71" and not reply["driver"]["is_simulated"]
    units = {field["name"]: field["unit"] for field in reply["fields"]}
    assert units == {"name": None, "memory.used": "bytes", "power.draw": "W", "temperature.gpu": "C",
                     "temperature.memory": "C", "fan.speed": "%", "pstate": None, "utilization.gpu": "%"}
    (row,) = reply["rows"]
    assert (row["gpu"], row["gpu_uuid"], row["memory_api"]) == (0, "GPU-20800000-0000-4000-8000-000000000001", 2)
    assert row["values"] == {"name": "NVIDIA GeForce RTX 2080 SUPER", "memory.used_bytes": 512 * MiB, "power.draw": 16.12,
                             "temperature.gpu": 34, "temperature.memory": None, "fan.speed": 0, "pstate": "P8",
                             "utilization.gpu": 3}
    assert list(row["unknown"]) == ["temperature.memory"]
    assert row["unknown"]["temperature.memory"]["reason"] == "not_supported"


def test_json_says_why(smi):
    query = "--query-gpu=memory.used,display_mode,module.power.limit"
    (row,) = json.loads(smi("not_permitted", query, "--json").out)["rows"]
    assert {key: why["reason"] for key, why in row["unknown"].items()} == {
        "memory.used_bytes": "no_permission", "display_mode": "deprecated", "module.power.limit": "not_sampled"}
    assert row["unknown"]["memory.used_bytes"]["code"] == 4


def test_json_of_an_old_driver(vramscope, machine):
    """Its one call counts the reserve as used, and the reply says so."""
    env = machine("h200_loaded", library=FAKE / "old" / "libnvidia-ml.so.1")
    done = vramscope("smi", "--query-gpu=memory.reserved,memory.used", "--json", env=env)
    (row,) = json.loads(done.out)["rows"]
    assert row["memory_api"] == 1 and row["values"]["memory.used_bytes"] == 32362 * MiB + 643301376
    csv_line = vramscope("smi", "--query-gpu=memory.reserved,memory.used", "--format=csv,noheader", env=env)
    assert value(csv_line) == "[N/A], 32976 MiB"


def test_json_in_a_loop(smi):
    lines = smi("two", "--query-gpu=index", "--json", "-lms", "10", "-c", "3").out.splitlines()
    assert [[row["values"]["index"] for row in json.loads(line)["rows"]] for line in lines] == [[0, 1]] * 3


def test_json_errors_are_not_on_standard_output(smi):
    for arguments, code in ((["--query-gpu=nam"], 2), (["-i", "7", "--query-gpu=name"], 6), (["-i", "7"], 6)):
        done = smi("h200", "--json", *arguments)
        assert done.code == code and done.out == "" and done.err.startswith("vramscope: ")
    assert "name" in smi("h200", "--json", "--query-gpu=nam").err
    done = smi("no_driver", "--json")
    assert done.code == 9 and done.out == "" and done.err.count("\n") == 1


def test_below_zero(smi, vramscope, machine):
    here = machine("h200", "[card 0]", "temperature.gpu = -5")
    assert json.loads(smi(here, "--json").out)["devices"][0]["temperature_c"] == -5
    assert ", -5 C, " in smi(here).out
    (row,) = json.loads(smi(here, "--query-gpu=temperature.gpu", "--json").out)["rows"]
    assert row["values"] == {"temperature.gpu": -5}
    assert json.loads(vramscope("top", "--json", env=here).out)["devices"][0]["temperature_celsius"] == -5


def test_the_table_is_made_of_the_json(smi):
    """What a person reads is in the document: that two MIG devices share memory, and on which one a process runs."""
    devices = json.loads(smi("mig", "--json").out)["devices"]
    assert [device["memory"]["shared_with_mig_index"] for device in devices] == [None, None, 0, None]
    assert [process["mig_index"] for process in devices[0]["processes"]] == [0, 1]


def test_json_table(smi):
    reply = json.loads(smi("h200_loaded", "--json").out)
    assert reply["schema"] == 1
    (device,) = reply["devices"]
    assert (device["index"], device["name"], device["bus_id"]) == (0, "NVIDIA H200", "00000000:83:00.0")
    memory = device["memory"]
    assert memory["total_bytes"] == memory["reserved_bytes"] + memory["used_bytes"] + memory["free_bytes"] == 143771 * MiB
    assert memory["used_bytes"] == memory["attributed_bytes"] + memory["unattributed_bytes"] == 32362 * MiB
    assert [(p["pid"], p["used_bytes"], p["type"]) for p in device["processes"]] == [
        (NOWHERE + 41234, 28234 * MiB, "C"), (NOWHERE + 41300, 3584 * MiB, "C"), (NOWHERE + 990, 524 * MiB, "G")]
    migs = json.loads(smi("mig", "--json").out)["devices"]
    assert [d["mig_index"] for d in migs] == [None, 0, 1, 4] and [d["gpu_instance"] for d in migs] == [None, 2, 2, 9]


# ---- for people


@pytest.mark.parametrize("name", ("h200", "h200_loaded", "two", "mig", "gb10", "not_permitted", "wsl", "rtx2080"))
def test_table(smi, golden, name):
    done = smi(name)
    assert (done.code, done.err) == (0, "")
    assert all(len(line) <= 80 for line in done.out.splitlines())
    in_a_container = "No process is listed. In a container that need not mean that there is none.\n"
    if name != "gb10":  # which shows the memory of this machine
        golden(f"smi_{name}", done.out.replace(in_a_container, "No process holds any of it.\n"))


@pytest.mark.parametrize("width", (40, 60, 120))
def test_table_keeps_to_the_width(smi, width):
    for name in ("two", "mig", "h200_loaded"):
        out = smi(name, env={"COLUMNS": str(width)}).out
        assert all(len(line) <= max(width, 60) for line in out.splitlines()), out


def test_table_in_other_units(smi):
    assert "33,934,016,512 B" in smi("h200_loaded", "--bytes").out
    assert "33.93 GB" in smi("h200_loaded", "--si").out
    assert "\x1b[" in smi("h200_loaded", "--color", "always").out
    assert "\x1b[" not in smi("h200_loaded").out


def test_table_without_a_driver(smi):
    done = smi("no_driver")
    assert done.code == 9 and done.err == "" and done.out.startswith("NVIDIA-SMI has failed")


def test_table_of_hostile_names(smi, machine, folder):
    with program(folder, "x\x1b[2J\n\x9b31m") as pid:
        here = machine("h200", "[card 0]", f"process = {pid} C 512MiB", "name = evil\x1b[31mcard")
        for arguments in ([], ["--query-compute-apps=pid,name,command", "--format=csv"]):
            out = smi(here, *arguments, encoding="latin-1").out
            assert "\x1b" not in out and str(pid) in out


# ---- help and guide


@pytest.mark.parametrize("query, macros, least", (
    ("gpu", ("VS_SMI_FIELD", "VS_SMI_OWN"), 244), ("compute-apps", ("VS_SMI_APP", "VS_SMI_APP_OWN"), 15),
    ("accounted-apps", ("VS_SMI_ACCOUNTED",), 11)))
def test_help_of_fields(smi, query, macros, least):
    """As scripts read nvidia-smi's: a name in quotes behind an empty line; all of the list, which never gets shorter."""
    done = smi("no_driver", f"--help-query-{query}")
    assert (done.code, done.err) == (0, "")
    listed = re.findall(r'\n\n"([^"]+)"(?: or "[^"]+")?\n\S', done.out)
    assert listed == [row[1] for row in rows_of_lists() if row[0] in macros] and len(listed) >= least
    assert all(len(line) < 160 for line in done.out.splitlines())


def test_guide_shows_real_output(smi):
    for block in re.findall(r"^```console\n(.*?)^```$", GUIDE.read_text(), re.M | re.S):
        for command, out in re.findall(r"^\$ vramscope smi (.*)\n((?:[^$].*\n)*)", block, re.M):
            shown = smi("h200_loaded", *command.split()).out
            assert re.sub(r"41\d{5}", lambda m: str(int(m[0]) - NOWHERE), shown) == out


def test_guide_lists_the_fields():
    """The tables of the guide are those of the lists; UPDATE_GOLDEN=1 writes them again."""
    text = GUIDE.read_text()
    real = re.sub(r"(<!-- (\S+) -->\n).*?(<!-- end -->)", lambda m: m[1] + table_of(m[2]) + m[3], text, flags=re.S)
    if os.environ.get("UPDATE_GOLDEN") == "1":
        GUIDE.write_text(real)
    assert GUIDE.read_text() == real and real.count("<!-- end -->") == 3


def rows_of_lists():
    folder = ROOT / "src/faces/smi"
    text = (folder / "fields.def").read_text() + (folder / "apps.def").read_text()
    return re.findall(r'^(VS_SMI_\w+)\("([^"]+)", (?:0|"([^"]+)"),\s+(?:0|"([^"]+)"), \w+, (VS_\w+)[^"]*"(.*)"\)$', text, re.M)


def table_of(macros):
    macros = macros.split(",")
    lines = ["| field | unit | what it is |\n|---|---|---|\n"]
    for macro, name, alias, unit, source, sentence in rows_of_lists():
        if macro in macros:
            also = f", `{alias}`" if alias else ""
            notes = {"VS_PASSED": " (always `[N/A]`)", "VS_GONE": " (deprecated)"}.get(source, "")
            own = " (ours)" if "OWN" in macro else ""
            lines.append(f"| `{name}`{also} | {unit or ''} | {sentence}{notes}{own} |\n")
    return "".join(lines)
