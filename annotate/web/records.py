"""What workers wrote down, told in the reader's language.

A row keeps the words of the process that wrote it: workers and the engine know no reader and speak English, as the
console and the API do. Each of their sentences is known here with its places. What is not known, such as an exception's
own words or what a person wrote, is shown as it stands.
"""

from __future__ import annotations

import re

from django import template
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext_noop as _

register = template.Library()

JOB_NAMES = {
    "agreement": gettext_lazy("Measure agreement"),
    "benchmark": gettext_lazy("Measure a version"),
    "bootstrap": gettext_lazy("Train the first PRM"),
    "enqueue": gettext_lazy("Choose solutions"),
    "generate": gettext_lazy("Sample solutions"),
    "grade": gettext_lazy("Grade answers"),
    "import_problems": gettext_lazy("Import problems"),
    "promote": gettext_lazy("Decide about a version"),
    "propose": gettext_lazy("Propose next steps"),
    "retrain": gettext_lazy("Retrain the PRM"),
    "score": gettext_lazy("Score solutions"),
    "snapshot": gettext_lazy("Keep the labels"),
}

WORK = (
    _("sampling solutions of %(n)s problems"),
    _("sampling solutions, %(tokens)s tokens so far"),
    _("%(n)s of %(all)s problems sampled, %(tokens)s tokens"),
    _("%(n)s solutions sampled"),
    _("asking for next steps"),
    _("%(n)s of %(all)s next steps written"),
    _("comparing %(n)s answers"),
    _("%(n)s of %(all)s answers judged"),
    _("%(n)s solutions graded"),
    _("scoring %(n)s solutions with %(version)s"),
    _("%(n)s solutions scored with %(version)s"),
    _("choosing from %(n)s problems"),
    _("%(n)s solutions queued from %(all)s problems"),
    _("%(n)s labels train, %(out)s are held out"),
    _("reading the solutions through the frozen layers"),
    _("training, epoch %(n)s of %(all)s"),
    _("judging on held-out labels"),
    _("measuring %(version)s on %(name)s"),
    _("keeping the checkpoint"),
    _("importing problems"),
    _("importing labels"),
    _("%(n)s rows of %(file)s"),
    _("%(version)s is trained"),
    _("%(version)s (no human labels)"),
    _("%(version)s is %(status)s: %(why)s"),
    _("%(job)s job %(n)s (%(status)s)"),
    _("queued"),
    _("running"),
    _("serving"),
    _("candidate"),
    _("rejected"),
    _("retired"),
    _("retrain"),
    _("reading"),
    _("nothing new since the last training"),
    _("there is no label to train on yet"),
    _("nothing new: %(version)s was trained on these labels, from this base, in this way"),
    _("%(n)s labels kept; %(job)s trains on them"),
)
ENDS = (
    _("cancelled on request"),
    _("cancelled by %(name)s"),
    _("cancelled; its worker had died"),
    _("its worker stopped; it starts again"),
    _("its worker died; it starts again"),
    _("its worker died %(n)s times at it; out of memory, perhaps: see the worker's log"),
    _("tried %(n)s times: %(why)s"),
    _(
        "None of the %(n)s labels can be trained on: they are on held-out problems (%(out)s), were given up, or rate "
        "no step."
    ),
)
DECISIONS = (
    _("promoted by hand"),
    _("rejected by hand"),
    _("rolled back to %(version)s"),
    _("serves again after %(version)s was rolled back"),
    _("the first PRM: nothing served before; it knows no human labels"),
    _("the first PRM: nothing served before; %(n)s labels"),
    _("it was not compared with %(version)s, which serves now; a manager decides"),
    _(
        "held-out labels cover %(n)s human-rated steps and %(most)s are needed to compare: %(more)s more, or a "
        "manager's decision"
    ),
    _("no PRM serves yet"),
    _("a report has no log-likelihood"),
    _("better by %(criterion)s: %(new)s, serving %(old)s, over %(n)s steps"),
    _("not better by %(criterion)s: %(new)s, serving %(old)s, over %(n)s steps"),
    _("held-out mean log-likelihood of human step ratings"),
)
FINDINGS = (
    _("trained on the grades of final answers: no human labels"),
    _(
        "an outcome model: each figure is of the last step of a solution, read whole; one that is not rated there "
        "is left out"
    ),
    _("%(n)s training solutions had no label that could be used"),
    _("%(n)s held-out solutions could not be scored"),
    _(
        "too few labels to set some aside for tuning: the last epoch, uncalibrated, and threshold 0.5 were taken"
    ),
    _("epoch %(n)s and the calibration were chosen on %(all)s solutions of problems kept from training"),
    _(
        "epoch %(n)s, the calibration and the threshold %(at)s of p(bad) were chosen on %(all)s solutions of problems "
        "kept from training"
    ),
    _("%(n)s or more"),
    _("others"),
    _("no %(what)s is given by two people yet"),
    _("every %(what)s two people gave is the same one"),
    _("both gave one and the same rating throughout"),
    _("step rating"),
    _("first error"),
    _("agreed with %(n)s of the latest %(all)s gold answers; the bar is %(bar)s"),
    _("The model wrote no whole next step."),
    _("no reason was given"),
    _("waits for a decision"),
)
ROWS = (
    _("the problem is empty"),
    _("%(name)s is %(n)s characters long; at most %(most)s can be stored"),
    _("level must be a whole number from 0 to %(most)s, got %(n)s"),
    _("the row must be an object such as {problem, answer}"),
    _("it has no problem: a text under `problem` or `question` would do"),
    _(
        "it has no answer: `answer`, `final_answer`, an `answer` ending in `#### …`, a `solution` with \\boxed{…} or "
        "`tests` of code would do"
    ),
    _("its answer has %(n)s characters; %(most)s are the most"),
    _("its answer must end in `####` and the final answer on one line"),
    _("it is no JSON: %(why)s"),
    _("it is nested too deeply"),
    _("more follows after the JSON value"),
    _("more follows after the end of the list"),
    _("the file ends within the list"),
    _("the row is longer than %(n)s characters"),
    _("%(why)s; what comes after was not read"),
    _("it has %(n)s fields where the first line names %(all)s columns"),
)
GRADES = (
    _("correct"),
    _("wrong"),
    _("undecided"),
    _("no answer"),
    _("there is no code"),
    _("the problem has no tests"),
    _("the code has %(n)s characters; %(most)s are the most"),
    _("all %(n)s tests pass"),
    _("test %(n)s: it printed %(what)s"),
    _("test %(n)s: %(why)s"),
    _("loading the program: %(why)s"),
    _("timed out after %(n)s s"),
    _("timed out after %(n)s s of computing"),
    _("timed out after %(n)s s of computing, or was killed"),
    _("out of memory (more than %(n)s MiB)"),
    _("more than %(n)s MiB came back"),
    _("the program wrote into the channel of its answers"),
    _("the program ended the process before it answered"),
    _("the tests ended their process"),
    _("the process of the %(who)s crashed (%(signal)s)"),
    _("the process that compared died (%(signal)s), as when out of memory"),
    _("not run: %(why)s"),
    _("the %(what)s is empty"),
    _("the %(what)s has %(n)s characters; %(most)s are the most"),
    _("gold answer"),
    _("answer"),
    _("the gold answer names no choice"),
    _("the answer names no choice"),
    _("choice %(one)s"),
    _("choice %(one)s, not %(other)s"),
    _("the text of choice %(one)s"),
    _("the same words"),
    _("the words of one are among the other's"),
    _("other words"),
    _("within %(tolerance)s; %(why)s"),
    _("not within %(tolerance)s; %(why)s"),
    _("within %(tolerance)s"),
    _("not within %(tolerance)s"),
    _("the gold answer cannot be read"),
    _("the answer cannot be read"),
    _("numbers of more than %(n)s digits are not computed"),
    _("equal up to rounding"),
    _("different if log is to base 10, which it need not be"),
    _("not two real numbers"),
    _("not two plain numbers"),
    _("conditions on one side, values on the other"),
    _("all of them on one side, one of them on the other"),
    _("a decimal on one side, an irrational number on the other"),
    _("equal but for a constant's name"),
    _("by computer algebra"),
    _("neither shown equal nor different"),
    _("brackets nested too deeply"),
    _("equal once normalised"),
    _("the same time of day"),
    _("the same time, if it is of the same half of the day"),
    _("another time of day"),
    _("cannot compare one %(kind)s with another"),
    _("cannot compare %(kind)s with %(other)s"),
    _("%(one)s may not be %(other)s"),
    _("%(n)s items, not %(other)s"),
    _("one is ordered by its brackets, the other not"),
    _("one number on one side, several on the other"),
    _("one on one side, several on the other"),
    _("cannot compare one number with several"),
    _("the same items"),
    _("other items"),
    _("items without a match"),
    _("the same items in another order, named on one side only"),
    _("not a numeral of its base"),
    _("other numbers"),
    _("the same number, but in base %(base)s instead of %(other)s"),
    _("as numbers of their base"),
    _("equal as numbers"),
    _("equal as numbers, but %(why)s"),
    _("an unreduced fraction"),
    _("percent on one side only"),
    _("a unit on one side only"),
    _("a percentage on one side, the share it stands for on the other"),
    _("equal if %(unit)s was not the unit asked for"),
    _("in %(one)s and in %(other)s"),
    _("the same number, in base %(base)s on one side only"),
    _("the same digits, in base %(base)s on one side only"),
    _("another number than that in base %(base)s"),
    _("equal part by part"),
    _("equal as ratios, not as times of day"),
    _("other parts"),
    _("equal item by item"),
    _("item %(n)s: %(why)s"),
    _("decided by %(name)s"),
)
_PLACE = re.compile(r"%\((\w+)\)s")


def _pattern(text: str) -> re.Pattern[str]:
    pieces = _PLACE.split(text)  # text and names of places by turns
    return re.compile(
        "".join(f"(?P<{piece}>.+?)" if i % 2 else re.escape(piece) for i, piece in enumerate(pieces))
    )


# The more of a sentence is fixed, the earlier it is tried.
_KNOWN = sorted(
    ((_pattern(text), text) for text in (*WORK, *ENDS, *DECISIONS, *FINDINGS, *ROWS, *GRADES)),
    key=lambda known: -len(_PLACE.sub("", known[1])),
)


@register.filter
def told(words: str) -> str:
    """The words, line by line, in the language of the page."""
    return "\n".join(_told(line) for line in str(words).split("\n"))


@register.filter
def translated(text: str) -> str:
    """A text that is known only when the page is made, as those of the API's description are."""
    return gettext(text) if text else ""


@register.filter
def job_name(kind: str) -> str:
    return str(JOB_NAMES.get(kind, kind.replace("_", " ").capitalize()))


def _told(line: str) -> str:
    for pattern, text in _KNOWN:
        if found := pattern.fullmatch(line):
            places = {name: _told(value) for name, value in found.groupdict().items()}
            return gettext(text) % places if places else gettext(text)
    who, colon, said = line.partition(": ")  # "mara: promoted by hand"
    return f"{who}: {_told(said)}" if colon else line
