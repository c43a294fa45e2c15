"""Templates of everyday problems: shops, journeys, savings, ages, farms."""

from __future__ import annotations

from random import Random

from prm_backend.generators.starter.draft import Draft, dollars, person, two_people, with_article

GOODS = [
    ("notebooks", "notebook"),
    ("apples", "apple"),
    ("pencils", "pencil"),
    ("muffins", "muffin"),
    ("tickets", "ticket"),
    ("stickers", "sticker"),
    ("candles", "candle"),
    ("postcards", "postcard"),
    ("lemons", "lemon"),
    ("balloons", "balloon"),
]


def shopping(rng: Random) -> Draft:
    who = person(rng)
    (first, one_first), (second, one_second) = rng.sample(GOODS, 2)
    a, b = rng.randint(2, 9), rng.randint(2, 9)
    p, q = rng.randint(2, 6), rng.randint(2, 6)
    problem = rng.choice(
        [
            f"{who.name} buys {a} {first} for {p} dollars each and {b} {second} for {q} dollars each. "
            f"How many dollars does {who.she} spend?",
            f"At a market one {one_first} costs {p} dollars and one {one_second} costs {q} dollars. "
            f"How many dollars do {a} {first} and {b} {second} cost together?",
        ]
    )
    steps = [
        f"The {first} cost ${a} \\times {p} = {a * p}$ dollars.",
        f"The {second} cost ${b} \\times {q} = {b * q}$ dollars.",
        f"Together that is ${a * p} + {b * q} = {a * p + b * q}$ dollars.",
    ]
    return Draft(problem, steps, a * p + b * q)


def change(rng: Random) -> Draft:
    who = person(rng)
    goods, one = rng.choice(GOODS)
    a, p, extra = rng.randint(2, 8), rng.randint(2, 6), rng.randint(1, 9)
    spent = a * p + extra
    paid = rng.choice([note for note in (20, 50, 100) if note > spent])
    thing = rng.choice(["bag", "magazine", "drink", "map", "toy"])
    problem = rng.choice(
        [
            f"{who.name} buys {a} {goods} at {p} dollars each and a {thing} for {dollars(extra)}. "
            f"{who.she.capitalize()} pays with {paid} dollars. How much change does {who.she} get?",
            f"{with_article(one)} costs {p} dollars and a {thing} costs {dollars(extra)}. {who.name} takes {a} "
            f"{goods} and one {thing} and pays with {paid} dollars. How many dollars does {who.she} get back?",
        ]
    )
    steps = [
        f"The {goods} cost ${a} \\times {p} = {a * p}$ dollars.",
        f"With the {thing} it is ${a * p} + {extra} = {spent}$ dollars.",
        f"The change is ${paid} - {spent} = {paid - spent}$ dollars.",
    ]
    return Draft(problem, steps, paid - spent)


def sharing(rng: Random) -> Draft:
    who = person(rng)
    friends, each, eaten = rng.randint(2, 9), rng.randint(3, 9), rng.randint(4, 9)
    bags = rng.choice([2, 3, 4, 5])
    total = friends * each + eaten
    total_bags, rest = divmod(total, bags)
    if rest:
        eaten += bags - rest
        total = friends * each + eaten
        total_bags = total // bags
    things = rng.choice(["cookies", "marbles", "grapes", "shells", "cards", "nuts"])
    problem = rng.choice(
        [
            f"{who.name} has {bags} bags with {total_bags} {things} in each. {who.she.capitalize()} keeps {eaten} "
            f"{things} and shares the rest equally among {friends} friends. "
            f"How many {things} does each friend get?",
            f"There are {bags} boxes of {total_bags} {things}. {who.name} takes {eaten} {things} out, then "
            f"{friends} children share the others equally. How many {things} does each child get?",
        ]
    )
    steps = [
        f"There are ${bags} \\times {total_bags} = {total}$ {things}.",
        f"After taking {eaten} away, ${total} - {eaten} = {total - eaten}$ are left.",
        f"Each gets ${total - eaten} \\div {friends} = {each}$ {things}.",
    ]
    return Draft(problem, steps, each)


def ages(rng: Random) -> Draft:
    woman, man = two_people(rng)
    old, young = (woman, man) if rng.random() < 0.5 else (man, woman)
    age, times, years = rng.randint(3, 12), rng.randint(2, 4), rng.randint(2, 9)
    if rng.random() < 0.5:
        problem = (
            f"{young.name} is {age} years old. {old.name} is {times} times as old as {young.name}. "
            f"How old will {old.name} be in {years} years?"
        )
        steps = [
            f"{old.name} is ${times} \\times {age} = {times * age}$ years old now.",
            f"In {years} years {old.she} will be ${times * age} + {years} = {times * age + years}$ years old.",
        ]
        return Draft(problem, steps, times * age + years)
    gap = rng.randint(2, 9)
    problem = (
        f"{old.name} is {gap} years older than {young.name}, who is {age}. "
        f"What will be the sum of their ages in {years} years?"
    )
    steps = [
        f"{old.name} is ${age} + {gap} = {age + gap}$ years old.",
        f"In {years} years {young.name} will be ${age} + {years} = {age + years}$.",
        f"Then {old.name} will be ${age + gap} + {years} = {age + gap + years}$.",
        f"The sum is ${age + years} + {age + gap + years} = {2 * age + gap + 2 * years}$ years.",
    ]
    return Draft(problem, steps, 2 * age + gap + 2 * years)


def saving(rng: Random) -> Draft:
    who = person(rng)
    earn, spend = rng.randint(6, 15), rng.randint(1, 5)
    weeks, start = rng.randint(2, 9), rng.randint(5, 30)
    gain = earn - spend
    total = start + gain * weeks
    problem = rng.choice(
        [
            f"{who.name} has {start} dollars. Each week {who.she} earns {earn} dollars and spends {dollars(spend)}. "
            f"How many dollars does {who.she} have after {weeks} weeks?",
            f"Every week {who.name} gets {earn} dollars and uses {spend} of them. {who.she.capitalize()} started "
            f"with {start} dollars. How many dollars are there after {weeks} weeks?",
        ]
    )
    steps = [
        f"Each week {who.she} saves ${earn} - {spend} = {gain}$ dollars.",
        f"In {weeks} weeks that is ${weeks} \\times {gain} = {weeks * gain}$ dollars.",
        f"With the first {start} dollars it makes ${weeks * gain} + {start} = {total}$ dollars.",
    ]
    return Draft(problem, steps, total)


def travel(rng: Random) -> Draft:
    who = person(rng)
    vehicle = rng.choice(["train", "bus", "car", "bike", "boat"])
    fast, slow = rng.choice([30, 40, 50, 60]), rng.choice([10, 20])
    t, u = rng.randint(2, 5), rng.randint(2, 5)
    if rng.random() < 0.5:
        problem = (
            f"A {vehicle} goes {fast} km per hour for {t} hours and then {slow} km per hour for {u} "
            f"hours. How many km does it go in all?"
        )
        steps = [
            f"The first part is ${fast} \\times {t} = {fast * t}$ km.",
            f"The second part is ${slow} \\times {u} = {slow * u}$ km.",
            f"In all it goes ${fast * t} + {slow * u} = {fast * t + slow * u}$ km.",
        ]
        return Draft(problem, steps, fast * t + slow * u)
    left = slow * u
    problem = (
        f"{who.name} has a trip of {fast * t + left} km. {who.she.capitalize()} drives {t} hours at {fast} km per "
        f"hour and the rest at {slow} km per hour. How many hours does the trip take?"
    )
    steps = [
        f"In the first {t} hours {who.she} drives ${fast} \\times {t} = {fast * t}$ km.",
        f"Then ${fast * t + left} - {fast * t} = {left}$ km are left.",
        f"They take ${left} \\div {slow} = {u}$ hours.",
        f"The trip takes ${t} + {u} = {t + u}$ hours.",
    ]
    return Draft(problem, steps, t + u)


def reading(rng: Random) -> Draft:
    who = person(rng)
    per_day, days, rate = rng.randint(3, 12), rng.randint(2, 7), rng.randint(2, 9)
    more = rng.randint(2, 8)
    pages = per_day * days + rate * more
    thing, verb, does = rng.choice([("pages", "read", "reads"), ("letters", "write", "writes")])
    problem = (
        f"{who.name} has to {verb} {pages} {thing}. {who.she.capitalize()} {does} {per_day} {thing} a day "
        f"for {days} days, then {rate} {thing} a day. How many more days does {who.she} need?"
    )
    steps = [
        f"In {days} days {who.she} {does} ${per_day} \\times {days} = {per_day * days}$ {thing}.",
        f"Then ${pages} - {per_day * days} = {rate * more}$ {thing} are left.",
        f"That takes ${rate * more} \\div {rate} = {more}$ more days.",
    ]
    return Draft(problem, steps, more)


def farm(rng: Random) -> Draft:
    who = person(rng)
    four, two = rng.choice(["cows", "sheep", "goats", "horses"]), rng.choice(["hens", "ducks", "geese"])
    a, b = rng.randint(2, 9), rng.randint(2, 9)
    if rng.random() < 0.5:
        problem = f"{who.name} keeps {a} {four} and {b} {two}. How many legs do the animals have together?"
        steps = [
            f"The {four} have ${a} \\times 4 = {4 * a}$ legs.",
            f"The {two} have ${b} \\times 2 = {2 * b}$ legs.",
            f"Together they have ${4 * a} + {2 * b} = {4 * a + 2 * b}$ legs.",
        ]
        return Draft(problem, steps, 4 * a + 2 * b)
    problem = (
        f"The {four} and {two} of {who.name} have {4 * a + 2 * b} legs together. "
        f"There are {a} {four}. How many {two} are there?"
    )
    steps = [
        f"The {four} have ${a} \\times 4 = {4 * a}$ legs.",
        f"So the {two} have ${4 * a + 2 * b} - {4 * a} = {2 * b}$ legs.",
        f"There are ${2 * b} \\div 2 = {b}$ {two}.",
    ]
    return Draft(problem, steps, b)


def time(rng: Random) -> Draft:
    who = person(rng)
    hours, minutes = rng.randint(1, 3), rng.choice([10, 20, 30, 40])
    tasks, each = rng.randint(2, 6), rng.choice([5, 8, 10, 12, 15])
    whole = 60 * hours + minutes
    if tasks * each >= whole:
        hours, whole = hours + 1, whole + 60
    unit = "hour" if hours == 1 else "hours"
    task = rng.choice(["exercises", "songs", "puzzles", "calls", "laps"])
    problem = (
        f"{who.name} has {hours} {unit} and {minutes} minutes. {who.she.capitalize()} does {tasks} {task} "
        f"of {each} minutes each. How many minutes are left?"
    )
    steps = [
        f"{hours} {unit} and {minutes} minutes are ${hours} \\times 60 + {minutes} = {whole}$ minutes.",
        f"The {task} take ${tasks} \\times {each} = {tasks * each}$ minutes.",
        f"So ${whole} - {tasks * each} = {whole - tasks * each}$ minutes are left.",
    ]
    return Draft(problem, steps, whole - tasks * each)
