"""What the whole suite says once: which binary it tests, and loudly what it has to leave out."""

import os
from pathlib import Path

import pytest

import cli

SNAPSHOTS = os.environ.get("VRAMSCOPE_SNAPSHOTS", "")
IS_SANITIZED = os.environ.get("VRAMSCOPE_SANITIZED") == "1"  # slow, and looks at the code: builds without it have all of the figures
LONG = 1 << 20
NO_BINARY = "VRAMSCOPE does not name the program: only the oracle itself is tested"
NO_SNAPSHOTS = "VRAMSCOPE_SNAPSHOTS is not a folder of real snapshots: NO REAL FILE IS TESTED"


def real_snapshots():
    """Files of the folder in VRAMSCOPE_SNAPSHOTS, empty where there is none. The long ones are left to builds without a sanitizer."""
    folder = Path(SNAPSHOTS)
    if not SNAPSHOTS or not folder.is_dir():
        return []
    found = sorted(path for path in folder.iterdir() if path.suffix in (".pickle", ".pkl", ".json", ".gz"))
    return [path for path in found if not IS_SANITIZED or path.stat().st_size < LONG]


def missing_parts():
    return [text for text, absent in ((NO_BINARY, not cli.BINARY), (NO_SNAPSHOTS, not real_snapshots())) if absent]


def pytest_report_header(config):
    return [f"*** {text} ***" for text in missing_parts()] or [f"program under test: {cli.BINARY}"]


def pytest_terminal_summary(terminalreporter):
    for text in missing_parts():
        terminalreporter.write_line(f"*** {text} ***", red=True, bold=True)


@pytest.fixture(autouse=True)
def needs_binary(request):
    """Tests marked `binary` are skipped where there is no program; a path that is wrong fails instead."""
    if request.node.get_closest_marker("binary") and not cli.BINARY:
        pytest.skip(NO_BINARY)


def pytest_configure(config):
    config.addinivalue_line("markers", "binary: runs the program named by VRAMSCOPE")


@pytest.fixture
def snapshot_file(tmp_path):
    """Writes bytes to a file and returns its path."""

    def write(raw, name="snapshot.bin"):
        path = tmp_path / name
        path.write_bytes(raw)
        return path

    return write
