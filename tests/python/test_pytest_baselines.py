"""Memory baselines in real runs of pytest on a simulated GPU: written, compared, refused."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import BINARY, PROGRAMS, PYTHON, Done, plain_environment
from test_pytest_plugin import PLUGIN, outcomes

MiB = 1 << 20
UPDATE = "--vramscope-update-baselines"
TEXT = (PROGRAMS / "baseline_tests.py").read_text()
TAKE = f"test_users.py:{1 + TEXT[:TEXT.index('    return torch.empty(mib')].count(chr(10))} take"
FAILS = {"test_over_its_limit", "test_fails_itself", "test_handles_an_error"}
LONG = "test_names-" + "x" * 139


def run_pytest(folder, *options, before=(PYTHON, "-m", "pytest"), **settings):
    """Done and {test: (outcome, message, properties)} of one run in the folder."""
    words = [*before, *PLUGIN, "-rA", "--junitxml=report.xml", *options]
    done = subprocess.run([*map(str, words)], cwd=folder, env=plain_environment(**settings), capture_output=True, text=True,
                          timeout=600, check=False)
    report = folder / "report.xml"
    found = outcomes(report) if report.exists() else {}
    report.unlink(missing_ok=True)
    return Done(done.returncode, done.stdout, done.stderr), found


@pytest.fixture
def tests(tmp_path):
    (tmp_path / "test_users.py").write_text(TEXT)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder of a run that wrote the baselines, and what it said."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "test_users.py").write_text(TEXT)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return folder, *run_pytest(folder, UPDATE, "--vramscope-simulate=8GiB")


def baselines(folder):
    return {path.stem: path.read_bytes() for path in (folder / "memory_baselines/test_users").glob("*.json")}


def not_passed(found):
    return {name for name, (outcome, _, _) in found.items() if outcome != "passed"}


def copy(written, tests):
    for name, content in baselines(written[0]).items():
        path = tests / "memory_baselines/test_users" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def test_what_is_written(written):
    """A file for each test that passed: small, in the format of baselines, without a path or time of the machine."""
    folder, done, found = written
    assert done.code == 1 and not_passed(found) == FAILS | {"test_skips_itself"}, done.out + done.err
    files = baselines(folder)
    hashed = {name.rpartition("~")[0] for name in files if "~" in name}
    assert hashed == {"test_names-a_b", "test_names-_xfc", LONG} and len(files) == 10
    assert {name for name in files if "~" not in name} == {
        "test_step", "test_tolerant", "test_names-cpu-16", "TestModel.test_forward", "test_nothing", "test_workspace",
        "test_history_of_its_own"}
    step = json.loads(files["test_step"])
    assert (step["method"], step["peak_allocated_bytes"], step["peak_reserved_bytes"], step["complete"]) == ("baseline", 24 * MiB, None, True)
    assert [(owner["owner"], owner["file"], owner["sizes"]) for owner in step["owners"]] == [
        (TAKE, "test_users.py", [[8 * MiB, 1], [16 * MiB, 1]])]
    peaks = {name: json.loads(files[name])["peak_allocated_bytes"] for name in files}
    assert peaks["test_tolerant"] == 28 * MiB and peaks["test_nothing"] == peaks["test_workspace"] == 0
    assert peaks["test_history_of_its_own"] == 6 * MiB
    assert not any(str(folder).encode() in content or b"0x" in content for content in files.values())
    assert "10 written, 0 unchanged" in done.out
    assert "9.00 MiB allocated at the peak: 1.00 MiB above the" in found["test_over_its_limit"][1]
    assert "1 out-of-memory errors: 1 above the limit of 0" in found["test_handles_an_error"][1].replace("\n", " ")


def test_the_same_again_holds(written, tests):
    """Also in another folder, in another order, alone, and below `vramscope dryrun`; written again, nothing changes."""
    copy(written, tests)
    done, found = run_pytest(tests, "--vramscope-simulate=8GiB", "test_users.py::test_tolerant", "test_users.py::test_step",
                             "test_users.py::test_names", "test_users.py::TestModel", "test_users.py::test_workspace")
    assert done.code == 0 and len(found) == 8 and "baselines" not in done.out, done.out
    assert {properties["vramscope_gpu_baseline"] for _, _, properties in found.values()} == {"holds"}
    before = BINARY, "dryrun", "--exit-code", "child", "--gpu", "8GiB", "--quiet", "--", PYTHON, "-m", "pytest"
    done, found = run_pytest(tests, UPDATE, "--deselect=test_users.py::test_history_of_its_own", before=before)
    assert not_passed(found) == FAILS | {"test_skips_itself"}, done.out
    assert baselines(tests) == baselines(written[0]) and "0 written, 9 unchanged" in done.out


def test_more_and_less(written, tests):
    """More fails with the lines that have it, in the words of `vramscope check`; less passes, and the summary says so."""
    copy(written, tests)
    done, found = run_pytest(tests, "--vramscope-simulate=8GiB", "-k", "step or tolerant", MORE="6")
    assert not_passed(found) == {"test_step"}
    message = found["test_step"][1]
    assert message.startswith("Failed: test_step, compared with memory_baselines/test_users/test_step.json:\nBroken: 1 of 1 check\n")
    assert "broken         baseline-allocated: 30.00 MiB allocated at the peak: 6.00 MiB\n               (25.0%) more than the baseline's" in message
    assert f"\n                +6.00 MiB  {TAKE}\n" in message and UPDATE in message
    done, found = run_pytest(tests, "--vramscope-simulate=8GiB", "-k", "step or tolerant", MORE="-6")
    assert done.code == 0
    said = done.out[done.out.index("GPU memory: baselines"):].split("\n")[1:3]
    assert said[0] == ("test_users.py::test_step: 18.00 MiB allocated at the peak: 6.00 MiB (25.0%) less than the baseline's "
                       "24.00 MiB; the baseline can be tightened")
    assert "test_tolerant" not in said[1]


def test_the_history_of_the_program(written, tests):
    """Where the program records one itself, the test's part of it is compared."""
    copy(written, tests)
    (tests / "conftest.py").write_text("import torch\ntorch.cuda.memory._record_memory_history(stacks='python')\n")
    done, found = run_pytest(tests, "--vramscope-simulate=8GiB", "-k", "before or step or tolerant or nothing")
    assert done.code == 0 and len(found) == 4, done.out


def test_without_a_baseline(tests):
    done, found = run_pytest(tests, "--vramscope-simulate=8GiB", "-k", "step or fails or skips")
    assert not_passed(found) == {"test_step", "test_fails_itself", "test_skips_itself"}
    assert found["test_step"][1].startswith("Failed: test_step has no memory baseline: write memory_baselines/test_users/test_step.json with "
                                            "--vramscope-update-baselines")
    assert not (tests / "memory_baselines").exists()
    (tests / "test_users.py").write_text("import pytest\n\n@pytest.mark.memory_baseline\ndef test_it(): raise SystemExit(3)\n")
    done, found = run_pytest(tests, UPDATE)  # without a GPU
    assert found["test_it"][0] == "skipped" and done.code == 0 and not (tests / "memory_baselines").exists()


def test_two_runs_at_once(written, tests):
    """As workers of pytest-xdist may: each file is one of the two, whole."""
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(run_pytest, tests, UPDATE, "--vramscope-simulate=8GiB", "-k", "names or Model", f"--basetemp={tests}/{i}",
                            f"--junitxml={i}.xml") for i in "ab"]
        assert [run.result()[0].code for run in runs] == [0, 0]
    assert baselines(tests).items() <= baselines(written[0]).items() and len(baselines(tests)) == 5


def test_baselines_that_no_test_uses(written, tests):
    copy(written, tests)
    (tests / "memory_baselines/test_gone").mkdir()
    for name in ("test_users/test_old", "test_gone/test_x"):
        (tests / f"memory_baselines/{name}.json").write_text("{}")
    done, _ = run_pytest(tests, UPDATE, "--vramscope-simulate=8GiB", "-k", "test_nothing")
    lines = [line.split(":")[0] for line in done.out.splitlines() if line.endswith(": no test uses it")]
    assert lines == ["memory_baselines/test_gone/test_x.json", "memory_baselines/test_users/test_old.json"]
    done, _ = run_pytest(tests, UPDATE, "--vramscope-simulate=8GiB", "test_users.py::test_nothing")
    assert "no test uses it" not in done.out  # which tests there are is not known then


@pytest.mark.parametrize(
    "mark, says",
    (
        ('memory_basline(tolerance="2%")', "unknown mark memory_basline; did you mean memory_baseline?"),
        ("limit_gpu_memry('1 MiB')", "unknown mark limit_gpu_memry; did you mean limit_gpu_memory?"),
        ('memory_baseline(tolerance="2 percent")', "memory_baseline: tolerance takes a share or a size, such as \"2%\" or \"64MiB\""),
        ('memory_baseline(max_allocated="much")', "memory_baseline: max_allocated takes a size, such as \"8GiB\""),
        ("memory_baseline(tolerence=1)", "memory_baseline: got an unexpected keyword argument 'tolerence'"),
        ("memory_baseline(warmup=-1)", "memory_baseline: warmup=-1 is no number"),
        ('limit_gpu_memory("a lot")', "limit_gpu_memory: 'a lot' is not a size"),
        ("limit_gpu_memory()", "limit_gpu_memory: missing a required argument: 'limit'"),
        ('limit_gpu_memory("1 MiB", kind="all")', "limit_gpu_memory: kind='all' is none of allocated, reserved, requested, device"),
        ('limit_gpu_leaks(device="cuda")', "limit_gpu_leaks: device='cuda' is no number"),
    ),
)
def test_wrong_marks(tmp_path, mark, says):
    """One sentence when the tests are collected, before any of them runs; no GPU is needed."""
    (tmp_path / "test_users.py").write_text(f"import pytest\n\n@pytest.mark.{mark}\n@pytest.mark.parametrize('x', [1, 2])\ndef test_it(x): pass\n"
                                            "\ndef test_other(): raise SystemExit(3)\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done, _ = run_pytest(tmp_path)
    assert done.code == 2 and f"\ntest_users.py::test_it[1]: {says}" in done.out and done.err == "", done.out + done.err
    assert done.out.count("\ntest_users.py::") == 1 and "1 error during collection" in done.out


def test_marks_of_others(tmp_path):
    """Registered marks that look like ours are not ours; methods of unittest.TestCase cannot be measured."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = memory_baselines: mine\n")
    (tmp_path / "test_users.py").write_text("import pytest\n@pytest.mark.memory_baselines\n@pytest.mark.limit_memory\ndef test_it(): pass\n")
    assert run_pytest(tmp_path)[0].code == 0
    (tmp_path / "test_users.py").write_text("import pytest, unittest\n@pytest.mark.memory_baseline\nclass TestIt(unittest.TestCase):\n"
                                            "    def test_it(self): pass\n")
    done, _ = run_pytest(tmp_path)
    assert done.code == 2 and "TestIt::test_it: memory_baseline: only for functions and classes of pytest" in done.out
