"""How published PRMs lay a problem and its steps out as tokens, and where each step is read. Knows no model.

Every PRM must be given text as it was trained on, so each layout follows its authors' code. A step and the mark after
it are tokenised apart and the positions are written down while the tokens are laid, never searched for: a mark that
stands in a problem's text, or that would merge with its neighbours, moves nothing. Our own layout is in `encoding`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from prm_backend.text.encoding import Encoded, leading_ids
from prm_backend.text.steps import storable
from prm_backend.types import Unscorable

Layout = Callable[[Any, str, Sequence[str]], Encoded]

MATH_SHEPHERD_TAG = "ки"
GOOD_TOKEN, BAD_TOKEN = "+", "-"  # what Math-Shepherd and RLHFlow have the language model answer
QWEN_TAG = "<extra_0>"
QWEN_SYSTEM = "Please reason step by step, and put your final answer within \\boxed{}."


def lay_out(
    layout: Layout, tokenizer: Any, problem: str, steps: Sequence[str], max_length: int
) -> Encoded | Unscorable:
    """The tokens of a solution; what has no or empty steps, or more than `max_length` tokens, is refused, never cut."""
    if not steps:
        return Unscorable("the solution has no steps")
    for number, step in enumerate(steps, start=1):
        if not step.strip():
            return Unscorable(f"step {number} of {len(steps)} is empty")
    encoded = layout(tokenizer, storable(problem), [storable(step) for step in steps])
    if len(encoded) > max_length:
        return Unscorable(f"the solution has {len(encoded)} tokens, more than the {max_length} that fit")
    return encoded


def trl(tokenizer: Any, problem: str, steps: Sequence[str]) -> Encoded:
    r"""`[bos] problem (step \n)…`, read at each `\n` (TRL, `PRMTrainer.tokenize_row`; PURE was trained with it)."""
    problem_ids, separator, *steps_ids = plain_ids(tokenizer, [problem, "\n", *steps])
    bos = tokenizer.bos_token_id
    ids = [*([] if bos is None else [bos]), *problem_ids]
    return _marked(ids, steps_ids, separator)


def skywork(tokenizer: Any, problem: str, steps: Sequence[str]) -> Encoded:
    r"""`bos problem\n (step \n)…`, read at each `\n` (SkyworkAI/skywork-o1-prm-inference, `prepare_input`)."""
    problem_ids, separator, *steps_ids = plain_ids(tokenizer, [f"{problem}\n", "\n", *steps])
    bos = tokenizer.bos_token_id
    return _marked([*([] if bos is None else [bos]), *problem_ids], steps_ids, separator[-1:])


def math_shepherd(tokenizer: Any, problem: str, steps: Sequence[str]) -> Encoded:
    r"""`bos problem Step 1: … ки\nStep 2: … ки`, read at each `ки` (peiyi9979/math-shepherd-mistral-7b-prm)."""
    tag = one_token(tokenizer, MATH_SHEPHERD_TAG)
    first, *rest = [
        step if re.match(r"step\s+\d+\s*:", step, re.IGNORECASE) else f"Step {number}: {step}"
        for number, step in enumerate(steps, start=1)
    ]
    [opening] = plain_ids(tokenizer, [f"{problem} {first}"])
    ids = [*leading_ids(tokenizer), *opening, tag]
    positions = [len(ids) - 1]
    for step in rest:
        ids += [*_ids_after(tokenizer, MATH_SHEPHERD_TAG, f"\n{step}"), tag]
        positions.append(len(ids) - 1)
    return Encoded(tuple(ids), tuple(positions))


def rlhflow(tokenizer: Any, problem: str, steps: Sequence[str]) -> Encoded:
    """A chat: each user turn a step, each answer `+`; read where that is predicted (RLHFlow/RLHF-Reward-Modeling).

    So the logits are those of the token before the `+`, whatever the PRM thought of the steps before.
    """
    texts = [f"{problem} {steps[0]}", *steps[1:]]
    turns = [("user", text.strip()) for text in texts]  # as Llama's chat template does
    messages = [turn for user in turns for turn in (user, ("assistant", GOOD_TOKEN))]
    ids: list[int] = []
    positions = []
    for role, piece in _chat(tokenizer, messages):
        if role == "assistant":
            positions.append(len(ids) - 1)
            ids.append(one_token(tokenizer, GOOD_TOKEN))
        else:
            ids += piece
    return Encoded(tuple(ids), tuple(positions))


def qwen(tokenizer: Any, problem: str, steps: Sequence[str]) -> Encoded:
    """A chat whose answer is `(step <extra_0>)…`, read at each `<extra_0>` (Qwen2.5-Math-PRM's model card)."""
    tag = one_token(tokenizer, QWEN_TAG)
    ids: list[int] = []
    for role, piece in _chat(tokenizer, [("system", QWEN_SYSTEM), ("user", problem), ("assistant", "")]):
        if role == "assistant":
            break  # a causal model does not see what closes the answer
        ids += piece
    return _marked(ids, plain_ids(tokenizer, list(steps)), [tag])


def plain_ids(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Each text's tokens, without special ones: `<|im_end|>` in a step is the plain text it is."""
    return tokenizer(list(texts), add_special_tokens=False, split_special_tokens=True, verbose=False)[
        "input_ids"
    ]


def one_token(tokenizer: Any, text: str) -> int:
    """The id of a text that is one token. ValueError where it is none or several: then this is another PRM's layout."""
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    if len(ids) != 1:
        raise ValueError(
            f"{text!r} is {len(ids)} tokens to this tokenizer, not one: the model does not follow this convention"
        )
    return ids[0]


def _marked(ids: list[int], steps_ids: Sequence[list[int]], mark: list[int]) -> Encoded:
    positions = []
    for step_ids in steps_ids:
        ids = [*ids, *step_ids, *mark]
        positions.append(len(ids) - 1)
    return Encoded(tuple(ids), tuple(positions))


def _ids_after(tokenizer: Any, before: str, text: str) -> list[int]:
    """The tokens of `text` after `before`: a SentencePiece tokenizer puts a blank before what stands alone."""
    whole, head, alone = plain_ids(tokenizer, [before + text, before, text])
    return whole[len(head) :] if whole[: len(head)] == head else alone


def _chat(tokenizer: Any, messages: Sequence[tuple[str, str]]) -> list[tuple[str, list[int]]]:
    """The chat template's own tokens (role "") and those of each message, in order.

    The template is rendered around stand-ins, so that a message is tokenised apart from it and cannot forge a turn.
    """
    stand_ins = [f"\ue000{number}\ue001" for number in range(len(messages))]
    rendered = tokenizer.apply_chat_template(
        [{"role": role, "content": mark} for (role, _), mark in zip(messages, stand_ins, strict=True)],
        tokenize=False,
    )
    frame = re.split("\ue000\\d+\ue001", rendered)
    if re.findall("\ue000\\d+\ue001", rendered) != stand_ins:
        raise ValueError("the tokenizer's chat template does not write every turn once and in order")
    pieces = [("", tokenizer(frame[0], add_special_tokens=False)["input_ids"])]
    contents = plain_ids(tokenizer, [content for _, content in messages])
    for (role, _), content, after in zip(messages, contents, frame[1:], strict=True):
        pieces += [(role, content), ("", tokenizer(after, add_special_tokens=False)["input_ids"])]
    return pieces
