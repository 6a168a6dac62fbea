"""Plain JAX: training steps of an MLP with Adam written by hand: jax_mlp.py one|sharded."""

import sys

import jax
import jax.numpy as jnp
import truth
from jax.sharding import Mesh, NamedSharding, PartitionSpec

SIZES, ROWS = (1024, 8192, 8192, 1024), 4096


def loss(weights, x):
    y = x
    for weight in weights[:-1]:
        y = jax.nn.gelu(y @ weight)
    return jnp.mean((y @ weights[-1] - x) ** 2)


@jax.jit
def step(weights, first, second, x):
    gradients = jax.grad(loss)(weights, x)
    first = [0.9 * m + 0.1 * g for m, g in zip(first, gradients)]
    second = [0.99 * v + 0.01 * g * g for v, g in zip(second, gradients)]
    return [w - 1e-3 * m / (jnp.sqrt(v) + 1e-8) for w, m, v in zip(weights, first, second)], first, second


weights = [jnp.zeros((a, b)) for a, b in zip(SIZES, SIZES[1:])]
x = jnp.ones((ROWS, SIZES[0]))
if sys.argv[1] == "sharded":
    mesh = Mesh(jax.devices(), "d")
    x = jax.device_put(x, NamedSharding(mesh, PartitionSpec("d")))
    weights = jax.device_put(weights, NamedSharding(mesh, PartitionSpec()))
first, second = jax.tree.map(jnp.zeros_like, weights), jax.tree.map(jnp.zeros_like, weights)
for _ in range(3):
    weights, first, second = step(weights, first, second, x)
jax.block_until_ready(weights)
held = 3 * 4 * sum(a * b for a, b in zip(SIZES, SIZES[1:])) + 4 * ROWS * SIZES[0] // jax.device_count()
truth.near(jax.local_devices()[0].memory_stats()["bytes_in_use"], held, 0.05, "weights, two moments and the data")
truth.jax_peaks("jaxlib")
