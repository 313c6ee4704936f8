"""Every kind of card there is."""

from __future__ import annotations

from specplan.domain.curve import Curve
from specplan.domain.engine import Engine
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model

AnyCard = Hardware | Model | Engine | Curve
