"""SGLang's Engine.generate() on a model that is only a configuration: how many tokens each request got, and SGLang's own capacity."""

import json
import sys

import sglang


def main():
    folder, settings, prompts, sampling = sys.argv[1], *map(json.loads, sys.argv[2:5])
    engine = sglang.Engine(model_path=folder, load_format="dummy", skip_tokenizer_init=True, log_level="info", **settings)
    outputs = engine.generate(input_ids=[[5] * length for length in prompts], sampling_params=sampling)
    info = engine.get_server_info()
    print(json.dumps({"tokens": [len(output["output_ids"]) for output in outputs],
                      "reasons": [output["meta_info"]["finish_reason"]["type"] for output in outputs],
                      **{name: info[name] for name in ("max_total_num_tokens", "mem_fraction_static", "page_size")}}))
    engine.shutdown()


if __name__ == "__main__":
    main()
