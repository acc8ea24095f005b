"""Exported codecs in TypeScript beside TypeScript by hand: rotation v1 and a snapshot of 16 entities.

Both run in one Node process (clients/time.ts), which compares their bytes before it measures them round by
round. Which code V8 makes of either depends on when its compiler threads come to run: so several processes do
that, one after the other. Figures are medians over rounds, then over processes; nothing here passes or fails
by time. `--compiler` names a folder into which npm has installed typescript and @types/node.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from cases import rotation_1, snapshot
from timing import conditions, table

from protocol import PROTOCOLS
from wirelock.export.targets import export

CLIENTS = Path(__file__).parent / "clients"


def compiled(compiler: Path, folder: Path) -> Path:
    """Return the program, compiled by the strictest rules."""
    packages = compiler.resolve() / "node_modules"
    source = folder / "src"
    for path, text in export(PROTOCOLS, "typescript").items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(text, "utf-8")
    for name in ("by_hand.ts", "time.ts"):
        shutil.copy(CLIENTS / name, source)
    (folder / "package.json").write_text('{"type": "module"}\n')
    options = {
        "strict": True, "noUncheckedIndexedAccess": True, "target": "es2022", "lib": ["es2022"],
        "module": "nodenext", "types": ["node"], "typeRoots": [str(packages / "@types")],
        "skipLibCheck": True, "rootDir": "src", "outDir": "js",
    }  # fmt: skip
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["src"]}))
    subprocess.run([packages / ".bin" / "tsc", "-p", folder], check=True)
    return folder / "js" / "time.js"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--compiler", type=Path, required=True, help="folder with node_modules of npm")
    parser.add_argument("--rounds", type=int, default=41, help="samples of each row (default: 41)")
    parser.add_argument("--processes", type=int, default=9, help="how often all of it is run (default: 9)")
    parser.add_argument("--quick", action="store_true", help="few samples, to see that it runs")
    parser.add_argument("--markdown", action="store_true", help="a table for the docs")
    options = parser.parse_args()
    node = shutil.which("node")
    if node is None:
        print("node is not installed", file=sys.stderr)
        return 2
    cases = {"rotation": rotation_1().data, "snapshot": snapshot().data}
    told = json.dumps({name: [item.hex() for item in data] for name, data in cases.items()})
    with tempfile.TemporaryDirectory() as name:
        program = compiled(options.compiler, Path(name))
        rounds = "3" if options.quick else str(options.rounds)
        command = [node, "--expose-gc", program, rounds, "2"]
        runs = []
        for _ in range(1 if options.quick else options.processes):
            run = subprocess.run(command, input=told, text=True, capture_output=True, check=True)
            runs.append(json.loads(run.stdout))
    version = subprocess.run([node, "--version"], text=True, capture_output=True, check=True).stdout.strip()
    print(f"Node {version[1:]}; {conditions(('wirelock',))}", end="\n\n")
    rows = []
    for task in runs[0]:
        ours, theirs = (median(run[task][side] for run in runs) for side in (0, 1))
        rows.append([task, f"{ours:.0f}", f"{theirs:.0f}", f"{ours / theirs:.2f}"])
    print(table(["TypeScript", "exported, ns", "by hand, ns", "ratio"], rows, markdown=options.markdown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
