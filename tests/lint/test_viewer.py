"""The viewer by TypeScript's checker: the types are in its comments and in types.d.ts of each room (viewer/tsconfig.json)."""
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]

def check(root):
    return subprocess.run(["tsc", "-p", root / "viewer"], cwd=root, capture_output=True, text=True, timeout=200)


def test_the_viewer_has_types():
    done = check(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mistakes_are_seen(tmp_path):
    """A key that no reply has, a method that there is not, a member of the state that is misspelt, what may be missing, a parameter
    without a type."""
    shutil.copytree(ROOT / "viewer", tmp_path / "viewer")
    (tmp_path / "src" / "query").mkdir(parents=True)
    shutil.copy(ROOT / "src" / "query" / "replies.d.ts", tmp_path / "src" / "query")
    (tmp_path / "viewer" / "planted.js").write_text("""
/** @param {App} app */
export async function planted(app) {
  const { peak } = await app.marks();
  const wrong = peak?.byte;
  await app.ready().engine.ask("mark");
  app.store.set({ cursors: 1 });
  const missing = app.engine().ask("marks");
  return [wrong, missing];
}

export const untyped = (value) => value;
""")
    done = check(tmp_path)
    found = re.findall(r"viewer/planted\.js\((\d+),\d+\): error TS(\d+)", done.stdout)
    assert [line for line, _ in found] == ["5", "6", "7", "8", "12"], done.stdout
    assert len(re.findall("error TS", done.stdout)) == len(found), done.stdout
