"""Exports of Nsight Systems for tests, with the schema of its SQLite export, and their figures by a naive model.

Source of the schema: docs.nvidia.com/nsight-systems/UserGuide, "SQLite Schema Reference", and its older edition, 2021.5/nsys-exporter.
"""

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field

KINDS = ("PAGEABLE", "PINNED", "DEVICE", "ARRAY", "MANAGED", "DEVICE_STATIC", "MANAGED_STATIC", "UNKNOWN")
OPERATIONS = ("ALLOCATION", "DEALLOCATION")
OF_A_GPU = {"DEVICE", "ARRAY", "DEVICE_STATIC"}
EVENTS = "CUDA_GPU_MEMORY_USAGE_EVENTS"
COLUMNS = ("start", "globalPid", "deviceId", "contextId", "address", "pc", "bytes", "memKind", "memoryOperationType", "name", "correlationId",
           "streamId", "localMemoryPoolAddress", "localMemoryPoolReleaseThreshold", "localMemoryPoolSize", "localMemoryPoolUtilizedSize",
           "importedMemoryPoolAddress", "importedMemoryPoolProcessId")
CLOCK_NS = 1_700_000_000_000_000_000


@dataclass
class Event:
    start: int
    pid: int
    device: int
    address: int
    size: int
    kind: str = "DEVICE"
    is_free: bool = False
    stream: int | None = None


def global_pid(pid):
    """The process id in bits 24 to 47; the machine above them."""
    return (1 << 48) | (pid << 24)


@dataclass
class Export:
    events: list = field(default_factory=list)
    gpus: dict = field(default_factory=dict)  # (pid, device) -> the machine's number; empty: the table is not there
    names: dict = field(default_factory=dict)  # pid -> name
    kinds: tuple = KINDS  # the kind of each number
    operations: tuple = OPERATIONS
    has_enums: bool = True
    columns: tuple = COLUMNS
    has_clock: bool = True

    def values(self, event):
        values = {"start": event.start, "globalPid": global_pid(event.pid), "deviceId": event.device, "contextId": 1, "address": event.address,
                  "pc": 0, "bytes": event.size, "memKind": self.kinds.index(event.kind),
                  "memoryOperationType": self.operations.index("DEALLOCATION" if event.is_free else "ALLOCATION"), "streamId": event.stream}
        return [values.get(name) for name in self.columns]

    def write(self, path, *more, page_size=4096):
        with closing(sqlite3.connect(path)) as database:
            database.execute(f"PRAGMA page_size = {page_size}")
            database.execute("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT)")
            if self.has_enums:
                for table, prefix, words in (("ENUM_CUDA_MEM_KIND", "CUDA_MEMOPR_MEMORY_KIND_", self.kinds),
                                             ("ENUM_CUDA_DEV_MEM_EVENT_OPER", "CUDA_DEV_MEM_EVENT_OPR_", self.operations)):
                    database.execute(f"CREATE TABLE {table} (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT)")
                    database.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)",
                                         [(i, prefix + word, word.replace("_", " ").title()) for i, word in enumerate(words)])
            if self.has_clock:
                database.execute("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT)")
                database.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?, '', '')", (CLOCK_NS,))
            if self.gpus:
                database.execute("CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT,"
                                 " numMultiprocessors INTEGER)")
                database.executemany("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (?, ?, ?, 'GPU-0', 132)",
                                     [(gpu, device, pid) for (pid, device), gpu in self.gpus.items()])
            if self.names:
                database.execute("CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT)")
                database.executemany("INSERT INTO PROCESSES VALUES (?, ?, ?)", [(global_pid(pid), pid, name) for pid, name in self.names.items()])
            database.execute(f"CREATE TABLE {EVENTS} ({', '.join(f'{name} {kind_of(name)}' for name in self.columns)})")
            database.executemany(f"INSERT INTO {EVENTS} VALUES ({', '.join('?' * len(self.columns))})", map(self.values, self.events))
            for statement in more:
                database.execute(statement)
            database.commit()
        return path


def kind_of(column):
    return "TEXT" if column == "name" else "INTEGER" if COLUMNS.index(column) > 8 else "INTEGER NOT NULL"


@dataclass
class Device:
    pid: int
    others: int
    events: list  # ("alloc" or "free_requested", address, size)
    peak: int
    end: dict  # address -> size


def model(export):
    """What a reader has to find: GPU -> Device."""
    of_gpu = {}
    for event in export.events:
        if event.kind in OF_A_GPU:
            gpu = export.gpus.get((event.pid, event.device), event.device)
            of_gpu.setdefault(gpu, {}).setdefault(event.pid, []).append(event)
    devices = {}
    for gpu, processes in of_gpu.items():
        pid = max(sorted(processes), key=lambda pid: len(processes[pid]))
        devices[gpu] = follow(pid, len(processes) - 1, sorted(processes[pid], key=lambda event: event.start))
    return devices


def follow(pid, others, events):
    live, total, peak = {}, 0, 0
    for event in events:
        if event.is_free:
            total -= live.pop(event.address)
        else:
            live[event.address] = event.size
            total += event.size
        peak = max(peak, total)
    actions = [("free_requested" if event.is_free else "alloc", event.address, event.size) for event in events]
    return Device(pid, others, actions, peak, live)


def random_export(rng, processes, devices, count, **more):
    """Processes that allocate and free at the same addresses as each other, in no order of time in the file."""
    events, live, clock = [], {}, 0
    pids = [4711 + i for i in range(processes)]
    kinds = ["DEVICE"] * 8 + ["PINNED", "ARRAY", "MANAGED", "DEVICE_STATIC"]
    for _ in range(count):
        place = (rng.choice(pids), rng.randrange(devices))
        mine = live.setdefault(place, {})
        clock += rng.randrange(1, 5000)
        if mine and rng.random() < 0.45:
            address, old = mine.popitem() if rng.random() < 0.5 else (key := rng.choice(list(mine)), mine.pop(key))
            events.append(Event(clock, *place, address, old.size, old.kind, True, old.stream))
            continue
        address = 0x7F00_0000_0000 + (rng.randrange(1 << 12) << 21) + (place[1] << 40)
        if address not in mine:
            mine[address] = Event(clock, *place, address, rng.randrange(1, 1 << 21), rng.choice(kinds), stream=rng.choice((None, 7, 13)))
            events.append(mine[address])
    rng.shuffle(events)
    return Export(events, **more)
