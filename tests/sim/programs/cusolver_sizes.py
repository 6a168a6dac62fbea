"""Asks the simulated cuSOLVER for workspaces: lines {"function", "type", "rows"} of sys.argv[1], as in tests/gpu/measured. Prints the
same lines with the answers in place of each row's last number."""

import ctypes
import json
import sys

VALUE = {"S": 0, "D": 1, "C": 4, "Z": 5}  # cudaDataType
library = ctypes.CDLL("libcusolver.so.12")
handle, pointer, settings = ctypes.c_void_p(), ctypes.c_void_p(256), ctypes.c_void_p()
assert library.cusolverDnCreate(ctypes.byref(handle)) == 0


def values(name, *arguments, behind=()):
    """In values of the type, through the interface with 32 bits."""
    size = ctypes.c_int()
    code = getattr(library, f"cusolverDn{name}_bufferSize")(handle, *arguments, ctypes.byref(size), *behind)
    assert code == 0, (name, arguments, code)
    return size.value


def in_bytes(name, *arguments, behind=()):
    """In bytes on the device, through the interface with 64 bits."""
    device, host = ctypes.c_size_t(), ctypes.c_size_t()
    code = getattr(library, f"cusolverDn{name}_bufferSize")(handle, None, *arguments, ctypes.byref(device), ctypes.byref(host), *behind)
    assert code == 0, (name, arguments, code)
    return device.value


def answer(function, letter, row):
    big, kind, of_value = ctypes.c_int64, VALUE[letter], {"S": 4, "D": 8, "C": 8, "Z": 16}[letter]
    eigen, q = ("sy", "or") if letter in "SD" else ("he", "un")
    if function in ("potrf", "potri"):
        return values(letter + function, 0, row[1], pointer, row[1])
    if function in ("getrf", "geqrf"):
        return values(letter + function, row[0], row[1], pointer, row[0])
    if function == "gesvd":
        return values(letter + function, row[0], row[1])
    if function == "orgqr":
        return values(f"{letter}{q}gqr", row[0], row[1], row[1], pointer, row[0], pointer)
    if function == "syevd":
        return values(f"{letter}{eigen}evd", row[1], 0, row[0], pointer, row[0], pointer)
    n = row[0]
    if function == "syevj":
        return of_value * values(f"{letter}{eigen}evj", 1, 0, n, pointer, n, pointer, behind=(settings,))
    matrices = (n, n, pointer, n, pointer, pointer, n, pointer, n)
    if function == "gesvdj":
        return of_value * values(f"{letter}gesvdj", 1, 0, *matrices, behind=(settings,))
    if function == "gesvdjBatched":
        return of_value * values(f"{letter}gesvdjBatched", 1, *matrices, behind=(settings, row[1]))
    matrix = (big(n), kind, pointer, big(n))
    of_eigenvalues = (VALUE[{"C": "S", "Z": "D"}.get(letter, letter)], pointer)
    return {"Xpotrf": lambda: in_bytes("Xpotrf", 0, *matrix, kind),
            "Xgeqrf": lambda: in_bytes("Xgeqrf", big(n), *matrix, kind, pointer, kind),
            "Xsyevd": lambda: in_bytes("Xsyevd", 1, 0, *matrix, *of_eigenvalues, kind),
            "XsyevBatched": lambda: in_bytes("XsyevBatched", 1, 0, *matrix, *of_eigenvalues, kind, behind=(big(row[1]),)),
            }[function]()


found = []
for line in map(json.loads, open(sys.argv[1])):
    rows = [[*row[:-1], answer(line["function"], line["type"], row)] for row in line["rows"]]
    found.append({**line, "rows": rows})
print(json.dumps(found))
