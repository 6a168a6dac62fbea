"""Random Llamas of some sizes for the other programs, made on the GPU from their configuration."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

SIZES = {
    "tiny": dict(vocab_size=4096, hidden_size=256, intermediate_size=768, num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=2),
    "1b": dict(vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32,
               num_key_value_heads=8, tie_word_embeddings=True),
    "8b": dict(vocab_size=128256, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
               num_key_value_heads=8),
}


def config(size, **more):
    return LlamaConfig(max_position_embeddings=8192, **{**SIZES[size], **more})


def make(size, dtype=torch.bfloat16, device="cuda", **more):
    torch.set_default_dtype(dtype)
    with torch.device(device):
        model = LlamaForCausalLM(config(size, **more))
    torch.set_default_dtype(torch.float32)
    return model


def bytes_of(model):
    return sum(p.numel() * p.element_size() for p in model.parameters())
