"""What the user of PyTorch's own figures sees: random allocations, resets and questions, with scopes in between
("with") or the same without any ("without"). Prints a digest of every answer: those of the two must be equal.

    scopes_user.py with|without SEED STEPS POOLS

Private pools (POOLS 1; only PyTorch's dict tells them), a cache that is emptied, oversize blocks (by
PYTORCH_ALLOC_CONF) and both spellings of the functions are among it.
"""

import hashlib
import json
import random
import sys

import torch

WITH, SEED, STEPS, POOLS = sys.argv[1] == "with", *map(int, sys.argv[2:5])
if WITH:
    from vramscope.scopes import Scope, scope_source

chance, scope_chance = random.Random(SEED), random.Random(SEED + 1)
torch.cuda.init()
answers, blocks, scopes, pools = [], [], [], []


def ask():
    kind = chance.randrange(4)
    if kind == 0:
        cuda = torch.cuda
        answers.append([cuda.max_memory_allocated(), cuda.max_memory_reserved(), cuda.memory_allocated()])
    elif kind == 1:
        answers.append(list(torch.cuda.memory_stats().items()))
    elif kind == 2:
        answers.append(sorted(torch.accelerator.memory.memory_stats().items()))
    else:
        answers.append(torch.cuda.memory_summary())


def allocate():
    size = int(10 ** chance.uniform(1, 7.8))
    if chance.random() < 0.15 and POOLS:
        pools.append(torch.cuda.MemPool())
        with torch.cuda.use_mem_pool(pools[-1]):
            blocks.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
    else:
        blocks.append(torch.empty(size, dtype=torch.uint8, device="cuda"))


def scope_step():
    if scope_chance.random() < 0.5:
        scopes.append(Scope().begin())
    elif scopes:
        scopes.pop(scope_chance.randrange(len(scopes))).end()


for _ in range(STEPS):
    for _ in range(scope_chance.randrange(3) if WITH else 0):
        scope_step()
    action = chance.random()
    if action < 0.35:
        allocate()
    elif action < 0.7:
        if blocks:
            blocks.pop(chance.randrange(len(blocks)))
    elif action < 0.74:
        chance.choice((torch.cuda, torch.accelerator.memory)).reset_peak_memory_stats()
    elif action < 0.76:
        chance.choice((torch.cuda, torch.accelerator.memory)).reset_accumulated_memory_stats()
    elif action < 0.78:
        torch.cuda.empty_cache()
    elif action < 0.79:
        pools.clear()
    else:
        ask()
result = {"answers": [hashlib.sha256(json.dumps(answer, default=str).encode()).hexdigest()[:8] for answer in answers]}
if WITH:
    result["source"] = scope_source()
print(json.dumps(result))
