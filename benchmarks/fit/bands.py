"""measurements/bands.yaml: how far held-out predictions of rounds lie from what was measured.

    python benchmarks/fit/bands.py > measurements/bands.yaml

To be run again whenever an engine card, a held-out constant or a round changes; a test says so.
"""

from __future__ import annotations

from specplan.catalogue.ledger import packaged_rows
from specplan.catalogue.store import Catalogue
from specplan.cli.bench import Workbench
from specplan.questions.ledger import bands
from specplan.questions.predict import predict_all

ABOUT = """\
schema: bands/1
about: >-
  9 of 10 measured speedups under an engine's habits since a version lie within this share of the
  one predicted by constants that have not met them: on one accelerator, with one kind of drafter.
  Written by benchmarks/fit/bands.py from rounds.csv, without its n-gram rounds.
bands:"""


def main() -> None:
    """Prints the file."""
    rounds = [row for row in packaged_rows() if row.kind == "round"]
    print(ABOUT)
    for band in bands(predict_all(rounds, Workbench(Catalogue(())))):
        where = f'engine: {band.engine}, since: "{band.since}", gpu: {band.gpu}'
        experts = str(band.experts).lower()
        print(
            f"  - {{{where}, drafter: {band.drafter}, experts: {experts},"
            f" share: {band.share}, n: {band.n}}}"
        )


if __name__ == "__main__":
    main()
