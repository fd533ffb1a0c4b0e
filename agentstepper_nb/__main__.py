"""`python -m agentstepper_nb` is `agentstepper`."""

import sys

from .cli import main

sys.exit(main())
