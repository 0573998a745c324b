"""Lets tests import their helpers: `import naive`, `from contracts.members import ...`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
