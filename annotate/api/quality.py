"""What managers ask of labels and people, and how each annotator stands. No annotator may read another's figures."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotate.api.access import IsManager
from annotate.api.bodies import Body
from annotate.loop.policy import PolicyForm, change_policy
from annotate.loop.standing import standings
from annotate.models import QualityPolicy


class PolicySerializer(serializers.ModelSerializer[QualityPolicy]):
    gold_every = serializers.IntegerField(
        help_text="About every how many items one is gold; 0 mixes in none."
    )
    agreement_bar = serializers.FloatField(
        help_text="A share. Who is below it, with even the upper end of the interval, is paused."
    )
    agreement_window = serializers.IntegerField(help_text="Latest gold answers that count, 3 to 200.")
    screening = serializers.BooleanField(help_text="Whether new annotators are screened on gold first.")
    screening_items = serializers.IntegerField(help_text="Questions in a screening, 1 to 200.")
    admission_bar = serializers.FloatField(help_text="The share of a screening that must agree with gold.")
    screening_attempts = serializers.IntegerField(help_text="Screenings a person may take.")
    undo_seconds = serializers.IntegerField(help_text="How long a submitted label can be taken back.")

    class Meta:
        model = QualityPolicy
        fields = PolicyForm.Meta.fields


# What may be changed is what is told, each if it is named. Bounds are the form's: its words are the page's.
PolicyBody: Any = type(
    "PolicyBody",
    (Body,),
    {
        "__doc__": "",
        **{
            name: type(field)(required=False, help_text=field.help_text)
            for name, field in PolicySerializer().fields.items()
        },
    },
)


class GoldAgreementSerializer(serializers.Serializer[Any]):
    agreed = serializers.IntegerField()
    answers = serializers.IntegerField(help_text="The latest that count, as many as the policy looks at.")
    share = serializers.FloatField(allow_null=True, help_text="Null without an answer.")
    low = serializers.FloatField(source="interval.low", help_text="Of the 95 % interval, by Wilson's score.")
    high = serializers.FloatField(source="interval.high")


class StandingSerializer(serializers.Serializer[Any]):
    username = serializers.CharField(source="person.username")
    labels = serializers.IntegerField(help_text="Submitted ones.")
    median_ms = serializers.FloatField(
        source="milliseconds", allow_null=True, help_text="Active time on a solution."
    )
    gold = GoldAgreementSerializer(source="agreement")
    below_bar = serializers.BooleanField(help_text="Whether these answers would pause them now.")
    suspended_at = serializers.DateTimeField(source="person.suspended_at", allow_null=True)
    suspension = serializers.CharField(source="person.suspension", help_text="Why they are paused.")
    screened = serializers.BooleanField(help_text="Whether they have yet to pass a screening.")
    screenings = serializers.IntegerField(source="person.screenings", help_text="Those finished so far.")


class Policy(APIView):
    permission_classes = [IsManager]

    @extend_schema(operation_id="quality_policy_retrieve", responses=PolicySerializer)
    def get(self, request: Request) -> Response:
        """The quality policy."""
        return Response(PolicySerializer(QualityPolicy.current()).data)

    @extend_schema(operation_id="quality_policy_change", request=PolicyBody, responses=PolicySerializer)
    def patch(self, request: Request) -> Response:
        """Change the quality policy; what is left out stays as it is."""
        form = change_policy(PolicyBody.read(request))
        if form.errors:
            raise serializers.ValidationError(
                {name: list(map(str, said)) for name, said in form.errors.items()}
            )
        return Response(PolicySerializer(form.instance).data)


class Standings(APIView):
    permission_classes = [IsManager]

    @extend_schema(operation_id="quality_standings", responses=StandingSerializer(many=True))
    def get(self, request: Request) -> Response:
        """How every annotator stands: labels, pace, agreement with gold, pause and screening; by name."""
        return Response(StandingSerializer(standings(), many=True).data)
