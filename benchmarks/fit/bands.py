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
  9 of 10 round costs of an engine's habits since a version lie within this share of what was
  measured on these accelerators, predicted by constants that have not met them. Written by
  benchmarks/fit/bands.py from rounds.csv.
bands:"""


def main() -> None:
    """Prints the file."""
    rounds = [row for row in packaged_rows() if row.kind == "round"]
    print(ABOUT)
    for band in bands(predict_all(rounds, Workbench(Catalogue(())))):
        where = f'engine: {band.engine}, since: "{band.since}", gpus: [{", ".join(band.gpus)}]'
        experts = str(band.experts).lower()
        print(f"  - {{{where}, experts: {experts}, share: {band.share}, n: {band.n}}}")


if __name__ == "__main__":
    main()
