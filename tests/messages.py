"""The texts that pages are translated from, and the files they are translated in.

`python -m tests.messages` brings every django.po under annotate/locale up to date (new texts empty, gone ones out) and
compiles the .mo beside it. Texts are found by parsing: templates with Django's own parser, Python with `ast`; those of
the API's description come from itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import polib
from django.template import Node
from django.template.loader import get_template
from django.templatetags.i18n import BlockTranslateNode, TranslateNode

ROOT = Path(__file__).resolve().parent.parent
LOCALE = ROOT / "annotate" / "locale"
_CALLS = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy"}

Text = tuple[str, str]  # singular and plural, which is empty where there is none


def texts() -> dict[Text, str]:
    """Every text to translate, and the first file it stands in."""
    found: dict[Text, str] = {}
    for path in sorted((ROOT / "templates").rglob("*.html")):
        name = str(path.relative_to(ROOT / "templates"))
        for text in _in_template(name):
            found.setdefault(text, f"templates/{name}")
    for path in sorted((ROOT / "annotate").rglob("*.py")):
        for text in _in_python(path):
            found.setdefault(text, str(path.relative_to(ROOT)))
    from annotate.api import docs  # here, because Django must be set up by then

    for words in filter(None, docs.texts()):
        found.setdefault((words, ""), "annotate/api/docs.py")
    return found


def _in_template(name: str) -> Iterator[Text]:
    # A partial is kept beside the tree of nodes, in the template's origin.
    template = get_template(name).template
    trees = [template.nodelist, *getattr(template.origin, "partial_contents", {}).values()]
    seen: set[int] = set()
    for tree in trees:
        for node in _nodes(getattr(tree, "nodelist", tree), seen):
            if isinstance(node, TranslateNode):
                yield str(node.filter_expression.var.literal).replace("%", "%%"), ""
            elif isinstance(node, BlockTranslateNode):
                singular, _ = node.render_token_list(node.singular)
                plural = node.render_token_list(node.plural)[0] if node.plural else ""
                yield singular, plural


def _nodes(tree: object, seen: set[int]) -> Iterator[Node]:
    for node in tree if hasattr(tree, "__iter__") else [tree]:  # type: ignore[attr-defined]
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        for name in ("nodelist", "nodelist_true", "nodelist_false", "nodelist_loop", "nodelist_empty"):
            yield from _nodes(getattr(node, name, ()), seen)
        for _condition, inner in getattr(node, "conditions_nodelists", ()):
            yield from _nodes(inner, seen)


def _in_python(path: Path) -> Iterator[Text]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
            words = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if words:
                plural = words[1] if node.func.id.startswith("ngettext") else ""
                yield words[0], plural


def catalogues() -> list[Path]:
    return sorted(LOCALE.glob("*/LC_MESSAGES/django.po"))


def compiled(path: Path) -> bytes:
    return polib.pofile(str(path)).to_binary()


def update(path: Path) -> None:
    old = {(entry.msgid, entry.msgid_plural): entry for entry in polib.pofile(str(path))}
    new = polib.POFile(wrapwidth=110)
    new.metadata = polib.pofile(str(path)).metadata
    for (singular, plural), where in sorted(texts().items(), key=lambda item: (item[1], item[0])):
        entry = old.get((singular, plural)) or polib.POEntry(msgid=singular, msgid_plural=plural)
        if plural and not entry.msgstr_plural:
            entry.msgstr_plural = {0: "", 1: ""}
        entry.occurrences = [(where, "")]
        entry.flags = ["python-format"] if "%(" in singular else []
        new.append(entry)
    new.save(str(path))
    path.with_suffix(".mo").write_bytes(compiled(path))


if __name__ == "__main__":
    import os

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotate.settings")
    django.setup()
    for catalogue in catalogues():
        update(catalogue)
