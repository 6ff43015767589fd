"""Records and jobs of the twins' tests, and the program under test that runs the jobs."""

import csv
import json
import math
import pathlib
import random
import subprocess

RECORDS = 1200


def make_records():
    """Records (a, b, amount, label). (a, b) lies on the unit circle, amount in [0, 10], and the label is +1 or -1."""
    draw = random.Random(20)
    out = []
    for _ in range(RECORDS):
        angle = draw.uniform(0.0, 2.0 * math.pi)
        a, b = math.cos(angle), math.sin(angle)
        label = 1 if draw.random() < 0.5 + 0.16 * a - 0.08 * b else -1
        out.append((a, b, 10.0 * draw.betavariate(2.0, 3.0), label))
    return out


class Workbench:
    """A folder with the records, and the program that is asked about them."""

    def __init__(self, program, folder, records):
        self.program = str(pathlib.Path(program).resolve())
        self.folder = pathlib.Path(folder)
        with open(self.folder / "records.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["a", "b", "amount", "label"])
            writer.writerows([repr(a), repr(b), repr(c), "M" if y > 0 else "B"] for a, b, c, y in records)

    def write_job(self, name, questions, epsilon, delta, **statistics):
        """Writes the job of one silo that holds all records."""
        job = {
            "format": "undertone.job/1",
            "name": name,
            "data": {
                "label": {"column": "label", "negative": "B", "positive": "M"},
                "features": [
                    {"column": "a", "min": -1, "max": 1},
                    {"column": "b", "min": -1, "max": 1},
                    {"column": "amount", "min": 0, "max": 10},
                ],
            },
            "statistics": {"questions": questions, **statistics},
            "privacy": {"mode": "isrl", "unit": "record", "noise": "secure"},
            "cohort": [
                {"silo": "silo", "records": RECORDS, "holdout_records": 0, "holdout_public": True,
                 "epsilon": epsilon, "delta": delta}
            ],
            "participation": {"quorum": 1, "join_deadline_ms": 20000, "round_deadline_ms": 10000, "resend_ms": 1000},
            "simulation": {"csv": "records.csv", "partition_seed": 7, "holdout_fraction": 0, "holdout_seed": 1},
        }
        (self.folder / f"{name}.json").write_text(json.dumps(job), encoding="utf-8")

    def run(self, *arguments):
        """@return what the program prints @raise RuntimeError where it fails"""
        done = subprocess.run([self.program, *arguments], cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"undertone {' '.join(arguments)} failed: {done.stderr.strip()}")
        return done.stdout

    def plan(self, name):
        """The releases that the silo has planned, in the order of the questions."""
        return json.loads(self.run("plan", f"{name}.json", "--json"))["silos"][0]["releases"]

    def simulate(self, name, seed, noise="seeded"):
        """The rows of the result's statistics, one for each question."""
        self.run("simulate", f"{name}.json", "--direct", "--threads", "1", "--seed", str(seed), "--noise", noise,
                 "--out", name)
        return json.loads((self.folder / name / "result.json").read_text(encoding="utf-8"))["statistics"]

    def query(self, name, *point):
        """The risk at parameters, as `undertone query` finds it for the first question of the job's last result."""
        at = ",".join(repr(number) for number in point)
        return json.loads(self.run("query", f"{name}/result.json", f"--at={at}", "--statistic", "0", "--json"))["value"]
