#!/usr/bin/env python3
"""Fine-tunes a Llama with 1.1 billion parameters (the shape of TinyLlama) with Hugging Face transformers, for a few steps on
random tokens. Nothing is downloaded: the model is made from its configuration. It does not fit in a GPU with 24 GiB.

    vramscope fit --gpu 24GiB -o fit.json -- python3 examples/finetune_1b.py              what makes it fit?
    vramscope dryrun --gpu 24GiB --with fit.json -- python3 examples/finetune_1b.py       does it, then?
    vramscope run --with fit.json -- python3 examples/finetune_1b.py                      on a GPU
"""

import argparse

import torch
from transformers import LlamaConfig, LlamaForCausalLM


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=5)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=2)
    args = parser.parse_args()

    config = LlamaConfig(
        vocab_size=32000,
        hidden_size=2048,
        intermediate_size=5632,
        num_hidden_layers=22,
        num_attention_heads=32,
        num_key_value_heads=4,
        max_position_embeddings=2048,
        use_cache=False,
    )
    with torch.device("cuda"):
        model = LlamaForCausalLM(config)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters on {torch.cuda.get_device_name()}")

    for step in range(args.steps):
        tokens = torch.randint(0, config.vocab_size, (args.batch, args.length), device="cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step + 1}: peak {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB")


if __name__ == "__main__":
    main()
