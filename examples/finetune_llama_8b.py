"""Two steps of full fine-tuning of a Llama with 8 billion parameters, in bfloat16, with checkpointing and AdamW.

    python finetune_llama_8b.py                  on a GPU with 80 GB or more
    vramscope dryrun --gpu H100 -- python ...    on any machine

The weights are made on the GPU, at random: this is about memory, not about what the model says.
"""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

TOKENS = 2048
STEPS = 2


def main():
    config = LlamaConfig(
        vocab_size=128256,
        hidden_size=4096,
        intermediate_size=14336,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
        max_position_embeddings=8192,
        use_cache=False,
    )
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config)
    model.gradient_checkpointing_enable()
    model.train()
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for step in range(STEPS):
        tokens = torch.randint(config.vocab_size, (1, TOKENS)).cuda()
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step}: peak {torch.cuda.max_memory_allocated():,} bytes allocated")


if __name__ == "__main__":
    main()
