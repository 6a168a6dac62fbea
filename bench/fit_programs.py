"""The programs that bench/run_fit makes fit, a few training steps each: fit_programs.py gpt|mlp|finetune."""

import sys

import torch
from torch import nn
from torch.nn import functional

WORDS = 4096


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.before(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape))
        return x + self.narrow(functional.gelu(self.wide(self.between(x))))


class GPT(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.blocks = nn.ModuleList(Block(width, width // 64) for _ in range(layers))
        self.head = nn.Linear(width, WORDS)

    def forward(self, tokens):
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x)
        return functional.cross_entropy(self.head(x).flatten(0, 1).float(), tokens.flatten())


def train(loss_of, optimizer, steps=3):
    for _ in range(steps):
        loss_of().backward()
        optimizer.step()
        optimizer.zero_grad()


def gpt():
    """Activations and optimizer state in float32."""
    model = GPT(768, 8)
    train(lambda: model(torch.randint(WORDS, (8, 512))), torch.optim.AdamW(model.parameters()))


def mlp():
    """Wide layers without blocks, whose optimizer has one moment."""
    model = nn.Sequential(*(part for _ in range(8) for part in (nn.Linear(4096, 4096), nn.ReLU())))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    train(lambda: model(torch.empty(8192, 4096)).square().mean(), optimizer)


def finetune():
    """Weights in bfloat16, of which those of the last blocks are trained."""
    model = GPT(1024, 12).to(torch.bfloat16)
    trained = [p for block in model.blocks[6:] for p in block.parameters()]
    for parameter in model.parameters():
        parameter.requires_grad_(any(parameter is one for one in trained))
    train(lambda: model(torch.randint(WORDS, (8, 1024))), torch.optim.AdamW(trained))


with torch.device("cuda"):
    {"gpt": gpt, "mlp": mlp, "finetune": finetune}[sys.argv[1]]()
