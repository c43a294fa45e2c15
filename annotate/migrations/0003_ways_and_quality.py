"""What three ways of labelling and the quality programme need to remember."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import annotate.models.queue


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0002_roles"),
    ]

    operations = [
        migrations.CreateModel(
            name="Concern",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("unsure", "unsure of a step"),
                            ("answer", "disputes the answer"),
                            ("problem", "bad problem"),
                        ],
                        max_length=7,
                    ),
                ),
                ("step_index", models.PositiveIntegerField(blank=True, null=True)),
                ("text", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "action",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("answer_fixed", "the answer was corrected"),
                            ("problem_retired", "the problem was retired"),
                            ("replied", "answered"),
                        ],
                        max_length=15,
                    ),
                ),
                ("reply", models.TextField(blank=True)),
                ("resolved_at", models.DateTimeField(blank=True, null=True)),
                (
                    "seen_at",
                    models.DateTimeField(blank=True, help_text="when the annotator saw the reply", null=True),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Gold",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("question", models.JSONField()),
                (
                    "accepted",
                    models.JSONField(
                        help_text="0-based indexes of the steps that may be called the first error"
                    ),
                ),
                (
                    "explanation",
                    models.TextField(blank=True, help_text="shown to those who missed it in a screening"),
                ),
                (
                    "screens",
                    models.BooleanField(default=False, help_text="for the screening, never mixed in later"),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("retired_at", models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Instructions",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField(unique=True)),
                ("text", models.TextField(help_text="markdown-light")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "verbose_name_plural": "instructions",
                "ordering": ("-number",),
            },
        ),
        migrations.CreateModel(
            name="QualityPolicy",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "screening",
                    models.BooleanField(default=False, help_text="new annotators are screened on gold first"),
                ),
                ("screening_items", models.PositiveSmallIntegerField(default=30)),
                (
                    "admission_bar",
                    models.FloatField(
                        default=0.75, help_text="share of the screening that must agree with gold"
                    ),
                ),
                (
                    "screening_attempts",
                    models.PositiveSmallIntegerField(default=2, help_text="screenings a person may take"),
                ),
                (
                    "gold_every",
                    models.PositiveSmallIntegerField(
                        default=0,
                        help_text="about every how many items one is gold, unmarked; 0 mixes in none",
                    ),
                ),
                ("agreement_bar", models.FloatField(default=0.6, help_text="below this a person is paused")),
                (
                    "agreement_window",
                    models.PositiveSmallIntegerField(default=20, help_text="latest gold answers that count"),
                ),
                (
                    "undo_seconds",
                    models.PositiveIntegerField(
                        default=600, help_text="how long a submitted label can be taken back"
                    ),
                ),
            ],
        ),
        migrations.RemoveConstraint(
            model_name="label",
            name="one_label_a_person_and_solution",
        ),
        migrations.RemoveConstraint(
            model_name="queueitem",
            name="solution_once_a_queue",
        ),
        migrations.AddField(
            model_name="label",
            name="adjudicates",
            field=models.BooleanField(
                default=False, help_text="a manager's decision between labels that disagree"
            ),
        ),
        migrations.AddField(
            model_name="label",
            name="agrees_with_gold",
            field=models.BooleanField(blank=True, help_text="judged when submitted", null=True),
        ),
        migrations.AddField(
            model_name="label",
            name="critique",
            field=models.TextField(blank=True, help_text="what is wrong with the first bad step"),
        ),
        migrations.AddField(
            model_name="label",
            name="hint",
            field=models.IntegerField(
                blank=True,
                help_text="the first error as the PRM guessed it, -1 for none; shown if `hinted`",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="label",
            name="hinted",
            field=models.BooleanField(blank=True, help_text="null where its queue gives no hints", null=True),
        ),
        migrations.AddField(
            model_name="label",
            name="progress",
            field=models.PositiveSmallIntegerField(
                blank=True,
                help_text="how far the solution got before its error: 0 not at all … 3 nearly there",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="label",
            name="way",
            field=models.CharField(
                choices=[
                    ("first_error", "up to the first error"),
                    ("every_step", "every step"),
                    ("step_by_step", "step by step, with the model"),
                ],
                default="first_error",
                max_length=12,
            ),
        ),
        migrations.AddField(
            model_name="person",
            name="admitted_at",
            field=models.DateTimeField(blank=True, help_text="when the screening was passed", null=True),
        ),
        migrations.AddField(
            model_name="person",
            name="keymap",
            field=models.JSONField(blank=True, default=dict, help_text="keys this person chose, by action"),
        ),
        migrations.AddField(
            model_name="person",
            name="language",
            field=models.CharField(
                blank=True, help_text="of the pages; empty follows the browser", max_length=10
            ),
        ),
        migrations.AddField(
            model_name="person",
            name="practised_at",
            field=models.DateTimeField(blank=True, help_text="when the practice item was done", null=True),
        ),
        migrations.AddField(
            model_name="person",
            name="screenings",
            field=models.PositiveSmallIntegerField(default=0, help_text="screenings finished so far"),
        ),
        migrations.AddField(
            model_name="person",
            name="suspended_at",
            field=models.DateTimeField(
                blank=True, help_text="paused: is given nothing to label until a manager lifts it", null=True
            ),
        ),
        migrations.AddField(
            model_name="person",
            name="suspension",
            field=models.TextField(blank=True, help_text="why, for the person and the managers"),
        ),
        migrations.AddField(
            model_name="queue",
            name="asks_further",
            field=models.BooleanField(
                default=False,
                help_text="after the first error: how far it got, a critique, alternative steps",
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="blind_share",
            field=models.FloatField(
                default=0.2, help_text="share of labels made without a hint all the same"
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="hints",
            field=models.BooleanField(default=False, help_text="show the PRM's guess of the first error"),
        ),
        migrations.AddField(
            model_name="queue",
            name="options",
            field=models.PositiveSmallIntegerField(
                default=4, help_text="next steps the model proposes at a time, in the ways that ask for them"
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="overlap",
            field=models.PositiveSmallIntegerField(default=1, help_text="people who label the same solution"),
        ),
        migrations.AddField(
            model_name="queue",
            name="overlap_share",
            field=models.FloatField(
                default=1.0, help_text="share of the solutions that `overlap` people label"
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="way",
            field=models.CharField(
                choices=[
                    ("first_error", "up to the first error"),
                    ("every_step", "every step"),
                    ("step_by_step", "step by step, with the model"),
                ],
                default="first_error",
                max_length=12,
            ),
        ),
        migrations.AddField(
            model_name="queueitem",
            name="copy",
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="queueitem",
            name="problem",
            field=models.ForeignKey(
                blank=True,
                help_text="where the solution grows while it is rated; else null",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="queue_items",
                to="annotate.problem",
            ),
        ),
        migrations.AddField(
            model_name="steprating",
            name="active_ms",
            field=models.PositiveIntegerField(default=0, help_text="active milliseconds spent on this step"),
        ),
        migrations.AlterField(
            model_name="queueitem",
            name="arm",
            field=models.CharField(
                blank=True,
                choices=[
                    ("convincing_wrong", "convincing wrong"),
                    ("convincing_rest", "convincing rest"),
                    ("control", "control"),
                ],
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="queueitem",
            name="id",
            field=models.PositiveBigIntegerField(
                default=annotate.models.queue._random_id,
                help_text="random: it tells nothing of how the item came to be",
                primary_key=True,
                serialize=False,
            ),
        ),
        migrations.AlterField(
            model_name="queueitem",
            name="prm",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="chosen_items",
                to="annotate.prmversion",
            ),
        ),
        migrations.AlterField(
            model_name="queueitem",
            name="propensity",
            field=models.FloatField(
                default=1, help_text="probability in (0, 1] that this draw would choose it"
            ),
        ),
        migrations.AlterField(
            model_name="queueitem",
            name="rank",
            field=models.PositiveIntegerField(default=1, help_text="1-based within the arm's order"),
        ),
        migrations.AlterField(
            model_name="queueitem",
            name="score",
            field=models.FloatField(blank=True, help_text="log-product by `prm`, when chosen", null=True),
        ),
        migrations.AlterField(
            model_name="queueitem",
            name="solution",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="queue_items",
                to="annotate.solution",
            ),
        ),
        migrations.AddConstraint(
            model_name="queue",
            constraint=models.CheckConstraint(
                condition=models.Q(("overlap__gte", 1)), name="a_solution_needs_somebody"
            ),
        ),
        migrations.AddConstraint(
            model_name="queue",
            constraint=models.CheckConstraint(
                condition=models.Q(("options__gte", 1), ("options__lte", 9)), name="one_to_nine_options"
            ),
        ),
        migrations.AddConstraint(
            model_name="queue",
            constraint=models.CheckConstraint(
                condition=models.Q(("overlap_share__gte", 0), ("overlap_share__lte", 1)),
                name="overlap_share_is_a_share",
            ),
        ),
        migrations.AddConstraint(
            model_name="queue",
            constraint=models.CheckConstraint(
                condition=models.Q(("blind_share__gte", 0), ("blind_share__lte", 1)),
                name="blind_share_is_a_share",
            ),
        ),
        migrations.AddField(
            model_name="concern",
            name="label",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="concerns", to="annotate.label"
            ),
        ),
        migrations.AddField(
            model_name="concern",
            name="problem",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="concerns", to="annotate.problem"
            ),
        ),
        migrations.AddField(
            model_name="concern",
            name="resolved_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="gold",
            name="created_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="gold",
            name="solution",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="gold", to="annotate.solution"
            ),
        ),
        migrations.AddField(
            model_name="gold",
            name="source",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="golds",
                to="annotate.label",
            ),
        ),
        migrations.AddField(
            model_name="label",
            name="gold",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="answers",
                to="annotate.gold",
            ),
        ),
        migrations.AddField(
            model_name="queueitem",
            name="gold",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="items",
                to="annotate.gold",
            ),
        ),
        migrations.AddConstraint(
            model_name="queueitem",
            constraint=models.UniqueConstraint(
                condition=models.Q(("gold__isnull", True)),
                fields=("queue", "solution", "copy"),
                name="solution_copied_once_a_queue",
            ),
        ),
        migrations.AddConstraint(
            model_name="queueitem",
            constraint=models.UniqueConstraint(
                fields=("queue", "problem", "copy"), name="problem_copied_once_a_queue"
            ),
        ),
        migrations.AddConstraint(
            model_name="queueitem",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("problem__isnull", False), ("solution__isnull", True)),
                    models.Q(("problem__isnull", True), ("solution__isnull", False)),
                    _connector="OR",
                ),
                name="a_solution_or_a_problem",
            ),
        ),
        migrations.AddConstraint(
            model_name="queueitem",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("arm", ""), models.Q(("prm__isnull", False), ("score__isnull", False)), _connector="OR"
                ),
                name="chosen_by_a_score",
            ),
        ),
        migrations.AddField(
            model_name="instructions",
            name="created_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="label",
            name="instructions",
            field=models.ForeignKey(
                blank=True,
                help_text="the version it was made under; null where imported",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="labels",
                to="annotate.instructions",
            ),
        ),
        migrations.AddConstraint(
            model_name="label",
            constraint=models.UniqueConstraint(
                condition=models.Q(("adjudicates", False)),
                fields=("solution", "annotator"),
                name="one_label_a_person_and_solution",
            ),
        ),
        migrations.AddConstraint(
            model_name="label",
            constraint=models.UniqueConstraint(
                condition=models.Q(("adjudicates", True)),
                fields=("solution",),
                name="one_adjudication_a_solution",
            ),
        ),
        migrations.AddConstraint(
            model_name="qualitypolicy",
            constraint=models.CheckConstraint(condition=models.Q(("pk", 1)), name="one_policy"),
        ),
        migrations.AddConstraint(
            model_name="qualitypolicy",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("admission_bar__gte", 0),
                    ("admission_bar__lte", 1),
                    ("agreement_bar__gte", 0),
                    ("agreement_bar__lte", 1),
                ),
                name="bars_are_shares",
            ),
        ),
        migrations.AddIndex(
            model_name="concern",
            index=models.Index(
                condition=models.Q(("resolved_at__isnull", True)), fields=["created_at"], name="open_concerns"
            ),
        ),
        migrations.AddConstraint(
            model_name="concern",
            constraint=models.UniqueConstraint(
                fields=("label", "kind", "step_index"), name="concern_raised_once", nulls_distinct=False
            ),
        ),
        migrations.AddConstraint(
            model_name="concern",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("resolved_at__isnull", True), models.Q(("action", ""), _negated=True), _connector="OR"
                ),
                name="resolved_by_an_action",
            ),
        ),
    ]
