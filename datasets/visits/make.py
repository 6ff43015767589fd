#!/usr/bin/env python3
"""Writes the visits of 900 invented patients, or of as many as are asked for: make.py [PATIENTS] >visits.csv

A patient has a level of her own. Who is worse off comes more often, stays longer and is more likely to come back:
    level  normal(0, 1); age  uniform on 20 .. 90; visits  1 + lognormal(0.4 level + 1.1, 0.8), at most 40
    marker normal(level, 0.6); stay  normal(6 + 2 level, 3), at least 0; emergency  with chance s(level)
    back   with chance s(1.6 marker + 0.15 (stay - 6) + 0.8 emergency - 0.8), s(x) = 1 / (1 + exp(-x))
Nobody in it is a real person, and whoever wants it may have it (CC0).
"""
import math
import random
import sys

random.seed(20261127)
s = lambda x: 1 / (1 + math.exp(-x))
rows = []
for patient in range(int(sys.argv[1]) if len(sys.argv) > 1 else 900):
    level, age = random.gauss(0, 1), random.randint(20, 90)
    for _ in range(min(40, 1 + int(random.lognormvariate(0.4 * level + 1.1, 0.8)))):
        marker = min(4, max(-4, random.gauss(level, 0.6)))
        stay = min(30, max(0, random.gauss(6 + 2 * level, 3)))
        emergency = random.random() < s(level)
        back = random.random() < s(1.6 * marker + 0.15 * (stay - 6) + 0.8 * emergency - 0.8)
        rows.append(f"P{patient:04},{age},{stay:.1f},{marker:.2f},{'yes' if emergency else 'no'},{'yes' if back else 'no'}")
random.shuffle(rows)  # as they came
print("patient,age,stay,marker,emergency,back")
print("\n".join(rows))
