"""The environment is read once, typed, and refused with names and remedies where it makes no sense."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.storage import storages

from annotate import env
from annotate.settings import _default_storage

GOOD_KEY = "w7Qm2Zr9TfXcB4nLs8VkPd3HyJe6GaUi"


@pytest.fixture(autouse=True)
def _nothing_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in env.EXPECTED:
        monkeypatch.delenv(name, raising=False)


def load(monkeypatch: pytest.MonkeyPatch, **variables: str) -> env.Config:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return env.load(dotenv=None)


def test_nothing_configured_is_a_complete_configuration() -> None:
    config = env.load(dotenv=None)
    assert (config.host, config.port, config.debug) == ("127.0.0.1", 8000, False)
    assert config.database_url is config.broker_url is None
    assert config.model == config.prm_base == str(env.BASE_DIR / "var" / "models" / "smollm2")


def test_env_example_names_every_variable_with_a_comment_and_no_other() -> None:
    lines = (settings.BASE_DIR / ".env.example").read_text().splitlines()
    variables = [i for i, line in enumerate(lines) if re.match(r"#?[A-Z_]+=", line)]
    assert [lines[i].lstrip("#").split("=")[0] for i in variables] == list(env.EXPECTED)
    assert all(re.match(r"# \S", lines[i - 1]) for i in variables)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "eighty"),
        ("PORT", "70000"),
        ("DEBUG", "perhaps"),
        ("PUBLIC_URL", "plumbline.example.org"),
        ("PUBLIC_URL", "https://example.org/plumbline"),
        ("SECRET_KEY", "short"),
        ("SECRET_KEY", "a" * 64),
        ("SECRET_KEY", "django-insecure-w7Qm2Zr9TfXcB4nLs8VkPd3HyJe6GaUi"),
        ("LOG_LEVEL", "LOUD"),
        ("TIME_ZONE", "Europe/Atlantis"),
        ("DATABASE_URL", "mysql://root@localhost/x"),
        ("DATABASE_URL", "localhost"),
        ("BROKER_URL", "http://localhost"),
        ("STORAGE_URL", "ftp://host/folder"),
        ("STORAGE_URL", "s3:///prefix"),
        ("MODEL", "/no/such/folder"),
        ("MODEL", "just-a-name"),
        ("MODEL", "openai:http://host/v1"),
        ("MODEL", "openai:host#model"),
        ("PRM_BASE", "openai:http://host/v1#model"),
        ("HELD_OUT_SHARE", "1"),
        ("HELD_OUT_SHARE", "nan"),
        ("BOOTSTRAP_SOLUTIONS", "0"),
        ("RETRAIN_AFTER_LABELS", "-3"),
        ("RETRAIN_AT", "25:00"),
        ("LEASE_SECONDS", "1"),
        ("JOB_SILENCE_SECONDS", "1.5"),
    ],
)
def test_nonsense_is_refused_by_name_with_what_would_do(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    with pytest.raises(env.BadEnvironment) as refusal:
        load(monkeypatch, **{name: value})
    assert f"  {name}: " in str(refusal.value)
    assert f"Expected {env.EXPECTED[name]}" in str(refusal.value)


def test_every_bad_value_is_told_at_once_and_secrets_are_not_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(env.BadEnvironment) as refusal:
        load(monkeypatch, PORT="x", DATABASE_URL="mysql://root:hunter2@db/x", SECRET_KEY="hunter2")
    message = str(refusal.value)
    assert all(name in message for name in ("PORT", "DATABASE_URL", "SECRET_KEY"))
    assert "hunter2" not in message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BROKER_URL", "redis+socket:///run/valkey.sock"),
        ("BROKER_URL", "amqp://guest:guest@localhost:5672//"),
        ("MODEL", "HuggingFaceTB/SmolLM2-135M-Instruct"),
        ("MODEL", "openai:http://127.0.0.1:9000/v1#Qwen/Qwen3-8B"),
        ("MODEL", "tests"),
        ("STORAGE_URL", "s3://bucket/a/prefix"),
        ("PORT", "1"),
        ("DATABASE_URL", ""),
    ],
)
def test_sense_is_accepted(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    load(monkeypatch, **{name: value})


def test_debug_is_refused_where_others_can_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(env.BadEnvironment, match="DEBUG"):
        load(monkeypatch, DEBUG="true", PUBLIC_URL="https://plumbline.example.org")


def test_listening_to_the_world_needs_a_public_url(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(env.BadEnvironment, match=r"PUBLIC_URL: is unset while HOST=0\.0\.0\.0"):
        load(monkeypatch, HOST="0.0.0.0")


def test_a_database_of_your_own_needs_a_secret_key_of_your_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(env.BadEnvironment, match="SECRET_KEY: is unset"):
        load(monkeypatch, DATABASE_URL="postgres://localhost/x")
    load(monkeypatch, DATABASE_URL="postgres://localhost/x", SECRET_KEY=GOOD_KEY)


def test_a_dotenv_file_fills_what_the_environment_leaves_unset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dotenv = tmp_path / ".env"
    dotenv.write_text("PORT=9001\nLEASE_SECONDS=60\n")
    monkeypatch.setenv("PORT", "9002")
    monkeypatch.setenv("LEASE_SECONDS", "")  # so that monkeypatch takes back what read_env sets
    monkeypatch.delenv("LEASE_SECONDS")
    config = env.load(dotenv=dotenv)
    assert (config.port, config.lease_seconds) == (9002, 60)


def outside(script: str, tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process with the product's own settings and no variable but these."""
    clean = {name: value for name, value in os.environ.items() if name not in env.EXPECTED}
    chosen = {"DJANGO_SETTINGS_MODULE": "annotate.settings", "VAR_DIR": str(tmp_path / "var"), **variables}
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=settings.BASE_DIR,
        env=clean | chosen,
        capture_output=True,
        text=True,
        check=False,
    )


SHOW = "import sys; from django.conf import settings as s; print(*(getattr(s, n) for n in sys.argv[1:]), sep='|')"


def shown(tmp_path: Path, *names: str, **variables: str) -> list[str]:
    script = SHOW.replace("sys.argv[1:]", repr(names))
    result = outside(script, tmp_path, **variables)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip().split("|")


def test_a_test_run_leaves_alone_the_data_that_the_shell_it_is_run_from_points_at(tmp_path: Path) -> None:
    (tmp_path / "storage").mkdir()
    for ds in ([], ["--ds=annotate.settings"]):  # as a variable, and as an option
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "--collect-only",
                "-q",
                "-p",
                "no:cacheprovider",
                *ds,
                "tests/test_messages.py",
            ],
            cwd=settings.BASE_DIR,
            env=os.environ | {"DJANGO_SETTINGS_MODULE": "annotate.settings", "VAR_DIR": str(tmp_path)},
            capture_output=True,
            check=True,
        )
        assert (tmp_path / "storage").exists()


def test_nonsense_stops_start_up(tmp_path: Path) -> None:
    result = outside("import django; django.setup()", tmp_path, PORT="eighty")
    assert result.returncode != 0
    assert "PORT: Not a valid integer. Expected a TCP port" in result.stderr


def test_an_https_address_turns_on_what_https_makes_possible(tmp_path: Path) -> None:
    names = ("SESSION_COOKIE_SECURE", "SECURE_HSTS_SECONDS", "ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS")
    secure, hsts, hosts, origins = shown(tmp_path, *names, PUBLIC_URL="https://p.example.org")
    assert (secure, hsts) == ("True", str(365 * 24 * 3600))
    assert "p.example.org" in hosts
    assert origins == "['https://p.example.org']"
    assert shown(tmp_path, "SESSION_COOKIE_SECURE", "SECURE_HSTS_SECONDS") == ["False", "0"]


def test_reading_the_settings_starts_no_server(tmp_path: Path) -> None:
    shown(tmp_path, "DATABASES")
    assert [path.name for path in (tmp_path / "var").iterdir()] == ["secret_key"]


def test_a_pooler_of_transactions_can_do_without_prepared_statements(tmp_path: Path) -> None:
    """Each transaction may meet another connection there, where nothing is prepared."""
    assert "'prepare_threshold'" in shown(tmp_path, "DATABASES")[0]
    url = "postgres://db.example.org/plumbline?server_side_binding=false"
    (pooled,) = shown(tmp_path, "DATABASES", DATABASE_URL=url, SECRET_KEY=GOOD_KEY)
    assert "'server_side_binding': False" in pooled
    assert "prepare_threshold" not in pooled


def test_the_secret_stays_the_same_from_start_to_start(tmp_path: Path) -> None:
    assert shown(tmp_path, "SECRET_KEY") == shown(tmp_path, "SECRET_KEY")


def test_a_web_process_never_loads_torch(tmp_path: Path) -> None:
    script = (
        "import sys, importlib; import annotate.wsgi\n"
        "from django.urls import get_resolver; get_resolver().url_patterns\n"
        "print(sorted({'torch', 'transformers', 'peft', 'sympy'} & set(sys.modules)))"
    )
    result = outside(script, tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("url", ["{}", "file://{}"])
def test_storage_is_a_folder_by_default(tmp_path: Path, url: str) -> None:
    folder = tmp_path / "with a space"
    where = url.format(str(folder).replace(" ", "%20") if "://" in url else folder)
    assert _default_storage(where)["OPTIONS"] == {"location": str(folder)}


def test_storage_may_be_a_bucket() -> None:
    backend = _default_storage("s3://bucket/a/prefix/")
    storage = storages.create_storage(backend)
    assert (storage.bucket_name, storage.location) == ("bucket", "a/prefix")
