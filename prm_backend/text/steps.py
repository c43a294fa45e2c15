"""A solution's text: cut into steps, joined again, hashed, and its final answer taken out. Judges no answer.

The step policy is PRM800K's: one step a line, and the `# Answer` block belongs to the last step.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence

from prm_backend.text.boxes import boxes, content_of_box, last_boxed
from prm_backend.text.phrases import MATH, final_behind, first_whole_line, stated_in_words
from prm_backend.text.turns import before_next_question, solution_in

ANSWER_HEADER = "# Answer"

# What neither UTF-8 nor PostgreSQL can hold: lone surrogates (a broken `\ud83d` in JSON) and NUL.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# One blank before a line is what a model's tokens leave behind, not an indentation.
_INDENTATION = re.compile(r"(?: {2,}|[ ]*\t)[ \t]*")
_LINE_END = re.compile(r"\r\n?|\n")
_HEADER = re.compile(r"#\s*answer\s*(?::\s*(?P<inline>.*))?", re.IGNORECASE | re.DOTALL)


def storable(text: str) -> str:
    """The text with lone surrogates and NUL replaced by U+FFFD: any database or file takes it."""
    return _UNSTORABLE.sub("\ufffd", text)


def is_storable(text: str) -> bool:
    """Whether `storable` would leave the text as it is."""
    return _UNSTORABLE.search(text) is None


def ink(text: str) -> str:
    """The text without its blanks, in NFC: what two ways to write one step have in common."""
    return "".join(unicodedata.normalize("NFC", text).split())


def text_hash(text: str) -> str:
    """SHA-256 (hex) of the NFC form with runs of whitespace made one space: equal for texts that read alike.

    Never raises: a lone surrogate counts as itself, so texts that differ only there stay apart.
    """
    collapsed = " ".join(unicodedata.normalize("NFC", text).split())
    return hashlib.sha256(collapsed.encode("utf-8", "surrogatepass")).hexdigest()


def split_steps(text: str) -> tuple[str, ...]:
    """Cut a solution into steps: its lines, blank ones dropped, each without the blanks around it.

    Indentation (two blanks or more, or a tab) is part of a step: a program that is cut and joined still runs. From the
    last `# Answer` line on, all is one block of the last step, as PRM800K has it:
    "…\\n\\n# Answer\\n\\n42".
    Steps are `storable`; a text without any ink gives ().
    """
    body, block = take_answer(text)
    steps = tuple(step for line in body.split("\n") if (step := indented(line)))
    if block and steps:
        return (*steps[:-1], f"{steps[-1]}\n\n{block}")
    return (block,) if block else steps


def indented(text: str) -> str:
    """The text without the blanks around it, but for its first line's indentation."""
    ink = text.strip()
    before = text[: len(text) - len(text.lstrip())].rpartition("\n")[2]
    return before + ink if ink and _INDENTATION.fullmatch(before) else ink


def take_answer(text: str) -> tuple[str, str]:
    """The text before the last `# Answer` line, and the block from there on in PRM800K's form, "" where none is."""
    lines = _LINE_END.split(storable(text))
    header = _last_header([line.strip() for line in lines])
    if header is None:
        return "\n".join(lines), ""
    inline = _header_match(lines[header].strip())
    answer = [*([inline] if inline else []), *filter(None, map(indented, lines[header + 1 :]))]
    block = "\n\n".join([ANSWER_HEADER, *(["\n".join(answer).lstrip()] if answer else [])])
    return "\n".join(lines[:header]), block


def join_steps(steps: Sequence[str]) -> str:
    """The solution's text, one step a line: `split_steps(join_steps(s)) == s` for steps it made."""
    return "\n".join(steps)


def is_answer_header(line: str) -> bool:
    """Whether the line begins an answer block: `# Answer`, perhaps with the answer behind it."""
    return _header_match(line.strip()) is not None


def ends_solution(step: str) -> bool:
    """Whether the step carries the final answer: an answer block with an answer in it."""
    lines = step.splitlines()
    return any(map(is_answer_header, lines)) and extract_answer(step) is not None


def _header_match(line: str) -> str | None:
    """What follows `# Answer:` on its line ("" for a bare header), or None where the line is no header."""
    match = _HEADER.fullmatch(line)
    return None if match is None else (match["inline"] or "").strip()


def _last_header(lines: Sequence[str]) -> int | None:
    return next(
        (i for i in range(len(lines) - 1, -1, -1) if _header_match(lines[i]) is not None),
        None,
    )


_TAGGED = re.compile(r"<answer>(?P<inner>(?:[^<]|<(?=[\s\d=]))*+)</answer>", re.IGNORECASE)


def extract_answer(text: str) -> str | None:
    """The one final answer a solution states, without the text around it; None where it states none.

    Looked for in this order: the last `# Answer` block, the last `\\boxed{}` (boxes joined only by commas or
    "and" are one answer, and what changes a box's value belongs to it: "-\\boxed{5}"), GSM8K's `####` on the last
    line, `<answer>…</answer>`, "The answer is …", the line below a heading "Answer", a last sentence such as
    "Therefore, x = 5."; or the text is nothing but one formula. A number that only stands last is no answer, and
    none is looked for in thoughts (`<think>…</think>`) and behind the end of the turn.
    """
    text = solution_in(storable(text))
    before = before_next_question(text)
    return (_stated(before) if before is not None else None) or _stated(text)


def _stated(text: str) -> str | None:
    lines = [stripped for line in _LINE_END.split(text) if (stripped := line.strip())]
    header = _last_header(lines)
    if header is not None:
        inline = _header_match(lines[header])
        stated = first_whole_line([*([inline] if inline else []), *lines[header + 1 :]])
        if stated and (answer := bare_answer(_by_mark(stated) or stated)):
            return answer
    whole = "\n".join(lines)
    found = _by_mark(whole) or (whole if MATH.fullmatch(whole) and not boxes(whole) else None)
    return bare_answer(found) or None if found else None


def bare_answer(answer: str) -> str:
    """The answer unwrapped: no whitespace, `$…$`, `\\(…\\)`, `\\boxed{…}`, markdown, a closing dot."""
    while True:
        before = answer
        answer = answer.strip().strip("*`").strip()
        if answer.endswith(".") and not answer.endswith(".."):
            answer = answer[:-1]
        for opening, closing in (
            ("$$", "$$"),
            ("$", "$"),
            ("\\(", "\\)"),
            ("\\[", "\\]"),
        ):
            inner = answer[len(opening) : -len(closing)]
            if (
                len(answer) >= len(opening + closing)
                and answer.startswith(opening)
                and answer.endswith(closing)
            ):
                if opening not in inner and closing not in inner and not inner.endswith("\\"):
                    answer = inner
                break
        if (boxed := content_of_box(answer)) is not None:
            answer = boxed
        if answer == before:
            return answer


def _by_mark(text: str) -> str | None:
    """The last box, else `####` on the last line, else `<answer>…</answer>`, else what is stated in words.

    Behind a box, a later `<answer>…</answer>` or answer in words stands: who writes it there has thought again.
    """
    tagged = list(_TAGGED.finditer(text))
    found = boxes(text)
    if found and found[-1].content.strip():
        end = found[-1].end
        if tagged and tagged[-1].start() >= end:
            return tagged[-1]["inner"].strip() or None
        return final_behind(text[end:]) or last_boxed(text, found) or None
    last_line = text.rsplit("\n", 1)[-1]
    if "####" in last_line and (after := last_line.rsplit("####", 1)[1].strip()):
        return stated_in_words(after) or after
    if tagged:
        return tagged[-1]["inner"].strip() or None
    return stated_in_words(text)
