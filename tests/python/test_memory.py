"""vramscope.memory: PyTorch's memory functions over either allocator, and what refers to a tensor."""

import pytest

MB = 2**20


@pytest.mark.parametrize("allocator", ["native", "ours"])
def test_functions_of_pytorch(simulated, allocator):
    facts = simulated("memory_functions.py", allocator, gpu="8GiB").result
    assert facts["early"] == [{}, False], "to ask must not begin CUDA"
    assert facts["scope"] == [30 * MB + 7 * 512, 33 * MB + 10 * 512, True]
    assert facts["stats"] == [True, True, True, 30 * MB + 7 * 512, 33 * MB + 10 * 512]
    assert facts["summary"] == [True, True]
    assert facts["four"][:3] == [True, True, True] and 8192 <= facts["four"][3] < 8800
    assert facts["total"] == [True, True, [], True, False]
    assert facts["reset"] == [True, 0]
    assert facts["snapshot"] == [True, 12, True, "Snapshot"]
    assert facts["emptied"]
    if allocator == "native":
        check_free_tensor(facts)


def check_free_tensor(facts):
    holders = ["a list of 2, attribute cache of Trainer", "global tensor of __main__", "variable local of inner",
               "variable view of inner"]
    assert facts["held"] == [100, 100, False, 0, holders]
    assert facts["held_text"].startswith("freed 0 B of 100.0 MiB\n  allocated by PyTorch ")
    assert "100.0 MiB still held by\n    " in facts["held_text"]
    assert facts["gone"], "the search itself must not keep anything"
    assert facts["freed"] == [True, 50, 50, 50, []]
    assert facts["cycle"] == [True, 40]
    assert facts["autograd"] == [False, [], True]
    assert facts["module"] == [4 * 1024 * 1025, ["a dict under 'weight', attribute _parameters of Linear",
                                                 "a dict under 'bias', attribute _parameters of Linear",
                                                 "global net of __main__"]]
    assert facts["force"] == [True, 60, 0]
    assert facts["nothing"] == [0, True, []]
