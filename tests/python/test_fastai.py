"""vramscope.fastai: each name of fastai's utils.mem, with the meanings and the texts that its page documents."""

import pytest


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    from conftest import command, finish, simulated_environment

    program = command("fastai_page.py", [])
    return finish(program, simulated_environment(gpu="2x8GiB"), tmp_path_factory.mktemp("fastai")).result


def test_how_full_the_gpus_are(facts):
    assert facts["before"][1:] == [2, False], "to ask must not begin CUDA"
    assert facts["get"] == [True, ["total", "free", "used"], "GPUMemory"]
    assert facts["wrong"] == [[0, 0, 0]] * 3
    assert facts["forms"] == [True, True, True, 'a number of PyTorch\'s or "cuda:1" was expected, not \'no\'']
    assert facts["one"] and facts["current"] and facts["all"] == [2, True]
    assert facts["most"][0] == 1 and facts["most"][1] > 8000
    assert facts["b2mb"] == [0, 1, 5, -1]
    assert facts["used"] == 300 and facts["cached"] == [300, 300] and facts["no_cache"] == [True, True]
    assert facts["fast"] == [True, True]
    assert facts["names"] == [True, False, False]


def test_traces_say_what_pytorch_measured(facts):
    text, truth, data = facts["report"]
    assert truth == data == [24, 60] and text == facts["print"] == "△Used Peaked MB:     24     60\n"
    assert facts["noted"] == "△Used Peaked MB:     24     60 (a second run)\n"
    assert facts["after_reset"] == [0, 0]
    lines, truths = facts["loops"]
    assert lines == truths and len(set(lines)) == 3
    truth, frozen, later, is_running = facts["frozen"]
    assert truth == frozen == later and not is_running
    used, delta_used, delta_peaked = facts["mb"]
    assert used == delta_used + delta_peaked


def test_lines_of_the_page(facts):
    assert facts["ctx"] == [
        "△Used Peaked MB:      0      0 (foobar)\n",
        "△Used Peaked MB:      0      0 (foobar: 1st try)\n",
        "△Used Peaked MB:      0      0 (foobar: 2nd try)\n",
    ]
    assert facts["with"][0] == "△Used Peaked MB:      3      4 (exit)\n"
    assert facts["with"][1] == "△Used Peaked MB:  1,000  1,500 (some context: exit)\n"
    assert facts["with"][2] == "△Used Peaked MB:      0      0 (some_func: exit)\n"
    assert facts["with"][3].endswith(" (some_func: measured in ctx)\n") and facts["with"][3].count("\n") == 1
    assert facts["with"][4].startswith("△Used Peaked MB:      1") and facts["with"][4].count("\n") == 1
    assert facts["decorated"] == ["△Used Peaked MB:      5      6 (my_function: exit)\n", 3, "my_function", "Text.",
                                  "△Used Peaked MB:      0      0 (Class.function: exit)\n"]
    nothing = "△Used Peaked MB:      0      0"
    assert facts["silent"] == ["", True, None, f"{nothing}\n", "", True, f"{nothing} (x)\n"]


def test_nested_traces_and_other_kinds(facts):
    assert facts["nested"] == [[0, 500], [0, 7], 500]
    assert facts["reserved"] == [2, 0, True]
    used, text, note, line = facts["device"]
    assert used == 100 and text.endswith(" (sampled)") and note == "sampled"
    assert line == "△Used Peaked MB:      0      0 (sampled) (x: y)\n"
    # The program reset PyTorch's peak without our package: the trace says so, and how much of the peak it cannot know.
    assert facts["doubtful"].startswith("△Used Peaked MB:      0    100 (the peak is up to 301MB more: PyTorch's peak was")
    assert "everything" in facts["kind"]


def test_without_a_gpu(plain):
    done = plain("""
        import json, sys
        sys.modules["torch"] = None
        import vramscope.fastai as mem
        facts = [mem.gpu_mem_get(), mem.gpu_mem_get(3), mem.gpu_mem_get_all(), mem.gpu_with_max_free_mem(),
                 mem.gpu_mem_get_free(), mem.gpu_mem_get_used_no_cache(), mem.use_gpu]
        try:
            mem.GPUMemTrace()
        except AssertionError as error:
            facts.append(str(error))

        def fail():
            raise RuntimeError("CUDA out of memory")

        for call in (fail, mem.gpu_mem_restore(fail)):
            try:
                call()
            except RuntimeError as error:
                facts.append([str(error), error.__traceback__.tb_next is not None])
        with mem.gpu_mem_restore_ctx() as context:
            pass
        try:
            held = [1]
            1 / 0
        except ZeroDivisionError:
            facts.append(mem.get_ref_free_exc_info()[0].__name__)
        print(json.dumps(facts))
    """)
    assert done.result == [[0, 0, 0], [0, 0, 0], [], [None, 0], 0, 0, False, "pytorch CUDA is required",
                           ["CUDA out of memory", True], ["CUDA out of memory", True], "ZeroDivisionError"]


def test_gpus_are_those_of_pytorch(simulated):
    """CUDA_VISIBLE_DEVICES hides and reorders: a number means the same card to PyTorch and to us."""
    result = simulated("""
        import json, torch
        import vramscope.fastai as mem
        early = [memory.total for memory in mem.gpu_mem_get_all()]
        torch.cuda.init()
        names = [torch.cuda.get_device_properties(i).total_memory // 2**20 for i in range(torch.cuda.device_count())]
        block = torch.empty(700 * 2**20, dtype=torch.uint8, device="cuda:1")
        print(json.dumps([early, [memory.total for memory in mem.gpu_mem_get_all()], names, mem.gpu_mem_get(1).used >
                          700, mem.gpu_mem_get(0).used < 700, mem.gpu_mem_get(2), mem.gpu_with_max_free_mem()[0]]))
    """, gpu="8GiB,24GiB,16GiB", CUDA_VISIBLE_DEVICES="2,0").result
    early, late, sizes, *rest = result
    assert early == late and len(late) == 2
    assert all(abs(total - size) < 1024 for total, size in zip(late, sizes, strict=True)) and sizes[0] > sizes[1]
    assert rest == [True, True, [0, 0, 0], 0]
