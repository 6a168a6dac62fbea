"""`vramscope.where`: the document of the command, for files, replies, processes and errors."""

from conftest import BINARY, PYTHON, finish, plain_environment

PROGRAM = """
import json, os, subprocess, sys
from pathlib import Path
import vramscope
from vramscope.errors import Error

command = [sys.argv[1], "where", "--json"]
asked = lambda *words: json.loads(subprocess.run([*command, *words], check=True, capture_output=True).stdout)
subprocess.run([sys.argv[1], "demo", "--keep", "demo.vram", "-q"], check=True, capture_output=True)
assert vramscope.where("demo.vram") == asked("demo.vram")
assert vramscope.where(Path("demo.vram"), at="oom", device=0) == asked("--at", "oom", "--device", "0", "demo.vram")
assert vramscope.where("demo.vram", at=100) == asked("--at", "100", "demo.vram")
os.rename("demo.vram", "123")
assert vramscope.where("123", at="end")["of"] == "file"  # a text is a file's name, a number a process
for of, part in [("nowhere.vram", "no such file"), (4194000, "there is no process 4194000"), ({"schema": 1, "method": "report"}, "not that of one dry run")]:
    try:
        vramscope.where(of)
    except Error as error:
        assert part in str(error) and "vramscope: " not in str(error), error
    else:
        raise AssertionError(of)
reply = {"schema": 1, "method": "dryrun", "processes": [], "devices": [{
    "device": 0, "name": "H100", "used": True, "total_bytes": 90, "nvml_total_bytes": 100, "taken_bytes": 20, "driver_peak_bytes": 0, "ledger": []}]}
(card,) = vramscope.where(reply)["devices"]
assert [(row["kind"], row["bytes"]) for row in card["rows"]] == [("used", 20), ("driver_reserve", 10), ("free", 70), ("unexplained", 0)]
print("all right")
"""


def test_where(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = finish([str(PYTHON), "program.py", BINARY], plain_environment(), tmp_path)
    assert done.code == 0 and done.out == "all right\n", done.err
