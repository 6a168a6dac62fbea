"""Hostile bytes: pickles that call functions, wrong lengths, data that expands exponentially."""

import gzip
import json
import pickle
import struct
import zlib

OPEN_DICT = b"}X\x08\x00\x00\x00segments"  # an empty dict and its first key: the reader is where a value is due
P2 = b"\x80\x02" + OPEN_DICT
P4 = b"\x80\x04" + OPEN_DICT


def text(value):
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def short_text(value):
    raw = value.encode()
    return b"\x8c" + bytes([len(raw)]) + raw


def callers(command):
    """(opcode, bytes, byte offset of the opcode, texts the refusal must name), one for each way to call or name
    something. Those that a whole exploit fits in run `command` if they are obeyed."""

    def case(name, prefix, before, op, after=b"", asked=()):
        return name, prefix + before + op + after + b"s.", len(prefix) + len(before), asked

    system = ("posix", "system")
    call = text(command) + b"\x85R"
    yield case("GLOBAL", P2, b"", b"cposix\nsystem\n", call, system)
    yield case("STACK_GLOBAL", P4, short_text("posix") + short_text("system"), b"\x93", call, system)
    yield case("INST", P2, b"(" + text(command), b"iposix\nsystem\n", asked=system)
    yield case("OBJ", P2, b"(" + text("callable") + text(command), b"o")
    yield case("REDUCE", P2, text("callable") + b")", b"R")
    yield case("NEWOBJ", P2, text("class") + b")", b"\x81")
    yield case("NEWOBJ_EX", P4, text("class") + b")}", b"\x92")
    yield case("BUILD", P2, b"}}", b"b")
    yield case("PERSID", P2, b"", b"Ptensor-storage\n", asked=("tensor-storage",))
    yield case("BINPERSID", P2, text("tensor-storage"), b"Q")
    yield case("EXT1", P2, b"", b"\x82\x07")
    yield case("EXT2", P2, b"", b"\x83\x07\x01")
    yield case("EXT4", P2, b"", b"\x84\x07\x01\x00\x00")


class Exploit:
    """Pickles to a call of posix.system."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        import os

        return os.system, (self.command,)


def exploits(command):
    """What a real attacker writes, at every protocol, at the top and deep inside."""
    for protocol in range(6):
        for data in (Exploit(command), {"segments": [], "device_traces": [[Exploit(command)]]}):
            yield protocol, pickle.dumps(data, protocol)


def nested_memo(levels, leaf=b"]"):
    """A list that holds the one before it twice, `levels` times: 2^levels leaves if it were written out."""
    out = bytearray(leaf + b"q\x00")
    for level in range(1, levels):
        out += b"](h" + bytes([level - 1]) + b"h" + bytes([level - 1]) + b"eq" + bytes([level])
    return bytes(out)


def in_unknown_key(value):
    """A valid snapshot, except for the value of an unknown key."""
    return b"\x80\x02}(" + text("segments") + b"]" + text("surprise") + value + b"u."


def in_frames(value):
    """A snapshot whose one segment has `value` as frames."""
    block_free = b"](" + b"e"
    segment = (
        b"}(" + text("device") + b"K\x00" + text("address") + b"J\x00\x00\x10\x00" + text("total_size") + b"K\x00"
        + text("stream") + b"K\x00" + text("blocks") + block_free + text("frames") + value + b"u"
    )
    return b"\x80\x02}" + text("segments") + b"](" + segment + b"es."


def refused_bytes():
    """name -> bytes that are no snapshot: exit code 3, at once, in little memory."""
    huge4, huge8 = b"\xff\xff\xff\x7f", b"\xff" * 7 + b"\x7f"
    yield "empty file", b""
    yield "one zero byte", b"\0"
    yield "text", b"this is not a snapshot\n"
    yield "binary noise", bytes(range(1, 128)) * 50
    yield "list that holds itself", b"\x80\x02]q\x00h\x00a."
    yield "list of numbers", b"\x80\x02](K\x01K\x02e."
    yield "a number", b"\x80\x02K\x01."
    yield "a string", b"\x80\x02" + text("segments") + b"."
    yield "None", b"\x80\x02N."
    yield "a tuple", b"\x80\x02)."
    yield "foreign dict", pickle.dumps({"state_dict": {}, "epoch": 3})
    yield "foreign JSON", json.dumps({"traceEvents": []}).encode()
    yield "segments that are no list", pickle.dumps({"segments": 5, "device_traces": []})
    yield "segments that are no dicts", pickle.dumps({"segments": [1, 2], "device_traces": []})
    yield "protocol 6", b"\x80\x06}."
    yield "protocol 255", b"\x80\xff}."
    yield "nothing on the stack at STOP", b"\x80\x02."
    yield "POP of nothing", b"\x80\x020000."
    yield "no MARK to find", b"\x80\x02]K\x01e."
    yield "memo entry never stored", b"\x80\x02h\x07."
    yield "BINUNICODE of 2 GiB", b"\x80\x02X" + huge4 + b"abc"
    yield "BINUNICODE8 of 2^63", b"\x80\x04\x8d" + huge8 + b"abc"
    yield "BINBYTES8 of 2^63", b"\x80\x04\x8e" + huge8 + b"abc"
    yield "FRAME of 2^63", b"\x80\x04\x95" + huge8 + b"}."
    yield "LONG4 of 2 GiB", b"\x80\x02\x8b" + huge4 + b"\x01"
    yield "LONG4 of negative length", b"\x80\x02\x8b\xff\xff\xff\xff\x01"
    yield "LONG1 cut short", b"\x80\x02\x8a\xff\x01"
    yield "memo index of 2^32", b"\x80\x02]r\xff\xff\xff\xffh\x01."
    yield "text memo index without end", b"]p99999999999999999999\nh\x00."
    yield "text number of a million digits", b"I" + b"9" * 1_000_000 + b"\n."
    yield "string that never ends", b"V" + b"a" * 1_000_000
    yield "MARKs only", b"\x80\x02" + b"(" * 5_000_000
    yield "lists in lists, five million deep", b"\x80\x02" + b"]" * 5_000_000 + b"a" * 4_999_999 + b"."
    yield "dicts in dicts", b"\x80\x02" + b"}" + (text("segments") + b"}") * 300_000 + b"s" * 300_000 + b"."
    yield "JSON brackets only", b"[" * 5_000_000
    yield "JSON dicts in dicts", b'{"segments":' * 500_000
    yield "JSON cut short", b'{"segments": [{"device": 0, "add'
    yield "JSON string that never ends", b'{"segments": "' + b"x" * 1_000_000
    yield "JSON number without end", b'{"segments": [' + b"9" * 1_000_000
    yield "JSON and then more", b'{"segments": []} {"segments": []}'
    yield "gzip cut short", gzip.compress(pickle.dumps([]))[:-9]
    yield "gzip with a wrong checksum", gzip.compress(pickle.dumps([{}]))[:-8] + bytes(8)
    yield "gzip header only", b"\x1f\x8b"
    yield "gzip noise", b"\x1f\x8b\x08\x00" + bytes(range(256)) * 4
    yield "gzip of 4 GiB of zeros", gzip_bomb(4)


def survived_bytes():
    """name -> bytes that a reader may take or refuse, but not die of."""
    yield "exponential sharing in an unknown key", in_unknown_key(nested_memo(200))
    yield "exponential sharing as frames", in_frames(nested_memo(200, b"}"))
    yield "frames that hold themselves", in_frames(b"]q\x00h\x00a")
    yield "unknown value that holds itself", in_unknown_key(b"}q\x00" + text("me") + b"h\x00s")
    yield "very deep unknown value", in_unknown_key(b"]" * 1_000_000 + b"a" * 999_999)
    yield "integers of 255 bytes", in_unknown_key(b"\x8a\xff" + b"\x7f" * 255)
    yield "text that is no UTF-8", in_unknown_key(b"X\x02\x00\x00\x00\xff\xfe")
    yield "text with zero bytes", in_unknown_key(text("a\0b"))
    yield "DUP a million times", b"\x80\x02}(" + text("segments") + b"]" + b"2" * 1_000_000 + b"."
    yield "a small snapshot, then gigabytes of zeros", gzip_bomb(2, b"\x80\x02].")
    yield "noise after the end", b"\x80\x02].noise"
    yield "the same key twice", b"\x80\x02}(" + (text("segments") + b"]") * 2 + b"u."
    yield "bytes, sets and their like", in_unknown_key(b"C\x03abc")
    yield "sizes beyond 64 bits", pickle.dumps([segment_of(2**70)])
    yield "negative sizes", pickle.dumps([segment_of(-5)])
    yield "sizes whose sum overflows", pickle.dumps([segment_of(2**63), segment_of(2**63)])
    yield "JSON with sizes beyond 64 bits", json.dumps([segment_of(2**70)]).encode()
    yield "JSON with floats for sizes", json.dumps([segment_of(1.5)]).encode()
    yield "JSON with lone surrogates", b'{"segments": [], "allocator_settings": {"x": "\\ud800"}}'
    yield "NaN for a size", pickle.dumps([segment_of(float("nan"))])
    yield "None for everything", pickle.dumps([dict.fromkeys(segment_of(1))])
    yield "device number of a billion", pickle.dumps([{**segment_of(512), "device": 10**9}])
    yield "device number of minus two", pickle.dumps([{**segment_of(512), "device": -2}])


def segment_of(size):
    return {
        "device": 0,
        "address": 4096,
        "total_size": size,
        "stream": 0,
        "blocks": [{"size": size, "state": "active_allocated"}],
    }


def gzip_bomb(gib, first=b""):
    """A gzip file of `first` and then so many GiB of zeros, made without compressing them all. Its checksum is wrong,
    which only who has read it to the end can know."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    head = packer.compress(first) + packer.flush(zlib.Z_FULL_FLUSH)
    chunk = packer.compress(bytes(1 << 24)) + packer.flush(zlib.Z_FULL_FLUSH)
    header = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"
    return header + head + chunk * (64 * gib) + packer.flush() + bytes(8)
