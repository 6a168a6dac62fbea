"""What tools/release makes of the wheel that pip built (tools/packages/finish_wheel), without building one; and that the list of
the libraries and their builds fit."""
import base64
import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "tools" / "packages"
LIBRARIES = [line.split("\t") for line in (PACKAGES / "libraries.tsv").read_text().splitlines() if not line.startswith("#")]
PLATFORM = "manylinux_2_17_x86_64.manylinux2014_x86_64"
INFO = "vramscope-1.2.3.dist-info"
METADATA = """Metadata-Version: 2.4
Name: vramscope
Version: 1.2.3
License-Expression: Apache-2.0
License-File: LICENSE
Requires-Python: >=3.11

The text, with License-File: as words.
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: scikit-build-core 1\nRoot-Is-Purelib: false\nTag: cp311-abi3-linux_x86_64\n\n"


@pytest.fixture
def sources(tmp_path):
    for _, source, _, _, _, texts in LIBRARIES:
        for text in texts.split():
            path = tmp_path / "sources" / source / text
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{source}: {text}")
    (tmp_path / "zig").mkdir()
    (tmp_path / "zig" / "LICENSE").write_text("zig")
    return tmp_path / "sources"


def build(path, date=(2024, 5, 6, 7, 8, 10), metadata=METADATA, turn=1):
    """A wheel as pip leaves it: entries in some order, with the time of the day."""
    files = [("vramscope/__init__.py", b"", 0o100644), ("vramscope/bin/vramscope", b"\x7fELF", 0o100755),
             (f"{INFO}/METADATA", metadata.encode(), 0o100644), (f"{INFO}/WHEEL", WHEEL.encode(), 0o100644),
             (f"{INFO}/RECORD", b"old,,\n", 0o100644)]
    path.mkdir()
    path /= "vramscope-1.2.3-cp311-abi3-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data, mode in files[::turn]:
            entry = zipfile.ZipInfo(name, date)
            entry.external_attr = mode << 16
            archive.writestr(entry, data)
    return path


def finish(wheel, sources, dist, status=0):
    done = subprocess.run([sys.executable, PACKAGES / "finish_wheel", wheel, PLATFORM, sources, sources.parent / "zig", dist],
                          env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return Path(done.stdout.strip()) if status == 0 else done.stderr


@pytest.fixture
def finished(sources, tmp_path):
    return zipfile.ZipFile(finish(build(tmp_path / "built"), sources, tmp_path / "dist"))


def test_the_name_and_the_tags_agree(finished):
    assert Path(finished.filename).name == f"vramscope-1.2.3-cp311-abi3-{PLATFORM}.whl"
    tags = re.findall("^Tag: (.*)$", finished.read(f"{INFO}/WHEEL").decode(), re.MULTILINE)
    assert tags == [f"cp311-abi3-{name}" for name in PLATFORM.split(".")]


def test_the_record_lists_all_with_their_checksums(finished):
    rows = {name: (digest, size) for name, digest, size in csv.reader(io.StringIO(finished.read(f"{INFO}/RECORD").decode()))}
    assert rows.keys() == set(finished.namelist())
    assert rows.pop(f"{INFO}/RECORD") == ("", "")
    for name, (digest, size) in rows.items():
        data = finished.read(name)
        expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert (digest, int(size)) == (f"sha256={expected}", len(data)), name


def test_every_library_is_told_with_its_licence(finished):
    metadata = finished.read(f"{INFO}/METADATA").decode()
    head, _, body = metadata.partition("\n\n")
    licences = set(re.search("^License-Expression: (.*)$", head, re.MULTILINE)[1].split(" AND "))
    assert licences == {"Apache-2.0", "MIT", *(row[4] for row in LIBRARIES)}
    named = re.findall("^License-File: (.*)$", head, re.MULTILINE)
    kept = {name.removeprefix(f"{INFO}/licenses/") for name in finished.namelist() if "/licenses/" in name}
    assert named[0] == "LICENSE" and set(named[1:]) == kept
    assert kept == {f"{row[0]}/{text}" for row in LIBRARIES for text in row[5].split()} | {"zig-compiler-rt/LICENSE"}
    assert body == METADATA.partition("\n\n")[2]


def test_the_sbom_has_versions_and_checksums(finished, tmp_path):
    text = finished.read(f"{INFO}/sboms/vramscope.cdx.json").decode()
    assert text == (tmp_path / "dist" / "vramscope-1.2.3.cdx.json").read_text()
    bom = json.loads(text)
    assert (bom["bomFormat"], bom["specVersion"], bom["metadata"]["timestamp"]) == ("CycloneDX", "1.6", "2023-11-14T22:13:20Z")
    told = {(part["name"], part["version"], part["licenses"][0]["expression"], part["hashes"][0]["content"])
            for part in bom["components"] if "hashes" in part}
    assert told == {(row[0], row[2], row[4], row[3]) for row in LIBRARIES}
    assert sorted(bom["dependencies"][0]["dependsOn"]) == sorted(part["bom-ref"] for part in bom["components"])


def test_equal_contents_give_equal_bytes(sources, tmp_path):
    one = finish(build(tmp_path / "one"), sources, tmp_path / "dist1")
    other = finish(build(tmp_path / "other", date=(2025, 1, 1, 0, 0, 0), turn=-1), sources, tmp_path / "dist2")
    assert one.read_bytes() == other.read_bytes()


def test_a_program_stays_one(finished):
    modes = {entry.filename: entry.external_attr >> 16 for entry in finished.infolist()}
    assert modes["vramscope/bin/vramscope"] == 0o100755 and modes["vramscope/__init__.py"] == 0o100644


def test_entries_have_the_time_of_the_commit(finished):
    assert {entry.date_time for entry in finished.infolist()} == {(2023, 11, 14, 22, 13, 20)}


def test_a_wheel_without_a_licence_is_refused(sources, tmp_path):
    wheel = build(tmp_path / "built", metadata=METADATA.replace("License-Expression", "License"))
    assert "no License-Expression" in finish(wheel, sources, tmp_path / "dist", status=1)


def test_each_library_has_a_build():
    built = set(re.findall(r"^(\w+)\(\) \{", (PACKAGES / "build_libraries").read_text(), re.MULTILINE))
    assert {row[0] for row in LIBRARIES} <= built
    for row in LIBRARIES:
        assert len(row) == 6 and re.fullmatch("[0-9a-f]{64}", row[3]), row
