"""`python tools/accuracy`: the package's folder is what Python puts on its path, so its parent is added."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from accuracy.cli import main

sys.exit(main())
