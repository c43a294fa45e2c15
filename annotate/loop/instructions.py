"""The rating rules are published as versions: a new one is added, none is ever changed."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotate.errors import PlumblineError
from annotate.models import Instructions, Person
from prm_backend.text.steps import storable

LONGEST = 50_000  # characters; what light markdown still reads


@transaction.atomic
def publish(*, by: Person, text: str) -> Instructions:
    """Make the text the rules from now on. Raises PlumblineError where it is empty, too long, or says nothing new."""
    text = storable(text).replace("\r\n", "\n").strip()
    current = Instructions.objects.current()
    if not text:
        raise PlumblineError(_("The instructions cannot be empty."))
    if len(text) > LONGEST:
        raise PlumblineError(
            _("The instructions have %(n)s characters; %(most)s is the most.")
            % {"n": len(text), "most": LONGEST}
        )
    if current is not None and current.text.strip() == text:
        raise PlumblineError(_("Nothing has changed, so there is no new version."))
    try:
        with transaction.atomic():
            return Instructions.objects.create(
                number=1 if current is None else current.number + 1, text=text, created_by=by
            )
    except IntegrityError:
        raise PlumblineError(_("Somebody published a version at this moment: look at it first.")) from None
