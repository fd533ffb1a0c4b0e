"""Install several versions of ipykernel beside the environment's own, each with a kernelspec.

Only ipykernel differs: a kernelspec puts its folder first on PYTHONPATH, and all else comes from the
environment that runs this script. Jupyter finds the kernelspecs where JUPYTER_PATH names
FOLDER/share/jupyter; they are called ipykernel-6.31 and so on.

    python scripts/kernels.py FOLDER REQUIREMENTS
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path


def main(folder: Path, requirements: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for line in requirements.read_text().splitlines():
        if line and not line.startswith("#"):
            install(line, folder.resolve())


def install(requirement: str, folder: Path) -> None:
    version = requirement.partition("==")[2]
    library = folder / version
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    subprocess.run([*pip, str(library), requirement], check=True)
    series = ".".join(version.split(".")[:2])
    spec = folder / "share" / "jupyter" / "kernels" / f"ipykernel-{series}"
    spec.mkdir(parents=True)
    launch = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    about = {
        "argv": launch,
        "display_name": f"Python (ipykernel {series})",
        "language": "python",
        "env": {"PYTHONPATH": str(library)},
    }
    (spec / "kernel.json").write_text(json.dumps(about, indent=2) + "\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
