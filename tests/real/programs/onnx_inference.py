"""ONNX Runtime's CUDA provider: inference of an MLP; the driver tells what it took."""

import ctypes

import numpy
import onnx
import onnxruntime
import truth
from onnx import TensorProto, helper, numpy_helper

WIDTH, LAYERS = 4096, 6
weights = [numpy_helper.from_array(numpy.zeros((WIDTH, WIDTH), dtype=numpy.float32), f"w{n}") for n in range(LAYERS)]
nodes = [node for n in range(LAYERS) for node in (helper.make_node("MatMul", [f"x{n}", f"w{n}"], [f"y{n}"]),
                                                  helper.make_node("Relu", [f"y{n}"], [f"x{n + 1}"]))]
ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, WIDTH]) for name in ("x0", f"x{LAYERS}")]
graph = helper.make_graph(nodes, "mlp", ends[:1], ends[1:], weights)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), "mlp.onnx")
session = onnxruntime.InferenceSession("mlp.onnx", providers=["CUDAExecutionProvider"])
assert session.get_providers()[0] == "CUDAExecutionProvider"
out = session.run(None, {"x0": numpy.zeros((256, WIDTH), dtype=numpy.float32)})
assert out[0].shape == (256, WIDTH)
free, whole = ctypes.c_size_t(), ctypes.c_size_t()
assert ctypes.CDLL("libcuda.so.1").cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(whole)) == 0
assert whole.value - free.value > LAYERS * 4 * WIDTH * WIDTH
truth.tell("driver", 0, used=whole.value - free.value)
truth.versions("onnxruntime-gpu", "onnx")
