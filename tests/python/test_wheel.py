"""The wheel: its contents, its dependencies, and that it works in an empty environment.

It is built the way `pip install .` builds it, but with the tools of build/venv and without the network, in build/wheel,
where the next time has little left to compile. What the release compiled in the same way comes from its compiler cache.
"""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

TOOLS = Path(sys.executable).parent
BUILD = ROOT / "build" / "wheel"
SYSTEM = {"libc.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2"}
# Interpreters to try it with, beside our own: VRAMSCOPE_PYTHONS=/usr/bin/python3.13:/opt/python3.14/bin/python3
MORE = [path for path in os.environ.get("VRAMSCOPE_PYTHONS", "").split(":") if path]


def run(*words, env=None, cwd=ROOT):
    done = subprocess.run([str(word) for word in words], env=env, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    env = {name: value for name, value in os.environ.items() if name not in ("CFLAGS", "LDFLAGS", "PYTHONPATH")}
    env.setdefault("CC", "cc")  # as the release has it: scikit-build-core would name the compiler that built Python
    run(TOOLS / "python", "-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder,
        "--disable-pip-version-check", f"--config-settings=build-dir={BUILD}",
        "--config-settings=cmake.define.VS_WITH_PAGE=OFF", "--config-settings=cmake.define.VS_WERROR=ON",
        f"--config-settings=cmake.define.VS_CACHE={ROOT / 'build' / 'ccache'}", env=env)  # the long name: Debian 12's pip knows no -C
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():  # extract() leaves out the permissions
            Path(archive.extract(entry, folder)).chmod(entry.external_attr >> 16)
    return folder


def needed(path):
    return set(re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", path)))


def test_one_wheel_for_all_pythons(wheel, unpacked):
    assert re.fullmatch(r"vramscope-[0-9.]+-cp311-abi3-linux_\w+\.whl", wheel.name)
    extensions = [p for p in (unpacked / "vramscope").glob("*.so")]
    assert [p.name for p in extensions] == ["_native.abi3.so"]
    tags = (next(unpacked.glob("*.dist-info")) / "WHEEL").read_text()
    assert "Tag: cp311-abi3-linux" in tags and "Root-Is-Purelib: false" in tags


def test_it_has_the_whole_package(unpacked):
    package = unpacked / "vramscope"
    source = ROOT / "python" / "vramscope"

    def files(folder):
        kinds = ("*.py", "*.pyi", "py.typed")
        return {path.relative_to(folder) for kind in kinds for path in folder.rglob(kind)}

    dryrun = {Path("lib/vramscope/dryrun") / name
              for name in ("sitecustomize.py", "vramscope_dryrun.py", "vramscope_end.py", "vramscope_engine.py",
                           "vramscope_generate.py", "vramscope_groups.py", "vramscope_history.py", "vramscope_jax.py", "vramscope_libraries.py",
                           "vramscope_loading.py", "vramscope_pipeline.py", "vramscope_pool.py", "vramscope_sglang.py", "vramscope_sharding.py",
                           "vramscope_tensorflow.py", "vramscope_vllm.py", "vramscope_world.py",
                           "vramscope_blocks.py", "vramscope_changes.py", "vramscope_optimizers.py")}
    recorder = Path("lib/vramscope/preload/vramscope_recorder.py")
    assert files(package) == files(source) | dryrun | {recorder, Path("query.pyi"), Path("_replies.pyi"), Path("__init__.pyi")}
    libraries = {p.name for p in (package / "lib/vramscope/simcuda").iterdir()}
    assert {"libvramscope-sim.so", "libcuda.so.1", "libcudart.so.13", "libnvidia-ml.so.1"} <= libraries
    assert {p.name for p in (package / "lib/vramscope/preload").iterdir()} == {"libvramscope-record.so", "vramscope_recorder.py"}
    assert os.access(package / "bin" / "vramscope", os.X_OK)
    assert not list(unpacked.rglob("__pycache__"))
    points = (next(unpacked.glob("*.dist-info")) / "entry_points.txt").read_text()
    assert "vramscope = vramscope._command:main" in points and "vramscope = vramscope.pytest_plugin" in points


def test_abi3audit_finds_nothing(wheel):
    done = subprocess.run([TOOLS / "abi3audit", "--strict", "--report", wheel], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "_native.abi3.so" in done.stdout and '"non_abi3_symbols": []' in done.stdout.replace("\n", ""), done.stdout


def test_it_needs_nothing_but_the_c_library(wheel, unpacked):
    shown = " ".join(run(TOOLS / "auditwheel", "show", wheel).split())
    assert 'platform tag: "manylinux_2_' in shown
    listed = re.search(r"system-provided shared libraries: (.*?) This constrains", shown)[1]
    assert set(re.findall(r"(\S+\.so\S*) with versions", listed)) <= SYSTEM | {"libvramscope-sim.so"}
    for path in [unpacked / "vramscope/_native.abi3.so", unpacked / "vramscope/bin/vramscope"]:
        assert needed(path) <= SYSTEM, path
    for path in (unpacked / "vramscope/lib/vramscope/simcuda").iterdir():
        assert needed(path) <= SYSTEM | {"libvramscope-sim.so"}, path
    assert needed(unpacked / "vramscope/lib/vramscope/preload/libvramscope-record.so") <= SYSTEM


def test_the_extension_shows_nothing_but_its_entry(unpacked):
    symbols = run("nm", "-D", "--defined-only", unpacked / "vramscope/_native.abi3.so").split()[2::3]
    assert [name for name in symbols if not name.startswith("vs_torch_")] == ["PyInit__native"]


def test_no_path_of_this_machine_is_in_it(unpacked):
    for path in unpacked.rglob("*"):
        if path.is_file():
            assert str(ROOT).encode() not in path.read_bytes(), path


@pytest.mark.parametrize("python", [sys.executable, *MORE])
def test_a_fresh_environment_has_all_of_it(wheel, tmp_path, python):
    """Installed without the network into an environment with nothing else: the package, the command, a simulated run."""
    venv = tmp_path / "venv"
    run(python, "-m", "venv", "--without-pip", venv)
    run(TOOLS / "python", "-m", "pip", "--python", venv / "bin/python", "install", "--no-index", "--no-deps", "-q",
        "--disable-pip-version-check", wheel)
    env = {"PATH": f"{venv}/bin:/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    version = run("vramscope", "--version", env=env, cwd=tmp_path)
    program = """
import sys, vramscope
print(vramscope.__file__.startswith(sys.prefix), vramscope.__version__)
print(vramscope.report(sys.argv[1])["devices"][0]["trace"]["events"])
print([device.name for device in vramscope.devices.all()])
"""
    run("vramscope", "demo", "-q", "--keep", "demo.vram", env=env, cwd=tmp_path)
    run("vramscope", "compact", "demo.vram", "-o", "compact.vram", env=env, cwd=tmp_path)
    out = run("python", "-c", program, "compact.vram", env=env, cwd=tmp_path).splitlines()
    assert out == [f"True {version.split()[1]}", "15928", "[]"]
    words = ["dryrun", "-q", "--exit-code", "child", "--gpu", "H100", "--", "python", "-c", program, "demo.vram"]
    out = run("vramscope", *words, env=env, cwd=tmp_path)
    assert "['NVIDIA H100 80GB HBM3 (simulated)']" in out
    assert run("python", "-m", "vramscope", "--version", env=env, cwd=tmp_path) == version
