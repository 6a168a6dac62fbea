"""The workspaces of the simulated cuDNN against those that PyTorch allocated on an H100 (tests/gpu/measured).

cuDNN chooses an engine for each plan, and no rule predicts all of its choices. The bounds are what the rule reaches, so a change
that loses a row fails here; one that gains rows moves the bound.
"""

import json

import pytest

from conftest import ROOT

MEASURED = ROOT / "tests/gpu/measured/h100_cudnn.jsonl"

# numbers, layout: for the result, the gradient of the input and the gradient of the weights (exact rows, bytes that the
# others are off in all, bytes measured in all); 36 to 40 rows each
CONVOLUTIONS = {
    ("bfloat16", "first"): [(33, 5243723, 2132429928), (34, 203785, 2427967317), (27, 17208158, 2601976004)],
    ("bfloat16", "last"): [(32, 5243592, 78132501), (33, 203654, 124240946), (26, 12332046, 261047206)],
    ("float16", "first"): [(37, 393, 2381596046), (33, 6495756, 2434259026), (28, 97433244, 2572511928)],
    ("float16", "last"): [(34, 262, 47911547), (31, 2301097, 126338127), (26, 42563212, 178327962)],
    ("float32", "first"): [(37, 178847744, 178847744), (38, 0, 1196290816), (36, 321478656, 6703958160)],
    ("float32", "last"): [(31, 3096445964, 6914644304), (32, 631789084, 5229198096), (32, 529385410, 8007875250)],
    ("tf32", "first"): [(34, 23069942, 4068849311), (34, 15729672, 4526741278), (21, 151122469, 4960342443)],
    ("tf32", "last"): [(31, 101381664, 172273791), (30, 23378722, 438902529), (20, 92870131, 1934858299)],
}  # fmt: skip

# kind, numbers: for the workspace of training, the reserve and the workspace of inference, of 50 networks each
RECURRENT = {
    ("GRU", "bfloat16"): [(35, 2497984, 2727057792), (50, 0, 2208868992), (40, 776, 2670644640)],
    ("GRU", "float16"): [(27, 2692032, 2728234880), (50, 0, 2208868992), (30, 28936, 2671599520)],
    ("GRU", "float32"): [(27, 5382368, 4072325984), (50, 0, 4408179136), (30, 56784, 3959055872)],
    ("LSTM", "bfloat16"): [(36, 69464, 2988671840), (50, 0, 1872863328), (40, 808, 2968239200)],
    ("LSTM", "float16"): [(28, 242520, 3146958688), (50, 0, 1872863328), (28, 242472, 3126594656)],
    ("LSTM", "float32"): [(29, 221648, 4595725536), (50, 0, 3736167712), (30, 90544, 4554866464)],
    ("RNN", "bfloat16"): [(6, 27881044, 2430695680), (50, 0, 528840384), (40, 840, 2102922208)],
    ("RNN", "float16"): [(3, 90641820, 2533118048), (50, 0, 528840384), (33, 5694952, 2148265600)],
    ("RNN", "float32"): [(5, 82780760, 3504947936), (50, 0, 1048121824), (35, 11192080, 2833548096)],
}  # fmt: skip


def total(rows):
    return {"rows": len(rows), "exact": sum(a == b for a, b in rows), "off": sum(abs(a - b) for a, b in rows),
            "measured": sum(a for a, _ in rows)}


def simulate(folder, *kinds, **settings):
    """[kind, what..., [(measured, simulated) of each pass]] for each measured row of these kinds."""
    from child_programs import environment_of, finish, simulation

    from conftest import command
    measured = [row for row in map(json.loads, MEASURED.read_text().splitlines()[1:]) if row[0] in kinds]
    done = finish(command("cudnn_workspaces.py", [str(MEASURED), *kinds]), environment_of({**simulation(), "gpu": "H100", **settings}), folder, 600)
    assert len(done.result) == len(measured)
    return [(*row[:-1], list(zip(row[-1], simulated))) for row, simulated in zip(measured, done.result)]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    found = simulate(tmp_path_factory.mktemp("cudnn"), "convolution", "attention", "recurrent")
    assert len(found) == len(MEASURED.read_text().splitlines()) - 1
    return found


def test_attention_is_exact(rows):
    attention = [(what, pairs) for kind, *what, pairs in rows if kind == "attention"]
    assert len(attention) == 78
    assert [what for what, pairs in attention if any(a != b for a, b in pairs)] == []


@pytest.mark.parametrize("kind,numbers", sorted(RECURRENT))
def test_recurrent_networks(rows, kind, numbers):
    pairs = [pairs for row, *what, pairs in rows if row == "recurrent" and what[1:] == [numbers, kind]]
    for index, (exact, off, measured) in enumerate(RECURRENT[kind, numbers]):
        found = total([each[index] for each in pairs])
        assert found["measured"] == measured
        assert found["exact"] >= exact, index
        assert found["off"] <= off, index


@pytest.mark.parametrize("numbers,layout", sorted(CONVOLUTIONS))
def test_convolutions(rows, numbers, layout):
    pairs = [pairs for kind, *what, pairs in rows if kind == "convolution" and what[1:] == [numbers, layout]]
    for index, (exact, off, measured) in enumerate(CONVOLUTIONS[numbers, layout]):
        found = total([each[index] for each in pairs])
        assert found["measured"] == measured
        assert found["exact"] >= exact, f"pass {index}"
        assert found["off"] <= off, f"pass {index}"


def test_every_measured_kind_has_a_bound(rows):
    assert {(what[1], what[2]) for kind, *what, _ in rows if kind == "convolution"} == set(CONVOLUTIONS)
    assert {(what[2], what[1]) for kind, *what, _ in rows if kind == "recurrent"} == set(RECURRENT)


def test_no_measured_workspace_exceeds_the_bound(tmp_path):
    pairs = [(what, pair) for _, *what, pairs in simulate(tmp_path, "convolution", cudnn_workspace="most") for pair in pairs]
    assert len(pairs) == 894
    assert [(what, pair) for what, pair in pairs if pair[0] > pair[1]] == []


@pytest.mark.parametrize("gpu", ["H100", "A100-40"])
def test_the_report_has_the_bound(dryrun, gpu):
    """It is the largest workspace with the setting "most", on other GPUs, too; with a setting no bound is reported."""
    program = """
        import json, torch
        layers = [torch.nn.Conv2d(16 << n, 32 << n, 3, padding=1, bias=False).cuda() for n in range(2)]
        x = torch.empty(8, 16, 56, 56, device="cuda")
        with torch.no_grad():
            for layer in layers:
                x = layer(x)
    """

    def guess(**settings):
        reply = json.loads(dryrun(["--gpu", gpu, "--json"], program, **settings).out)
        (found,) = [doubt for doubt in reply["doubts"] if doubt["kind"] == "guess" and doubt["what"] == "cudnn_workspace"]
        return found["bytes"], found["most_bytes"]

    bytes_, most = guess()
    assert 0 <= bytes_ < most
    assert guess(VRAMSCOPE_SIM_CUDNN_WORKSPACE="most") == (most, None)
    assert guess(VRAMSCOPE_SIM_CUDNN_WORKSPACE="1MiB") == (1 << 20, None)


def test_the_setting_overrides_the_rule(python):
    program = """
        import json, os, torch

        def allocated():
            x, layer = torch.empty(8, 64, 56, 56, device="cuda"), torch.nn.Conv2d(64, 64, 3, padding=1, bias=False).cuda()
            with torch.no_grad():
                layer(x)
            return torch.cuda.max_memory_allocated()

        found = []
        for setting in ({"VRAMSCOPE_SIM_CUDNN_WORKSPACE": "0"}, {}, {"VRAMSCOPE_SIM_CUDNN_WORKSPACE": "64MiB"}):
            result, told = os.pipe()
            if os.fork() == 0:  # CUDA begins in the child
                os.environ.update(setting)
                os.write(told, str(allocated()).encode())
                os._exit(0)
            os.wait()
            os.close(told)
            found.append(int(os.read(result, 100)))
        print(json.dumps(found))
    """
    none, measured, set_ = python(program, gpu="H100").result
    assert set_ - none == 64 << 20
    assert measured - none == 6570000 // 512 * 512 + 512  # as it was measured, rounded by the allocator
