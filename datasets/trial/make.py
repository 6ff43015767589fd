#!/usr/bin/env python3
"""Invents patients of a trial of two treatments. usage: make.py [PATIENTS] >trial.csv

Months until a relapse, until death without one, and until the patient was lost are independent exponential times; what
comes first ends what is known of her, and 36 months end the trial. By arm and stage:

  relapse a month   old, early 1/40   old, late 1/18   new, early 1/64   new, late 1/28.8   (hazard ratio .625)
  death a month     early 1/150       late 1/60
  lost a month      1/70

Whether the tumour had shrunk after three months ("shrunk") is a coin of its own: its log odds are -0.6, 0.8 more with the
new treatment and 0.7 less in the late stage.

One status in fifty was not written down, and one time in a hundred is missing. Nobody in it is a real person, and
whoever wants it may have it (CC0)."""
import csv
import math
import random
import sys

RELAPSE = {("old", "early"): 1 / 40, ("old", "late"): 1 / 18}
DEATH = {"early": 1 / 150, "late": 1 / 60}
RATIO, LOST, END = 0.625, 1 / 70, 36.0


def main():
    patients = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    draw = random.Random(1963)
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["months", "status", "arm", "stage", "age", "shrunk"])
    for _ in range(patients):
        arm = draw.choice(["old", "new"])
        stage = "late" if draw.random() < 0.35 else "early"
        age = round(min(90, max(18, draw.gauss(61, 12))))
        relapse = draw.expovariate(RELAPSE["old", stage] * (RATIO if arm == "new" else 1))
        months, status = min((relapse, "relapse"), (draw.expovariate(DEATH[stage]), "death"),
                             (draw.expovariate(LOST), "alive"), (END, "alive"))
        shown = "" if draw.random() < 0.01 else f"{months:.1f}"
        odds = math.exp(-0.6 + (0.8 if arm == "new" else 0) - (0.7 if stage == "late" else 0))
        shrunk = "yes" if draw.random() < odds / (1 + odds) else "no"
        rows.writerow([shown, "" if draw.random() < 0.02 else status, arm, stage, age, shrunk])


if __name__ == "__main__":
    main()
