import types

from ..client import pywrap_tf_session

_context = None
pywrap_tfe = types.SimpleNamespace(TFE_ContextListDevices=lambda handle: pywrap_tf_session.DEVICES)


class Context:
    _context_handle = _handle = "a handle"


def context():
    return _context
