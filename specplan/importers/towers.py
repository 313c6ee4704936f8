"""How large the encoder of images beside a language model is: roughly, to explain counts."""

from __future__ import annotations

from collections.abc import Mapping

WIDTHS = ("embed_dim", "hidden_size", "vt_hidden_size")  # Qwen2-VL's hidden_size is its output
DEPTHS = ("depth", "num_hidden_layers", "vt_num_hidden_layers")
FEEDS = ("intermediate_size", "vt_intermediate_size")


def tower_params(config: Mapping[str, object]) -> int | None:
    """Weights of the encoder's layers (four projections and a plain feed-forward each), if its
    config says how many; projectors and embeddings of patches come on top.
    """
    tower = config.get("vision_config")
    if not isinstance(tower, Mapping):
        return None
    width, depth, feed = (_first(tower, names) for names in (WIDTHS, DEPTHS, FEEDS))
    if width is None or depth is None:
        return None
    return depth * (4 * width * width + 2 * width * (feed or 4 * width))


def _first(data: Mapping[str, object], names: tuple[str, ...]) -> int | None:
    found = (data.get(name) for name in names)
    return next((v for v in found if isinstance(v, int) and not isinstance(v, bool)), None)
