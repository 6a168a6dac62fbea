"""TensorFlow and Keras: training steps of a convolutional network with Adam."""

import sys

import tensorflow as tf
import truth

(gpu,) = tf.config.list_physical_devices("GPU")
if "growth" in sys.argv:
    tf.config.experimental.set_memory_growth(gpu, True)
layers = tf.keras.layers
model = tf.keras.Sequential([layers.Input((64, 64, 3)), layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(),
                             layers.Conv2D(128, 3, activation="relu"), layers.Flatten(), layers.Dense(256), layers.Dense(10)])
model.compile(optimizer="adam", loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
images, labels = tf.zeros((64, 64, 64, 3)), tf.zeros((64,), tf.int32)
model.fit(images, labels, batch_size=16, epochs=1, verbose=0)
weights = 4 * model.count_params()
info = tf.config.experimental.get_memory_info("GPU:0")
assert info["current"] >= 3 * weights, (info, weights)  # weights and two moments
truth.tell("tensorflow", 0, allocated=info["peak"])
truth.versions("tensorflow", "keras")
