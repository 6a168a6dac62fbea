"""The notebook magic in a real kernel with a simulated GPU, in a terminal IPython, and without a GPU."""

NOTEBOOK = """
    import json, sys
    import nbformat
    from nbclient import NotebookClient

    cells = json.loads(sys.argv[1])
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True).execute()
    outputs = []
    for cell in notebook.cells:
        text, page = "", ""
        for output in cell.outputs:
            data = output.get("data", {})
            text += output.get("text", "") + data.get("text/plain", "") + " ".join(output.get("traceback", []))
            page += data.get("text/html", "")
        outputs.append({"text": text, "html": page})
    print(json.dumps(outputs))
"""


def run(program, cells, **settings):
    import json

    return program(NOTEBOOK, json.dumps(cells), **settings).result


def test_in_a_notebook(simulated):
    made = "torch.empty({} << 20, dtype=torch.uint8, device='cuda')"
    load, devices, cell, after, leaks, failing, wrong, typo = run(simulated, [
        "%load_ext vramscope",
        "%vramscope",
        f"%%vramscope\nimport torch\nkept = {made.format(10)}\nfor _ in range(3):\n    gone = {made.format(30)}; del gone\n'value'",
        "print(_vramscope.peak_bytes >> 20, _vramscope.left_bytes >> 20, kept.numel() >> 20, "
        "torch.cuda.max_memory_allocated() >> 20, len(_vramscope.snapshot.query('info')['devices']))",
        f"%%vramscope --leaks --top 1 --no-picture\nsmall = {made.format(2)}\nlarge = {made.format(7)}",
        f"%%vramscope\nfirst = {made.format(3)}\nraise KeyError('mine')",
        "%%vramscope --devise 1\n1",
        "%%vramscope\n1 +",
    ])
    assert load["text"] == ""
    assert "(simulated)" in devices["text"] and "8.00 GiB" in devices["text"]
    assert "peak" in cell["html"] and "40.00 MiB" in cell["html"] and "+10.00 MiB" in cell["html"] and "<svg" in cell["html"]
    assert "'value'" in cell["text"] and "40.00 MiB above the 0 B" in cell["text"]
    assert after["text"].split() == ["40", "10", "10", "40", "1"]
    assert "Left behind" in leaks["html"] and "7.00 MiB" in leaks["html"] and "<svg" not in leaks["html"]
    assert "+9.00 MiB" in leaks["html"] and "in 1 more places" in leaks["text"]
    assert "KeyError" in failing["text"] and "+3.00 MiB" in failing["html"]
    assert "unrecognized arguments: --devise" in wrong["text"] and not wrong["html"]
    assert "SyntaxError" in typo["text"] and not typo["html"]


def test_names_in_a_notebook_are_text(simulated):
    cells = ["%load_ext vramscope\nimport torch",
             "source = \"def f():\\n return torch.empty(1 << 20, device='cuda')\\n\"\n"
             "space = {'torch': torch}\nexec(compile(source, '<i>.py', 'exec'), space)",
             "%%vramscope\nkept = space['f']()"]
    page = run(simulated, cells)[2]["html"]
    assert "<i>.py" not in page and "&lt;i&gt;.py:2" in page


def test_without_a_gpu(plain):
    _, devices, cell = run(plain, ["%load_ext vramscope", "%vramscope", "%%vramscope\n6 * 7"])
    assert devices["text"].strip() and not devices["html"]
    assert "42" in cell["text"] and "not measured" in cell["text"]
