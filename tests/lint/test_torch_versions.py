"""The record of the versions of PyTorch (tests/sim/torch/measured.json), the requirements and docs/torch-versions.md agree. Nothing is run."""

import importlib.machinery
import importlib.util
import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def load():
    loader = importlib.machinery.SourceFileLoader("torch_versions", str(ROOT / "tools" / "torch_versions"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("torch_versions", loader))
    loader.exec_module(module)
    return module


tool = load()


def test_the_page_is_that_of_the_record():
    done = subprocess.run([ROOT / "tools" / "torch_versions", "--check"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def record(tmp_path, monkeypatch):
    """A record and a page that may be broken."""
    for name in ("MEASURED", "PAGE"):
        copy = tmp_path / getattr(tool, name).name
        copy.write_bytes(getattr(tool, name).read_bytes())
        monkeypatch.setattr(tool, name, copy)
    return tool.MEASURED


def change(path, version, **members):
    told = json.loads(path.read_text())
    told[version].update(members)
    path.write_text(json.dumps(told))


def test_mistakes(record):
    assert tool.check() == []
    change(record, "2.6", replayed=[26, 27])
    assert tool.check() == ["PyTorch 2.6: replayed 26 of 27"]
    change(record, "2.6", replayed=[26, 26])
    assert tool.check() == ["docs/torch-versions.md is not what `tools/torch_versions --page` writes"]
    change(record, "2.6", torch="2.6.1")
    assert tool.check() == ["PyTorch 2.6.1 was measured, and 2.6.0 is required"]
    record.write_text(json.dumps({name: row for name, row in json.loads(record.read_text()).items() if name != "2.8"}))
    assert "PyTorch 2.8 was not measured" in tool.check()


def test_outcomes():
    text = ('<testsuites><testsuite><testcase name="a[x]"/><testcase name="b"><failure message="m">t</failure></testcase>'
            '<testcase name="c"><skipped type="pytest.skip" message="PyTorch 2.4.1: no pools">t</skipped></testcase></testsuite></testsuites>')
    tests = tool.outcomes(text)
    assert tests == [("a[x]", "passed"), ("b", "failed"), ("c", "PyTorch 2.4.1: no pools")]
    assert tool.reasons_of(tests) == ["no pools"]
