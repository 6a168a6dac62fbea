"""vramscope.Tracker and the callbacks on it: the figures of each step are those of PyTorch's own statistics, measured independently in a
process without vramscope, by the same steps with a reset at the beginning of each."""



import pytest

SETTINGS = [None, "max_split_size_mb:30", "expandable_segments:True"]


@pytest.mark.parametrize("conf", SETTINGS)
def test_steps_are_those_of_pytorchs_statistics(simulated, conf):
    tracked, pytorchs = (simulated("steps_random.py", which, 150, 7, PYTORCH_ALLOC_CONF=conf).result for which in ("tracker", "pytorch"))
    assert tracked == pytorchs
    assert len({row[0] for row in tracked}) > 50  # they differ


def test_retries_errors_and_the_programs_own_peaks(simulated):
    found = simulated("steps_counts.py").result
    assert found["tracked"] == found["plain"] and found["source"] == "memory"
    assert [row[1] for row in found["plain"][0]] == [0, 0, 1, 0, 0] and found["plain"][0][1][0] == 1
    assert found["failed"] == [1, 1]
    assert found["after_reset"] == [2 * count for count in found["plain"][0][2]]  # a reset of PyTorch's sums takes nothing away
    assert found["ten"]["vramscope/peak_allocated_bytes"] == 19 << 20 and found["ten"]["vramscope/growth_bytes"] == 0
    assert sorted(found["ten"]) == sorted(f"vramscope/{name}" for name in (
        "peak_allocated_bytes", "peak_reserved_bytes", "allocated_bytes", "reserved_bytes", "fragmented_bytes", "growth_bytes",
        "alloc_retries", "ooms"))
    assert all(type(value) is int for value in found["ten"].values()) and found["then"] == {}


LOOP = """
    import json, sys, warnings
    import torch, vramscope

    def take(mib):
        return torch.empty(mib << 20, dtype=torch.uint8, device="cuda")

    def loop(steps, of, **options):
        said = []
        tracker = vramscope.Tracker(warn=said.append, **options)
        for number in range(steps):
            with tracker.step():
                of(number)
        return said

    held = []
    def leaks(number):
        held.append(take(2))
        take(1 + number % 7)

    def keeps(number):
        kept = take(1 + number % 7)

    def fills(number):     # a cache that is full after some steps
        if number < 12:
            held.append(take(1))

    def swings(number):    # what one epoch builds up is freed at its end
        held.append(take(1))
        if number % 12 == 11:
            held.clear()
"""


def test_growth_is_said_once_with_its_line(simulated):
    said = simulated(LOOP + """
    said = {"none": loop(60, keeps) + loop(40, fills) + loop(60, swings), "unknown": loop(60, leaks)}
    vramscope.record_memory_history(stacks="python")
    said["history"] = loop(40, leaks)
    vramscope.record_memory_history(None)
    with vramscope.record("steps.vram"):
        said["recording"] = loop(40, leaks)
    tracker = vramscope.Tracker(warn=False)
    recording = tracker.record("two.vram", steps=2)
    on = []
    for _ in range(3):
        with tracker.step():
            leaks(0)
        on.append(recording.is_on)
    said["recorded"] = on
    assert vramscope.open("two.vram").info()["devices"][0]["events"] >= 6
    print(json.dumps(said))
    """).result
    assert said["none"] == []
    (unknown,) = said["unknown"]
    assert unknown.startswith("GPU 0: allocated memory grows every step, by 2.00 MiB on average over 14 steps: likely a leak")
    assert "tracker.record(" in unknown
    for kind in ("history", "recording"):
        assert len(said[kind]) == 1 and said[kind][0].endswith(":6 take holds 28.00 MiB more"), said[kind]
    assert said["recorded"] == [True, False, False]


def test_a_near_miss_is_said_once(simulated):
    said = simulated(LOOP + """
    def nearly(number):
        take(7500)          # of the 8 GiB of the card, less CUDA's context
    def retries(number):
        kept = [take(1024) for _ in range(6)]
        del kept
        take(5000)
    def fails(number):
        take(9000)
    said = {"nearly": loop(3, nearly)}
    torch.cuda.empty_cache()
    said["retries"] = loop(3, retries)
    try:
        loop(1, fails, device="cuda:0")
    except torch.OutOfMemoryError:
        said["fails"] = True
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tracker = vramscope.Tracker()
        with tracker.step():
            retries(0)
        quiet = vramscope.Tracker(warn=False)
        with quiet.step():
            retries(0)
    said["caught"] = [[each.category.__name__, each.filename, str(each.message)] for each in caught]
    print(json.dumps(said))
    """, gpu="8GiB").result
    (nearly,), (retries,) = said["nearly"], said["retries"]
    assert nearly.startswith("GPU 0 was nearly full in step 0: peak reserved 7.32 GiB of the 7.") and nearly.endswith(" 0 B fragmented")
    assert retries.startswith("GPU 0 was full in step 0: PyTorch flushed its cache once (cudaMalloc retry), which is slow; peak reserved ")
    assert said["fails"]
    ((category, file, _),) = said["caught"]
    assert category == "GPUMemoryWarning" and file == "<string>"  # the caller's line


def test_without_a_gpu_and_without_pytorch(plain):
    assert plain("""
        import json, sys
        import vramscope
        sys.modules["torch"] = None
        tracker = vramscope.Tracker()
        with tracker.step():
            pass
        print(json.dumps([tracker.last, tracker.log(), repr(tracker)]))
    """).result == [None, {}, "<vramscope.Tracker: 0 steps>"]


def test_before_cuda_is_used(simulated):
    assert simulated("""
        import json, torch, vramscope
        tracker = vramscope.Tracker()
        with tracker.step():
            pass
        early = [tracker.last, tracker.log(), torch.cuda.is_initialized()]
        with tracker.step():
            kept = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
        print(json.dumps([*early, tracker.last.peak_allocated, tracker.last.growth]))
    """).result == [None, {}, False, 1 << 20, 1 << 20]


TRAINER = """
    import json, sys
    import torch
    import transformers
    from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments

    which = sys.argv[1]
    rows = []

    class Plain(TrainerCallback):
        def on_step_begin(self, args, state, control, **more):
            torch.cuda.reset_peak_memory_stats()
        def on_step_end(self, args, state, control, **more):
            rows.append([torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved(), torch.cuda.memory_allocated()])

    class Reporter(TrainerCallback):   # one that was there before, as wandb's is
        def on_log(self, args, state, control, logs=None, **more):
            reported.append(dict(logs))

    reported = []
    config = LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, vocab_size=500)
    data = [{"input_ids": list(range(8 + 8 * (number % 3))), "labels": list(range(8 + 8 * (number % 3)))} for number in range(24)]
    collate = lambda batch: {name: torch.tensor([batch[0][name]]) for name in ("input_ids", "labels")}
    arguments = TrainingArguments("out", max_steps=6, per_device_train_batch_size=1, gradient_accumulation_steps=2, logging_steps=2,
                                  save_strategy="no", report_to=[], disable_tqdm=True, seed=1)
    torch.manual_seed(1)
    trainer = Trainer(LlamaForCausalLM(config), arguments, train_dataset=data, data_collator=collate, callbacks=[Reporter()])
    if which == "plain":
        trainer.add_callback(Plain())
    else:
        from vramscope.integrations import TransformersCallback
        callback = TransformersCallback(warn=False)
        assert isinstance(callback, TrainerCallback)
        steps = []
        end = callback.tracker.end_step
        callback.tracker.end_step = lambda: steps.append(end())
        callback.attach(trainer)
    trainer.train()
    if which != "plain":
        rows = [[step.peak_allocated, step.peak_reserved, step.allocated] for step in steps]
    print()
    print(json.dumps({"rows": rows, "reported": reported, "history": trainer.state.log_history}))
"""


def test_hugging_face_trainer(simulated):
    ours, plain = simulated(TRAINER, "ours").result, simulated(TRAINER, "plain").result
    assert ours["rows"] == plain["rows"] and len(ours["rows"]) == 6 and len({row[0] for row in ours["rows"]}) > 1
    peaks = [row[0] for row in ours["rows"]]
    logged = [max(peaks[at : at + 2]) for at in (0, 2, 4)]
    for entries in (ours["reported"], ours["history"]):
        assert [entry["vramscope/peak_allocated_bytes"] for entry in entries if "loss" in entry] == logged
    assert not any(key.startswith("vramscope") for entry in plain["history"] for key in entry)


LIGHTNING = """
    import json, sys, warnings
    import torch
    if sys.argv[2] == "lightning":
        import lightning.pytorch as pl
        from lightning.pytorch.loggers.logger import Logger
    else:
        import pytorch_lightning as pl
        from pytorch_lightning.loggers.logger import Logger

    warnings.simplefilter("ignore")
    which = sys.argv[1]
    rows = []

    class Plain(pl.Callback):
        def on_train_batch_start(self, *more):
            torch.cuda.reset_peak_memory_stats()
        def on_train_batch_end(self, *more):
            rows.append([torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved(), torch.cuda.memory_allocated()])

    class Kept(Logger):
        name, version = "kept", 0
        lines = []
        def log_metrics(self, metrics, step=None):
            self.lines.append([step, metrics])
        def log_hyperparams(self, *more, **named): pass

    class Model(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(256, 256)
        def training_step(self, batch, index):
            return self.layer(batch[0].repeat(1 + index % 3, 1)).sum()
        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), momentum=0.9, lr=0.1)

    if which == "plain":
        callback = Plain()
    else:
        from vramscope.integrations import LightningCallback
        callback = LightningCallback(warn=False)
        assert isinstance(callback, pl.Callback)
        steps = []
        end = callback.tracker.end_step
        callback.tracker.end_step = lambda: steps.append(end())
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(64, 256)), batch_size=8)
    trainer = pl.Trainer(accelerator="gpu", devices=1, max_steps=8, logger=Kept(), callbacks=[callback], log_every_n_steps=2,
                         enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Model(), data)
    if which != "plain":
        rows = [[step.peak_allocated, step.peak_reserved, step.allocated] for step in steps]
    print()
    print(json.dumps({"rows": rows, "lines": Kept.lines}))
"""


def test_lightning(simulated):
    ours, plain = (simulated(LIGHTNING, which, "lightning").result for which in ("ours", "plain"))
    assert ours["rows"] == plain["rows"] and len(ours["rows"]) == 8 and len({row[0] for row in ours["rows"]}) > 1
    peaks = [row[0] for row in ours["rows"]]
    lines = [[step, metrics["vramscope/peak_allocated_bytes"]] for step, metrics in ours["lines"]
             if "vramscope/peak_allocated_bytes" in metrics]
    assert lines == [[at + 2, max(peaks[at : at + 2])] for at in (0, 2, 4, 6)]


def test_neither_library_is_imported(plain):
    assert plain("""
        import json, sys
        import vramscope.integrations
        print(json.dumps([name in sys.modules for name in ("torch", "transformers", "lightning", "pytorch_lightning")]))
    """).result == [False] * 4
