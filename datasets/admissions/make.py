#!/usr/bin/env python3
"""Invents patients of a clinic and counts how often each was admitted. usage: make.py [PATIENTS] >admissions.csv

Each patient is observed for .25 to 3 years. Her admissions in that time are Poisson counts whose rate a year is
exp(-0.4 + 0.6 smoker + 0.4 diabetes + 0.02 (age - 55)) times a number of her own, which has mean 1 and variance .3: so
counts scatter more than Poisson counts of one rate do (they are negative binomial). Her costs are the sum of what each
admission costs: a gamma number of shape 2 with a mean of 3 thousand.

Nobody in it is a real person, and whoever wants it may have it (CC0)."""
import csv
import math
import random
import sys

SCATTER = 0.3


def poisson(draw, mean):
    count, product, limit = 0, draw.random(), math.exp(-mean)
    while product > limit:
        count += 1
        product *= draw.random()
    return count


def main():
    patients = int(sys.argv[1]) if len(sys.argv) > 1 else 9000
    draw = random.Random(1837)
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["years", "age", "smoker", "diabetes", "admissions", "costs"])
    for _ in range(patients):
        years = round(0.25 + 2.75 * draw.random(), 2)
        age = round(min(90, max(20, draw.gauss(55, 14))))
        smoker = draw.random() < 0.3
        diabetes = draw.random() < 0.25
        rate = math.exp(-0.4 + 0.6 * smoker + 0.4 * diabetes + 0.02 * (age - 55))
        count = poisson(draw, years * rate * draw.gammavariate(1 / SCATTER, SCATTER))
        costs = sum(draw.gammavariate(2, 1.5) for _ in range(count))
        rows.writerow([years, age, "yes" if smoker else "no", "yes" if diabetes else "no", count, f"{costs:.2f}"])


if __name__ == "__main__":
    main()
