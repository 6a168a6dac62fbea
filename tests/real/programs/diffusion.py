"""diffusers: a training step of Stable Diffusion's UNet, and its VAE's encoder and decoder: diffusion.py unet|vae."""

import sys

import torch
import truth
from diffusers import AutoencoderKL, DDPMScheduler, UNet2DConditionModel


def unet():
    model = UNet2DConditionModel(sample_size=64, cross_attention_dim=768).cuda()  # the defaults are those of Stable Diffusion 1
    assert sum(p.numel() for p in model.parameters()) == 859520964
    model.enable_gradient_checkpointing()
    optimizer, noise = torch.optim.AdamW(model.parameters(), lr=1e-5), DDPMScheduler()
    for step in range(2):
        latents, text = torch.randn(4, 4, 64, 64, device="cuda"), torch.randn(4, 77, 768, device="cuda")
        times = torch.randint(1000, (4,))
        noisy = noise.add_noise(latents, torch.randn_like(latents), times.cuda())
        with torch.autocast("cuda", torch.bfloat16):
            loss = (model(noisy, times.cuda(), text).sample - latents).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def vae():
    blocks = dict(block_out_channels=(128, 256, 512, 512), layers_per_block=2, latent_channels=4)
    model = AutoencoderKL(down_block_types=["DownEncoderBlock2D"] * 4, up_block_types=["UpDecoderBlock2D"] * 4, **blocks).cuda()
    with torch.inference_mode(), torch.autocast("cuda", torch.float16):
        latents = model.encode(torch.randn(2, 3, 512, 512, device="cuda")).latent_dist.mode()
        assert latents.shape == (2, 4, 64, 64)
        assert model.decode(latents).sample.shape == (2, 3, 512, 512)


{"unet": unet, "vae": vae}[sys.argv[1]]()
truth.torch_peaks("diffusers")
