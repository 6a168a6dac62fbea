"""gpu_mem_restore where it is needed: in IPython and in a notebook memory comes back after an error, and does not
without it."""

import pytest

OOM = "OutOfMemoryError: CUDA out of memory. Tried to allocate 10"


@pytest.mark.parametrize("place", ["shell", "kernel"])
def test_memory_comes_back(simulated, place):
    facts = simulated("restore.py", place).result
    assert facts["first"] == ["", None] and facts["start"] == 0 and facts["in_ipython"] == "True"
    # The control: without the decorator the error keeps all of it, until another error takes its place.
    assert facts["control"] == [7000, OOM, [["grab", 7000, ["held"]]], 7000] and facts["end"] == 0
    assert facts["restored"] == [0, OOM]
    # Errors that were handled on the way hold frames too; the owners of that memory are known afterwards.
    frames = [["inner_failed", 500, ["held"]], ["grab", 5000, ["held"]], ["fail", 1000, ["held"]]]
    assert facts["restored_chain"] == [0, OOM, frames, 0]
    assert facts["restored_cause"] == [0, "RuntimeError: training failed"]
    assert facts["other_error"] == [1000, "ValueError: not about memory"], "others are left to the debugger"
    assert facts["assert"] == [0, "RuntimeError: CUDA error: device-side assert triggered"]
    assert facts["cublas"][0] == 0
    # FASTAI_TB_CLEAR_FRAMES: 0, 1, none.
    assert facts["never"] == [7000, OOM]
    assert facts["always"] == [0, "ValueError: not about memory"]
    assert facts["interrupted"] == [0, "KeyboardInterrupt: by hand"]
    assert facts["default"] == [0, OOM]
    assert facts["context"] == [0, "ValueError: not about memory"]
