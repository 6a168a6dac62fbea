"""vramscope query: every method of the engine from a shell."""

import json
import os
import pty

import pytest

FILE = "snapshot.pickle"
USAGE = 2
NOT_READ = 3
BINARY = {"columns": b"VSC1", "bytes": b"\x80"}


def list_of(vramscope):
    return json.loads(vramscope("query", "methods").out)["methods"]


def test_every_method_answers(vramscope, folder):
    for method in list_of(vramscope):
        words = [method["name"]] if not method["needs_file"] else [FILE, method["name"]]
        given = ["format=pickle"] if method["name"] == "export" else []
        done = vramscope("query", *words, *given, "-o", "reply", "-f")
        assert done.code == 0 and done.err == "", (method["name"], done.err)
        reply = (folder / "reply").read_bytes()
        if method["reply"] == "json":
            assert json.loads(reply)["method"] == method["name"] and reply.endswith(b"}\n")
        else:
            assert reply.startswith(BINARY[method["reply"]]), method["name"]


def test_the_list_names_every_method_and_parameter(vramscope):
    overview = vramscope("query", "--list").out
    for method in list_of(vramscope):
        assert f"\n{method['name']} " in "\n" + overview
        alone = " ".join(vramscope("query", "--list", method["name"]).out.split())
        assert alone.startswith(f"{method['name']}: {method['sentence']}")
        for parameter in method["params"]:
            assert f" {parameter['name']} {parameter['sentence']}" in alone
            assert f"(default: {json.dumps(parameter['default'])})" in alone
            assert all(choice["name"] in alone for choice in parameter["choices"] or [])


def test_the_reply_is_that_of_other_commands(vramscope):
    assert vramscope("query", FILE, "report").out == vramscope("report", "--json", FILE).out
    assert vramscope("query", FILE, "live", "at=end", "by=stack", "top=3", "filter=size>1KiB").out == vramscope(
        "blocks", "--json", "--by", "stack", "--top", "3", "--filter", "size>1KiB", FILE).out


@pytest.mark.parametrize("pair, name, value", [
    ("top=3", "live", None), ("device=0", "live", None), ("device=null", "live", None), ("at=12", "live", None),
    ("at=-1", "live", None), ("backwards=true", "find", None), ("x0=1.5", "picture", None), ("x0=null", "picture", None),
    ("filter=12", "live", None), ("filter=", "live", None), ("filter=true", "live", None), ("filter=name=b7f_1", "live", None),
])
def test_values_have_their_types(vramscope, pair, name, value):
    done = vramscope("query", FILE, name, pair, "-o", "reply", "-f")
    assert done.code == 0, done.err


@pytest.mark.parametrize("words, said", [
    ([], "vramscope query --list"),
    ([FILE], "vramscope query --list"),
    (["no-such-file", "livee"], "unknown method 'livee': did you mean 'live'?"),
    (["no-such-file", "live", "tpo=3"], "unknown parameter 'tpo': did you mean 'top'?"),
    (["no-such-file", "live", "by=lines"], "unknown by 'lines': did you mean 'line'?"),
    (["no-such-file", "live", "top=x"], "parameter 'top' has to be a whole number"),
    (["no-such-file", "live", "top"], '"top" is not KEY=VALUE; see: vramscope query --list live'),
    (["settings", "settings=expandable_segment:True"], "expandable_segments"),
    (["--list", "reprot"], "unknown method 'reprot': did you mean 'report'?"),
])
def test_wrong_words_are_said_before_a_file_is_read(vramscope, words, said):
    done = vramscope("query", *words)
    assert done.code == USAGE and done.out == "" and said in done.err and done.err.count("\n") == 1


def test_a_file_that_is_not_there(vramscope):
    done = vramscope("query", "no-such-file", "report")
    assert done.code == NOT_READ and "no-such-file" in done.err


def test_binary_does_not_go_to_a_terminal(vramscope):
    for method, code, shown in (("picture", USAGE, ""), ("find", 0, '{"schema":1,"method":"find"')):
        ours, theirs = pty.openpty()
        done = vramscope("query", FILE, method, stdout=theirs)
        os.write(theirs, b"\n")  # so that there is something to read
        assert done.code == code and ("-o" in done.err) == (method == "picture"), done.err
        assert os.read(ours, 1 << 16).decode().strip().startswith(shown)
        os.close(theirs)
        os.close(ours)
