#!/usr/bin/env python3
"""Programs that run on a real GPU and on the simulated one, whose memory is then compared event for event.

    programs.py NAME OUT.pickle [CONTEXT]     runs one and writes its snapshot; CONTEXT: "all" records stacks, too
    programs.py --list                        prints the names

What a program allocates does not depend on values that the GPU computes. On its last line it prints PyTorch's statistics as JSON.
"""

import json
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn

MiB = 1 << 20
PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.before, self.after = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.before(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.after(x))


class GPT(nn.Module):
    def __init__(self, words=32000, width=1024, layers=8, heads=16, length=1024):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def train(model, inputs, loss, steps=3, optimizer=torch.optim.AdamW, autocast=None, cache=False, **more):
    update = optimizer(model.parameters(), **more)
    for _ in range(steps):
        with torch.autocast("cuda", dtype=autocast or torch.bfloat16, enabled=autocast is not None, cache_enabled=cache):
            found = loss(model(*inputs()))
        found.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        update.step()
        update.zero_grad()


def words(batch=8, length=1024, count=32000):
    return (torch.randint(count, (batch, length)).cuda(),)


def next_word(logits):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1).float(), torch.zeros(logits.shape[0] * (logits.shape[1] - 1),
                                                                         dtype=torch.long, device="cuda"))


@program
def gpt():
    train(GPT().cuda(), words, next_word, autocast=torch.bfloat16)


@program
def gpt_autocast_cache():
    train(GPT().cuda(), words, next_word, autocast=torch.bfloat16, cache=True)


@program
def gpt_float32():
    train(GPT(layers=4).cuda(), lambda: words(4), next_word)


@program
def gpt_fused_adam():
    train(GPT(layers=4).cuda(), lambda: words(4), next_word, fused=True, autocast=torch.bfloat16)


@program
def gpt_sgd_momentum():
    train(GPT(layers=4).cuda(), lambda: words(4), next_word, optimizer=torch.optim.SGD, lr=0.1, momentum=0.9)


@program
def gpt_checkpointed():
    model = GPT(layers=12).cuda().bfloat16()
    for block in model.blocks:
        inner = block.forward
        block.forward = lambda x, inner=inner: torch.utils.checkpoint.checkpoint(inner, x, use_reentrant=False)
    train(model, lambda: words(16), next_word)


@program
def gpt_lengths():
    """Batches of changing length."""
    model, lengths = GPT(layers=4).cuda().bfloat16(), iter([1000, 300, 777, 1024, 64, 900, 513, 128])
    train(model, lambda: words(4, next(lengths)), next_word, steps=8)


@program
def gpt_expandable():
    torch._C._accelerator_setAllocatorSettings("expandable_segments:True")
    gpt_lengths()


@program
def gpt_compiled():
    train(torch.compile(GPT(layers=4).cuda()), lambda: words(4), next_word, autocast=torch.bfloat16)


@program
def gpt_ran_out():
    """Larger and larger batches until one does not fit."""
    model = GPT(layers=4).cuda().bfloat16()
    try:
        for batch in range(16, 4096, 48):
            train(model, lambda batch=batch: words(batch), next_word, steps=1)
    except torch.OutOfMemoryError as error:
        print(str(error))


@program
def full_of_tensors():
    """The last tensor that fits tells what the card has for PyTorch."""
    held = []
    for size in (512 * MiB, 20 * MiB, 2 * MiB):
        try:
            while True:
                held.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError as error:
            print(str(error))


def llama_of(layers, heads, key_heads, length=2048):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=32000, hidden_size=2048, intermediate_size=5632, num_hidden_layers=layers, num_attention_heads=heads,
                         num_key_value_heads=key_heads, max_position_embeddings=length)
    with torch.device("cuda"):
        return LlamaForCausalLM(config).to(torch.bfloat16)


def fine_tune(model, batch, length):
    update = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    for _ in range(2):
        (tokens,) = words(batch, length)
        model(input_ids=tokens, labels=tokens).loss.backward()
        update.step()
        update.zero_grad()


@program
def llama():
    model = llama_of(12, 32, 4)
    model.gradient_checkpointing_enable()
    model.train()
    fine_tune(model, 4, 2048)


@program
def llama_decoding():
    """Prefill, then token after token with a cache of keys and values that grows."""
    from transformers import DynamicCache

    model = llama_of(12, 32, 4, 4096).eval()
    cache, (tokens,) = DynamicCache(), words(8, 2000)
    with torch.no_grad():
        for _ in range(48):
            logits = model(input_ids=tokens, past_key_values=cache, use_cache=True).logits
            tokens = logits[:, -1:].argmax(-1)


@program
def llama_lora():
    from peft import LoraConfig, get_peft_model

    lora = LoraConfig(r=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    fine_tune(get_peft_model(llama_of(8, 16, 16), lora), 4, 1024)


@program
def bert():
    from transformers import BertConfig, BertForSequenceClassification

    model = BertForSequenceClassification(BertConfig(num_labels=2)).cuda()
    update = torch.optim.AdamW(model.parameters())
    for length in (128, 512, 77, 300):
        (tokens,) = words(16, length, 30000)
        labels = torch.zeros(16, dtype=torch.long).cuda()
        model(input_ids=tokens, attention_mask=torch.ones_like(tokens), labels=labels).loss.backward()
        update.step()
        update.zero_grad()


def images(batch=32, size=224, dtype=torch.float32):
    return (torch.randn(batch, 3, size, size).to("cuda", dtype),)


def resnet(**how):
    import torchvision

    torch.backends.cudnn.benchmark = how.get("benchmark", False)
    model = torchvision.models.resnet50().cuda()
    if how.get("last"):
        model = model.to(memory_format=torch.channels_last)
    train(model, images, lambda out: out.float().square().mean(), optimizer=torch.optim.SGD, lr=0.1, momentum=0.9,
          autocast=how.get("autocast"))


@program
def resnet_float32():
    resnet()


@program
def resnet_channels_last_bf16():
    resnet(last=True, autocast=torch.bfloat16)


@program
def resnet_benchmark():
    resnet(benchmark=True)


@program
def vit():
    import torchvision

    train(torchvision.models.vit_b_16().cuda(), images, lambda out: out.float().square().mean(), autocast=torch.bfloat16)


@program
def without_cudnn():
    with torch.backends.cudnn.flags(enabled=False):
        net = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 128, 3, stride=2, groups=2),
                            nn.ConvTranspose2d(128, 64, 2, stride=2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).cuda()
        train(net, lambda: images(16, 128), lambda out: out.square().mean(), optimizer=torch.optim.SGD, lr=0.1)


@program
def recurrent():
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        for both in (False, True):
            net = kind(256, 512, num_layers=2, bidirectional=both, dropout=0.1, batch_first=True).cuda()
            for _ in range(2):
                net(torch.randn(16, 200, 256).cuda())[0].square().mean().backward()


@program
def attention():
    from torch.nn.attention import SDPBackend, sdpa_kernel

    for dtype in (torch.bfloat16, torch.float16):
        for kv, q_length, kv_length, width in ((16, 1024, 1024, 64), (16, 1000, 1000, 128), (16, 1, 2000, 128), (16, 77, 300, 64)):
            for backend in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION):
                q = torch.randn(4, 16, q_length, width).to("cuda", dtype).requires_grad_()
                k, v = (torch.randn(4, kv, kv_length, width).to("cuda", dtype).requires_grad_() for _ in range(2))
                with sdpa_kernel(backend):
                    F.scaled_dot_product_attention(q, k, v).sum().backward()


@program
def attention_cudnn():
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = (torch.randn(4, 16, 1024, 64).to("cuda", torch.bfloat16).requires_grad_() for _ in range(3))
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        F.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()


@program
def many_operations():
    """Temporaries of sorts, scans, reductions and selections, whose sizes come from the card's properties."""
    for count in (1000, 100_000, 3_000_000, 20_000_000):
        x = torch.randn(count).cuda()
        x.sort()
        x.sort(stable=True, descending=True)
        x.argsort()
        x.topk(min(count, 500))
        x.kthvalue(count // 2)
        x.cumsum(0)
        x.cumprod(0)
        x.logcumsumexp(0)
        x.sum()
        x.std()
        x.max()
        x.norm()
        x.median()
        x.argmax()
        torch.histc(x, 100)
        torch.bincount(torch.zeros(count, dtype=torch.long, device="cuda"), minlength=50)
        torch.randperm(count, device="cuda")
        torch.searchsorted(torch.arange(1000.0, device="cuda"), x)
        F.softmax(x.view(100, -1), 1)
        x.view(10, -1).sort(1)
        x.view(-1, 10).sort(0)
        x.view(10, -1).cumsum(1)
        x.view(10, -1).median(1)
        x.view(-1, 100).topk(5)
        F.embedding(torch.zeros(count // 10, dtype=torch.long, device="cuda"), torch.randn(1000, 16, device="cuda", requires_grad=True)
                    ).sum().backward()
        torch.index_select(x, 0, torch.zeros(count, dtype=torch.long, device="cuda"))
        x.index_add(0, torch.zeros(count, dtype=torch.long, device="cuda"), x)
        x.scatter_add(0, torch.zeros(count, dtype=torch.long, device="cuda"), x)
        x.index_put((torch.zeros(count, dtype=torch.long, device="cuda"),), x, accumulate=True)
        torch.cdist(x[:1000].view(100, 10), x[:1000].view(100, 10))


@program
def selections():
    """Sizes that depend on values: zeros everywhere, as a program has that reads nothing back."""
    x = torch.zeros(1_000_000, device="cuda")
    x.nonzero()
    x[x > 0]
    x.unique()
    torch.unique_consecutive(x)


@program
def linear_algebra():
    for n in (64, 1000):
        a = torch.eye(n).cuda() + 0.1
        for name in ("inv", "cholesky", "det", "eigh", "svd", "qr", "lu_factor", "slogdet"):
            getattr(torch.linalg, name)(a)
        torch.linalg.solve(a, torch.randn(n, 3).cuda())
        torch.fft.fft(torch.randn(30, n).cuda())
        torch.fft.rfft2(torch.randn(4, n, n).cuda())


@program
def products():
    one = torch.ones((), device="cuda")
    eight = torch.zeros(256, 256, device="cuda", dtype=torch.float8_e4m3fn)
    torch._scaled_mm(eight, eight.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    offsets = torch.tensor([32, 64], dtype=torch.int32).cuda()
    torch._grouped_mm(torch.randn(64, 64).cuda().bfloat16(), torch.randn(2, 64, 64).cuda().bfloat16(), offs=offsets)
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.cfloat):
        a = torch.randn(500, 300).to("cuda", dtype)
        a @ a.t()
        torch.addmm(a, a, a[:300].t() @ a[:300]) if dtype != torch.cfloat else None
        torch.bmm(a.view(5, 100, 300), a.view(5, 300, 100))
        F.linear(a, a, a[:, 0]) if dtype != torch.cfloat else None
        F.linear(a, a, a[:, 0]).relu() if dtype != torch.cfloat else None
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        a @ a.t()


@program
def captured():
    net = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512)).cuda()
    called = torch.cuda.make_graphed_callables(net, (torch.randn(64, 512, device="cuda", requires_grad=True),))
    for _ in range(3):
        called(torch.randn(64, 512, device="cuda", requires_grad=True)).sum().backward()
    graph, x = torch.cuda.CUDAGraph(), torch.ones(512, 512, device="cuda")
    with torch.cuda.graph(graph):
        y = (x @ x).relu().repeat(4, 4)
        del y
    graph.replay()


@program
def pools_and_streams():
    pool, side = torch.cuda.MemPool(), torch.cuda.Stream()
    with torch.cuda.use_mem_pool(pool):
        inside = [torch.empty(n * MiB, dtype=torch.uint8, device="cuda") for n in (1, 3, 30)]
    for n in range(20):
        with torch.cuda.stream(side):
            x = torch.empty((n + 1) * MiB, dtype=torch.uint8, device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        del x
    torch.cuda.synchronize()
    del inside, pool
    torch.cuda.empty_cache()


def main():
    if sys.argv[1] == "--list":
        print("\n".join(PROGRAMS))
        return
    torch.manual_seed(0)
    context, stacks, *_ = [*sys.argv[3:], None, None]
    torch.cuda.memory._record_memory_history(context=context, stacks=stacks or "all", max_entries=2_000_000)
    PROGRAMS[sys.argv[1]]()
    torch.cuda.synchronize()
    torch.cuda.memory._dump_snapshot(sys.argv[2])
    kept = {key: value for key, value in torch.cuda.memory_stats().items() if isinstance(value, int) and value}
    free, total = torch.cuda.mem_get_info()
    print(json.dumps({"statistics": kept, "total": total, "outside": total - free - torch.cuda.memory_reserved(),
                      "torch": torch.__version__, "conf": os.environ.get("PYTORCH_ALLOC_CONF", "")}))


if __name__ == "__main__":
    main()
