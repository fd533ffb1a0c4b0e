"""The build hook: no wheel, sdist or editable install without the built JavaScript."""

import subprocess
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BuildJavaScript(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # A process of its own, since make runs the same script where no hatchling is installed yet.
        done = subprocess.run([sys.executable, "scripts/build_js.py"], cwd=self.root)
        if done.returncode:
            sys.exit(done.returncode)  # the script has said why; a traceback would bury it
