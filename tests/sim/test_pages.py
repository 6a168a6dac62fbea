"""The pages of the documentation that run programs: their blocks run as they stand there, on a machine with a simulated GPU
(tests/support/pages.py). Each page has a folder with the files that it names; the programs are small and real."""

import json
import shutil
import subprocess
import textwrap
from pathlib import Path

import pages
from conftest import BINARY, PROGRAMS, PYTHON, ROOT, environment

BLOCKS = pages.blocks_of(__file__)
PACKAGE = Path(BINARY).resolve().parent / "python"

# Two steps of a small model; a few GiB on the way, so that it does not run in 2 GiB. Without torch.optim, which doubles
# the time of a run.
TRAIN = """
    import os

    import torch


    def step():
        kept = [torch.zeros(256 << 20, device="cuda", dtype=torch.uint8) for _ in range(10)]
        loss = model(torch.randn(64, 512, device="cuda")).sum() + kept[0][0]
        loss.backward()
        model.zero_grad()


    model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)).cuda()
    for _ in range(2):
        step()
    os._exit(0)  # PyTorch sometimes aborts when Python ends while autograd's threads do
"""


class Page(pages.Shell):
    """A page's folder, with the program, Python and its package, on a machine with a simulated GPU."""

    def __init__(self, name, folder, gpu="24GiB", instead=None):
        self.blocks = BLOCKS[name]
        here = folder / "here"
        here.mkdir()
        path = pages.folder_of_commands(
            folder / "bin",
            vramscope=[Path(BINARY).resolve()],
            python=[PYTHON],
            python3=[PYTHON],
            torchrun=[PYTHON, "-m", "torch.distributed.run"],
        )
        super().__init__(
            here, environment(gpu=gpu, PATH=path, PYTHONPATH=PACKAGE, COLUMNS="80", LC_ALL="C.UTF-8", USER="me"), instead
        )

    def of(self, *languages):
        return [block for block in self.blocks if block.language in languages]

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip())

    def demo(self, *names):
        """The demo's recording under these names: a snapshot where the ending says so."""
        kept = self.folder / "kept.vram"
        self.good("vramscope demo -q --keep kept.vram")
        for name in names:
            (self.folder / name).parent.mkdir(exist_ok=True)
            if name.endswith(".pickle"):
                self.good(f"vramscope export -q kept.vram pickle -o {name}")
            else:
                shutil.copy(kept, self.folder / name)

    def good(self, command):
        code, said = self.ask(command)
        assert code == 0, f"{command}\n{said}"
        return said

    def python(self, block, before=""):
        """A program of the page, with the names that it supposes."""
        path = self.folder / "block.py"
        path.write_text(textwrap.dedent(before) + block.source)
        code, said = self.ask("python block.py")
        assert code == 0, f"{block.place}\n{said}"

    def running(self, program, *words):
        """A program on this machine's GPU that runs while the blocks do; it has said "ready"."""
        process = subprocess.Popen(
            [PYTHON, program, *words],
            env=self.environment,
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout.readline() == "ready\n"
        return process


def test_every_page_has_a_test():
    text = Path(__file__).read_text()
    assert all(f'"{page}"' in text for page in BLOCKS)


def test_readme(tmp_path):
    page = Page("README.md", tmp_path)
    shutil.copy(ROOT / "examples/finetune_llama_8b.py", page.folder)
    page.write("train.py", TRAIN)
    for block in page.of("console"):
        page.run(block)
    snapshot, package = page.of("python")
    page.python(snapshot, "import torch\n")
    assert (page.folder / "snapshot.pickle").exists()
    page.python(
        package,
        """
        import torch
        batch = torch.randn(4, 512, device="cuda")
        load = lambda: torch.nn.Linear(512, 512).cuda()
    """,
    )


def test_questions(tmp_path):
    """The program runs out of memory on this machine's GPU, and fits in the others."""
    page = Page("docs/faq.md", tmp_path, gpu="2GiB")
    page.write("train.py", TRAIN)
    page.demo("run.vram", "snapshot.pickle", "folder/rank0.vram", "folder/rank1.vram", "good/rank0.vram", "bad/rank0.vram")
    loop = page.running(PROGRAMS / "attached.py")
    page.instead["12345"] = loop.pid
    for block in page.blocks:
        page.run(block, may_fail="--on-oom" in block.source)
    loop.communicate("", timeout=60)
    assert loop.returncode == 0 and (page.folder / "oom.vram").exists() and (page.folder / "now.vram").exists()


def test_files_of_other_programs(tmp_path):
    page = Page("docs/guide/accounts.md", tmp_path)
    profiler, jax = page.of("python")
    page.python(
        profiler,
        """
        import torch
        def train():
            torch.nn.Linear(512, 512).cuda()(torch.randn(8, 512, device="cuda")).sum().backward()
    """,
    )
    python = ROOT / "build/jaxvenv/bin/python"
    assert python.exists(), "tools/setup test makes it"
    page.write("profile.py", "import jax, jax.numpy\nkept = jax.numpy.ones((512, 512))\n")
    with open(page.folder / "profile.py", "a") as file:
        file.write(jax.source)
    page.environment.update(XLA_FLAGS="--xla_gpu_autotune_level=0")
    page.good(f"vramscope dryrun --gpu 24GiB -- {python} profile.py")
    for name in ("before.prof", "after.prof"):
        shutil.copy(page.folder / "memory.prof", page.folder / name)
    for name in ("log.dev0.csv", "log.dev1.csv"):
        (page.folder / name).write_text(RMM)
    for name in ("report.sqlite", "before.sqlite", "after.sqlite"):
        subprocess.run([PYTHON, "-c", NSYS, page.folder / name], cwd=ROOT / "tests/oracle", check=True)
    for block in page.of("sh"):
        page.run(block)


RMM = """Thread,Time,Action,Pointer,Size,Stream
1,10:00:00:000001,allocate,0x7f0000000000,1048576,0
1,10:00:00:000002,allocate,0x7f0000200000,2097152,0
1,10:00:00:000003,free,0x7f0000000000,1048576,0
"""

NSYS = """
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as database:
    database.executescript('''
        CREATE TABLE ENUM_CUDA_DEV_MEM_EVENT_OPER (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
        INSERT INTO ENUM_CUDA_DEV_MEM_EVENT_OPER VALUES (0, 'CUDA_DEV_MEM_EVENT_OPR_ALLOCATION', 'Allocation'),
            (1, 'CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION', 'Deallocation');
        CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
        INSERT INTO ENUM_CUDA_MEM_KIND VALUES (2, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE', 'Device');
        CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER, contextId INTEGER, address INTEGER,
            pc INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER, streamId INTEGER);
        INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (1000, 281474976710656, 0, 1, 139637976727552, 0, 1048576, 2, 0, 7),
            (2000, 281474976710656, 0, 1, 139637978824704, 0, 2097152, 2, 0, 7);
    ''')
"""


# ---- check

MODEL = """
    import torch


    class Model(torch.nn.Module):
        def __init__(self, layers):
            super().__init__()
            self.layers = torch.nn.Sequential()
            for _ in range(layers):
                self.layers.append(torch.nn.Linear(4096, 4096).cuda())

        def forward(self, x):
            return self.layers(x)
"""
TRAIN_MODEL = """
    import torch

    from model import Model

    model = Model(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for _ in range(6):
        optimizer.zero_grad()
        loss = model(torch.randn(64, 4096, device="cuda")).sum()
        loss.backward()
        optimizer.step()
"""


def test_check(tmp_path):
    """The page's own limits, and the lines of the services' files. test_check.py has the console block."""
    page = Page("docs/guide/check.md", tmp_path)
    page.demo("snapshot.pickle")
    page.write("model.py", MODEL)
    page.write("train.py", TRAIN_MODEL)
    first, *_ = page.of("sh")
    page.run(first, may_fail=True)  # the demo runs out of memory

    (settings,) = page.of("toml")
    page.write("vramscope.toml", settings.source)
    said = page.good("vramscope check --update-baseline -- python3 train.py") + page.ask("vramscope check -- python3 train.py")[1]
    for name in ("max-allocated", "no-oom", "max-growth", "baseline-allocated", " optimizer:", " model:", " warmup "):
        assert name in said, f"{settings.place}\n{said}"

    github, gitlab, hook = (as_json(block.source) for block in page.of("yaml"))
    (action,) = [step for step in github["jobs"]["memory"]["steps"] if "vramscope" in step.get("uses", "")]
    known = as_json((ROOT / "action.yml").read_text())
    assert set(action["with"]) <= set(known["inputs"])
    ran = known["runs"]["steps"][-1]["run"]
    page.environment["ARGUMENTS"] = action["with"]["arguments"]
    page.good(ran)
    page.good(gitlab["memory"]["script"])
    assert all((page.folder / name).exists() for name in gitlab["memory"]["artifacts"]["reports"].values())
    (entry,) = [hook["entry"] for repository in hook["repos"] for hook in repository["hooks"]]
    assert page.ask(entry)[0] == 0, entry


def as_json(text):
    """YAML, read by PyYAML."""
    program = "import json, sys, yaml; print(json.dumps(yaml.load(sys.stdin.read(), yaml.BaseLoader)))"
    return json.loads(subprocess.run([PYTHON, "-c", program], input=text, capture_output=True, text=True, check=True).stdout)


# ---- the others


def test_command_line(tmp_path):
    page = Page("docs/guide/cli.md", tmp_path)
    for block in page.of("python"):
        page.python(block, "import torch\n")
    assert "PyTorch memory snapshot" in page.good("vramscope report snapshot.pickle")


def test_a_free_gpu(tmp_path):
    """Of four GPUs of 24 GiB; the programs see those that were picked. Each says so in one write: torchrun starts its
    programs with unbuffered output, where the parts of one `print` can lie on either side of another program's line."""
    page = Page("docs/guide/devices.md", tmp_path, gpu="4x24GiB")
    page.write("train.py", "import os\nos.write(1, b'sees %d\\n' % os.environ['CUDA_VISIBLE_DEVICES'].count('GPU-'))\n")
    for block in page.of("sh"):
        one, two = (page.good(command) for command, _ in pages.commands(block))
        assert one.count("sees 1") == 1 and two.count("sees 2") == 2


def test_record(tmp_path):
    page = Page("docs/guide/record.md", tmp_path, gpu="8GiB")
    page.write("train.py", TRAIN)
    page.write("fit.json", '{"schema": 1, "changes": [{"name": "allocator", "settings": "expandable_segments:True"}]}')
    given = """
        import torch
        batches = [1, 2]
        def train():
            torch.zeros(1 << 20, device="cuda")
    """
    loop = page.running(PROGRAMS / "attached.py")
    page.instead["12345"] = loop.pid
    for block in page.blocks:
        if block.language == "python":
            page.python(block, given)
        else:
            page.run(block, anew=["train.vram"] if "--ring" in block.source else [])
    loop.communicate("", timeout=60)
    assert loop.returncode == 0


def test_where(tmp_path):
    page = Page("docs/guide/where.md", tmp_path)
    page.demo("snapshot.pickle")
    page.write("train.py", TRAIN)
    page.good("vramscope dryrun --json --gpu 24GiB -- python train.py > run.json")
    for block in page.of("console"):
        page.run(block)


def test_fit(tmp_path):
    page = Page("docs/guide/fit.md", tmp_path)
    shutil.copy(ROOT / "examples/train_gpt.py", page.folder)
    page.write("train.py", TRAIN)
    (changes,) = page.of("json")
    page.write("fit.json", changes.source)
    for block in page.of("console", "sh"):
        page.run(block)
    (apply,) = page.of("python")
    page.python(apply)
    assert "vramscope.apply" in apply.source


def test_the_example_of_the_format(tmp_path):
    """It is accepted, and both changes are told of."""
    page = Page("docs/formats/fit.md", tmp_path)
    page.write("train.py", TRAIN)
    (changes,) = page.of("json")
    page.write("fit.json", changes.source)
    reply = json.loads(page.good("vramscope dryrun --json --gpu 24GiB --with fit.json -- python3 train.py 2>/dev/null"))
    assert [change["name"] for change in reply["changes"]] == [change["name"] for change in json.loads(changes.source)["changes"]]


def test_dryrun(tmp_path):
    page = Page("docs/guide/dryrun.md", tmp_path)
    page.write("train.py", TRAIN)
    page.write("model.py", "")
    page.write("serve.py", SERVE)
    for block in page.of("sh"):
        page.run(block)
    (advice,) = page.of("text")  # of a loop in line 88 that waits for a value
    page.write("train.py", "import torch\n\n\ndef wait():\n" + "\n" * 82 + WAIT)
    said = page.good("vramscope dryrun -- python3 train.py")
    assert " ".join(advice.source.split()) in " ".join(said.split()), f"{advice.place}\n{said}"


WAIT = """    for _ in range(600):
        if flag.item():
            break


flag = torch.zeros(1, device="cuda")
wait()
"""
SERVE = """
    import time

    import torch

    kept = torch.zeros(1 << 20, device="cuda")
    print("Uvicorn running on http://127.0.0.1:8000", flush=True)
    time.sleep(600)
"""
