"""`exporter`: what it tells, against the machine of a fake NVML and read by Prometheus' own parsers (prometheus_client, promtool, and a
Prometheus that scrapes it); who may ask; and that it neither leaks nor waits for a driver that hangs."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

import pytest
from conftest import BINARY, environment
from prometheus_client import parser as text_parser
from prometheus_client.openmetrics import parser as open_parser

FAKE = os.environ.get("VRAMSCOPE_FAKE", "")
ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "tests" / "fake" / "scenarios"
FLEET = ROOT / "examples" / "fleet"
SCRAPES = int(os.environ.get("VRAMSCOPE_SCRAPES", "300"))
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
TEXT = "text/plain; version=0.0.4; charset=utf-8"


@pytest.fixture
def machine(tmp_path):
    """machine("include = h200.txt\\n...") -> the environment of that machine; called again, it changes the machine of a running program."""
    path = tmp_path / "machine.txt"

    def write(text):
        fresh = tmp_path / "fresh.txt"
        fresh.write_bytes(os.fsencode(text.replace("include = ", f"include = {os.path.relpath(SCENARIOS, tmp_path)}/")))
        fresh.rename(path)
        return {"VRAMSCOPE_NVML": f"{FAKE}/libnvidia-ml.so.1", "VRAMSCOPE_FAKE_NVML": str(path)}

    return write


def samples_of(families):
    """{(name, labels): value}; each sample is there once."""
    found = {}
    for family in families:
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            assert key not in found
            found[key] = sample.value
    return found


def values(samples, name, **labels):
    """Of the samples of that name with these labels: {the other labels as text: value}."""
    found = {}
    for (key, pairs), value in samples.items():
        have = dict(pairs)
        if key == name and all(have.get(label) == wanted for label, wanted in labels.items()):
            found[",".join(f"{k}={v}" for k, v in sorted(have.items()) if k not in labels and k != "uuid")] = value
    return found


@pytest.fixture
def once(vramscope, machine):
    """once(scenario, options...) -> the samples of `exporter --once`, read by prometheus_client and accepted by promtool."""

    def run(scenario, *options):
        done = vramscope("exporter", "--once", *options, env=machine(scenario))
        assert (done.code, done.err) == (0, "")
        checked = subprocess.run(["promtool", "check", "metrics"], input=done.out, capture_output=True, text=True, check=False)
        assert "--dcgm-names" in options or (checked.returncode, checked.stderr) == (0, "")
        return samples_of(text_parser.text_string_to_metric_families(done.out))

    return run


class Exporter:
    def __init__(self, process):
        self.process = process
        self.line = process.stdout.readline()
        found = re.search(r"(https?)://(\S+):(\d+)/metrics", self.line)
        self.scheme, self.host, self.port = (found[1], found[2].strip("[]"), int(found[3])) if found else (None, None, 0)

    def ask(self, path="/metrics", method="GET", body=None, context=None, **headers):
        """(status, headers, body as text)"""
        kind = http.client.HTTPSConnection if self.scheme == "https" else http.client.HTTPConnection
        more = {"context": context} if self.scheme == "https" else {}
        connection = kind("127.0.0.1" if self.host == "0.0.0.0" else self.host, self.port, timeout=30, **more)
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        reply = connection.getresponse()
        got = reply.status, reply.headers, reply.read().decode()
        connection.close()
        return got

    def samples(self):
        status, _, body = self.ask()
        assert status == 200
        return samples_of(text_parser.text_string_to_metric_families(body))


@pytest.fixture
def exporter(build, folder, machine):
    """with exporter(scenario, options...) as it: ...   a free port of loopback unless --listen says otherwise; it has to end well."""

    @contextlib.contextmanager
    def run(scenario, *options):
        where = [] if "--listen" in options else ["--listen", "0"]
        process = subprocess.Popen([BINARY, "exporter", *where, *map(str, options)], cwd=folder, env=environment(**machine(scenario)),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            yield Exporter(process)
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=30)
            assert (process.returncode, errors) == (0, "")
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()

    if build["microhttpd"] is None:
        pytest.skip("this build has no server")
    return run


# ---- what it tells


LOADED = "include = h200_loaded.txt\n"


def test_the_figures_are_those_of_the_machine(once):
    # The values of h200.txt and h200_loaded.txt, in Prometheus' base units.
    samples = once(LOADED)
    wanted = {"memory_total_bytes": 143771 << 20, "memory_used_bytes": 33934016512, "memory_reserved_bytes": 643301376, "utilization_ratio": 0.97,
              "temperature_celsius": 61, "power_watts": 612.34, "power_limit_watts": 700, "energy_joules_total": 123456.789,
              "memory_clock_hertz": 3201e6, "processes": 3, "clocks_event_reasons": 4}
    for name, value in wanted.items():
        assert values(samples, f"vramscope_gpu_{name}") == {"gpu=0": value}, name
    memory = {row: values(samples, f"vramscope_gpu_memory_{row}_bytes")["gpu=0"]
              for row in ("total", "used", "free", "reserved", "attributed", "unattributed")}
    assert memory["total"] == memory["used"] + memory["free"] + memory["reserved"]
    assert memory["used"] == memory["attributed"] + memory["unattributed"]
    assert values(samples, "vramscope_process_memory_bytes", gpu="0") == {
        "pid=41234": 28234 << 20, "pid=41300": 3584 << 20, "pid=990": 524 << 20}
    assert values(samples, "vramscope_gpu_info") == {"bus_id=00000000:83:00.0,gpu=0,name=NVIDIA H200": 1}
    assert values(samples, "vramscope_gpu_ecc_errors_total") == {"gpu=0,type=corrected": 0, "gpu=0,type=uncorrected": 0}


def test_it_tells_what_top_and_smi_tell(once, vramscope, machine):
    samples = once("include = mixed.txt\n")
    top = json.loads(vramscope("top", "--json", env=machine("include = mixed.txt\n")).out)
    figures = {"memory_total_bytes": ("memory_total_bytes", 1), "memory_used_bytes": ("memory_used_bytes", 1), "memory_free_bytes": ("memory_free_bytes", 1),
               "utilization_ratio": ("utilization_gpu_percent", 100), "temperature_celsius": ("temperature_celsius", 1),
               "power_watts": ("power_milliwatts", 1000)}
    assert len(top["devices"]) > 1
    for name, (key, divisor) in figures.items():
        for device in top["devices"]:
            labels = {"uuid": device["uuid"]}
            is_told = device[key] is not None and (name.startswith("memory") or not device["is_mig"])
            want = [device[key] / divisor] if is_told else []
            assert list(values(samples, f"vramscope_gpu_{name}", **labels).values()) == want, (name, device["label"])
    listed = {(p["uuid"], str(p["pid"])): p["used_bytes"] for p in top["processes"] if p["used_bytes"] is not None}
    told = {(dict(labels)["uuid"], dict(labels)["pid"]): value for (name, labels), value in samples.items() if name == "vramscope_process_memory_bytes"}
    assert told == listed and told


def test_an_unknown_figure_has_a_reason_and_no_sample(once):
    samples = once("include = h200.txt\n\n[card 0]\npower.draw = !4\ntemperature.gpu = !3\nmemory.used = 0\n")
    assert values(samples, "vramscope_gpu_power_watts") == values(samples, "vramscope_gpu_temperature_celsius") == {}
    reasons = values(samples, "vramscope_gpu_unknown", gpu="0")
    assert reasons["figure=vramscope_gpu_power_watts,reason=no_permission"] == 1
    assert reasons["figure=vramscope_gpu_temperature_celsius,reason=not_supported"] == 1
    assert values(samples, "vramscope_gpu_memory_used_bytes") == {"gpu=0": 0}
    assert not [key for key in reasons if "memory_used" in key]


def test_mig_devices_have_their_memory_and_not_their_cards_power(once):
    samples = once("include = mig.txt\n")
    assert values(samples, "vramscope_gpu_memory_used_bytes") == {"gpu=0": 17000 << 20, "gpu=0,mig=0": 16925 << 20, "gpu=0,mig=1": 16925 << 20,
                                                                  "gpu=0,mig=4": 15 << 20}
    assert list(values(samples, "vramscope_gpu_power_watts")) == ["gpu=0"]
    assert values(samples, "vramscope_process_memory_bytes", pid="7002") == {"gpu=0,mig=1": 8400 << 20}
    infos = values(samples, "vramscope_gpu_info")
    assert [key for key in infos if "gpu_instance=2" in key and "mig=1" in key and "compute_instance=1" in key], infos
    assert [key for key in infos if "divided=true" in key and "mig" not in key.replace("name", "")]


def test_the_names_of_dcgm(once):
    samples = once(LOADED, "--dcgm-names")
    uuid = "GPU-a1b2c3d4-0000-4000-8000-000000000001"
    found = {name: value for (name, labels), value in samples.items() if dict(labels).get("UUID") == uuid}
    # dcgm-exporter has MiB, watts, millijoules, MHz and percent.
    wanted = {"FB_USED": 32362, "FB_TOTAL": 143771, "FB_RESERVED": 613, "GPU_UTIL": 97, "GPU_TEMP": 61, "POWER_USAGE": 612.34, "MEM_CLOCK": 3201,
              "TOTAL_ENERGY_CONSUMPTION": 123456789}
    assert {name: found[f"DCGM_FI_DEV_{name}"] for name in wanted} == wanted
    (labels,) = {labels for name, labels in samples if name == "DCGM_FI_DEV_FB_USED"}
    assert {**dict(labels), "hostname": ""} == {"gpu": "0", "UUID": uuid, "pci_bus_id": "00000000:83:00.0", "device": "nvidia0",
                                                "modelName": "NVIDIA H200", "hostname": ""}


def test_so_many_processes_of_each_gpu(once):
    many = "\n".join(f"process = {4_000_000 + i} C {i + 1}MiB" for i in range(60))
    scenario = f"include = h200.txt\n\n[card 0]\nmemory.used = 80GiB\n{many}\n"
    assert len(values(once(scenario), "vramscope_process_memory_bytes")) == 32
    few = once(scenario, "--processes", "2")
    assert values(few, "vramscope_process_memory_bytes", gpu="0") == {"pid=4000059": 60 << 20, "pid=4000058": 59 << 20}
    assert values(few, "vramscope_gpu_processes") == {"gpu=0": 60}
    assert values(once(scenario, "--processes", "0"), "vramscope_process_memory_bytes") == {}
    two = f"{scenario}[card like 0]\nuuid = GPU-2\nprocess = none\nprocess = 3999999 C 1MiB\n"
    assert values(once(two, "--processes", "2"), "vramscope_process_memory_bytes") == {
        "gpu=0,pid=4000059": 60 << 20, "gpu=0,pid=4000058": 59 << 20, "gpu=1,pid=3999999": 1 << 20}


NAMED = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(15, bytes.fromhex(sys.argv[1]), 0, 0, 0)
print(flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def process_named(name, **variables):
    child = subprocess.Popen([sys.executable, "-c", NAMED, name.hex()], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             env={**os.environ, **variables})
    child.stdout.readline()
    try:
        yield child.pid
    finally:
        child.stdin.close()
        child.wait()
        child.stdout.close()


def test_a_name_stays_text(once):
    # What would end a label or a line, and bytes that Prometheus would refuse a whole scrape for: no UTF-8, and an encoded surrogate.
    for name, told in [(b'a"} 1\\', 'a"} 1\\'), (b"x\xffy\xed\xa0\x80z", "x\ufffdy\ufffd\ufffd\ufffdz"), ("größe".encode(), "größe")]:
        with process_named(name) as pid:
            samples = once(f"include = h200.txt\n\n[card 0]\nmemory.used = 2GiB\nprocess = {pid} C 1GiB\n")
        (labels,) = [dict(labels) for key, labels in samples if key == "vramscope_process_memory_bytes"]
        assert (labels["name"], labels["pid"]) == (told, str(pid))


def test_the_job_and_the_rank_of_a_process(once):
    def labels_of(**variables):
        with process_named(b"train", **variables) as pid:
            samples = once(f"include = h200.txt\n\n[card 0]\nmemory.used = 2GiB\nprocess = {pid} C 1GiB\n")
        (labels,) = [dict(labels) for key, labels in samples if key == "vramscope_process_memory_bytes"]
        return {key: labels.get(key) for key in ("job", "rank")}

    assert labels_of(RANK="17", SLURM_JOB_ID="4711", TORCHELASTIC_RUN_ID="none") == {"job": "4711", "rank": "17"}
    assert labels_of(RANK="3", TORCHELASTIC_RUN_ID="sweep\n9") == {"job": "sweep\n9", "rank": "3"}
    assert labels_of(TORCHELASTIC_RUN_ID="none") == {"job": None, "rank": None}


# ---- over HTTP


def test_both_formats_tell_the_same(exporter):
    with exporter(LOADED) as it:
        status, headers, text = it.ask()
        assert (status, headers["Content-Type"]) == (200, TEXT)
        status, headers, opened = it.ask(Accept=f"{OPENMETRICS},text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
        assert (status, headers["Content-Type"]) == (200, OPENMETRICS)
    assert opened.endswith("# EOF\n") and "# UNIT vramscope_gpu_power_watts watts\n" in opened
    assert samples_of(open_parser.text_string_to_metric_families(opened)) == samples_of(text_parser.text_string_to_metric_families(text))


def test_a_machine_that_changes(exporter, machine):
    with exporter(LOADED) as it:
        assert values(it.samples(), "vramscope_gpu_memory_used_bytes") == {"gpu=0": 33934016512}
        machine("include = h200.txt\n\n[card 0]\nmemory.used = 5GiB\n")
        wait_for(lambda: values(it.samples(), "vramscope_gpu_memory_used_bytes") == {"gpu=0": 5 << 30})
        machine(f"init = 9\n{LOADED}\n[card 0]\nlost = 15\n")
        wait_for(lambda: values(it.samples(), "vramscope_driver_up") == {"": 0})
        gone = it.samples()
        assert values(gone, "vramscope_gpu_memory_used_bytes") == values(gone, "vramscope_process_memory_bytes") == {}
        assert values(gone, "vramscope_gpu_unknown", figure="vramscope_gpu_power_watts") == {"gpu=0,reason=no_driver": 1}
        machine(LOADED)
        wait_for(lambda: values(it.samples(), "vramscope_driver_up") == {"": 1})
        assert values(it.samples(), "vramscope_gpu_power_watts") == {"gpu=0": 612.34}


def wait_for(is_so, patience_s=60):
    end = time.monotonic() + patience_s
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


# ---- XID errors: the driver tells each once, to the one that waits


def two(first="", second="", driver=""):
    """A machine with two GPUs, and lines for each of them and for the driver."""
    return f"{driver}\ninclude = h200.txt\n\n[card 0]\nuuid = GPU-0\n[card like 0]\nuuid = GPU-1\n{second}\n[card 0]\n{first}\n"


def xids(samples):
    """{(gpu, xid): errors}, {gpu: last}, {gpu: when}, {gpu, reason: 1}"""
    counts = {tuple(dict(pairs)[label] for label in ("gpu", "xid")): count
              for (name, pairs), count in samples.items() if name == "vramscope_gpu_xid_errors_total"}
    last, when = values(samples, "vramscope_gpu_last_xid"), values(samples, "vramscope_gpu_last_xid_timestamp_seconds")
    return counts, last, when, values(samples, "vramscope_gpu_unknown", figure="vramscope_gpu_last_xid")


def test_xid_errors(exporter, machine):
    began = time.time()
    with exporter(two(), "--dcgm-names") as it:
        assert xids(it.samples()) == ({}, {"gpu=0": 0, "gpu=1": 0}, {}, {})
        machine(two("xid = 31 13"))
        wait_for(lambda: xids(it.samples())[0] == {("0", "31"): 1, ("0", "13"): 1})
        machine(two("xid = 31 13 31 4242", "xid = 79"))
        wait_for(lambda: sum(xids(it.samples())[0].values()) == 5)
        samples = it.samples()
        counts, last, when, unknown = xids(samples)
        assert counts == {("0", "31"): 2, ("0", "13"): 1, ("0", "4242"): 1, ("1", "79"): 1}
        assert (last, unknown) == ({"gpu=0": 4242, "gpu=1": 79}, {})
        assert set(when) == {"gpu=0", "gpu=1"} and all(began <= time_s <= time.time() for time_s in when.values())
        assert {value for (name, _), value in samples.items() if name == "DCGM_FI_DEV_XID_ERRORS"} == {4242, 79}
        texts = {dict(pairs)["xid"]: dict(pairs).get("text", "") for name, pairs in samples if name == "vramscope_gpu_xid_errors_total"}
        assert texts["79"] == "the GPU has fallen off the bus" and texts["4242"] == "" and "kernel" in texts["13"]


def test_so_many_different_xid_errors(exporter):
    with exporter(two("xid = " + " ".join(str(1000 + i) for i in range(30)))) as it:
        wait_for(lambda: sum(xids(it.samples())[0].values()) == 30)
        counts = xids(it.samples())[0]
        assert len(counts) == 25 and counts["0", "other"] == 6


def test_a_lost_gpu_keeps_its_xid_error(exporter, machine):
    with exporter(two()) as it:
        machine(two(second="xid = 79\nlost = 15"))
        wait_for(lambda: "gpu=1,reason=lost" in xids(it.samples())[3])
        counts, last, _, _ = xids(it.samples())
        assert counts == {("1", "79"): 1} and last["gpu=1"] == 79
        machine(two(second="xid = 79", driver="returns = nvmlEventSetWait_v2 1"))  # the driver is loaded again
        wait_for(lambda: "gpu=1,reason=lost" not in xids(it.samples())[3])
        machine(two("xid = 48", "xid = 79"))
        wait_for(lambda: xids(it.samples())[0] == {("1", "79"): 1, ("0", "48"): 1})
        assert xids(it.samples())[3] == {}


@pytest.mark.parametrize(("line", "reason"), (
    ("missing = nvmlEventSetCreate", "no_function"),
    ("returns = nvmlDeviceRegisterEvents 3", "not_supported"),
    ("returns = nvmlEventSetCreate 4", "no_permission"),
))
def test_a_driver_that_reports_no_xid_errors(exporter, line, reason):
    with exporter(two("xid = 13", driver=line)) as it:
        assert xids(it.samples()) == ({}, {}, {}, {f"gpu=0,reason={reason}": 1, f"gpu=1,reason={reason}": 1})


def test_waiting_for_xid_errors_fails_for_a_while(exporter, machine):
    with exporter(two("xid = 13")) as it:
        wait_for(lambda: xids(it.samples())[0] == {("0", "13"): 1})
        machine(two("xid = 13", driver="returns = nvmlEventSetWait_v2 999"))
        wait_for(lambda: len(xids(it.samples())[3]) == 2)
        assert xids(it.samples())[:2] == ({("0", "13"): 1}, {"gpu=0": 13})  # what is known stays; that the other has none is not
        machine(two("xid = 13 31", driver="missing = nvmlEventSetWait_v2"))  # by the older call
        wait_for(lambda: xids(it.samples())[0] == {("0", "13"): 1, ("0", "31"): 1})
        assert xids(it.samples())[1] == {"gpu=0": 31, "gpu=1": 0}


def test_once_tells_nothing_of_xid_errors(once):
    assert not [name for name, _ in once(two("xid = 13"), "--dcgm-names") if "xid" in name.lower()]


def test_a_driver_that_hangs(exporter, machine):
    with exporter(LOADED) as it:
        machine(f"slow = nvmlDeviceGetMemoryInfo_v2 20000000\n{LOADED}")
        wait_for(lambda: it.ask()[0] == 503)
        status, _, body = it.ask()
        assert (status, body) == (503, "the driver does not answer\n")
        it.process.send_signal(signal.SIGTERM)
        assert it.process.wait(timeout=30) == 0  # although the driver still hangs


def test_what_is_refused(exporter):
    with exporter(LOADED) as it:
        assert it.ask("/")[0] == 200
        assert it.ask("/metricsx")[0] == it.ask("/../metrics")[0] == 404
        assert it.ask(method="POST", body=b"")[0] == 405
        assert it.ask(method="HEAD")[0::2] == (200, "")
        assert it.ask(Host="evil.example")[0] == 403
        assert it.ask(Host="127.0.0.1.evil.example:80")[0] == 403
        assert it.ask(Host=f"localhost:{it.port}")[0] == 200
        assert it.ask(X_Long="x" * 100_000)[0] in (400, 413, 431)
        with contextlib.suppress(ConnectionError, http.client.HTTPException):
            assert it.ask(method="POST", body=b"x" * 100)[0] == 405
        assert it.ask()[0] == 200


def test_a_token(exporter, folder):
    (folder / "token").write_text("  s3cret token \nanother line\n")
    with exporter(LOADED, "--token-file", "token") as it:
        assert it.ask(Authorization="Bearer s3cret token")[0] == 200
        for wrong in ("Bearer s3cret", "Bearer s3cret tokem", "Bearer s3cret token2", "Bearer s3cret tokens", "Bearer ", "Basic s3cret token", ""):
            status, headers, _ = it.ask(Authorization=wrong)
            assert (status, headers["WWW-Authenticate"]) == (401, "Bearer"), wrong
        assert it.ask()[0] == 401
        assert it.ask("/nothing")[0] == 401
        assert it.ask(Authorization="Bearer s3cret token", Host="gpu7.cluster")[0] == 200


def make_certificate(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], cwd=folder, check=True, capture_output=True)


def test_tls(exporter, folder):
    make_certificate(folder)
    (folder / "token").write_text("secret\n")
    trusting = ssl.create_default_context(cafile=folder / "cert.pem")
    with exporter(LOADED, "--listen", ":0", "--token-file", "token", "--tls-cert", "cert.pem", "--tls-key", "key.pem") as it:
        assert (it.scheme, it.host) == ("https", "0.0.0.0")
        assert it.ask(context=trusting, Authorization="Bearer secret")[0] == 200
        assert it.ask(context=trusting)[0] == 401
        with pytest.raises(ssl.SSLCertVerificationError):
            it.ask(context=ssl.create_default_context(), Authorization="Bearer secret")


def test_beyond_loopback_it_wants_both(vramscope, machine, exporter, folder):
    make_certificate(folder)
    (folder / "token").write_text("secret\n")
    for options in (["--token-file", "token"], ["--tls-cert", "cert.pem", "--tls-key", "key.pem"], []):
        done = vramscope("exporter", "--listen", ":0", *options, env=machine(LOADED))
        assert done.code == 2 and "--insecure" in done.err, options
    with exporter(LOADED, "--listen", ":0", "--insecure") as it:
        assert it.ask(Host="gpu7.cluster")[0] == 200


@pytest.mark.parametrize("options, code, words", [
    (["--listen", "gpu7:9836"], 2, "--listen gpu7:9836: an address is"),
    (["--listen", "127.0.0.1:70000"], 2, "an address is"),
    (["--listen", "[::1:9836"], 2, "an address is"),
    (["--listen", "203.0.113.5:0", "--insecure"], 3, "no address of this machine"),
    (["--processes", "99999999999"], 2, "--processes takes a number"),
    (["--every", "0", "--textfile", "a.prom"], 2, "--every takes seconds"),
    (["--every", "3"], 2, "--every belongs to --textfile"),
    (["--textfile", "a.prom", "--listen", "0"], 2, "one of the two"),
    (["--textfile", "gpus.txt"], 2, "has to end with .prom"),
    (["--token-file", "missing"], 3, "missing: "),
    (["--token-file", "empty"], 2, "its first line is empty"),
    (["--tls-cert", "empty"], 2, "--tls-cert and --tls-key belong together"),
    (["--tls-cert", "empty", "--tls-key", "empty"], 3, "are --tls-cert and --tls-key a certificate and its key"),
    (["-i", "7"], 2, "7"),
])  # fmt: skip
def test_what_makes_no_sense(vramscope, machine, folder, build, options, code, words):
    if build["microhttpd"] is None and code == 3:
        pytest.skip("this build has no server")
    (folder / "empty").write_text("\n")
    done = vramscope("exporter", *options, env=machine(LOADED))
    assert (done.code, done.out) == (code, "") and words in done.err, done.err


def test_a_machine_without_a_driver(vramscope, machine):
    done = vramscope("exporter", "--once", env=machine("include = no_driver.txt\n"))
    assert done.code != 0 and done.out == "" and "driver" in done.err


def test_a_port_that_is_taken(exporter, vramscope, machine):
    with exporter(LOADED) as it:
        done = vramscope("exporter", "--listen", str(it.port), env=machine(LOADED))
        assert done.code != 0 and f"127.0.0.1:{it.port} is taken by another program" in done.err


def test_many_scrapes_leak_nothing(exporter):
    # VRAMSCOPE_SCRAPES=10000 for the long one. Half of them on connections that stay open, as Prometheus keeps them.
    def resources(pid):
        status = Path(f"/proc/{pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]), len(os.listdir(f"/proc/{pid}/fd"))

    with exporter(LOADED) as it:
        def scrape(count):
            kept = http.client.HTTPConnection("127.0.0.1", it.port, timeout=30)
            for _ in range(count // 2):
                assert it.ask()[0] == 200
                kept.request("GET", "/metrics", headers={"Accept": OPENMETRICS})
                assert kept.getresponse().read().endswith(b"# EOF\n")
            kept.close()

        scrape(100)
        before = resources(it.process.pid)
        scrape(SCRAPES)
        wait_for(lambda: resources(it.process.pid)[1] <= before[1])
        # KiB; a response has 10. AddressSanitizer keeps what is freed for a while, and says itself at the end what leaked.
        assert resources(it.process.pid)[0] < before[0] + (65536 if "ASAN_OPTIONS" in os.environ else 4096)


# ---- in a file


def test_a_file_for_node_exporter(vramscope, machine, folder, once):
    (folder / "gpus.prom").write_text("old\n")
    done = vramscope("exporter", "--textfile", "gpus.prom", "--once", env=machine(LOADED))
    assert (done.code, done.out, done.err) == (0, "", "")
    written = samples_of(text_parser.text_string_to_metric_families((folder / "gpus.prom").read_text()))
    direct = once(LOADED)
    changing = {("vramscope_sample_duration_seconds", ())}
    assert {k: v for k, v in written.items() if k not in changing} == {k: v for k, v in direct.items() if k not in changing}
    assert sorted(p.name for p in folder.glob("*.prom*")) == ["gpus.prom"]


def test_the_file_is_written_again(build, machine, folder):
    process = subprocess.Popen([BINARY, "exporter", "--textfile", "gpus.prom", "--every", "1"], cwd=folder, env=environment(**machine(LOADED)),
                               stderr=subprocess.PIPE, text=True)

    def used():
        with contextlib.suppress(FileNotFoundError):
            samples = samples_of(text_parser.text_string_to_metric_families((folder / "gpus.prom").read_text()))
            return values(samples, "vramscope_gpu_memory_used_bytes")
        return None

    try:
        wait_for(lambda: used() == {"gpu=0": 33934016512})
        machine("include = h200.txt\n\n[card 0]\nmemory.used = 5GiB\n")
        wait_for(lambda: used() == {"gpu=0": 5 << 30})
        process.send_signal(signal.SIGTERM)
        assert (process.wait(timeout=30), process.stderr.read()) == (0, "")
    finally:
        process.kill()
        process.communicate()


# ---- Prometheus itself, and what examples/fleet has for it


def test_prometheus_scrapes_it(exporter, tmp_path):
    with exporter(LOADED) as it:
        config = tmp_path / "prometheus.yml"
        config.write_text(f"global: {{scrape_interval: 1s}}\nrule_files: [{FLEET / 'alerts.yml'}]\n"
                          f"scrape_configs: [{{job_name: gpu, static_configs: [{{targets: ['127.0.0.1:{it.port}']}}]}}]\n")
        with contextlib.ExitStack() as stack:
            port = free_port()
            log = stack.enter_context(open(tmp_path / "log", "w"))
            prometheus = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'data'}",
                                           f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
            stack.callback(lambda: (prometheus.kill(), prometheus.wait()))

            def query(text):
                try:
                    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
                    connection.request("GET", "/api/v1/query?" + urllib.parse.urlencode({"query": text}))
                    reply = json.loads(connection.getresponse().read())
                except (ConnectionError, json.JSONDecodeError):
                    return None
                return [float(result["value"][1]) for result in reply["data"]["result"]] if reply["status"] == "success" else None

            wait_for(lambda: query("vramscope_gpu_memory_used_bytes") == [33934016512.0])
            assert query("up") == [1.0]
            assert query("vramscope_gpu_power_watts") == [612.34]
            assert sorted(query("vramscope_process_memory_bytes")) == [524 << 20, 3584 << 20, 28234 << 20]
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/api/v1/rules")
            rules = [rule for group in json.loads(connection.getresponse().read())["data"]["groups"] for rule in group["rules"]]
            assert rules and all(rule["health"] in ("ok", "unknown") for rule in rules)


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def test_the_alerts_do_what_they_say():
    done = subprocess.run(["promtool", "test", "rules", "alerts_test.yml"], cwd=FLEET, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def process_families():
    """The samples' names that families.def has for processes."""
    families = (ROOT / "src" / "faces" / "exporter" / "families.def").read_text()
    return [f"vramscope_process_{name}{'_total' * (kind == 'COUNTER')}" for name, kind in re.findall(r'^VS_PROCESS\("(\w+)", (\w+)', families, re.M)]


def test_the_files_of_the_fleet_name_metrics_that_there_are(once):
    # Every metric that the dashboard and the alerts use is a family of the exporter.
    process_only = set(process_families())
    have = {name for name, _ in once(LOADED)} | process_only | {"vramscope_gpu_retired_pages", "vramscope_gpu_retired_pages_pending"}
    have |= {"vramscope_gpu_xid_errors_total", "vramscope_gpu_last_xid", "vramscope_gpu_last_xid_timestamp_seconds"}
    for file in ("dashboard.json", "alerts.yml"):
        used = set(re.findall(r"vramscope_[a-z_]+", (FLEET / file).read_text()))
        assert used and used <= have, used - have
    dashboard = json.loads((FLEET / "dashboard.json").read_text())
    assert dashboard["title"] and all(panel["targets"] for panel in dashboard["panels"] if panel["type"] != "row")


def test_the_guide_has_all_metrics(once):
    guide = (ROOT / "docs" / "guide" / "exporter.md").read_text()
    rows = dict(re.findall(r"^\| `(vramscope_gpu_\w+)` \| ([^|]*) \|", guide, re.M))
    families = (ROOT / "src" / "faces" / "exporter" / "families.def").read_text()
    names = re.findall(r"^VS_(?:MEMORY|SERIES|XID)\(\"(\w+)\"", families, re.M)
    have = {name for name, _ in once(LOADED, "--dcgm-names")}
    assert {name for name in have if name.startswith("vramscope_gpu_")} <= set(rows) | {"vramscope_gpu_info", "vramscope_gpu_unknown", "vramscope_gpu_processes"}
    assert len(set(rows) - {"vramscope_gpu_processes"}) == len(set(names))
    assert re.findall(r"^\| `(vramscope_process_\w+)` \|", guide, re.M) == process_families()
    assert set(re.findall(r"DCGM_\w+", "".join(rows.values()))) == set(re.findall(r'"(DCGM_\w+)"', families))
