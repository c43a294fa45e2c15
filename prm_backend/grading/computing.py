"""Expressions compared by computing them, where algebra alone would not tell or would take for ever."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import sympy

_BILLIONTH = sympy.Float("1e-9")
_APPROXIMATED = (sympy.Integral, sympy.Sum, sympy.Product, sympy.Limit)  # where none of them could be done
_FAR_BEHIND = sympy.Float("1e-25")  # of the 30 digits that are computed
# Where expressions with variables are computed; nothing about the values is special, as they should be.
_POINTS = [
    (sympy.Rational(1373, 1000), sympy.Rational(917, 1000)),
    (sympy.Rational(-733, 1000), sympy.Rational(411, 1000)),
]
_MORE_POINTS = [
    (sympy.Rational(5881, 1000), sympy.Rational(317, 1000)),
    (sympy.Rational(173, 1000), sympy.Rational(2731, 1000)),
    (sympy.Rational(-41777, 1000), sympy.Rational(60013, 1000)),
]
# What they say of some points they need not say of others: |x + 100| is x + 100 at all of these.
_BREAKS = (sympy.Abs, sympy.floor, sympy.ceiling, sympy.sign, sympy.Max, sympy.Min, sympy.Piecewise)


def differ(a: Any, b: Any) -> bool:
    """Whether two expressions, computed, are further apart than computing explains.

    That is a billionth of their size, or much less for exact numbers.
    """
    names = _names(a, b)
    done = a.doit(), b.doit()
    if not names and all(isinstance(side, sympy.Rational) for side in done):
        return bool(done[0] != done[1])  # 2^2020 + 1 is not 2^2020, however near
    exact = not names and not any(side.has(sympy.Float, *_APPROXIMATED) for side in done)
    least = _FAR_BEHIND if exact else _BILLIONTH
    for values in _values(names, _POINTS):
        one, other = (_at(side, values) for side in (a, b))
        if names and _leaves_the_reals(a, values) | _leaves_the_reals(b, values):
            continue  # sqrt(m) sqrt(n) is sqrt(mn), but not of two negative numbers
        if names and not (a.has(sympy.I) or b.has(sympy.I)) and not (one.is_real and other.is_real):
            continue  # where a logarithm or a root has no real value, equal ones may differ
        if one.is_finite and other.is_finite:
            if abs(one - other) > (abs(one) + abs(other)) * least:
                return True
        elif one.is_finite != other.is_finite or (one.is_infinite and one != other):
            return True
    return False


def digits_of(expression: Any) -> float:
    """About how many decimal digits computing an expression would make; inf for the unthinkable."""
    if isinstance(expression, sympy.Rational):
        return float(max(abs(expression.p).bit_length(), expression.q.bit_length()) * math.log10(2))
    arguments: list[float] = [digits_of(argument) for argument in getattr(expression, "args", ())]
    most = max(arguments, default=0.0)
    if isinstance(expression, sympy.Pow) and expression.exp.is_number:
        return arguments[0] * max(1.0, _magnitude(expression.exp, arguments[1]))
    if isinstance(expression, sympy.factorial | sympy.gamma) and expression.is_number:
        return _magnitude(expression.args[0], most) * max(most, 1.0)
    return sum(arguments) if isinstance(expression, sympy.Mul) else most


def _magnitude(number: Any, digits: float) -> float:
    """The size of a number that has `digits` digits; inf beyond what a float holds."""
    return abs(complex(number.evalf(5))) if digits < 300 else math.inf


def same_over_the_reals(a: Any, b: Any) -> bool:
    """Whether two expressions with variables agree wherever they were computed, and are real at the same points.

    So 1/sqrt(n) is sqrt(1/n), of which algebra over the complex numbers knows nothing; ln(x^2) is not 2 ln(x).
    """
    names = _names(a, b)
    roots = [power for side in (a, b) for power in side.atoms(sympy.Pow) if not power.exp.is_integer]
    if not names or any(side.has(sympy.I, *_BREAKS) for side in (a, b)):
        return False
    if any(root.base.has(sympy.Add) for root in roots):
        return False  # as |x + 100| may be written, too
    real = 0
    for values in _values(names, _POINTS + _MORE_POINTS):
        if _leaves_the_reals(a, values) != _leaves_the_reals(b, values):
            return False
        one, other = (_at(side, values) for side in (a, b))
        if one.is_real and other.is_real:
            if abs(one - other) > (abs(one) + abs(other)) * _BILLIONTH**2:
                return False
            real += 1
    return real >= 3


def _names(a: Any, b: Any) -> list[str]:
    """Of the variables of two expressions."""
    return sorted({symbol.name for symbol in a.free_symbols | b.free_symbols})


def _values(names: list[str], points: list[tuple[Any, Any]]) -> Iterator[dict[str, Any]]:
    """The variables' values at each of the points."""
    for start, step in points:
        yield {name: start + i * step for i, name in enumerate(names)}


def _leaves_the_reals(expression: Any, values: dict[str, Any]) -> bool:
    """Whether there a root or a logarithm is taken of what is negative."""
    inner = [power.base for power in expression.atoms(sympy.Pow) if not power.exp.is_integer]
    inner += [logarithm.args[0] for logarithm in expression.atoms(sympy.log)]
    computed = (_at(part, values) for part in inner)
    return any(not part.is_real or part < 0 for part in computed)


def _at(expression: Any, values: dict[str, Any]) -> Any:
    """The expression computed, to 30 digits, where its variables have these values."""
    return expression.doit().subs({s: values[s.name] for s in expression.free_symbols}).evalf(30)
