"""What PyTorch allocates for cuDNN beyond results: for each row of the file that the first argument names, and of the kinds that the others
name, one number for each pass. Tensors are empty: nothing is computed."""

import gc
import json
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
LAST = {2: torch.channels_last, 3: torch.channels_last_3d}


def first_freed(events):
    """The size of the first block that is freed, and of the block that is allocated before that happens."""
    at = next(i for i, e in enumerate(events) if e["action"] != "alloc")
    return [events[at]["size"], events[at - 1]["size"]]


def sizes_of(events):
    """The sizes of what is allocated; what is freed again at once is negative."""
    sizes = []
    for event, after in zip(events, [*events[1:], None]):
        if event["action"] == "alloc":
            freed = after is not None and after["action"] != "alloc" and after["addr"] == event["addr"]
            sizes.append(-event["size"] if freed else event["size"])
    return sizes


def events_of(run, freed=sizes_of):
    """Its value, and what `freed` makes of the requests."""
    torch.cuda.memory._record_memory_history(context=None, clear_history=True)
    value = run()
    events = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(enabled=None)
    return value, freed([e for e in events if e["action"] in ("alloc", "free_requested")])


def tensor(shape, dtype, layout=torch.contiguous_format):
    return torch.empty(shape, device="cuda", dtype=dtype).to(memory_format=layout).requires_grad_()


def after(sizes, result):
    """The workspace that follows the allocation of a result."""
    at = sizes.index(result) + 1
    return -sizes[at] if at < len(sizes) and sizes[at] < 0 else 0


def convolution(layer, numbers, layout):
    dimensions, batch, inside, outside, size, kernel, stride, padding, groups = layer
    torch.backends.cudnn.allow_tf32 = numbers == "tf32"
    dtype = getattr(torch, "float32" if numbers == "tf32" else numbers)
    memory = LAST[dimensions] if layout == "last" else torch.contiguous_format
    x = tensor((batch, inside, *[size] * dimensions), dtype, memory)
    w = tensor((outside, inside // groups, *[kernel] * dimensions), dtype, memory)
    out, forward = events_of(lambda: CONVOLUTIONS[dimensions](x, w, None, stride, padding, 1, groups))
    gradient = torch.empty_like(out)
    _, backward = events_of(lambda: torch.autograd.grad(out, (x, w), gradient))
    return [after(forward, out.nbytes), after(backward, x.nbytes), after(backward, w.nbytes)]


def attention(shape, dtype, mask):
    batch, heads, key_heads, queries, keys, width = shape
    dtype = getattr(torch, dtype)
    q = tensor((batch, heads, queries, width), dtype)
    k, v = (tensor((batch, key_heads, keys, width), dtype) for _ in range(2))
    bias = torch.empty(queries, keys, device="cuda", dtype=dtype) if mask == "mask" else None
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        out, forward = events_of(lambda: F.scaled_dot_product_attention(
            q, k, v, attn_mask=bias, is_causal=mask == "causal", enable_gqa=heads != key_heads))
        gradient = torch.empty_like(out)
        _, backward = events_of(lambda: torch.autograd.grad(out, (q, k, v), gradient))
    return [-sum(size for size in sizes if size < 0) for sizes in (forward, backward)]


def recurrent(network, numbers, kind):
    layers, directions, inside, hidden, batch, length, dropout = network
    dtype = getattr(torch, numbers)
    net = getattr(torch.nn, kind)(inside, hidden, num_layers=layers, bidirectional=directions == 2, dropout=dropout)
    net, x = net.to("cuda", dtype), torch.empty(length, batch, inside, device="cuda", dtype=dtype)
    _, sizes = events_of(lambda: net(x), freed=first_freed)
    workspace, reserve = sizes
    net.eval()
    with torch.no_grad():
        _, sizes = events_of(lambda: net(x), freed=first_freed)
    return [workspace, reserve, sizes[0]]


KINDS = {"convolution": convolution, "attention": attention, "recurrent": recurrent}


def measured(kind, *what):
    """Python collects garbage before, and not meanwhile: a tensor of an earlier row could be freed among the events."""
    gc.collect()
    return KINDS[kind](*what)


def main():
    gc.disable()
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = [row for row in map(json.loads, list(file)[1:]) if row[0] in sys.argv[2:]]
    torch.nn.RNNBase.reset_parameters = lambda network: None  # the values of weights do not matter, and cost time
    torch.nn.LSTM(1, 1, 2, dropout=0.1).cuda()(torch.empty(1, 1, 1, device="cuda"))  # allocates the state of dropout, once
    events_of(lambda: None, freed=len)  # the first snapshot imports torch._inductor
    gc.collect()
    gc.freeze()  # what was imported is no garbage, so that collecting takes little time
    print(json.dumps([measured(kind, *what) for kind, *what, _ in rows]))


if __name__ == "__main__":
    main()
