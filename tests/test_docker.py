"""The compose file and the Dockerfile name only what exists. No image is built here: that takes a Docker engine."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from celery.bin.base import CLIContext
from celery.bin.beat import beat
from celery.bin.worker import worker
from django.conf import settings
from django.core.management import get_commands, load_command_class
from gunicorn.config import Config

from annotate.celery import app
from annotate.env import EXPECTED

ROOT = settings.BASE_DIR
TEXT = (ROOT / "docker-compose.yml").read_text()
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(TEXT)["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "plumbline"}


def dockerfile_command() -> list[str]:
    found = re.search(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    assert found
    return list(yaml.safe_load(found[1]))


def commands() -> list[tuple[str, list[str]]]:
    found = [("Dockerfile", dockerfile_command())]
    for name, service in OURS.items():
        if "command" in service:
            found.append((name, service["command"]))
        if "test" in service.get("healthcheck", {}):
            found.append((f"{name}'s health", service["healthcheck"]["test"][1:]))
    return found


def check_manage(arguments: list[str]) -> None:
    name, *options = arguments
    command = load_command_class(get_commands()[name], name)
    command.create_parser("manage.py", name).parse_args(options)


def check_celery(arguments: list[str]) -> None:
    assert arguments[:2] == ["-A", "annotate"]
    parsers = {"worker": worker, "beat": beat}
    context = parsers[arguments[2]].make_context(arguments[2], arguments[3:], obj=CLIContext(app, True, None))
    queues = context.params.get("queues") or []
    assert set(queues) <= {queue.name for queue in settings.CELERY_TASK_QUEUES}


def check_gunicorn(arguments: list[str]) -> None:
    parsed = Config().parser().parse_args(arguments)
    assert parsed.args == ["annotate.wsgi"]


@pytest.mark.parametrize(("where", "command"), commands(), ids=lambda value: str(value)[:30])
def test_every_command_exists_and_takes_its_options(where: str, command: list[str]) -> None:
    match command:
        case ["python", "manage.py", *arguments]:
            assert (ROOT / "manage.py").exists()
            check_manage(arguments)
        case ["python", "-m", "gunicorn", *arguments]:
            check_gunicorn(arguments)
        case ["celery", *arguments]:
            assert shutil.which("celery", path=str(Path(sys.executable).parent))
            check_celery(arguments)
        case _:
            pytest.fail(f"{where} runs something this test does not know: {shlex.join(command)}")


def test_all_parts_of_the_product_are_services_with_health_checks() -> None:
    assert set(SERVICES) == {"prepare", "web", "quick", "model", "beat", "postgres", "valkey"}
    for name, service in SERVICES.items():
        # web has the image's own; prepare ends by itself
        assert "test" in service.get("healthcheck", {}) or name in ("web", "prepare")
    assert "HEALTHCHECK" in DOCKERFILE
    assert all("prepare" in service["depends_on"] for name, service in OURS.items() if name != "prepare")


def test_secrets_are_required_and_nowhere_in_the_files() -> None:
    for name in ("SECRET_KEY", "POSTGRES_PASSWORD"):
        uses = re.findall(rf"\$\{{{name}([^}}]*)\}}", TEXT)
        assert uses
        assert all(use.startswith(":?") for use in uses)
    assert not re.search(r"(SECRET_KEY|PASSWORD)\s*[:=]\s*[^$\s]", DOCKERFILE)


def test_volumes_and_environment_are_declared() -> None:
    declared = set(yaml.safe_load(TEXT)["volumes"])
    used = {volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}
    assert used == declared


def test_what_env_example_names_reaches_every_process_but_for_what_the_image_settles() -> None:
    settled = {"VAR_DIR", "HOST", "PORT", "DEBUG"}
    keys = set(re.findall(r"\b(?:AWS|OPENAI)_\w+", (ROOT / ".env.example").read_text()))
    for service in OURS.values():
        assert (
            set(service["environment"]) - {"HF_HUB_DISABLE_PROGRESS_BARS"} == (set(EXPECTED) | keys) - settled
        )


def test_the_image_copies_what_exists_and_lets_nothing_else_in() -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        source
        for line in re.findall(r"^COPY (.*)$", DOCKERFILE, re.MULTILINE)
        for source in line.split()[:-1]
    }
    assert copied == allowed
    assert all((ROOT / source).exists() for source in copied)


def test_the_image_runs_as_an_ordinary_user_on_a_base_of_your_choice_with_our_pins() -> None:
    lines = DOCKERFILE.splitlines()
    assert re.search(r"^ARG BASE=\S+\nFROM \$\{BASE\}$", DOCKERFILE, re.MULTILINE)
    assert [line for line in lines if line.startswith("USER ")] == ["USER plumbline"]
    assert lines.index("USER plumbline") < min(i for i, line in enumerate(lines) if line.startswith("CMD"))
    installs = re.findall(r"pip install [^\\\n]*", DOCKERFILE)
    assert installs
    assert all("-c constraints.txt" in install for install in installs)
