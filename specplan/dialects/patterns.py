"""Numbers in lines as regular expressions: of no more digits than any engine prints, so that each
that matches converts.
"""

from __future__ import annotations

from typing import Final

WHOLE: Final = "[0-9]{1,15}"
DECIMAL: Final = rf"{WHOLE}(?:\.{WHOLE})?"
