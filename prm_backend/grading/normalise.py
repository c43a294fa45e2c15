"""Our own grader, in the spirit of PRM800K's: numbers, units, words, choices, lists; else it says so.

It says "correct" or "wrong" only of what it has read whole; expressions it leaves to computer algebra.
Source of the idea: openai/prm800k, grading/grader.py (normalise, then compare; tuples item by item).
"""

from __future__ import annotations

from collections.abc import Sequence

from prm_backend.grading.answers import Answer, Based, Choice, Named, Ratio, Several, Words, is_plain, read
from prm_backend.grading.latex import tidy
from prm_backend.grading.quantities import Quantity, compare_quantities
from prm_backend.types import GraderOpinion, Outcome

NAME = "normaliser"
_CORRECT, _WRONG, _UNDECIDED = Outcome.CORRECT, Outcome.WRONG, Outcome.UNDECIDED
Judgement = tuple[Outcome, str]


def normaliser_opinion(answer: str, gold: str) -> tuple[GraderOpinion, bool]:
    """Compare two bare answers; undecided, with the reason, for whatever is not read whole.

    The second value tells whether the opinion is final: both sides are plain (numbers, words, lists of
    them) or they are the same, so that no computer algebra could know better.
    """
    try:
        read_answer, read_gold = read(tidy(answer)), read(tidy(gold))
        outcome, reason = _compare(read_answer, read_gold)
    except RecursionError:
        return GraderOpinion(NAME, _UNDECIDED, "brackets nested too deeply"), False
    final = outcome is _CORRECT or (is_plain(read_answer) and is_plain(read_gold))
    return GraderOpinion(NAME, outcome, reason), final


def _compare(answer: Answer, gold: Answer) -> Judgement:
    if isinstance(answer, Named) or isinstance(gold, Named):
        return _compare_named(answer, gold)
    if answer == gold:
        return _CORRECT, "equal once normalised"
    if isinstance(answer, Quantity) and isinstance(gold, Quantity):
        return compare_quantities(answer, gold)
    if isinstance(answer, Several) and isinstance(gold, Several):
        return _compare_several(answer, gold)
    if isinstance(answer, Quantity) and isinstance(gold, Several):
        return _compare_with_several(answer, gold)
    if isinstance(answer, Several) and isinstance(gold, Quantity):
        return _compare_with_several(gold, answer)
    if isinstance(answer, Choice) and isinstance(gold, Choice):
        return _WRONG, f"choice {answer.letter}, not {gold.letter}"
    if isinstance(answer, Based) and isinstance(gold, Based):
        return _compare_based(answer, gold)
    if isinstance(answer, Ratio) and isinstance(gold, Ratio):
        return _compare_ratios(answer, gold)
    if isinstance(answer, Words) and isinstance(gold, Words):
        if answer.text == gold.text:
            return _CORRECT, "the same words"
        if answer.sure or gold.sure:
            return _WRONG, "other words"
    kinds = [type(side).__name__.lower() for side in (answer, gold)]
    if kinds[0] == kinds[1]:
        return _UNDECIDED, f"cannot compare one {kinds[0]} with another"
    return _UNDECIDED, f"cannot compare {kinds[0]} with {kinds[1]}"


def _compare_named(answer: Answer, gold: Answer) -> Judgement:
    if isinstance(answer, Named) and isinstance(gold, Named):
        if answer.name != gold.name:
            return _UNDECIDED, f"{answer.name} may not be {gold.name}"
        return _compare(answer.value, gold.value)
    unnamed = [side.value if isinstance(side, Named) else side for side in (answer, gold)]
    return _compare(*unnamed)


def _compare_several(answer: Several, gold: Several) -> Judgement:
    unordered = {("", ""), ("\\{", "\\}")}
    brackets = {(answer.opening, answer.closing), (gold.opening, gold.closing)}
    if len(answer.items) != len(gold.items):
        whole = all(is_plain(item) for item in (*answer.items, *gold.items))
        reason = f"{len(answer.items)} items, not {len(gold.items)}"
        return (_WRONG if whole else _UNDECIDED), reason
    pairs = [_compare(a, g) for a, g in zip(answer.items, gold.items, strict=True)]
    if brackets <= unordered:
        return _compare_unordered(answer.items, gold.items, pairs)
    if len(brackets) > 1:
        if ("", "") in brackets or ("\\{", "\\}") in brackets:
            return _UNDECIDED, "one is ordered by its brackets, the other not"
        return _WRONG, f"{answer.opening}…{answer.closing}, not {gold.opening}…{gold.closing}"
    return _all_of(pairs)


def _compare_with_several(one: Quantity, several: Several) -> Judgement:
    different = any(_compare(item, one)[0] is _WRONG for item in several.items)
    if different and len(several.items) > 1 and is_plain(several) and not several.decimal_comma:
        return _WRONG, "one number on one side, several on the other"
    return _UNDECIDED, "cannot compare one number with several"


def _compare_unordered(answer: Sequence[Answer], gold: Sequence[Answer], pairs: list[Judgement]) -> Judgement:
    if all(outcome is _CORRECT for outcome, _ in pairs):
        return _CORRECT, "the same items"
    names = [{item.name for item in side if isinstance(item, Named)} for side in (answer, gold)]
    unmatched = list(gold)
    for item in answer:
        match = next((other for other in unmatched if _compare(item, other)[0] is _CORRECT), None)
        if match is None:
            same_names = names[0] == names[1] or not all(names)
            if same_names and all(is_plain(other) for other in (*answer, *gold)):
                return _WRONG, "other items"
            return _UNDECIDED, "items without a match"
        unmatched.remove(match)
    # "p=5, q=2" against "2, 5": which is which is told by one side alone.
    if max(map(len, names)) > 1 and not all(names):
        return _UNDECIDED, "the same items in another order, named on one side only"
    return _CORRECT, "the same items"


def _all_of(pairs: list[Judgement]) -> Judgement:
    for wanted in (_WRONG, _UNDECIDED):
        for number, (outcome, reason) in enumerate(pairs, start=1):
            if outcome is wanted:
                return outcome, f"item {number}: {reason}"
    return _CORRECT, "equal item by item"


def _compare_based(answer: Based, gold: Based) -> Judgement:
    try:
        equal = int(answer.digits, answer.base) == int(gold.digits, gold.base)
    except ValueError:
        return _UNDECIDED, "not a numeral of its base"
    if equal and answer.base != gold.base:
        return _UNDECIDED, f"the same number, but in base {answer.base} instead of {gold.base}"
    return (_CORRECT if equal else _WRONG), "as numbers of their bases"


def _compare_ratios(answer: Ratio, gold: Ratio) -> Judgement:
    if len(answer.parts) == len(gold.parts):
        cross = zip(answer.parts, gold.parts, strict=True)
        if answer.parts == gold.parts:
            return _CORRECT, "equal part by part"
        first = next(((a, g) for a, g in zip(answer.parts, gold.parts, strict=True) if g and a), None)
        maybe_ratios = not (answer.time or gold.time)
        if maybe_ratios and first and all(a * first[1] == g * first[0] for a, g in cross):
            return _UNDECIDED, "equal as ratios, not as times of day"
    return _WRONG, "other parts"
