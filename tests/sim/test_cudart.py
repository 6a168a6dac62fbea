"""The runtime face as programs meet it: linked, by its soname and symbol versions, with the names of the real library."""

import json
import re
import subprocess

import pytest
from conftest import LIBRARIES, PROGRAMS, ROOT, environment, finish

MiB = 1 << 20
VERSIONS = (12, 13)


ROWS = {"VS_FACE": "result, name, arguments", "VS_LIKE": "name, as", "VS_SAME": "name, as", "VS_PER_THREAD": "name, as, stream",
        "VS_REFUSED": "name", "VS_REFUSED_TEXT": "name"}


def listed(version):
    """The names of the list."""
    text = "".join(f"#define {row}({columns}) @name@\n" for row, columns in ROWS.items())
    text += '#include "faces/simcuda/abi/cudart_names.def"\n'
    done = subprocess.run(["cc", "-E", "-P", f"-DVS_CUDART={version}", f"-I{ROOT}/src", "-x", "c", "-"], input=text,
                          capture_output=True, text=True, check=True)
    return set(re.findall(r"@(\w+)@", done.stdout))


def exported(library):
    done = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True)
    symbols = [line.split()[-1] for line in done.stdout.splitlines() if " A " not in line]
    return {re.split("@+", symbol)[0]: re.split("@+", symbol)[-1] for symbol in symbols}


def build(version, folder):
    program = folder / f"runtime{version}"
    subprocess.run(["cc", "-std=gnu17", "-w", f"-DVS_CUDART={version}", f"-I{ROOT}/src", f"-I{ROOT}/include", "-o", str(program),
                    str(PROGRAMS / "runtime.c"), f"-L{LIBRARIES}", f"-l:libcudart.so.{version}", "-ldl",
                    "-Wl,--allow-shlib-undefined"], check=True)
    return program


@pytest.mark.parametrize("version", VERSIONS)
def test_linked_program(version, tmp_path):
    done = finish([str(build(version, tmp_path))], environment(gpu="A100,RTX4090", values="keep"), tmp_path)
    found = done.result
    assert found["version"] == {12: 12080, 13: 13020}[version]
    assert found["count"] == 2
    assert found["took"] == 64 * MiB and found["total"] == 85_100_068_864
    assert found["text"] == "through"
    assert found["stream"] == 0x50000000
    assert found["refused"] == [801, 801] and done.err.count("cudaCreateTextureObject") == 1
    assert found["unknown"] == found["last"] == 98
    assert found["driver"] == [0, 1]
    assert found["shared"] == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_exports(version):
    """Exactly the names of the list, each of the version that the real library gives it."""
    symbols = exported(LIBRARIES / f"libcudart.so.{version}")
    assert set(symbols) == listed(version)
    assert set(symbols.values()) == {f"libcudart.so.{version}"}


def real_libraries(version):
    """The real ones, where a toolkit or an environment of ours has one: they are only listed, never loaded."""
    places = [f"/usr/local/cuda/lib64/libcudart.so.{version}"]
    places += map(str, ROOT.glob(f"build/*/lib/python3*/site-packages/nvidia/*/lib/libcudart.so.{version}"))
    return [path for path in places if subprocess.run(["test", "-e", path], check=False).returncode == 0]


@pytest.mark.parametrize("version", VERSIONS)
def test_no_name_is_missing(version):
    libraries = real_libraries(version)
    if not libraries:
        pytest.skip(f"no real libcudart.so.{version} is here whose names could be compared")
    for library in libraries:
        missing = set(exported(library)) - set(exported(LIBRARIES / f"libcudart.so.{version}"))
        assert not missing, f"{library} exports more: {sorted(missing)}"


def test_counts_of_calls(tmp_path):
    """What a program called is in its notes, by library and name."""
    run = tmp_path / "run"
    run.mkdir()
    finish([str(build(13, tmp_path))], environment(run=run), tmp_path).result
    notes = [json.loads(line) for path in run.glob("notes.*.jsonl") for line in path.read_text().splitlines()]
    counts = {}
    for note in notes:
        if note["note"] == "calls" and note["library"] == "cudart":
            counts.update(note["counts"])
    assert counts["cudaMalloc"] == 1 and counts["cudaMemcpy"] == 2 and counts["cudaCreateTextureObject"] == 2
