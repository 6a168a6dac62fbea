"""A Whisper of the size "small": transcription, then a training step."""

import torch
import truth
from transformers import WhisperConfig, WhisperForConditionalGeneration

config = WhisperConfig(d_model=768, encoder_layers=12, decoder_layers=12, encoder_attention_heads=12, decoder_attention_heads=12,
                       encoder_ffn_dim=3072, decoder_ffn_dim=3072, begin_suppress_tokens=None)
model = WhisperForConditionalGeneration(config).cuda()
sound = torch.randn(4, 80, 3000, device="cuda")
with torch.inference_mode():
    assert model.generate(sound, max_new_tokens=32, do_sample=False).shape[0] == 4
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for step in range(2):
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(input_features=sound, labels=torch.randint(1000, (4, 64)).cuda()).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
truth.torch_peaks("transformers")
