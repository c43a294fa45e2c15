"""The quality policy is changed: by the whole form of its page, or by what a script names of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.db import transaction
from django.forms.models import model_to_dict
from django.utils.translation import gettext_lazy

from annotate.models import QualityPolicy


class PolicyForm(forms.ModelForm):
    """What a policy may ask, and how its page says it. Every refusal is a field's."""

    class Meta:
        model = QualityPolicy
        fields = (
            "gold_every",
            "agreement_bar",
            "agreement_window",
            "screening",
            "screening_items",
            "admission_bar",
            "screening_attempts",
            "undo_seconds",
        )
        labels = {
            "gold_every": gettext_lazy("One gold item in every"),
            "screening": gettext_lazy("Screen new annotators"),
            "screening_attempts": gettext_lazy("Attempts"),
            "undo_seconds": gettext_lazy("Seconds in which a label can be taken back"),
        }
        help_texts = {
            "gold_every": gettext_lazy("Items, unmarked and at a place nobody can tell. 0 mixes in none."),
            "screening": gettext_lazy(
                "Until they have passed, people are served the screening's gold alone."
            ),
            "screening_attempts": gettext_lazy("Each takes questions the person has not met."),
            "undo_seconds": gettext_lazy("Counted from the submit."),
        }

    agreement_bar = forms.FloatField(
        min_value=0,
        max_value=1,
        label=gettext_lazy("Pause below this agreement"),
        help_text=gettext_lazy(
            "A share. Somebody is paused when even the upper end of their 95 % interval is below it."
        ),
    )
    admission_bar = forms.FloatField(
        min_value=0,
        max_value=1,
        label=gettext_lazy("Admit from this agreement on"),
        help_text=gettext_lazy("A share."),
    )
    agreement_window = forms.IntegerField(
        min_value=3,
        max_value=200,
        label=gettext_lazy("Latest gold answers that count"),
        help_text=gettext_lazy("At most 200."),
    )
    screening_items = forms.IntegerField(
        min_value=1, max_value=200, label=gettext_lazy("Questions in a screening")
    )


@transaction.atomic
def change_policy(changes: Mapping[str, Any]) -> PolicyForm:
    """Change what is named and leave the rest. Nothing is changed where the form comes back with errors."""
    QualityPolicy.current()
    current = QualityPolicy.objects.select_for_update().get()
    form = PolicyForm({**model_to_dict(current), **changes}, instance=current)
    if form.is_valid():
        form.save()
    return form
