"""Decimals beside exact numbers, which the library takes for equal where they agree in the first digits."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import sympy

from prm_backend.grading.quantities import Quantity, is_rounded, read_quantity

_MATRIX_ENDS = re.compile(r"\\(?:begin|end)\{pmatrix\}|^\(|\)$")


def _is(cell: str, exact: Any) -> bool:
    """Whether a cell of a matrix is a number, and that one."""
    quantity = read_quantity(cell.strip())
    return quantity is not None and sympy.Rational(str(quantity.value)) == exact


def _decimal(answer: str) -> Quantity | None:
    """The decimal that an answer is, perhaps behind its name ("x = 3.14")."""
    quantity = read_quantity(answer.rpartition("=")[2].strip())
    return quantity if quantity is not None and quantity.digits is not None else None


def _is_real(exact: Any) -> bool:
    """Whether it is one real number."""
    return isinstance(exact, sympy.Expr) and bool(exact.is_number and exact.is_real)


def is_no_decimal(decimal: str, exact: Any) -> bool:
    """Whether an answer is a decimal and the other side an irrational number, which no decimal is."""
    quantity = _decimal(decimal)
    if quantity is None or quantity.percent or not _is_real(exact):
        return False
    if exact.has(sympy.Float) or exact.is_rational:
        return False
    if exact.is_rational is None:  # as of e + pi: nobody knows, but it has more digits than anybody writes
        return bool(abs(exact.evalf(60) - sympy.Rational(str(quantity.value))) > sympy.Float("1e-50"))
    return True


def is_cut_off(decimal: str, exact: Any) -> bool:
    """Whether an answer is a decimal of six places or more that a number begins with, not rounded but cut off."""
    quantity = _decimal(decimal)
    places = 0 if quantity is None else quantity.digits or 0
    if quantity is None or places < 6 or not _is_real(exact):
        return False
    computed = _computed(exact, quantity)
    behind = abs(computed) - abs(quantity.value)
    return (computed < 0) == (quantity.value < 0) and 0 <= behind * 10**places < 1


def _computed(exact: Any, quantity: Quantity) -> Fraction:
    """A real number to more digits than a decimal has."""
    return Fraction(str(exact.evalf(30 + (quantity.digits or 0))))


def rounds(decimal: str, exact: Any) -> bool:
    """Whether an answer is a decimal of three digits or more to which a number rounds (3.14 and pi)."""
    if isinstance(exact, sympy.MatrixBase):
        rows = [row.split("&") for row in _MATRIX_ENDS.sub("", decimal).split("\\\\")]
        cells = [cell for row in rows for cell in row]
        return (len(rows), len(cells)) == (exact.rows, len(exact)) and all(
            rounds(cell, entry) or _is(cell, entry) for cell, entry in zip(cells, exact, strict=True)
        )
    quantity = _decimal(decimal)
    if quantity is None or not _is_real(exact):
        return False
    return is_rounded(quantity, _computed(exact, quantity))
