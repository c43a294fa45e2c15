"""The two roles, as Django groups."""

from django.db import migrations

ROLES = ("annotator", "manager")  # frozen here: a landed migration does not follow later code


def add_roles(apps, schema_editor):
    Group = apps.get_model("auth", "Group")
    for name in ROLES:
        Group.objects.get_or_create(name=name)


class Migration(migrations.Migration):
    dependencies = [("annotate", "0001_initial"), ("auth", "0012_alter_user_first_name_max_length")]
    operations = [migrations.RunPython(add_roles, migrations.RunPython.noop)]
