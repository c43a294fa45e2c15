"""A solution's text: cut into steps, joined again, hashed, and its final answer taken out. Judges no answer.

The step policy is PRM800K's: one step a line, and the `# Answer` block belongs to the last step.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence

from prm_backend.text.phrases import MATH, final_behind, first_whole_line, stated_in_words

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


_BOXED = re.compile(r"\\(?:boxed|fbox|framebox)\s*(?=\{|[^\s{a-zA-Z])")
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)  # an escaped brace opens nothing
# Between two boxes that together are one answer ("\boxed{1} \text{ and } \boxed{2}") stand only these.
_BETWEEN_BOXES = re.compile(
    r"(?:[\s,;&$]|\\[,;:!()\[\]]|\\q?quad|\\(?:text|mbox)\s*\{\s*(?:and|or)\s*,?\s*\}|and|or|[a-zA-Z](?:_\{?\w\}?)?\s*=)*"
)
_JOINED = re.compile(r"[a-zA-Z,;&]")
_TAGGED = re.compile(r"<answer>\s*(?P<inner>[^<]*?)\s*</answer>", re.IGNORECASE)
# Where a chat's turn ends: what stands behind is no part of the solution.
_TURN_ENDS = re.compile(r"(?<=\S)\s*(?:<\|(?:im_start|im_end|eot_id|end|endoftext|end_of_text)\|>|</s>)")


def extract_answer(text: str) -> str | None:
    """The one final answer a solution states, without the text around it; None where it states none.

    Looked for in this order: the last `# Answer` block, the last `\\boxed{}` (boxes joined only by commas or
    "and" are one answer), GSM8K's `####` on the last line, `<answer>…</answer>`, "The answer is …", the line below
    a heading "Answer", a last sentence such as "Therefore, x = 5."; or the text is nothing but one formula. A number
    that only stands last is no answer.
    """
    text = _TURN_ENDS.split(storable(text), maxsplit=1)[0]
    lines = [stripped for line in _LINE_END.split(text) if (stripped := line.strip())]
    header = _last_header(lines)
    if header is not None:
        inline = _header_match(lines[header])
        stated = first_whole_line([*([inline] if inline else []), *lines[header + 1 :]])
        if stated and (answer := bare_answer(_by_mark(stated) or stated)):
            return answer
    whole = "\n".join(lines)
    found = _by_mark(whole) or (whole if MATH.fullmatch(whole) else None)
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
        if (
            _BOXED.match(answer)
            and (boxes := _boxes(answer))
            and (boxes[0][0], boxes[0][2]) == (0, len(answer))
        ):
            answer = boxes[0][1]
        if answer == before:
            return answer


def _by_mark(text: str) -> str | None:
    """The last box, else `####` on the last line, else `<answer>…</answer>`, else what is stated in words."""
    if (boxed := _last_boxed(text)) is not None:
        return final_behind(text[_boxes(text)[-1][2] :]) or boxed
    last_line = text.rsplit("\n", 1)[-1]
    if "####" in last_line and (after := last_line.rsplit("####", 1)[1].strip()):
        return stated_in_words(after) or after
    if tagged := list(_TAGGED.finditer(text)):
        return tagged[-1]["inner"] or None
    return stated_in_words(text)


def _closing_braces(text: str) -> dict[int, int]:
    """Where each brace that opens is closed; one pass, so a text of nothing but `{` is no trap."""
    closed, still_open = {}, []
    for brace in _BRACES.finditer(text):
        if brace[0] == "{":
            still_open.append(brace.start())
        elif brace[0] == "}" and still_open:
            closed[still_open.pop()] = brace.start()
    return closed


def _boxes(text: str) -> list[tuple[int, str, int]]:
    """Each closed box as (start, content, end), in order; `\\boxed 5` boxes one character."""
    closed = _closing_braces(text)
    boxes = []
    for macro in _BOXED.finditer(text):
        start = macro.end()
        if text[start] != "{":
            boxes.append((macro.start(), text[start], start + 1))
        elif start in closed:
            boxes.append((macro.start(), text[start + 1 : closed[start]], closed[start] + 1))
    return boxes


def _last_boxed(text: str) -> str | None:
    boxes = _boxes(text)
    if not boxes:
        return None
    start, content, end = boxes[-1]
    parts = [content]
    for earlier_start, earlier, earlier_end in reversed(boxes[:-1]):
        if earlier_end > end:  # the box around this one
            continue
        if earlier_end > start or not _BETWEEN_BOXES.fullmatch(text, earlier_end, start):
            break
        said_again = earlier == parts[-1] and not _JOINED.search(text, earlier_end, start)
        if not said_again:
            parts.append(earlier)
        start = earlier_start
    return ", ".join(reversed(parts)) if content.strip() else None
