"""Templates of schoolbook problems: percentages, fractions, geometry, simple algebra."""

from __future__ import annotations

from random import Random

from prm_backend.generators.starter.draft import Draft, person, two_people


def discount(rng: Random) -> Draft:
    who = person(rng)
    percent, price = rng.choice([10, 20, 25, 50]), rng.choice([20, 40, 60, 80, 100, 120, 160, 200])
    off = price * percent // 100
    item = rng.choice(["coat", "lamp", "chair", "watch", "tent", "radio", "bicycle", "table"])
    if rng.random() < 0.5:
        problem = (
            f"A {item} costs {price} dollars. {who.name} gets a discount of {percent}%. "
            f"How many dollars does {who.she} pay?"
        )
        steps = [
            f"The discount is $\\frac{{{percent}}}{{100}} \\times {price} = {off}$ dollars.",
            f"{who.name} pays ${price} - {off} = {price - off}$ dollars.",
        ]
        return Draft(problem, steps, price - off)
    count = rng.randint(2, 3)
    problem = (
        f"A {item} costs {price} dollars and is sold at {percent}% off. "
        f"How many dollars does {who.name} pay for {count} of them?"
    )
    steps = [
        f"The discount is $\\frac{{{percent}}}{{100}} \\times {price} = {off}$ dollars.",
        f"One {item} costs ${price} - {off} = {price - off}$ dollars.",
        f"For {count} of them {who.name} pays ${count} \\times {price - off} = {count * (price - off)}$ dollars.",
    ]
    return Draft(problem, steps, count * (price - off))


def percentage(rng: Random) -> Draft:
    percent, total = rng.choice([10, 20, 25, 30, 40, 50, 60, 75]), 20 * rng.randint(1, 10)
    part = total * percent // 100
    place = rng.choice(["school", "club", "choir", "village", "camp", "library"])
    people = rng.choice(["children", "members", "visitors"])
    does = rng.choice(["swim", "play chess", "walk home", "wear glasses", "sing", "own a cat"])
    left_out = rng.randint(1, 4)
    problem = (
        f"Of the {total} {people} at a {place}, {percent}% {does}. How many {people} do not {does}?"
        if left_out < 3
        else f"{percent}% of the {total} {people} at a {place} {does}. The others do not. How many do not?"
    )
    steps = [
        f"${percent}\\%$ of {total} is $\\frac{{{percent}}}{{100}} \\times {total} = {part}$.",
        f"So ${total} - {part} = {total - part}$ {people} do not {does}.",
    ]
    return Draft(problem, steps, total - part)


def fraction(rng: Random) -> Draft:
    who = person(rng)
    bottom = rng.choice([2, 3, 4, 5])
    unit, extra = rng.randint(3, 12), rng.randint(1, 9)
    total = bottom * unit
    left = total - unit
    extra = min(extra, left - 1)
    things = rng.choice(["stamps", "pears", "beads", "plums", "coins", "bricks", "seeds"])
    verb = rng.choice(["gives away", "loses", "sells"])
    problem = (
        f"{who.name} has {total} {things}. {who.she.capitalize()} {verb} $\\frac{{1}}{{{bottom}}}$ of them and then "
        f"{extra} more. How many {things} are left?"
    )
    steps = [
        f"$\\frac{{1}}{{{bottom}}}$ of {total} is ${total} \\div {bottom} = {unit}$.",
        f"Then ${total} - {unit} = {left}$ {things} are left.",
        f"After {extra} more, ${left} - {extra} = {left - extra}$ {things} are left.",
    ]
    return Draft(problem, steps, left - extra)


def ratio(rng: Random) -> Draft:
    woman, man = two_people(rng)
    a, b = rng.sample(range(1, 8), 2)
    part = rng.randint(2, 9)
    total = part * (a + b)
    things = rng.choice(["dollars", "sweets", "nuts", "points", "cards"])
    if rng.random() < 0.5:
        problem = (
            f"{woman.name} and {man.name} share {total} {things} in the ratio ${a}:{b}$. "
            f"How many {things} does {woman.name} get?"
        )
        last = f"{woman.name} gets ${a} \\times {part} = {a * part}$ {things}."
        answer = a * part
    else:
        problem = (
            f"In the ratio ${a}:{b}$, {woman.name} and {man.name} divide {total} {things}. "
            f"How many {things} does {man.name} get?"
        )
        last = f"{man.name} gets ${b} \\times {part} = {b * part}$ {things}."
        answer = b * part
    steps = [
        f"There are ${a} + {b} = {a + b}$ parts.",
        f"One part is ${total} \\div {a + b} = {part}$ {things}.",
        last,
    ]
    return Draft(problem, steps, answer)


def average(rng: Random) -> Draft:
    who = person(rng)
    game = rng.choice(["game", "test", "round", "match", "quiz"])
    plural = {"match": "matches", "quiz": "quizzes"}.get(game, game + "s")
    if rng.random() < 0.5:
        mean = rng.randint(4, 15)
        a, b = mean + rng.randint(-3, 3), mean + rng.randint(-3, 3)
        c = 3 * mean - a - b
        problem = (
            f"{who.name} scores {a}, {b} and {c} points in three {plural}. What is {who.her} average score?"
        )
        steps = [
            f"The sum of the scores is ${a} + {b} + {c} = {3 * mean}$.",
            f"The average is ${3 * mean} \\div 3 = {mean}$.",
        ]
        return Draft(problem, steps, mean)
    mean, count = rng.randint(5, 12), rng.randint(3, 5)
    last = mean + rng.randint(-4, 8)
    known = mean * count - last
    problem = (
        f"After {count} {plural} {who.name} has an average of {mean} points. The first {count - 1} {plural} "
        f"gave {known} points together. How many points did the last {game} give?"
    )
    steps = [
        f"All {count} {plural} gave ${count} \\times {mean} = {count * mean}$ points.",
        f"The last one gave ${count * mean} - {known} = {last}$ points.",
    ]
    return Draft(problem, steps, last)


def rectangle(rng: Random) -> Draft:
    width, extra = rng.randint(2, 9), rng.randint(1, 6)
    length = width + extra
    thing = rng.choice(["garden", "field", "room", "carpet", "poster", "pool", "window", "table"])
    if rng.random() < 0.5:
        problem = (
            f"The perimeter of a rectangular {thing} is {2 * (width + length)} m and its width is {width} m. "
            f"What is its area in square metres?"
        )
        steps = [
            f"Length and width together are ${2 * (width + length)} \\div 2 = {width + length}$ m.",
            f"The length is ${width + length} - {width} = {length}$ m.",
            f"The area is ${length} \\times {width} = {length * width}$ square metres.",
        ]
        return Draft(problem, steps, length * width)
    price = rng.randint(2, 5)
    problem = (
        f"A rectangular {thing} is {width} m wide and {extra} m longer than it is wide. An edge around it costs "
        f"{price} dollars per metre. How many dollars does the edge cost?"
    )
    around = 2 * (width + length)
    steps = [
        f"The length is ${width} + {extra} = {length}$ m.",
        f"Length and width together are ${length} + {width} = {length + width}$ m.",
        f"The perimeter is $2 \\times {length + width} = {around}$ m.",
        f"The edge costs ${around} \\times {price} = {around * price}$ dollars.",
    ]
    return Draft(problem, steps, around * price)


def angles(rng: Random) -> Draft:
    a, b = 5 * rng.randint(4, 16), 5 * rng.randint(4, 16)
    p, q, r = sorted(rng.sample("ABCDEFGKLMPQRSTXYZ", 3))
    if rng.random() < 0.6:
        problem = (
            f"In triangle ${p}{q}{r}$ the angle at ${p}$ is ${a}^\\circ$ and the angle at ${q}$ is ${b}^\\circ$. "
            f"How many degrees is the angle at ${r}$?"
        )
        steps = [
            f"The two angles together are ${a} + {b} = {a + b}$ degrees.",
            f"The angle at ${r}$ is $180 - {a + b} = {180 - a - b}$ degrees.",
        ]
        return Draft(problem, steps, 180 - a - b)
    top = 10 * rng.randint(2, 16)
    problem = (
        f"Triangle ${p}{q}{r}$ has two equal sides that meet at ${p}$, where the angle is ${top}^\\circ$. "
        f"How many degrees is the angle at ${q}$?"
    )
    steps = [
        f"The angles at ${q}$ and ${r}$ are equal.",
        f"Together they are $180 - {top} = {180 - top}$ degrees.",
        f"Each is ${180 - top} \\div 2 = {(180 - top) // 2}$ degrees.",
    ]
    return Draft(problem, steps, (180 - top) // 2)


def equation(rng: Random) -> Draft:
    x, a, b = rng.randint(2, 12), rng.randint(2, 9), rng.randint(1, 20)
    letter = rng.choice(["x", "y", "n", "t"])
    if rng.random() < 0.5:
        problem = rng.choice(["Solve", "Find the solution of"]) + f" ${a}{letter} + {b} = {a * x + b}$."
        steps = [
            f"Subtract {b} from both sides: ${a}{letter} = {a * x + b} - {b} = {a * x}$.",
            f"Divide by {a}: ${letter} = {a * x} \\div {a} = {x}$.",
        ]
        return Draft(problem, steps, x)
    c = rng.randint(1, a - 1)
    left = a - c
    problem = f"For which ${letter}$ is ${a}{letter} - {b} = {'' if c == 1 else c}{letter} + {left * x - b}$?"
    if left * x <= b:
        b = left * x - 1
        problem = (
            f"For which ${letter}$ is ${a}{letter} - {b} = {'' if c == 1 else c}{letter} + {left * x - b}$?"
        )
    one = "" if c == 1 else c
    coefficient = "" if left == 1 else left
    steps = [
        f"Subtract ${one}{letter}$ from both sides: ${coefficient}{letter} - {b} = {left * x - b}$.",
        f"Add {b} to both sides: ${coefficient}{letter} = {left * x - b} + {b} = {left * x}$.",
        *([f"Divide by {left}: ${letter} = {left * x} \\div {left} = {x}$."] if left > 1 else []),
    ]
    return Draft(problem, steps, x)


def substitution(rng: Random) -> Draft:
    p, q = rng.choice([("a", "b"), ("x", "y"), ("m", "n"), ("s", "t")])
    u, v, a, b = rng.randint(2, 9), rng.randint(2, 9), rng.randint(2, 6), rng.randint(2, 6)
    if a * u > b * v and rng.random() < 0.5:
        sign, value = "-", a * u - b * v
    else:
        sign, value = "+", a * u + b * v
    problem = rng.choice(
        [
            f"What is ${a}{p} {sign} {b}{q}$ if ${p} = {u}$ and ${q} = {v}$?",
            f"Let ${p} = {u}$ and ${q} = {v}$. Compute ${a}{p} {sign} {b}{q}$.",
        ]
    )
    steps = [
        f"First ${a}{p} = {a} \\times {u} = {a * u}$.",
        f"Then ${b}{q} = {b} \\times {v} = {b * v}$.",
        f"So ${a}{p} {sign} {b}{q} = {a * u} {sign} {b * v} = {value}$.",
    ]
    return Draft(problem, steps, value)


def sequence(rng: Random) -> Draft:
    first, step, index = rng.randint(1, 20), rng.randint(2, 9), rng.randint(6, 12)
    terms = ", ".join(str(first + step * i) for i in range(4))
    problem = rng.choice(
        [
            f"A sequence begins ${terms}, \\ldots$ and grows by the same amount each time. What is term {index}?",
            f"What is term number {index} of the arithmetic sequence ${terms}, \\ldots$?",
        ]
    )
    jump = step * (index - 1)
    steps = [
        f"The difference is ${first + step} - {first} = {step}$.",
        f"From the first term to term {index} there are ${index} - 1 = {index - 1}$ differences.",
        f"They add ${index - 1} \\times {step} = {jump}$.",
        f"Term {index} is ${first} + {jump} = {first + jump}$.",
    ]
    return Draft(problem, steps, first + jump)


def number(rng: Random) -> Draft:
    who = person(rng)
    x, a, b = rng.randint(2, 12), rng.randint(2, 9), rng.randint(1, 15)
    if rng.random() < 0.5:
        result = a * x + b
        problem = (
            f"{who.name} thinks of a number, multiplies it by {a} and adds {b}. The result is {result}. "
            f"What was the number?"
        )
        steps = [
            f"Before adding {b} it was ${result} - {b} = {a * x}$.",
            f"Before multiplying by {a} it was ${a * x} \\div {a} = {x}$.",
        ]
        return Draft(problem, steps, x)
    result = a * (x + b)
    problem = (
        f"{who.name} adds {b} to a number and multiplies the sum by {a}. The result is {result}. "
        f"Which number did {who.she} start with?"
    )
    steps = [
        f"Before multiplying by {a} it was ${result} \\div {a} = {x + b}$.",
        f"Before adding {b} it was ${x + b} - {b} = {x}$.",
    ]
    return Draft(problem, steps, x)
