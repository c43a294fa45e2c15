"""What a template writes, and the names it writes about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Draft:
    """A problem with its worked steps (one line each, no answer block) and its whole-number answer."""

    problem: str
    steps: Sequence[str]
    answer: int


@dataclass(frozen=True)
class Person:
    """Somebody a problem is about, with the words that stand for the name."""

    name: str
    she: str
    her: str


WOMEN = [
    "Maya",
    "Lena",
    "Aisha",
    "Clara",
    "Nina",
    "Rosa",
    "Yuki",
    "Emma",
    "Zoe",
    "Priya",
    "Ines",
    "Hana",
    "Ada",
    "Marta",
    "Lucy",
    "Amina",
    "Sofia",
    "Grace",
]
MEN = [
    "Tom",
    "Omar",
    "Ben",
    "Luis",
    "Jonas",
    "Ravi",
    "Pavel",
    "Leo",
    "Kofi",
    "Max",
    "Noah",
    "Emil",
    "Sam",
    "Ivan",
    "Hugo",
    "Daniel",
    "Arun",
    "Felix",
]


def dollars(amount: int) -> str:
    return "1 dollar" if amount == 1 else f"{amount} dollars"


def with_article(noun: str) -> str:
    return f"{'An' if noun[0] in 'aeiou' else 'A'} {noun}"


def person(rng: Random) -> Person:
    if rng.random() < 0.5:
        return Person(rng.choice(WOMEN), "she", "her")
    return Person(rng.choice(MEN), "he", "his")


def two_people(rng: Random) -> tuple[Person, Person]:
    return Person(rng.choice(WOMEN), "she", "her"), Person(rng.choice(MEN), "he", "his")
