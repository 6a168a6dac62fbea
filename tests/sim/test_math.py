"""The mathematics libraries under real programs: PyTorch, ONNX Runtime, bitsandbytes. Nothing is computed; nothing may fail."""

import json

import pytest


def test_pytorch_calls_all_of_them(python):
    done = python("mathematics.py")
    assert done.result["failed"] == {}
    assert done.result["done"] >= 68
    assert "is not simulated" not in done.err


@pytest.mark.parametrize("search", ["EXHAUSTIVE", "HEURISTIC", "DEFAULT"])
def test_onnx_runtime(python, search):
    assert python("onnx_model.py", search).result == {
        "providers": ["CUDAExecutionProvider", "CPUExecutionProvider"], "shape": [2, 2, 8]}


def test_bitsandbytes(python):
    assert python("""
        import json, torch, bitsandbytes as bnb
        layer = torch.nn.Linear(1024, 1024).cuda()
        optimizer = bnb.optim.Adam8bit(layer.parameters(), min_8bit_size=16)
        layer(torch.randn(2, 1024, device="cuda")).sum().backward()
        optimizer.step()
        packed, state = bnb.functional.quantize_4bit(layer.weight.data.half())
        whole = bnb.functional.dequantize_4bit(packed, state)
        eight = bnb.nn.Linear8bitLt(64, 64, has_fp16_weights=False).cuda()
        print(json.dumps([packed.numel(), list(whole.shape), list(eight(torch.randn(2, 64).cuda().half()).shape)]))
    """).result == [1024 * 1024 // 2, [1024, 1024], [2, 64]]


CONVOLUTION = """
    import json, torch
    layer = torch.nn.Conv2d(8, 8, 3).cuda()
    x = torch.randn(1, 8, 16, 16, device="cuda")
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    with torch.no_grad():
        out = layer(x)
    print(json.dumps(torch.cuda.max_memory_allocated() - before))
"""


def test_the_workspace_of_convolutions_is_what_was_asked_for(python):
    least, more = (python(CONVOLUTION, cudnn_workspace=size).result for size in ("0", "64MiB"))
    assert more - least == 64 << 20


def test_guesses_are_noted(python, tmp_path):
    python("""
        import torch
        torch.fft.fft(torch.zeros(1 << 16, device="cuda"))
        torch.nn.Conv1d(1, 1, 3).cuda()(torch.zeros(1, 1, 8, device="cuda"))
        print("null")
    """, run=tmp_path).result
    notes = [json.loads(line) for path in tmp_path.glob("notes.*.jsonl") for line in path.read_text().splitlines()]
    guesses = {note["what"]: note for note in notes if note["note"] == "guess"}
    assert guesses["cufft_work_area"]["bytes"] == 8 * ((1 << 15) + 1)  # of real values: half the result, and one
    assert guesses["cufft_work_area"]["most"] == 8 * 8 * ((1 << 15) + 1)  # cuFFT's documentation: up to eight times its values
    assert guesses["cudnn_workspace"]["bytes"] == 0
    assert guesses["cudnn_workspace"]["most"] > 0
