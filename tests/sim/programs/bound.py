"""Groups of a job whose communicators are all split off one: PyTorch does so where it knows the device of the default group.

Writes what each group does to rank.N.json: {name of the group: its ranks, the sizes of an all-gather and a reduce-scatter, and what
this rank gathered}; None for a group that this rank is not in. PyTorch before 2.5 has no split_group, and writes those of new_group.
"""

import json
import os

import torch
import torch.distributed as dist


def groups_of(size):
    """Rows, columns, ranks at unequal distances, and in another order: each as the lists of all of its groups."""
    half = size // 2
    uneven = [0, 1, size - 1]
    return {
        "halves": [list(range(half)), list(range(half, size))],
        "columns": [list(range(0, size, 2)), list(range(1, size, 2))],
        "uneven": [uneven, [rank for rank in range(size) if rank not in uneven]],
        "backwards": [list(range(size))[::-1]],
        "everyone": [list(range(size))],
        "alone": [[rank] for rank in range(size)],
    }


def use(group, ranks):
    """Fails if NCCL has another number of ranks than PyTorch."""
    size = len(ranks)
    own = torch.tensor([float(dist.get_rank())] * 2).cuda()
    gathered = torch.empty(2 * size, device="cuda")
    dist.all_gather_into_tensor(gathered, own, group=group)
    values = gathered.tolist()  # before the next kernel, which invalidates them
    part = torch.empty(3, device="cuda")
    dist.reduce_scatter_tensor(part, torch.ones(3 * size, device="cuda"), group=group)
    return {"ranks": ranks, "place": dist.get_rank(group), "gathered": values}


def of_new_group(lists, **more):
    found = None
    for ranks in lists:
        group = dist.new_group(ranks, **more)
        if dist.get_rank() in ranks:
            found = use(group, ranks)
    return found


def of_split_group(lists):
    group = dist.split_group(split_ranks=lists)
    mine = next((ranks for ranks in lists if dist.get_rank() in ranks), None)
    return use(group, mine) if mine is not None else None


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    found = {}
    for name, lists in groups_of(dist.get_world_size()).items():
        if name != "backwards":
            found[name] = of_new_group(lists)
        if hasattr(dist, "split_group"):
            found["split " + name] = of_split_group(lists)
    rank = dist.get_rank()
    dist.destroy_process_group()
    with open(f"rank.{rank}.json", "w") as file:
        json.dump(found, file)


main()
