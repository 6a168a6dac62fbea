"""vLLM's LLM.generate() on a model that is only a configuration: how many tokens each request got, and what each worker's PyTorch says
of its own memory."""

import json
import os
import sys

os.environ["VLLM_ALLOW_INSECURE_SERIALIZATION"] = "1"  # a function of this file is called in the workers

from vllm import LLM, SamplingParams
from vllm.inputs import TokensPrompt


def figures(worker):
    """The peaks are since vLLM's last reset of them, before it makes the KV cache."""
    import torch

    stats = torch.cuda.memory_stats()
    return {"device": torch.cuda.current_device(),
            "weights": sum(p.numel() * p.element_size() for p in worker.model_runner.model.parameters()),
            **{f"peak_{name}_bytes": stats[f"{name}_bytes.all.peak"] for name in ("reserved", "allocated", "requested")}}


def main():
    folder, settings, prompts, sampling = sys.argv[1], *map(json.loads, sys.argv[2:5])
    llm = LLM(folder, load_format="dummy", skip_tokenizer_init=True, **settings)
    params = [SamplingParams(detokenize=False, **one) for one in sampling]
    outputs = llm.generate([TokensPrompt(prompt_token_ids=[5] * length) for length in prompts], params)
    print(json.dumps({"tokens": [len(output.outputs[0].token_ids) for output in outputs],
                      "reasons": [output.outputs[0].finish_reason for output in outputs],
                      "workers": llm.collective_rpc(figures)}))


if __name__ == "__main__":
    main()
