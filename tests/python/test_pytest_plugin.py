"""The pytest plugin in real runs of pytest, with a simulated GPU and without any."""

import subprocess
import textwrap
import xml.etree.ElementTree

import pytest

from conftest import PROGRAMS, PYTHON, Done, plain_environment

# Without the plugin of Hypothesis: pytest would compile all of its code again in each run, to rewrite assertions.
PLUGIN = ["-p", "vramscope.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]


@pytest.fixture
def suite(tmp_path):
    """suite(text, *options, simulate="8GiB") -> Done and {test: outcome}: runs it as a user's file."""

    def run(text, *options, simulate="8GiB", plugin=PLUGIN, **settings):
        (tmp_path / "test_users.py").write_text(textwrap.dedent(text))
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        options = [*plugin, *options, *(["--vramscope-simulate", simulate] if simulate else [])]
        command = [str(PYTHON), "-m", "pytest", "-rA", "--junitxml=report.xml", *options, "test_users.py"]
        done = subprocess.run(command, cwd=tmp_path, env=plain_environment(**settings), capture_output=True, text=True,
                              timeout=600, check=False)
        done = Done(done.returncode, done.stdout, done.stderr)
        return done, outcomes(tmp_path / "report.xml")

    return run


def outcomes(path):
    """{test: (outcome, message, properties)} of JUnit's XML."""
    found = {}
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        properties = {entry.get("name"): entry.get("value") for entry in case.iter("property")}
        child = next((child for child in case if child.tag in ("failure", "error", "skipped")), None)
        outcome = "passed" if child is None else child.tag
        found[case.get("name")] = outcome, "" if child is None else (child.get("message") or "") + (child.text or ""), properties
    return found


def test_marks_and_fixture(suite):
    done, found = suite((PROGRAMS / "users_tests.py").read_text())
    assert "simulated GPU (8GiB)" in done.out, done.out + done.err
    assert "Fits in" not in done.out + done.err  # only pytest's own output
    assert done.code == 1
    failed = ["over", "reserved_over", "what_was_there_before_does_not_count", "device_over", "own_failure_comes_first",
              "leaks", "over_with_the_users_history", "leaks_with_the_users_history"]
    assert [name for name, (outcome, _, _) in found.items() if outcome != "passed"] == [f"test_{name}" for name in failed]
    assert len(found) == 19
    message = {name.removeprefix("test_"): text for name, (_, text, _) in found.items()}
    assert "test_over took 65.00 MiB of GPU memory at its peak; its limit is 64.00 MiB" in message["over"]
    assert "65.00 MiB  test_users.py:10 take" in message["over"] and "(simulated)" in message["over"]
    assert "(reserved," in message["reserved_over"]
    assert "(device," in message["device_over"] and "sampled" in message["device_over"]
    assert "took 100.0 MiB" in message["what_was_there_before_does_not_count"]  # what the test itself takes does
    assert "limit is" not in message["own_failure_comes_first"]
    assert "test_leaks left 3.00 MiB of GPU memory behind; its limit is 0 B" in message["leaks"]
    assert "3.00 MiB  test_users.py:70 forget_to_free" in message["leaks"]
    of_users = message["over_with_the_users_history"], message["leaks_with_the_users_history"]
    assert "17.00 MiB  test_users.py:10 take" in of_users[0] and "7.00 MiB  test_users.py:10 take" in of_users[1]
    assert not any("take_before" in text or "90.00 MiB" in text or "270.0 MiB" in text for text in of_users)
    assert int(found["test_over"][2]["vramscope_gpu_peak_bytes"]) == 65 << 20


def test_without_a_gpu_marked_tests_skip_and_say_why(suite):
    done, found = suite("""
        import pytest

        @pytest.fixture
        def needs_one():
            raise AssertionError("it came to this")

        @pytest.mark.limit_gpu_memory("1 MiB")
        def test_limit(needs_one):
            pass

        @pytest.mark.limit_gpu_leaks()
        def test_leaks():
            pass

        def test_fixture(gpu_memory):
            pass

        def test_other():
            pass
    """, "--vramscope", simulate=None)
    assert done.code == 0
    assert {name: outcome for name, (outcome, _, _) in found.items()} == {
        "test_limit": "skipped", "test_leaks": "skipped", "test_fixture": "skipped", "test_other": "passed"}
    assert all("--vramscope-simulate" in text for outcome, text, _ in found.values() if outcome == "skipped")


def test_increase_and_the_list_of_most(suite, tmp_path):
    text = """
        import torch, os

        def test_grows():
            torch.empty(int(os.environ["MIB"]) << 20, dtype=torch.uint8, device="cuda")

        def test_small():
            torch.empty(1 << 20, dtype=torch.uint8, device="cuda")

        def test_none():
            pass
    """
    options = ["--vramscope-fail-on-increase", "--vramscope", "--vramscope-most=2", "--vramscope-snapshots=kept"]
    plugin = ["-p", "vramscope.pytest_plugin"]
    first, found = suite(text, *options, plugin=plugin, MIB="10")
    assert first.code == 0
    listed = first.out[first.out.index("tests that took most") :]
    assert "10.00 MiB  test_users.py::test_grows" in listed and "test_none" not in listed.split("PASSED")[0]
    for mib in ("16", "14"):  # a failure does not become the new measure
        again, found = suite(text, *options, plugin=plugin, MIB=mib)
        assert again.code == 1 and [name for name, (outcome, _, _) in found.items() if outcome == "failure"] == ["test_grows"]
        assert f"took {mib}.00 MiB of GPU memory at its peak, {int(mib) - 10}.00 MiB more than the 10.00 MiB" in found["test_grows"][1]
    assert list((tmp_path / "kept").glob("*test_grows.pickle"))


def test_exit_code_and_wrong_gpu(suite, tmp_path):
    (tmp_path / "test_users.py").write_text("def test(): pass\n")
    command = [str(PYTHON), "-m", "pytest", *PLUGIN, "--vramscope-simulate", "H1000"]
    done = subprocess.run(command, cwd=tmp_path, env=plain_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "H1000" in done.stderr and "did you mean" in done.stderr.lower()
    done = subprocess.run([*command[:-1], "H100", "-k", "nothing"], cwd=tmp_path, env=plain_environment(), capture_output=True,
                          text=True, check=False)
    assert done.returncode == 5, done.stdout  # pytest's own: no tests ran


def test_help_and_markers_list_it(tmp_path):
    def said(option):
        return subprocess.run([str(PYTHON), "-m", "pytest", *PLUGIN, option], cwd=tmp_path, env=plain_environment(),
                              capture_output=True, text=True, check=True).stdout

    assert "--vramscope-simulate=GPU" in said("--help")
    assert "--vramscope-update-baselines" in said("--help")
    assert all(f"{mark}(" in said("--markers") for mark in ("limit_gpu_memory", "limit_gpu_leaks", "memory_baseline"))
