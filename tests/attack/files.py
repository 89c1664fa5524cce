"""Damaged and forged model files: loading one works or raises ModelFileError, and what loads is usable."""

import random
from pathlib import Path

from attack.cases import Attack, Failure
from model_file import fuzz


def make(folder: Path) -> Attack:
    return Files(folder)


class Files(Attack):
    """One file for every case."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.campaign = fuzz.Campaign(folder)
        self.corpus = self.campaign.corpus()

    def run(self, number: int, dice: random.Random) -> None:
        self.campaign.findings.clear()
        self.campaign.attempt(fuzz.mutate(dice.choice(self.corpus), dice))
        if self.campaign.findings:
            raise Failure(", ".join(self.campaign.findings))
