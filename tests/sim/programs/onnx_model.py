"""A small ONNX model (convolution, pooling, normalisation, product, LSTM) on ONNX Runtime's CUDA provider."""

import json
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

H = 8


def weights(name, *shape):
    return numpy_helper.from_array(np.zeros(shape, "f4"), name)


node = helper.make_node
nodes = [
    node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
    node("Relu", ["c"], ["r"]),
    node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
    node("BatchNormalization", ["p", "s", "b", "m", "v"], ["n"]),
    node("Reshape", ["n", "shape"], ["q"]),
    node("MatMul", ["q", "k"], ["mm"]),
    node("Softmax", ["mm"], ["sm"], axis=-1),
    node("LSTM", ["sm", "W", "R", "B"], ["Y", "Yh"], hidden_size=H, direction="bidirectional"),
    node("ReduceMean", ["Y"], ["out"], axes=[0], keepdims=0),
]
initial = [
    weights("w", 4, 3, 3, 3), *(weights(n, 4) for n in "sbmv"), weights("k", 32, 16),
    numpy_helper.from_array(np.array([2, 2, 32], "int64"), "shape"),
    weights("W", 2, 4 * H, 16), weights("R", 2, 4 * H, H), weights("B", 2, 8 * H),
]
graph = helper.make_graph(nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 8, 8])],
                          [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)], initial)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
model.ir_version = 8
provider = ("CUDAExecutionProvider", {"cudnn_conv_algo_search": sys.argv[1]})
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=[provider])
out = session.run(None, {"x": np.ones((2, 3, 8, 8), "f4")})[0]
print(json.dumps({"providers": session.get_providers(), "shape": out.shape}))
