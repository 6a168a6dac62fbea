"""Generating text: the keys and values of all tokens so far stay, and each step makes them anew, one token longer: kv_cache.py [mended].

torch.cat needs the old and the new cache at the same time, and leaves blocks that are one token too small. A cache that is allocated once at its full
length has neither.
"""

import sys

import torch

LAYERS, BATCH, HEADS, WIDTH, PROMPT, NEW = 32, 8, 8, 128, 2048, 64


def main(is_mended):
    def empty(tokens):
        return torch.empty(BATCH, HEADS, tokens, WIDTH, device="cuda", dtype=torch.bfloat16)

    cache = [[empty(PROMPT + NEW if is_mended else PROMPT) for _ in range(LAYERS)] for _ in ("keys", "values")]
    for token in range(PROMPT, PROMPT + NEW):
        for layer in range(LAYERS):
            for part in cache:
                if is_mended:
                    part[layer][:, :, token : token + 1] = empty(1)
                else:
                    part[layer] = torch.cat([part[layer], empty(1)], dim=2)


main("mended" in sys.argv[1:])
