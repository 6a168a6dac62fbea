"""The part of `transformers serve` that holds the model, without its web server: loads a model, and deletes it as the server does at its end.

Prints the number of the model's parameters."""

from transformers import LlamaConfig, LlamaForCausalLM
from transformers.cli.serving.model_manager import TimedModel

config = LlamaConfig(hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=8, vocab_size=1000)
timed = TimedModel(LlamaForCausalLM(config).half().cuda(), timeout_seconds=-1)
print(sum(parameter.numel() for parameter in timed.model.parameters()))
timed.delete_model()
