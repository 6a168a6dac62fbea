"""For programs that are recorded and then killed: what the recorder's thread has not written yet is lost."""

import time


def wait_until_written():
    """The thread writes every hundredth of a second, or later on a busy machine."""
    time.sleep(2)
