"""Megatron-LM's own entry script, pretrain_gpt.py, as it is: a small GPT with mock data, megatron_pretrain.py [OPTION...]. No package
has it: MEGATRON_LM is the folder of its sources. The core is the package's, in which the C++ part that the script would compile is built."""

import os
import runpy
import sys
from pathlib import Path

import truth

ITERATIONS, BATCH = 3, 8
OPTIONS = f"""--num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 512 --max-position-embeddings 512 --mock-data
    --tokenizer-type NullTokenizer --vocab-size 8192 --micro-batch-size 2 --global-batch-size {BATCH} --train-iters {ITERATIONS}
    --eval-iters 0 --eval-interval 100 --log-interval 1 --lr 1e-4 --bf16 --use-distributed-optimizer --transformer-impl local
    --no-gradient-accumulation-fusion --no-persist-layer-norm --no-masked-softmax-fusion"""

source = Path(os.environ["MEGATRON_LM"]) / "pretrain_gpt.py"
sys.path.append(str(source.parent))  # behind the packages: there the core is found first

import megatron.core.datasets.utils  # noqa: E402

megatron.core.datasets.utils.compile_helpers = lambda: None
sys.argv = [str(source), *OPTIONS.split(), *sys.argv[1:]]
runpy.run_path(str(source), run_name="__main__")

from megatron.training import get_args  # noqa: E402

truth.torch_peaks("megatron-core")
assert get_args().consumed_train_samples == ITERATIONS * BATCH, get_args().consumed_train_samples
truth.steps(ITERATIONS)
