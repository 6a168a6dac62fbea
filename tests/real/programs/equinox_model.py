"""Equinox and optax: a small transformer."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import truth


class Block(eqx.Module):
    attention: eqx.nn.MultiheadAttention
    norm: eqx.nn.LayerNorm
    mlp: eqx.nn.MLP

    def __init__(self, key):
        one, two = jax.random.split(key)
        self.attention, self.norm = eqx.nn.MultiheadAttention(8, 512, key=one), eqx.nn.LayerNorm(512)
        self.mlp = eqx.nn.MLP(512, 512, 2048, 1, jax.nn.gelu, key=two)

    def __call__(self, x):
        y = jax.vmap(self.norm)(x)
        return jax.vmap(self.mlp)(x + self.attention(y, y, y))


model = [Block(key) for key in jax.random.split(jax.random.key(0), 4)]
optimizer = optax.adam(1e-3)
state = optimizer.init(eqx.filter(model, eqx.is_array))


@eqx.filter_jit
def step(model, state, x):
    def loss(model):
        y = x
        for block in model:
            y = jax.vmap(block)(y)
        return jnp.mean((y - x) ** 2)

    updates, state = optimizer.update(eqx.filter_grad(loss)(model), state)
    return eqx.apply_updates(model, updates), state


for _ in range(3):
    model, state = step(model, state, jnp.ones((16, 256, 512)))
jax.block_until_ready(eqx.filter(model, eqx.is_array))
truth.jax_peaks("equinox", "optax")
