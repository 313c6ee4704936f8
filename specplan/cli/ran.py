"""What ran: the engine, the k in use and what was kept, by flag, capture or plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from specplan.catalogue.store import Catalogue
from specplan.cli import grammar
from specplan.cli.acceptance import KINDS, acceptances, is_capture
from specplan.cli.captures import Held, one_capture
from specplan.cli.naming import versioned
from specplan.cli.planned import PlanRead, planned
from specplan.cli.told import engine_of, k_of
from specplan.domain.acceptance import Acceptance, Lengths, Unconditional
from specplan.domain.capture import Capture
from specplan.domain.engine import Engine
from specplan.errors import UsageError, Where, placed
from specplan.visible import visible

WHOLE = 0.995  # of k, from which all drafts were as long
SERVERS = ("vllm", "sglang", "trtllm", "llamacpp", "transformers")
ENGINES = "vllm, sglang, trtllm, llamacpp or a card of your own"


@dataclass(frozen=True, slots=True)
class Served:
    """The engine as it is typed, its version and card, who said it, and whose habits it has."""

    text: str
    version: str | None
    card: Engine
    origin: str

    @property
    def habits(self) -> str:
        """The engine that it is, or that a card of somebody's own follows."""
        card = self.card
        return card.name if card.name in SERVERS else card.follows or card.name


def engine_in_use(
    flags: Mapping[str, Sequence[str]],
    capture: Capture | None,
    plan: PlanRead | None,
    catalogue: Catalogue,
) -> Served:
    """A flag's engine, the capture's or the plan's."""
    own = planned(plan) if plan else {}
    where, origin = Where("--engine"), "flag"
    if "engine" in flags:
        text = ",".join(flags["engine"])
    elif capture is not None and engine_of(capture):
        text, origin = engine_of(capture), capture.source
    elif "engine" in own:
        said = own["engine"]
        text, where, origin = ",".join(said.texts), said.where, said.origin
    else:
        what = "which engine runs it?"
        if capture is not None:
            what = f"which engine does {visible(capture.source, 60)} tell of?"
        raise UsageError(what, where=where, expected=ENGINES)
    with placed(where):
        name, version = versioned(text)
        card = catalogue.engine(name, where).card
        if card.kind == "bound":
            raise UsageError(f"{name} is no engine that runs anything", expected=ENGINES)
        try:
            card.release(version)
        except UsageError:
            if "engine" in flags:
                raise
            text = name  # of a log: the newest habits stand in
    return Served(text, version, card, origin)


def mismatch(served: Served, capture: Capture | None) -> list[str]:
    """A note where another engine printed the capture than the one that is said to run."""
    printed = engine_of(capture).partition("@")[0] if capture else ""
    if not capture or not printed or printed == served.habits:
        return []
    return [f"{visible(capture.source, 60)} was printed by {printed}, not by {served.habits}"]


def k_in_use(
    flags: Mapping[str, Sequence[str]],
    now: Capture | None,
    kept: Capture | None,
    plan_k: str | None,
) -> int | None:
    """The draft length in use: the flag's, the capture's or the plan's. `kept` is the capture whose
    acceptance counts, if it is one's, and `now` that of the deployment.
    """
    typed, capture = typed_k(flags), kept or now
    if typed is not None:
        _refuse_other_k(typed, kept)
        return typed
    if capture is not None and k_of(capture):
        return k_of(capture)
    return int(plan_k) if plan_k and plan_k.isdigit() and int(plan_k) >= 1 else None


def _refuse_other_k(k: int, capture: Capture | None) -> None:
    """Refuses a k that a capture contradicts, whose drafts were all as long as it has positions:
    its tokens a round are of that k.
    """
    if capture is None or not capture.per_position:
        return
    counted, drafted = len(capture.per_position), capture.mean_draft
    if counted != k and drafted is not None and drafted >= WHOLE * counted:
        raise UsageError(
            f"{k}, but {visible(capture.source, 60)} counts {counted} "
            f"position{'s' if counted > 1 else ''}",
            where=Where("--k"),
            hint="leave -k out: the best k is looked for among all",
        )


def typed_k(flags: Mapping[str, Sequence[str]]) -> int | None:
    """The flag's draft length."""
    if "k" not in flags:
        return None
    with placed(Where("--k")):
        lengths = grammar.lengths(flags["k"])
        if len(lengths) != 1 or lengths[0] < 1:
            raise UsageError(
                f"'{visible(','.join(flags['k']), 60)}' is no k in use",
                expected="one k, such as -k 4",
            )
    return lengths[0]


def counted_in(texts: Sequence[str], option: str) -> Held | None:
    """The file of counters that an acceptance is, if it is one."""
    if len(texts) != 1 or not is_capture(texts[0]) or "," in texts[0]:
        return None
    with placed(Where(option)):
        return one_capture(texts[0].strip())


def accepted(
    text: str | None, typed: Sequence[str] | None, k: int | None
) -> tuple[Acceptance | None, int | None]:
    """The model of what is accepted, and k where it says it: of a length measured at one, or as
    many as there are rates of positions, which is how engines print them.
    """
    if text is not None and typed and is_capture(text):
        raise UsageError(
            f"diagnose is about one acceptance, not {len(text.split(','))}",
            where=Where("--acceptance"),
        )
    if text is None or is_capture(text):
        return None, k  # a plan's file, which only a scenario can look up
    if text[:1].isalpha() and text.partition(":")[0] not in KINDS:
        return None, k  # a curve, likewise
    with placed(Where("--acceptance")):
        models = acceptances(typed or (text,))
        if len(models) != 1:
            raise UsageError(f"diagnose is about one acceptance, not {len(models)}")
    (model,) = models
    if k is None:
        k = k_said(model)
    if k is None and typed:
        raise no_k()
    return model, k


def k_said(model: Acceptance) -> int | None:
    """The draft length that an acceptance is of."""
    if isinstance(model, Lengths) and len(model.points) == 1:
        return model.points[0][0]
    return len(model.rates) if isinstance(model, Unconditional) else None


def no_k() -> UsageError:
    """Nobody said the draft length."""
    return UsageError(
        "which draft length was in use?", where=Where("--k"), expected="one k, such as -k 4"
    )
