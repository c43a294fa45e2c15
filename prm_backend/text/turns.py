"""A raw completion: what of it is the solution, without the thinking before it and what a model writes behind it."""

from __future__ import annotations

import re

_THOUGHT = r"think(?:ing)?|thought|reasoning"
_THOUGHT_BEGINS = re.compile(
    rf"<(?:{_THOUGHT})>|◁think▷|<\|begin_of_thought\|>|<\|channel\|>(?:analysis|commentary)\b", re.IGNORECASE
)
_THOUGHT_ENDS = re.compile(
    rf"</(?:{_THOUGHT})>|◁/think▷|<\|end_of_thought\|>|<\|channel\|>final<\|message\|>", re.IGNORECASE
)
# Where a chat's turn ends: what stands behind is no part of the solution. `<|end|>` also ends a channel's message.
_TURN_ENDS = re.compile(
    r"(?<=\S)\s*(?:<\|(?:im_start|im_end|eot_id|return|endoftext|end_of_text|end_of_solution)\|>|</s>"
    r"|<\|end\|>(?!\s*<\|start\|>assistant)|<(?:end|start)_of_turn>|<｜end▁of▁sentence｜>)"
)
# A model without turns goes on with another question.
_NEXT_QUESTION = re.compile(
    r"(?<=\S)\s*\n(?:(?:Human|User):|[ \t]*\n[#* ]{0,8}(?:Question|Problem|Instruction|Q):)"
)
_FIRST_QUESTION = re.compile(r"\s*[#* ]{0,8}(?:Human|User|Question|Problem|Instruction|Q):")


def solution_in(completion: str) -> str:
    """The completion up to its turn's end, without thoughts; "" where the thinking never ended."""
    text = _TURN_ENDS.split(completion, maxsplit=1)[0]
    thoughts_end = max((end.end() for end in _THOUGHT_ENDS.finditer(text)), default=0)
    unended = _THOUGHT_BEGINS.search(text, thoughts_end)
    return text[thoughts_end : unended.start() if unended else None]


def before_next_question(text: str) -> str | None:
    """What stands before another question that the text asks itself; None where there is none."""
    if _FIRST_QUESTION.match(text):  # it asks from the beginning on: perhaps a question for each step
        return None
    asked = _NEXT_QUESTION.search(text)
    return text[: asked.start()] if asked else None
