"""torchtitan's own entry script, `python -m torchtitan.train`, as it is: torchtitan_train.py CONFIG [OPTION...]. The tokenizer and the texts
that it asks for are made here, so that nothing is loaded."""

import json
import os
import runpy
import sys
from pathlib import Path

import truth

truth.keep_peaks()
os.environ["HF_HOME"] = os.getcwd()  # where load_dataset keeps what it read
words = [f"word{i}" for i in range(500)]
for folder in ("tokenizer", "texts"):
    Path(folder).mkdir(exist_ok=True)
vocabulary = {word: i for i, word in enumerate(["<s>", "</s>", "<unk>", *words])}
Path("tokenizer/tokenizer.json").write_text(json.dumps({
    "version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"},
    "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"}}))
Path("tokenizer/tokenizer_config.json").write_text(json.dumps({"bos_token": "<s>", "eos_token": "</s>"}))
Path("texts/data.json").write_text("\n".join(json.dumps({"text": " ".join(words)}) for _ in range(2000)))
sys.argv = ["torchtitan.train", "--module", "llama3", "--config", sys.argv[1], "--hf_assets_path", "tokenizer", "--dataloader.dataset", "c4_test",
            "--dataloader.dataset_path", "texts", "--training.steps", "2", *sys.argv[2:]]
runpy.run_module("torchtitan.train", run_name="__main__")
truth.torch_peaks("torchtitan")
truth.steps(2)
