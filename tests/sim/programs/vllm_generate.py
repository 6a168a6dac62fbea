"""vLLM's LLM.generate() on a model that is only a configuration: how many tokens each request got, and vLLM's own capacity."""

import json
import sys

from vllm import LLM, SamplingParams
from vllm.inputs import TokensPrompt


def main():
    folder, settings, prompts, sampling = sys.argv[1], *map(json.loads, sys.argv[2:5])
    llm = LLM(folder, load_format="dummy", skip_tokenizer_init=True, **settings)
    params = [SamplingParams(detokenize=False, **one) for one in sampling]
    outputs = llm.generate([TokensPrompt(prompt_token_ids=[5] * length) for length in prompts], params)
    print(json.dumps({"tokens": [len(output.outputs[0].token_ids) for output in outputs],
                      "reasons": [output.outputs[0].finish_reason for output in outputs]}))


if __name__ == "__main__":
    main()
