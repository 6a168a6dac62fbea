"""Two devices, copies between them, and processes: DataLoader workers by fork and by spawn, a child with a device of its own."""

import multiprocessing
import os

import torch
from torch.utils.data import DataLoader, Dataset

MiB = 1 << 20


class Numbers(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, i):
        return torch.full((100,), float(i))


def child(queue):
    queue.put((os.getpid(), torch.cuda.memory_allocated(), torch.ones(MiB, dtype=torch.uint8, device="cuda:1").data_ptr()))
    queue.put(torch.cuda.mem_get_info(1))


def forked(queue):
    try:
        torch.ones(1, device="cuda")
    except RuntimeError as error:
        queue.put(str(error))


def main():
    found = {"count": torch.cuda.device_count()}
    a = torch.arange(1000, device="cuda:0")
    b = torch.empty(3 * MiB, dtype=torch.uint8, device="cuda:1")
    moved = a.to("cuda:1")
    found["peer"] = torch.cuda.can_device_access_peer(0, 1)
    found["allocated"] = [torch.cuda.memory_allocated(d) for d in (0, 1)]
    found["pointers"] = [a.data_ptr(), b.data_ptr(), moved.data_ptr()]
    found["names"] = [torch.cuda.get_device_name(d) for d in (0, 1)]

    for context, workers in (("fork", 2), ("spawn", 1)):  # which imports PyTorch in each
        loader = DataLoader(Numbers(), batch_size=8, num_workers=workers, pin_memory=True, multiprocessing_context=context)
        found[context] = [float(batch.cuda(non_blocking=True).cpu()[0, 0]) for batch in loader]

    free = torch.cuda.mem_get_info(1)[0]
    spawn = multiprocessing.get_context("spawn")
    queue = spawn.Queue()
    process = spawn.Process(target=child, args=(queue,))
    process.start()
    found["child"], child_free = queue.get(), queue.get()[0]
    process.join()
    found["free"] = {"before": free, "child": child_free, "after": torch.cuda.mem_get_info(1)[0]}

    queue = multiprocessing.get_context("fork").Queue()
    process = multiprocessing.get_context("fork").Process(target=forked, args=(queue,))
    process.start()
    found["forked"] = queue.get()
    process.join()

    import json

    print(json.dumps(found))


if __name__ == "__main__":
    main()
