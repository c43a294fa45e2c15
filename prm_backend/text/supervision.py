"""What of a PRM800K record trains: the path that was followed, and every rated step beside it.

Source: Lightman et al., "Let's Verify Step by Step", section 2.6 (up to and including the first error) and PRM800K.md.
"""

from __future__ import annotations

from prm_backend.text.prm800k import Record
from prm_backend.types import LabelledSolution, Rating


def labelled_solution(record: Record, *, beyond_error: bool = False) -> LabelledSolution:
    """The solution a record rates, with the ratings up to and including its first error; None after that.

    Phase 2: the served steps, all of them; with `beyond_error` what was said of the steps after the error counts,
    too. Phase 1: the path that was chosen, step by step. A step the labeller wrote was written to go on with, where
    no option was great: it counts as great.
    """
    path = _path(record)
    ratings: list[int | None] = []
    for _, rating in path:
        ratings.append(None if Rating.BAD in ratings else rating)
    if beyond_error and Rating.BAD in ratings:
        first = ratings.index(Rating.BAD) + 1
        later = [completion.rating for completion in record.extra.after_error]
        ratings[first : first + len(later)] = later
    return LabelledSolution(
        problem=record.problem,
        steps=tuple(text for text, _ in path),
        ratings=tuple(ratings),
        id=_id(record),
        beyond_error=beyond_error,
    )


def alternatives(record: Record) -> list[LabelledSolution]:
    """Each rated option that was not followed, as the last step of its own solution; the rest is context.

    Options after the first error, or after a step without a rating, are left out: they continue something bad.
    """
    path = _path(record)
    found = []
    for i, step in enumerate(record.steps[: len(path) + 1]):
        if any(rating in (Rating.BAD, None) for _, rating in path[:i]):
            break
        followed = path[i][0] if i < len(path) else None
        for option in step.completions or ():
            if option.rating is not None and option.text != followed:
                found.append(
                    LabelledSolution(
                        problem=record.problem,
                        steps=(*(text for text, _ in path[:i]), option.text),
                        ratings=(*(rating for _, rating in path[:i]), option.rating),
                        id=f"{_id(record)}/{i}",
                        context=i,
                    )
                )
    return found


def _id(record: Record) -> str:
    return f"{record.labeler}/{record.timestamp}"


def _path(record: Record) -> list[tuple[str, int | None]]:
    return _chosen(record) if record.pre_generated is None else _served(record, record.pre_generated.steps)


def _served(record: Record, served: tuple[str, ...]) -> list[tuple[str, int | None]]:
    path: list[tuple[str, int | None]] = []
    for i, text in enumerate(served):
        options = (record.steps[i].completions or ()) if i < len(record.steps) else ()
        path.append((text, next((option.rating for option in options if option.text == text), None)))
    return path


def _chosen(record: Record) -> list[tuple[str, int | None]]:
    path: list[tuple[str, int | None]] = []
    for step in record.steps:
        if step.chosen_completion is not None and step.completions:
            chosen = step.completions[step.chosen_completion]
            path.append((chosen.text, chosen.rating))
        elif step.human_completion is not None:
            written = step.human_completion
            path.append((written.text, Rating.GREAT if written.rating is None else written.rating))
        else:
            break
    return path
