"""Exact peaks (vramscope.scopes): equal to a model, in any number of threads, and invisible to other code."""

import json

import pytest


def test_a_model_of_the_allocator_with_other_threads_at_work(plain):
    """The arithmetic of bounds, where the moment between reading and reset can be made to happen."""
    result = plain("scopes_model.py", 150).result
    assert result["scopes"] > 2000 and result["views"] > 1000
    assert 0 < result["bounded"] < result["scopes"] / 10


@pytest.mark.parametrize(("threads", "scopes"), [(1, 1000), (4, 3000)])
def test_random_scopes_equal_the_history_of_events(simulated, threads, scopes):
    result = simulated("scopes_random.py", threads, 5, scopes, gpu="2x8GiB").result
    assert result["wrong"] == []
    assert result["source"] == ["memory", "memory"]
    assert result["scopes"] == scopes and result["exact"] >= 0.95 * result["scopes"]


@pytest.mark.parametrize(("settings", "pools", "source"), [("max_split_size_mb:30", 0, "memory"), ("", 1, "dict")])
def test_the_users_own_figures_are_as_without_scopes(simulated, settings, pools, source):
    """Peaks, resets, summaries: the same program with and without scopes sees the same."""
    runs = [simulated("scopes_user.py", which, 3, 900, pools, PYTORCH_ALLOC_CONF=settings or None).result
            for which in ("with", "without")]
    assert runs[0]["answers"] == runs[1]["answers"] and len(set(runs[0]["answers"])) > 120
    assert runs[0]["source"] == source


def test_scopes_by_known_sizes(simulated):
    facts = simulated("scopes_facts.py", gpu="2x8GiB").result
    assert facts["lazy"] and facts["lazy_name"]
    assert facts["early"] == [30, 80, 50, True]
    assert facts["open"] == [True, 130]
    assert facts["nested"] == [130, 130, 70] and facts["used"] == [0, 0, 40]
    assert facts["user"] == 130
    assert facts["source"] == "memory"
    assert facts["overlapping"] == [30, 60, 0]
    assert facts["failed"] == [False, 64]
    assert facts["devices"] == [30, 12, 12, 12]
    assert facts["numbers"] == [0, 1, 0, 1, 0, 1]
    assert "cpu" in facts["cpu"]
    assert facts["reset"] == [11, 3]
    assert facts["behind"] == [False, 200, 250, "PyTorch's peak was reset in a way that vramscope could not follow"]
    assert facts["trust"] == ["memory", "dict", "dict"]
    assert facts["repr"] == "<vramscope.Scope of cuda:0, ended: +0 bytes allocated, peak 136,314,880>"
    assert facts["leak"] == 3
    assert facts["forbidden"] == ["dict", 90, 10, True]


def test_without_pytorch_a_scope_is_empty(plain):
    done = plain("""
        import sys, json
        sys.modules["torch"] = None
        from vramscope.scopes import Scope, scope_source
        with Scope() as scope:
            pass
        print(json.dumps([*scope.allocated, scope.is_exact, scope.is_open, scope_source(), scope.note]))
    """)
    assert done.result == [0, 0, 0, 0, True, False, "none", "PyTorch is not installed here"]


def test_a_scope_without_cuda_says_so(simulated):
    assert simulated("""
        import json, torch
        from vramscope.scopes import Scope
        with Scope() as scope:
            pass
        early = scope.note
        with Scope() as scope:
            torch.empty(1, device="cuda")
        print(json.dumps([early, scope.note]))
    """).result == ["PyTorch has not used CUDA in this process", ""]


def test_under_dryrun_the_report_has_the_peak_of_the_program(dryrun):
    """Scopes reset PyTorch's peak; `vramscope dryrun` follows resets and must not take them for the program's end."""
    done = dryrun(["--gpu", "8GiB", "--json"], """
        import torch
        from vramscope.scopes import Scope, scope_source
        with Scope() as scope:
            a = torch.empty(300 * 2**20, dtype=torch.uint8, device="cuda")
            del a
        torch.cuda.reset_peak_memory_stats()
        with Scope():
            b = torch.empty(2**20, dtype=torch.uint8, device="cuda")
        with Scope() as last:
            b = torch.empty(2**20, dtype=torch.uint8, device="cuda")
        assert scope.allocated.peak == 300 * 2**20 and last.is_exact and scope_source() == "memory"
    """)
    assert done.code == 0, done.err
    assert 300 * 2**20 in set(numbers(json.loads(done.out)))


def numbers(tree):
    if isinstance(tree, dict):
        for value in tree.values():
            yield from numbers(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from numbers(value)
    elif isinstance(tree, int):
        yield tree
