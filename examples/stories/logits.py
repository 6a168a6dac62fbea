"""The logits of a language model with a vocabulary of 128,256 words, in float32 and all at once: logits.py [mended].

The loss of 8 x 2,048 tokens needs the logits, their float32 copy and the gradient of it. In pieces of the batch only a part of that is there at a time.
"""

import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

BATCH, TOKENS, WIDTH, WORDS = 8, 2048, 2048, 128256


def loss_of(head, hidden, labels):
    return nn.functional.cross_entropy(head(hidden).float().flatten(0, 1), labels.flatten(), reduction="sum")


def main(is_mended):
    head = nn.Linear(WIDTH, WORDS, bias=False, device="cuda", dtype=torch.bfloat16)
    hidden = torch.ones(BATCH, TOKENS, WIDTH, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    labels = torch.zeros(BATCH, TOKENS, dtype=torch.long, device="cuda")
    if is_mended:
        pieces = zip(hidden.split(1), labels.split(1), strict=True)
        loss = sum(checkpoint(loss_of, head, part, of, use_reentrant=False) for part, of in pieces)
    else:
        loss = loss_of(head, hidden, labels)
    (loss / labels.numel()).backward()
    torch.cuda.synchronize()


main("mended" in sys.argv[1:])
