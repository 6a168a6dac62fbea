"""Training steps of an MLP in plain JAX: jax_step.py one|pmap|sharded|oom|killed. Prints what each device's allocator says."""

import json
import os
import signal
import sys

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

SIZES = (256, 1024, 1024, 256)


def weights(scale=1):
    return [(jnp.zeros((a, b * scale)), jnp.zeros((b * scale,))) for a, b in zip(SIZES, SIZES[1:])]


def loss(parameters, x, y):
    for weight, bias in parameters[:-1]:
        x = jax.nn.relu(x @ weight + bias)
    weight, bias = parameters[-1]
    return jnp.mean((x @ weight + bias - y) ** 2)


def step(parameters, x, y):
    value, gradients = jax.value_and_grad(loss)(parameters, x, y)
    return jax.tree.map(lambda p, g: p - 0.01 * g, parameters, gradients), value


def one():
    train, parameters, data = jax.jit(step), weights(), jnp.ones((128, SIZES[0]))
    for _ in range(3):
        parameters, value = train(parameters, data, data)
    return float(value)


def pmap():
    count = jax.local_device_count()

    def each(parameters, x, y):
        value, gradients = jax.value_and_grad(loss)(parameters, x, y)
        gradients = jax.lax.pmean(gradients, "devices")
        return jax.tree.map(lambda p, g: p - 0.01 * g, parameters, gradients), value

    train = jax.pmap(each, axis_name="devices")
    parameters = jax.tree.map(lambda p: jnp.broadcast_to(p, (count, *p.shape)), weights())
    data = jnp.ones((count, 32, SIZES[0]))
    for _ in range(2):
        parameters, value = train(parameters, data, data)
    return [float(each) for each in value]


def sharded():
    mesh = Mesh(jax.devices(), ("data",))
    split, copied = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())
    data = jax.device_put(jnp.ones((128, SIZES[0])), split)
    parameters = jax.device_put(weights(), copied)
    train = jax.jit(step, out_shardings=(copied, copied))
    for _ in range(2):
        parameters, value = train(parameters, data, data)
    return float(value)


def oom():
    held = [jnp.zeros((1 << 30,), jnp.uint8) for _ in range(4)]
    held.append(jnp.zeros((100 << 30,), jnp.uint8).block_until_ready())
    return len(held)


def killed():
    one()
    os.kill(os.getpid(), signal.SIGKILL)


def main():
    value = {"one": one, "pmap": pmap, "sharded": sharded, "oom": oom, "killed": killed}[sys.argv[1]]()
    stats = [device.memory_stats() for device in jax.local_devices()]
    print("RESULT", json.dumps({"platform": jax.devices()[0].platform, "kind": jax.devices()[0].device_kind, "value": value, "stats": stats}))


main()
