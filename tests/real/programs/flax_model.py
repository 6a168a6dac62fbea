"""Flax and optax: a convolutional network, trained with AdamW."""

import jax
import jax.numpy as jnp
import optax
import truth
from flax import linen as nn
from flax.training.train_state import TrainState


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width in (64, 128, 256):
            x = nn.relu(nn.Conv(width, (3, 3), strides=2)(x))
        return nn.Dense(1000)(nn.relu(nn.Dense(4096)(x.reshape(x.shape[0], -1))))


net, images = Net(), jnp.ones((64, 64, 64, 3))
state = TrainState.create(apply_fn=net.apply, params=net.init(jax.random.key(0), images), tx=optax.adamw(1e-3))


@jax.jit
def step(state, images):
    def loss(parameters):
        return optax.softmax_cross_entropy_with_integer_labels(state.apply_fn(parameters, images), jnp.zeros(64, jnp.int32)).mean()

    return state.apply_gradients(grads=jax.grad(loss)(state.params))


for _ in range(3):
    state = step(state, images)
jax.block_until_ready(state.params)
truth.jax_peaks("flax", "optax")
