"""Runs the cells that stand on stdin, in the Python that has an agent's framework and IPython."""

import json
import sys

from IPython.core.interactiveshell import InteractiveShell

sys.path[0] = ""  # as a kernel has it
shell = InteractiveShell.instance()
for cell in json.load(sys.stdin):
    shell.run_cell(cell).raise_error()
