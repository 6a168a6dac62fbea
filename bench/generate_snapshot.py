#!/usr/bin/env python3
"""Writes a large memory snapshot with the layout and the sharing of a real one.

A 24-layer transformer is trained: bf16 with a cast of each weight, AdamW in its foreach form, gradient clipping,
another sequence length at every step. A caching allocator with real splitting and merging places the blocks, so trace,
segments and blocks agree and every figure of the file can be checked. Identity is as in PyTorch's symboliser: one dict
per distinct frame, a new list for each allocation and each free; free_requested and free_completed share one list, so
do segment_alloc and its alloc, and a live block and its alloc. The pool of an event is one tuple for all.

    bench/generate_snapshot.py --events 1000000 --seed 1 -o big.pickle
"""

import argparse
import gc
import os
import pickle
import random
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))

from caching_allocator import CachingAllocator  # noqa: E402
from shapes import SIZE_CLASSES  # noqa: E402

LAYERS = 24
HIDDEN = 1024
HEADS = 16
VOCABULARY = 32000
EPOCH_US = 1_760_000_000_000_000
POOL = (0, 0)


class Finished(Exception):
    """The trace is full."""


# Stacks. Frames are written innermost first: the unwinder, the allocator, the operator, the program, the interpreter.

UNWINDER = ["torch::unwind::unwind()", "torch::CapturedTraceback::gather(bool, bool, bool)"]
ALLOCATOR = [
    "torch::cuda::gatherWithContext()",
    "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(unsigned long, CUstream_st*)",
    "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc(void**, signed char, unsigned long)",
    "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)",
    "at::TensorBase at::detail::_empty_generic<long>(c10::ArrayRef<long>, c10::Allocator*, c10::DispatchKeySet)",
    "at::detail::empty_cuda(c10::ArrayRef<long>, c10::ScalarType, std::optional<c10::Device>)",
]
DEALLOCATOR = [
    "torch::cuda::gather()",
    "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::free(Block*)",
    "c10::cuda::CUDACachingAllocator::Native::local_raw_delete(void*)",
    "c10::StorageImpl::~StorageImpl()",
    "c10::intrusive_ptr<c10::TensorImpl>::reset_()",
]
ENGINE = [
    "torch::autograd::Engine::call_function(GraphTask&, Node*, InputBuffer&)",
    "torch::autograd::Engine::evaluate_function(GraphTask&, Node*, InputBuffer&, ReadyQueue const&)",
    "torch::autograd::Engine::thread_main(std::shared_ptr<GraphTask> const&)",
    "torch::autograd::python::PythonEngine::thread_init(int, ReadyQueue const&, bool)",
    "execute_native_thread_routine",
    "start_thread",
    "clone3",
]
INTERPRETER = [
    ("_PyEval_EvalFrameDefault", "Python/ceval.c"),
    ("PyEval_EvalCode", "Python/ceval.c"),
    ("run_mod", "Python/pythonrun.c"),
    ("_PyRun_SimpleFileObject", "Python/pythonrun.c"),
    ("Py_RunMain", "Modules/main.c"),
    ("__libc_start_main", "??"),
    ("_start", "??"),
]
MODULE_PY = "site-packages/torch/nn/modules/module.py"

# Operators of one layer: name, bytes it allocates as a function of tokens, whether backward needs the result.
BF16, FP32 = 2, 4
ACTIVATION = lambda tokens: tokens * HIDDEN * BF16  # noqa: E731
WIDE = lambda tokens: tokens * 4 * HIDDEN * BF16  # noqa: E731
FORWARD = [
    ("input_norm", "native_layer_norm", ACTIVATION, True),
    ("input_norm", "native_layer_norm_stats", lambda t: t * FP32, True),
    ("attention.cast", "to_copy", lambda t: 3 * HIDDEN * HIDDEN * BF16, False),
    ("attention.qkv", "addmm", lambda t: 3 * ACTIVATION(t), True),
    ("attention.query", "contiguous", ACTIVATION, True),
    ("attention.key", "contiguous", ACTIVATION, True),
    ("attention.value", "contiguous", ACTIVATION, True),
    ("attention.rotary", "cat", ACTIVATION, False),
    ("attention.rotary", "mul", ACTIVATION, True),
    ("attention.core", "_scaled_dot_product_flash_attention", ACTIVATION, True),
    ("attention.core", "logsumexp", lambda t: t * HEADS * FP32, True),
    ("attention.out", "to_copy", lambda t: HIDDEN * HIDDEN * BF16, False),
    ("attention.out", "addmm", ACTIVATION, False),
    ("residual", "add", ACTIVATION, True),
    ("mlp_norm", "native_layer_norm", ACTIVATION, True),
    ("mlp.cast", "to_copy", lambda t: 4 * HIDDEN * HIDDEN * BF16, False),
    ("mlp.up", "addmm", WIDE, True),
    ("mlp.act", "gelu", WIDE, True),
    ("mlp.down", "addmm", ACTIVATION, False),
    ("mlp.drop", "native_dropout", lambda t: t * HIDDEN, True),
    ("residual", "add", ACTIVATION, True),
]
BACKWARD = [
    ("NativeDropoutBackward0", ["mul", "to_copy"], ACTIVATION, 2),
    ("AddmmBackward0", ["mm", "mm_out", "sum", "expand", "t"], ACTIVATION, 10),
    ("GeluBackward0", ["gelu_backward"], WIDE, 2),
    ("ToCopyBackward0", ["to_copy"], lambda t: HIDDEN * HIDDEN * FP32, 6),
    ("NativeLayerNormBackward0", ["native_layer_norm_backward", "sum"], ACTIVATION, 6),
    ("ScaledDotProductFlashAttentionBackward0", ["_flash_attention_backward", "zeros_like"], ACTIVATION, 5),
    ("CatBackward0", ["narrow", "slice_backward"], ACTIVATION, 4),
    ("MulBackward0", ["mul", "sum"], ACTIVATION, 8),
    ("AddBackward0", ["add"], ACTIVATION, 4),
    ("SplitBackward0", ["cat", "zeros"], lambda t: 3 * ACTIVATION(t), 3),
]
AUTOCAST = {"addmm", "to_copy", "_scaled_dot_product_flash_attention", "logsumexp", "cat"}
COMPOSITE = [
    "at::autocast::WrapFunction_<(CastPolicy)0>::call(at::Tensor const&)",
    "c10::impl::BoxedKernelWrapper<at::Tensor>::call(c10::BoxedKernel const&, c10::OperatorHandle const&)",
    "at::native::linear(at::Tensor const&, at::Tensor const&, std::optional<at::Tensor> const&)",
    "at::native::_convert_fp8_or_bf16(at::Tensor const&, c10::ScalarType)",
    "c10::Dispatcher::callBoxed(c10::OperatorHandle const&, std::vector<c10::IValue>*) const",
    "at::autocast::cached_cast(c10::ScalarType, at::Tensor const&, c10::DeviceType)",
    "at::Tensor::to(c10::TensorOptions, bool, bool, std::optional<c10::MemoryFormat>) const",
    "torch::autograd::VariableType::linear(c10::DispatchKeySet, at::Tensor const&)",
    "at::_ops::linear::call(at::Tensor const&, at::Tensor const&)",
]
PARAMETERS = [3 * HIDDEN * HIDDEN, 3 * HIDDEN, HIDDEN * HIDDEN, HIDDEN, 4 * HIDDEN * HIDDEN, 4 * HIDDEN,
              4 * HIDDEN * HIDDEN, HIDDEN, HIDDEN, HIDDEN, HIDDEN, HIDDEN]


class Stacks:
    """Distinct frames as dicts, distinct stacks as tuples of them; each use becomes a list of its own."""

    def __init__(self):
        self.frames = {}
        self.stacks = {}
        self.lines = random.Random(0)

    def frame(self, name, filename="??", line=0):
        key = (name, filename, line)
        if key not in self.frames:
            # each frame owns its strings, as the symboliser makes them
            self.frames[key] = {"name": (name + " ")[:-1], "filename": (filename + " ")[:-1], "line": line}
        return self.frames[key]

    def python(self, name, filename):
        return self.frame(name, filename, sum(map(ord, name + filename)) % 700 + 1)

    def list_of(self, key, make):
        if key not in self.stacks:
            self.stacks[key] = tuple(make())
        return list(self.stacks[key])

    def native(self, names):
        return [self.frame(name) for name in names]

    def operator(self, name):
        return self.native(
            [
                f"at::(anonymous namespace)::wrapper_CUDA_{name}(at::Tensor const&, c10::SymInt)",
                f"c10::impl::wrap_kernel_functor_unboxed_<at::wrapper_CUDA_{name}, at::Tensor>::call(DispatchKeySet)",
                f"at::_ops::{name}::redispatch(c10::DispatchKeySet, at::Tensor const&)",
                f"torch::autograd::VariableType::{name}(c10::DispatchKeySet, at::Tensor const&)",
                f"at::_ops::{name}::call(at::Tensor const&)",
            ]
        )

    def program(self, layer, site):
        """The Python part: a module called by a module called by a module, up to the main script."""
        module = [self.python(n, MODULE_PY) for n in ("_call_impl", "_wrapped_call_impl")]
        path = []
        for part in reversed(site.split(".")):
            path += [self.python(part, "model/block.py"), *module]
        if layer is not None:
            path += [self.frame("forward", "model/transformer.py", 100 + layer), *module]
        script = ("forward", "train_step", "train_epoch", "fit", "main", "<module>")
        path += [self.python(name, "train.py") for name in script]
        # the interpreter's own frames stand between those of the program
        native = self.native(["_PyEval_EvalFrameDefault", "_PyFunction_Vectorcall", "PyObject_Call", "slot_tp_call"])
        mixed = []
        for i, frame in enumerate(path):
            mixed.append(frame)
            if i % 5 == 1:
                mixed += native[: 2 + i % 2]
        return mixed + [self.frame(name, filename, 0) for name, filename in INTERPRETER]

    def forward(self, layer, site, op):
        def make():
            bindings = [f"torch::autograd::THPVariable_{op}(_object*, _object*, _object*)", "cfunction_call"]
            return [
                *self.native(UNWINDER + ALLOCATOR),
                *self.operator(op),
                *self.native(COMPOSITE if op in AUTOCAST else []),
                *self.native(bindings),
                *self.program(layer, site),
            ]

        return self.list_of(("forward", layer, site, op), make)

    def dealloc(self, layer, site):
        def make():
            unwinding = self.native(UNWINDER + DEALLOCATOR + ["THPVariable_clear(THPVariable*)", "subtype_dealloc"])
            return unwinding + self.program(layer, site)

        return self.list_of(("dealloc", layer, site), make)

    def backward(self, node, op):
        def make():
            apply = [f"torch::autograd::generated::{node}::apply(std::vector<at::Tensor>&&)"]
            return [*self.native(UNWINDER + ALLOCATOR), *self.operator(op)[:3], *self.native(apply + ENGINE)]

        return self.list_of(("backward", node, op), make)

    def release(self, node):
        def make():
            names = [f"torch::autograd::generated::{node}::release_variables()", "torch::autograd::deleteNode(Node*)"]
            return self.native(UNWINDER + DEALLOCATOR + names + ENGINE) + [self.frame("[unknown]")]

        return self.list_of(("release", node), make)


class Recorder:
    """Turns the allocator's steps into the dicts of a trace."""

    def __init__(self, limit, rng):
        self.events, self.limit, self.rng = [], limit, rng
        self.time = EPOCH_US
        self.allocator = CachingAllocator(self.record)

    def record(self, action, address, size, stream, pool, stack, block):
        self.time += self.rng.randrange(40)
        self.events.append(
            {
                "action": action,
                "addr": address,
                "size": size,
                "stream": stream,
                "time_us": self.time,
                "compile_context": "N/A",
                "user_metadata": "",
                "pool_id": POOL,
                "frames": stack,
            }
        )

    def malloc(self, size, stack):
        if len(self.events) + 2 > self.limit:
            raise Finished
        return self.allocator.malloc(int(size), 0, POOL, stack)

    def free(self, block, stack):
        if len(self.events) + 2 > self.limit:
            raise Finished
        self.allocator.free(block, stack)

    def fill_up(self):
        """At most one entry is missing; a snapshot was taken then."""
        while len(self.events) < self.limit:
            self.record("snapshot", 0, self.allocator.requested, 0, POOL, None, None)
            del self.events[-1]["frames"]


class Training:
    def __init__(self, recorder, rng):
        self.memory, self.rng, self.stacks = recorder, rng, Stacks()
        self.parameters = []
        self.annotations = []

    def run(self):
        try:
            self.make_parameters()
            step = 0
            while True:
                self.step(step)
                step += 1
        except Finished:
            self.memory.fill_up()

    def make_parameters(self):
        for layer in range(LAYERS):
            for size in PARAMETERS:
                stack = self.stacks.forward(layer, "setup.reset_parameters", "empty")
                self.parameters.append(self.memory.malloc(size * FP32, stack))
        stack = self.stacks.forward(None, "embedding", "empty")
        self.parameters.append(self.memory.malloc(VOCABULARY * HIDDEN * FP32, stack))

    def step(self, number):
        tokens = 64 * self.rng.randint(16, 64)
        saved = [self.forward_layer(layer, tokens) for layer in range(LAYERS)]
        loss = self.temporaries(["log_softmax", "nll_loss", "mean"], "loss", tokens * VOCABULARY // 8)
        gradients = []
        for layer in reversed(range(LAYERS)):
            self.backward_layer(layer, tokens, saved[layer], gradients)
        for block in loss:
            self.memory.free(block, self.stacks.dealloc(None, "loss"))
        for block in self.temporaries(["stack", "norm", "mul", "clamp"], "clip_grad_norm", 4096):
            self.memory.free(block, self.stacks.dealloc(None, "clip_grad_norm"))
        self.optimize(number)
        for block in gradients:
            self.memory.free(block, self.stacks.dealloc(None, "zero_grad"))

    def temporaries(self, ops, site, size):
        return [self.memory.malloc(size >> i, self.stacks.forward(None, site, op)) for i, op in enumerate(ops)]

    def forward_layer(self, layer, tokens):
        saved, waiting = [], []
        for site, op, size, keep in FORWARD:
            block = self.memory.malloc(size(tokens), self.stacks.forward(layer, site, op))
            (saved if keep else waiting).append((site, block))
            if len(waiting) > 1:
                where, block = waiting.pop(0)
                self.memory.free(block, self.stacks.dealloc(layer if layer < 2 else None, where.split(".")[0]))
        for where, block in waiting:
            self.memory.free(block, self.stacks.dealloc(layer if layer < 2 else None, where.split(".")[0]))
        return saved

    def backward_layer(self, layer, tokens, saved, gradients):
        nodes = [(node, ops[i % len(ops)], size) for node, ops, size, times in BACKWARD for i in range(times)]
        alive = []
        for i, (node, op, size) in enumerate(nodes):
            alive.append((node, self.memory.malloc(size(tokens) >> (i % 3), self.stacks.backward(node, op))))
            if len(alive) > 3:
                node, block = alive.pop(self.rng.randrange(2))
                self.memory.free(block, self.stacks.release(node))
            if saved and i % 3 == 2:
                _, block = saved.pop()
                self.memory.free(block, self.stacks.release(node))
        for node, block in alive:
            self.memory.free(block, self.stacks.release(node))
        for _, block in saved:
            self.memory.free(block, self.stacks.release("AccumulateGrad"))
        for i, size in enumerate(PARAMETERS):
            stack = self.stacks.backward("AccumulateGrad", "clone" if i % 2 else "detach")
            gradients.append(self.memory.malloc(size * FP32, stack))

    def optimize(self, number):
        self.annotations.append(self.annotation("START"))
        if number == 0:
            for parameter in self.parameters:
                for name in ("exp_avg", "exp_avg_sq"):
                    stack = self.stacks.forward(None, f"adamw.{name}", "zeros_like")
                    self.memory.malloc(parameter.requested, stack)
        for op in ("_foreach_mul", "_foreach_sqrt", "_foreach_div"):
            blocks = [
                self.memory.malloc(parameter.requested, self.stacks.forward(None, "adamw.step", op))
                for parameter in self.parameters[:: 1 + LAYERS // 8]
            ]
            for block in blocks:
                self.memory.free(block, self.stacks.dealloc(None, "adamw.step"))
        self.annotations.append(self.annotation("END"))

    def annotation(self, stage):
        return {"stage": stage, "name": "Optimizer.step#AdamW.step", "device": 0, "time_us": self.memory.time}


def segments_of(allocator):
    """The end state, with the allocations' own lists as frames."""
    segments = []
    for run in allocator.runs():
        blocks = [
            {
                "address": b.address,
                "size": b.size,
                "requested_size": b.requested,
                "state": "active_allocated" if b.used else "inactive",
                "frames": b.stack if b.used else [],
            }
            for b in run
        ]
        used = [b for b in run if b.used]
        segments.append(
            {
                "device": 0,
                "address": run[0].address,
                "total_size": sum(b.size for b in run),
                "allocated_size": sum(b.size for b in used),
                "active_size": sum(b.size for b in used),
                "requested_size": sum(b.requested for b in used),
                "stream": 0,
                "segment_type": "small" if run[0].arena[1] else "large",
                "segment_pool_id": POOL,
                "is_expandable": False,
                "registration_counter": len(segments),
                "frames": run[0].segment_stack or [],
                "blocks": blocks,
            }
        )
    return segments


def generate(events, seed):
    """(plain data of a snapshot with exactly so many events, its Stacks)."""
    rng = random.Random(seed)
    recorder = Recorder(events, rng)
    training = Training(recorder, rng)
    training.run()
    settings = {
        "PYTORCH_CUDA_ALLOC_CONF": "",
        "max_split_size": -1,
        "garbage_collection_threshold": 0.0,
        "expandable_segments": False,
        "pinned_num_register_threads": 1,
        "release_lock_on_cudamalloc": False,
        "pinned_use_cuda_host_register": False,
        "graph_capture_record_stream_reuse": False,
        "roundup_power2_divisions": {size: 0 for size in SIZE_CLASSES},
    }
    data = {
        "segments": segments_of(recorder.allocator),
        "device_traces": [recorder.events],
        "allocator_settings": settings,
        "external_annotations": training.annotations,
    }
    return data, training.stacks


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000, help="entries of the trace (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, another run (default: %(default)s)")
    parser.add_argument("-o", "--output", required=True, help="file to write")
    options = parser.parse_args()
    gc.disable()  # millions of containers, none of them in a cycle
    data, stacks = generate(options.events, options.seed)
    with open(options.output, "wb") as file:
        pickle.dump(data, file, protocol=4)
    lengths = [len(stack) for stack in stacks.stacks.values()]
    size = os.path.getsize(options.output)
    print(
        f"{options.output}: {options.events} events, {size} bytes ({size / max(options.events, 1):.0f} per event), "
        f"{len(lengths)} distinct stacks of {min(lengths)} to {max(lengths)} frames, "
        f"{len(stacks.frames)} distinct frames"
    )


if __name__ == "__main__":
    main()
