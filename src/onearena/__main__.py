"""`python -m onearena`."""

import sys

from onearena.cli.main import main

sys.exit(main())
