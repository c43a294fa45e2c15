"""Our own grader, in the spirit of PRM800K's: numbers, units, words, choices, lists; else it says so.

It says "correct" or "wrong" only of what it has read whole; expressions it leaves to computer algebra.
Source of the idea: openai/prm800k, grading/grader.py (normalise, then compare; tuples item by item).
"""

from __future__ import annotations

from collections.abc import Sequence

from prm_backend.grading.answers import (
    Answer,
    Based,
    Choice,
    Expression,
    Named,
    Ratio,
    Several,
    Time,
    Words,
    is_condition,
    is_plain,
    read,
)
from prm_backend.grading.latex import tidy
from prm_backend.grading.policy import DEFAULT_POLICY, GradingPolicy
from prm_backend.grading.quantities import Quantity, compare_quantities
from prm_backend.grading.spelling import in_letters_of
from prm_backend.types import GraderOpinion, Outcome

NAME = "normaliser"
_CORRECT, _WRONG, _UNDECIDED = Outcome.CORRECT, Outcome.WRONG, Outcome.UNDECIDED
Judgement = tuple[Outcome, str]


def normaliser_opinion(
    answer: str, gold: str, policy: GradingPolicy = DEFAULT_POLICY
) -> tuple[GraderOpinion, bool]:
    """Compare two bare answers; undecided, with the reason, for whatever is not read whole.

    The second value tells whether the opinion is final: both sides are plain (numbers, words, lists of
    them) or they are the same, so that no computer algebra could know better.
    """
    try:
        tidied = tidy(gold)
        read_answer, read_gold = read(in_letters_of(tidy(answer), tidied)), read(tidied)
        outcome, reason = _Comparison(policy).of(read_answer, read_gold)
    except RecursionError:
        return GraderOpinion(NAME, _UNDECIDED, "brackets nested too deeply"), False
    final = outcome is _CORRECT or (is_plain(read_answer) and is_plain(read_gold))
    return GraderOpinion(NAME, outcome, reason), final


class _Comparison:
    """Two read answers under a policy."""

    def __init__(self, policy: GradingPolicy) -> None:
        self._policy = policy

    def of(self, answer: Answer, gold: Answer) -> Judgement:
        if isinstance(answer, Named) or isinstance(gold, Named):
            return self._named(answer, gold)
        if answer == gold:
            return _CORRECT, "equal once normalised"
        if isinstance(answer, Quantity) and isinstance(gold, Quantity):
            return compare_quantities(answer, gold, self._policy)
        if isinstance(answer, Several) and isinstance(gold, Several):
            return self._several(answer, gold)
        if isinstance(answer, Ratio) and isinstance(gold, Ratio):
            return self._ratios(answer, gold)
        if isinstance(answer, Words) and isinstance(gold, Words):
            if answer.text == gold.text:
                return _CORRECT, "the same words"
            if answer.sure or gold.sure:
                return _WRONG, "other words"
        if isinstance(answer, Based) and isinstance(gold, Based):
            return self._based(answer, gold)
        if isinstance(answer, Time) and isinstance(gold, Time):
            return _WRONG, "another time of day"
        if isinstance(answer, Choice) and isinstance(gold, Choice):
            return _WRONG, f"choice {answer.letter}, not {gold.letter}"
        for one, other in ((answer, gold), (gold, answer)):
            if judgement := self._of_two_kinds(one, other):
                return judgement
        kinds = [type(side).__name__.lower() for side in (answer, gold)]
        if kinds[0] == kinds[1]:
            return _UNDECIDED, f"cannot compare one {kinds[0]} with another"
        return _UNDECIDED, f"cannot compare {kinds[0]} with {kinds[1]}"

    def _of_two_kinds(self, one: Answer, other: Answer) -> Judgement | None:
        if isinstance(one, Quantity) and isinstance(other, Several):
            return self._with_several(one, other)
        if isinstance(one, Quantity) and isinstance(other, Based):
            return self._with_based(one, other)
        if isinstance(one, Choice | Words) and isinstance(other, Several):
            return self._name_and_several(one, other)
        if isinstance(one, Time) and isinstance(other, Ratio):
            return _time_and_ratio(one, other)
        if isinstance(one, Choice) and one.text and self.of(read(one.text), other)[0] is _CORRECT:
            return _CORRECT, f"the text of choice {one.letter}"
        return None

    def _named(self, answer: Answer, gold: Answer) -> Judgement:
        if isinstance(answer, Named) and isinstance(gold, Named):
            if answer.name != gold.name:
                return _UNDECIDED, f"{answer.name} may not be {gold.name}"
            return self.of(answer.value, gold.value)
        for one, other in ((answer, gold), (gold, answer)):
            if _names_each(other) and (each := _each_named(one)) is not one:
                return self.of(each, other)
        return self.of(*(side.value if isinstance(side, Named) else side for side in (answer, gold)))

    def _several(self, answer: Several, gold: Several) -> Judgement:
        if {answer.joint, gold.joint} == {"and", "or"} and _are_conditions((*answer.items, *gold.items)):
            return _UNDECIDED, "all of them on one side, one of them on the other"
        unordered = {("", ""), ("\\{", "\\}")}
        brackets = {(answer.opening, answer.closing), (gold.opening, gold.closing)}
        if len(answer.items) != len(gold.items):
            if brackets <= unordered and self._but_for_repetition(answer, gold):
                of_sets = brackets == {("\\{", "\\}")}
                return (_CORRECT if of_sets else _UNDECIDED), "the same items, of which one is said twice"
            whole = all(is_plain(item) for item in (*answer.items, *gold.items))
            reason = f"{len(answer.items)} items, not {len(gold.items)}"
            return (_WRONG if whole else _UNDECIDED), reason
        pairs = [self.of(a, g) for a, g in zip(answer.items, gold.items, strict=True)]
        if brackets <= unordered:
            return self._unordered(answer.items, gold.items, pairs)
        if len(brackets) > 1:
            if not brackets & unordered:
                return _WRONG, f"{answer.opening}…{answer.closing}, not {gold.opening}…{gold.closing}"
            same = _all_of(pairs)[0] is _CORRECT
            return (
                self._policy.other_brackets if same else _UNDECIDED
            ), "one is ordered by its brackets, the other not"
        return _all_of(pairs)

    def _but_for_repetition(self, answer: Several, gold: Several) -> bool:
        """Whether each item of either is one of the other's."""
        return all(
            any(self.of(item, other)[0] is _CORRECT for other in others)
            for items, others in ((answer.items, gold.items), (gold.items, answer.items))
            for item in items
        )

    def _with_several(self, one: Quantity, several: Several) -> Judgement:
        if several.number is not None:
            as_one, reason = self.of(several.number, one)
            if several.decimal_comma:
                among = any(self.of(item, one)[0] is not _WRONG for item in several.items)
                if as_one is _WRONG and not among:
                    return _WRONG, "another number, and so it is with a decimal comma"
            elif as_one is not _WRONG:
                return as_one, reason
        different = any(self.of(item, one)[0] is _WRONG for item in several.items)
        if different and len(several.items) > 1 and is_plain(several) and not several.decimal_comma:
            return _WRONG, "one number on one side, several on the other"
        return _UNDECIDED, "cannot compare one number with several"

    def _name_and_several(self, one: Choice | Words, several: Several) -> Judgement | None:
        """One word or choice is not several of them; but behind "Yes, " may stand what explains it."""
        if len(several.items) < 2 or not (is_plain(one) and is_plain(several)):
            return None
        other = [self.of(item, one)[0] is _WRONG for item in several.items]
        texts = [item.text for item in several.items if isinstance(item, Words)]
        names = not texts or (several.joint and all(text.count(" ") < 2 for text in texts))
        if all(other) or (names and any(other)):
            return _WRONG, "one on one side, several on the other"
        return None

    def _unordered(
        self, answer: Sequence[Answer], gold: Sequence[Answer], pairs: list[Judgement]
    ) -> Judgement:
        if all(outcome is _CORRECT for outcome, _ in pairs):
            return _CORRECT, "the same items"
        names = [{item.name for item in side if isinstance(item, Named)} for side in (answer, gold)]
        unmatched = list(gold)
        for item in answer:
            match = next((other for other in unmatched if self.of(item, other)[0] is _CORRECT), None)
            if match is None:
                same_names = names[0] == names[1] or not all(names)
                plain = all(is_plain(other) for other in (*answer, *gold))
                if same_names and plain and not self._perhaps(item, unmatched):
                    return _WRONG, "other items"
                return _UNDECIDED, "items without a match"
            unmatched.remove(match)
        # "p=5, q=2" against "2, 5": which is which is told by one side alone.
        if max(map(len, names)) > 1 and not all(names):
            return _UNDECIDED, "the same items in another order, named on one side only"
        return _CORRECT, "the same items"

    def _perhaps(self, item: Answer, others: Sequence[Answer]) -> bool:
        """Whether one of the others may be the item after all; one of another name is not."""
        comparable = [
            other
            for other in others
            if not (isinstance(item, Named) and isinstance(other, Named) and item.name != other.name)
        ]
        return any(self.of(item, other)[0] is _UNDECIDED for other in comparable)

    def _based(self, answer: Based, gold: Based) -> Judgement:
        if answer.value is None or gold.value is None:
            return _UNDECIDED, "not a numeral of its base"
        if answer.value != gold.value:
            return _WRONG, "other numbers"
        if answer.base != gold.base:
            return (
                self._policy.other_base,
                f"the same number, but in base {answer.base} instead of {gold.base}",
            )
        return _CORRECT, "as numbers of their base"

    def _with_based(self, quantity: Quantity, based: Based) -> Judgement:
        if based.value is None:
            return _UNDECIDED, "not a numeral of its base"
        if quantity.value == based.value and based.base == 10:
            return _CORRECT, "equal as numbers"
        if quantity.value == based.value:
            return self._policy.other_base, f"the same number, in base {based.base} on one side only"
        if str(quantity.value) == based.digits:
            return _UNDECIDED, f"the same digits, in base {based.base} on one side only"
        return _WRONG, f"another number than that in base {based.base}"

    def _ratios(self, answer: Ratio, gold: Ratio) -> Judgement:
        if len(answer.parts) == len(gold.parts):
            if answer.parts == gold.parts:
                return _CORRECT, "equal part by part"
            cross = list(zip(answer.parts, gold.parts, strict=True))
            first = next(((a, g) for a, g in cross if g and a), None)
            maybe_ratios = not (answer.time or gold.time)
            if maybe_ratios and first and all(a * first[1] == g * first[0] for a, g in cross):
                return self._policy.scaled_ratio, "equal as ratios, not as times of day"
        return _WRONG, "other parts"


def _all_of(pairs: list[Judgement]) -> Judgement:
    for wanted in (_WRONG, _UNDECIDED):
        for number, (outcome, reason) in enumerate(pairs, start=1):
            if outcome is wanted:
                return outcome, f"item {number}: {reason}"
    return _CORRECT, "equal item by item"


def _names_each(side: Answer) -> bool:
    return isinstance(side, Several) and all(isinstance(item, Named) for item in side.items)


def _are_conditions(items: Sequence[Answer]) -> bool:
    """Whether "and" between them is not "or": inequalities, values of several variables, names of things."""
    names = {item.name for item in items if isinstance(item, Named)}
    return len(names) > 1 or any(
        isinstance(item, Words | Choice) or (isinstance(item, Expression) and is_condition(item.text))
        for item in items
    )


def _each_named(side: Answer) -> Answer:
    """ "(x, y) = (3, 4)" as "x = 3, y = 4"; all else as it is."""
    if isinstance(side, Named) and side.name.startswith("(") and isinstance(side.value, Several):
        names = side.name.strip("()").split(",")
        if len(names) == len(side.value.items):
            pairs = zip(names, side.value.items, strict=True)
            return Several("", "", tuple(Named(name, value) for name, value in pairs))
    return side


def _time_and_ratio(time: Time, ratio: Ratio) -> Judgement | None:
    """ "2:30 PM" beside "14:30" or "2:30", of which the last may be by night."""
    if len(ratio.parts) != 2 or ratio.parts[0] >= 24 or ratio.parts[1] >= 60:
        return None
    minutes = ratio.parts[0] * 60 + ratio.parts[1]
    if minutes == time.minutes:
        return _CORRECT, "the same time of day"
    if minutes % 720 == time.minutes % 720:
        return _UNDECIDED, "the same time, if it is of the same half of the day"
    return _WRONG, "another time of day"
