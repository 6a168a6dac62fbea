"""Arrays of JAX on the GPU, their own bytes, and the device memory profile: jax_profile.py PROFILE."""
import json
import sys

import jax
import jax.numpy as jnp


def rows(count):
    return [jnp.ones((count, 256)) for _ in range(3)]


held = rows(100)
counted = jnp.arange(5000)
product = jax.jit(lambda x: x @ x.T)(held[0])
jax.profiler.save_device_memory_profile(sys.argv[1])
print("RESULT " + json.dumps(sorted(array.nbytes for array in jax.live_arrays())))
