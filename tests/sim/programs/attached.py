"""A training loop that goes on until its input ends, with checks of its own: each step has the memory and the loss of the first ones. Prints, as
JSON, all that were found, what was expected, how many steps there were, and PyTorch's reserved bytes.

    attached.py [THREADS]      so many threads allocate and free all the time; then memory is not checked, but what each thread finds is
"""

import json
import select
import sys
import threading

import torch


def make_model():
    return torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)).cuda()


def train_step(model, optimizer):
    kept = torch.randn(640, 512, device="cuda")
    loss = model(kept).sum()
    during = torch.cuda.memory_allocated()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return during, torch.cuda.max_memory_allocated(), float(loss.detach().cpu())


model = make_model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(3):
    expected = train_step(model, optimizer)
is_over, storms = threading.Event(), []


def storm(number):
    """Allocates and frees, and looks whether memory that it holds is used twice."""
    held = []
    while not is_over.is_set():
        held.append(torch.empty(1000 + number, device="cuda"))
        storms[number] += 1
        if len({tensor.data_ptr() for tensor in held}) != len(held):
            storms[number] = -1
            return
        del held[: len(held) // 8]


threads = [threading.Thread(target=storm, args=(number,)) for number in range(int(sys.argv[1]) if len(sys.argv) > 1 else 0)]
for thread in threads:
    storms.append(0)
    thread.start()
print("ready", flush=True)
found, steps = set(), 0
while not select.select([sys.stdin], [], [], 0.01)[0]:
    result = train_step(model, optimizer)
    found.add(result if not threads else (expected[0], expected[1], result[2]))
    steps += 1
is_over.set()
for thread in threads:
    thread.join()
assert all(count > 0 for count in storms), storms
print(json.dumps({"found": sorted(map(list, found)), "expected": [list(expected)], "steps": steps, "reserved": torch.cuda.memory_reserved()}))
