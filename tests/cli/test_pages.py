"""The pages of the documentation that need no program with CUDA: their blocks run as they stand there, on the demo's recording and on
machines of the fake NVML (tests/support/pages.py)."""

import json
import os
import pickle
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import urllib.request
from pathlib import Path

import conftest as make
import pages
import pytest

ROOT = pages.ROOT
FAKE = os.environ.get("VRAMSCOPE_FAKE", "")
BLOCKS = pages.blocks_of(__file__)


def machine(scenario):
    return {
        "VRAMSCOPE_NVML": f"{FAKE}/libnvidia-ml.so.1",
        "VRAMSCOPE_FAKE_NVML": str(ROOT / f"tests/fake/scenarios/{scenario}.txt"),
    }


def vramscope(folder, *words):
    return subprocess.run(
        [Path(make.BINARY).resolve(), *words], cwd=folder, env=make.environment(), capture_output=True, check=True
    ).stdout


@pytest.fixture(scope="module")
def files(tmp_path_factory, recording):
    """The names that the pages have for files: two snapshots of the demo."""
    folder = tmp_path_factory.mktemp("files")
    vramscope(folder, "export", recording, "pickle", "-o", "snapshot.pickle")
    for name in ("rank0.pickle", "rank1.pickle"):
        shutil.copy(folder / "snapshot.pickle", folder / name)
    return folder


@pytest.fixture
def shell(tmp_path, files):
    """shell(...) -> a folder with these files, and an environment with the program."""

    def make_one(instead=None, **changes):
        folder = tmp_path / "here"
        shutil.copytree(files, folder)
        path = pages.folder_of_commands(tmp_path / "bin", vramscope=[Path(make.BINARY).resolve()])
        return pages.Shell(folder, make.environment(PATH=path, **changes), instead)

    return make_one


def reply_of(here, file, request):
    """What the server of `view` answers to a request, as JSON."""
    server = here.start(f"vramscope view -q {file}")
    address = server.stdout.readline().strip()
    try:
        return json.loads(urllib.request.urlopen(f"{address}api/0", request.encode(), timeout=60).read())
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=60)


def of(page, *languages):
    return [block for block in BLOCKS[page] if block.language in languages]


def test_every_page_has_a_test():
    text = Path(__file__).read_text()
    assert all(f'of("{page}"' in text for page in BLOCKS)


def test_command_line(shell):
    """The demo's snapshot, the viewer, and the requests that scripts send to its server."""
    here = shell({"tools/make_demo_snapshot": f"{sys.executable} {ROOT / 'tools/make_demo_snapshot'}"})
    asked = False
    for block in of("docs/guide/cli.md", "sh"):
        if block.source.startswith("curl"):
            server = here.start("vramscope view -q simulated_training.pickle")
            here.instead["http://127.0.0.1:41789/5c1f0a7be4d2938e6a0b9c8d7e6f5a41/"] = server.stdout.readline().strip()
            _, said = here.ask(pages.commands(block)[0][0].replace("curl", "curl -s"))
            server.terminate()
            server.communicate()
            assert json.loads(said)["method"] == "report", said
            asked = True
            continue
        here.run(block)
    assert asked and (here.folder / "memory.html").stat().st_size > 300_000


def test_what_view_says(shell):
    """The address, and over SSH the line to type on the other machine; port, token and names are the machine's."""
    here = shell(SSH_CONNECTION="10.0.0.1 1 10.0.0.2 22", USER="me")
    shutil.copy(here.folder / "snapshot.pickle", here.folder / "simulated_training.pickle")
    server = here.begin(of("docs/guide/cli.md", "text")[0], "vramscope view simulated_training.pickle", "")
    server.terminate()
    server.communicate()
    told = subprocess.run(
        ["timeout", "-s", "INT", "3", "vramscope", "view", "simulated_training.pickle"],
        cwd=here.folder,
        env=here.environment,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    same = lambda text: re.sub(
        r"[0-9a-f]{32}", "TOKEN", re.sub(r"\b[0-9]{4,5}\b", "PORT", re.sub(r"\S+@\S+", "me@gpu-machine", text))
    )  # noqa: E731
    for block in of("docs/guide/cli.md", "text"):
        assert all(line in same(told).splitlines() for line in same(block.source).splitlines()), f"{block.place}\n{told}"


def test_viewer(shell):
    here = shell()
    for block in of("docs/guide/viewer.md", "sh"):
        here.run(block)
    assert (here.folder / "a.html").stat().st_size > 300_000


def test_top(shell):
    here = shell(**machine("alike"))
    for block in of("docs/guide/top.md", "sh"):
        here.run(block)


def test_smi(shell):
    here = shell(**machine("h200_loaded"), USER="me")
    look, *queries = of("docs/guide/smi.md", "console")
    ((command, shown),) = pages.commands(look)
    whose = re.compile(
        r"^(\d+ +\d+  [CG] ).*?([0-9.]+ [MG]iB)  .*", re.M
    )  # these processes are not on this machine: no user, no command line
    assert pages.matches(whose.sub(r"\1\2", here.ask(command)[1]), whose.sub(r"\1\2", shown)), (
        f"{look.place}\n{here.ask(command)[1]}"
    )
    for block in queries:
        here.run(block)


def keys(value):
    """The shape of JSON: names, and what stands below them; of a list that of its first entry."""
    if isinstance(value, dict):
        return {name: keys(below) for name, below in value.items()}
    if isinstance(value, list):
        return [keys(below) for below in value[:1]]
    return None


def test_smi_as_json(shell):
    here = shell(**machine("h200_loaded"))
    (block,) = of("docs/guide/smi.md", "json")
    shown = json.loads(block.source)
    fields = ",".join(field["name"] for field in shown["fields"])
    code, said = here.ask(f"vramscope smi --json --query-gpu={fields}")
    real = json.loads(said)
    assert code == 0 and keys(real) == keys(shown) and real["fields"] == shown["fields"]
    assert real["rows"][0]["values"] == shown["rows"][0]["values"] and real["rows"][0]["unknown"] == shown["rows"][0]["unknown"]


@pytest.mark.skipif(os.environ.get("VRAMSCOPE_SANITIZED") == "1", reason="the release compares the same text")
def test_exporter(shell, tmp_path):
    here = shell({"/var/lib/node_exporter": tmp_path}, **machine("h200_loaded"), HOME=str(tmp_path / "here"))
    (here.folder / "token").write_text("secret\n")
    (here.folder / "token").chmod(0o600)
    name = "gpu1.cluster.example"
    here.ask(
        f"openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN={name} -addext subjectAltName=DNS:{name}"
    )
    (here.folder / ".curlrc").write_text(f'resolve = "{name}:9836:127.0.0.1"\nsilent\nfail\n')
    for block in of("docs/guide/exporter.md", "console"):
        here.run(block)
    (block,) = of("docs/guide/exporter.md", "text")
    _, said = here.ask("vramscope exporter --once")
    unknown = re.sub(r'uuid="[^"]*"', 'uuid="UUID"', said).splitlines()
    assert re.sub(r'uuid="[^"]*"', 'uuid="UUID"', block.source.strip()) in unknown, [
        line for line in unknown if "gpu_unknown" in line
    ]


def test_merge(shell):
    here = shell()
    (here.folder / "today").mkdir()
    for name in ("rank0.pickle", "rank1.pickle"):
        shutil.copy(here.folder / name, here.folder / "today" / name)
    for block in of("docs/guide/merge.md", "sh"):
        here.run(block)
    assert {path.name for path in here.folder.glob("today.*")} == {
        "today.ranks.parquet",
        "today.owners.parquet",
        "today.steps.parquet",
        "today.sqlite",
    }


# ---- formats


def test_a_request_and_its_reply(shell):
    here = shell()
    (block,) = of("docs/formats/query.md", "json")
    reply = reply_of(here, "snapshot.pickle", block.source)
    assert (
        reply["method"] == json.loads(block.source)["method"]
        and len(reply["groups"]) <= json.loads(block.source)["params"]["top"]
    )
    (shape,) = of("docs/formats/query.md", "text")
    real = reply_of(here, "snapshot.pickle", '{"method": "report"}')
    assert re.findall(r'"(\w+)":', shape.source) == list(real)


def test_a_query_of_the_database(shell):
    """What owns the memory after an event: the sums are those of the method "live"."""
    here = shell()
    (block,) = of("docs/formats/query.md", "sql")
    event = int(re.search(r"<= (\d+)", block.source)[1])
    vramscope(here.folder, "export", "snapshot.pickle", "sqlite", "-o", "a.sqlite")
    with sqlite3.connect(here.folder / "a.sqlite") as database:
        rows = database.execute(block.source).fetchall()
    request = {"method": "live", "params": {"device": 0, "at": event, "by": "line", "top": 0}}
    groups = reply_of(here, "snapshot.pickle", json.dumps(request))["groups"]
    assert len(rows) > 5 and sorted(row[1] for row in rows) == sorted(group["bytes"] for group in groups)


def test_the_bytes_of_a_snapshot(shell):
    here = shell()
    (block,) = of("docs/formats/snapshot.md", "text")
    data = b"".join(
        bytes.fromhex(re.match(r"\s*((?:[0-9a-f]{2} {1,2})*[0-9a-f]{2})(?:  |$)", line + "  ")[1])
        for line in block.source.splitlines()
    )
    told = pickle.loads(data)
    assert [event["action"] for event in told["device_traces"][0]] == ["alloc", "free_requested"]
    (here.folder / "small.pickle").write_bytes(data)
    events = json.loads(vramscope(here.folder, "query", "small.pickle", "events", "top=0"))["events"]
    assert [event["address"] for event in events] == [0x7F0000000000] * 2


# ---- C

GIVEN = {
    "docs/guide/devices.md": "#include <stdio.h>\n",
    "docs/guide/python.md": "#include <stdio.h>\n#include <vramscope/live.h>\nextern uint64_t stream;\nextern vs_writer to;\n",
}


@pytest.mark.parametrize("page", GIVEN)
def test_pieces_of_c(page, tmp_path):
    """They compile, with the names that they suppose."""
    blocks = [*of("docs/guide/devices.md", "c"), *of("docs/guide/python.md", "c")]
    for block in (block for block in blocks if block.page == page):
        includes = [line for line in block.source.splitlines() if line.startswith("#include")]
        rest = "\n".join(line for line in block.source.splitlines() if not line.startswith("#include"))
        path = tmp_path / "piece.c"
        path.write_text("\n".join(includes) + f"\n{GIVEN[page]}void piece(void);\nvoid piece(void)\n{{\n{rest}\n}}\n")
        done = subprocess.run(
            ["cc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT / 'include'}", path],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{block.place}\n{done.stderr}"
