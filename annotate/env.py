"""What the environment may say: one typed reader, every bad value reported at once. Knows nothing of Django.

`EXPECTED` is the table of contents: each variable's name and what would be accepted, in words. A test holds
`.env.example` to the same names.
"""

from __future__ import annotations

import datetime as dt
import zoneinfo
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from environs import Env, EnvValidationError, ValidationError

from prm_backend.config import PRMConfig
from prm_backend.grading import DEFAULT_POLICY, GradingPolicy

BASE_DIR = Path(__file__).resolve().parent.parent

EXPECTED = {
    "VAR_DIR": "a folder that exists or can be made",
    "HOST": "an address to listen on, such as 127.0.0.1 or 0.0.0.0",
    "PORT": "a TCP port between 1 and 65535",
    "PUBLIC_URL": "the address people type, such as https://plumbline.example.org, without a path",
    "TRUST_PROXY": "true only behind a proxy that always sets X-Forwarded-Proto, else false",
    "SECRET_KEY": "at least 32 random characters: python3 -c 'import secrets; print(secrets.token_urlsafe(50))'",
    "DEBUG": "true or false; true only on 127.0.0.1",
    "LOG_LEVEL": "DEBUG, INFO, WARNING or ERROR",
    "TIME_ZONE": "a name of the time zone database, such as Europe/Berlin",
    "DATABASE_URL": "postgres://user:password@host:5432/name",
    "BROKER_URL": "redis://…, rediss://…, redis+socket:///path or amqp://user:password@host//",
    "STORAGE_URL": "a folder (/srv/plumbline or file:///srv/plumbline) or s3://bucket/prefix",
    "MODEL": "a folder that holds a model, a hub id (owner/name) or openai:<url>#<model>",
    "PRM_BASE": "a folder that holds a model, or a hub id (owner/name)",
    "HELD_OUT_SHARE": "a share from 0 up to, but not including, 1",
    "BOOTSTRAP_SOLUTIONS": "a whole number of 1 or more",
    "PRM_TRAINED_LAYERS": "a whole number of 0 or more; 0 trains the head alone",
    "GRADING_POLICY": "cases and what they are, such as rounded=correct, unreduced=wrong",
    "JUDGE": "openai:<url>#<model>",
    "RETRAIN_AFTER_LABELS": "a whole number of 1 or more",
    "RETRAIN_AT": "a time of day, HH:MM",
    "LEASE_SECONDS": "a whole number of seconds, 30 or more",
    "JOB_SILENCE_SECONDS": "a whole number of seconds, 5 or more",
    "WORKER_SILENCE_SECONDS": "a whole number of seconds, 5 or more",
}


class BadEnvironment(Exception):
    """Some variables make no sense; the message names each and says what would do."""


@dataclass(frozen=True)
class Config:
    """The environment, read and checked. None means unset: the embedded part is used, or a default derived."""

    var_dir: Path
    host: str
    port: int
    public_url: str | None
    trust_proxy: bool
    secret_key: str | None
    debug: bool
    log_level: str
    time_zone: str
    database_url: str | None
    broker_url: str | None
    storage_url: str
    model: str
    prm_base: str
    held_out_share: float
    bootstrap_solutions: int
    prm_trained_layers: int
    grading_policy: GradingPolicy
    judge: str | None
    retrain_after_labels: int
    retrain_at: dt.time
    lease_seconds: int
    job_silence_seconds: int
    worker_silence_seconds: int

    @property
    def default_model_dir(self) -> Path:
        """Where the bundled model is converted to on a first run."""
        return self.var_dir / "models" / "smollm2"


def load(dotenv: Path | None = BASE_DIR / ".env") -> Config:
    """Read the environment; values in `dotenv` fill what the process environment leaves unset.

    Raises BadEnvironment, naming every variable that makes no sense.
    """
    env = Env(eager=False)
    if dotenv is not None and dotenv.is_file():
        env.read_env(str(dotenv), recurse=False)
    var_dir = Path(env.str("VAR_DIR", "") or "var").expanduser()
    var_dir = var_dir if var_dir.is_absolute() else BASE_DIR / var_dir
    bundled = str(var_dir / "models" / "smollm2")
    policy = _optional(env, "GRADING_POLICY", _policy)
    config = Config(
        var_dir=var_dir,
        host=env.str("HOST", "127.0.0.1"),
        port=env.int("PORT", 8000, validate=_between(1, 65535)),
        public_url=_optional(env, "PUBLIC_URL", _public_url),
        trust_proxy=env.bool("TRUST_PROXY", False),
        secret_key=_optional(env, "SECRET_KEY", _secret_key),
        debug=env.bool("DEBUG", False),
        log_level=env.str("LOG_LEVEL", "INFO", validate=_one_of("DEBUG", "INFO", "WARNING", "ERROR")),
        time_zone=env.str("TIME_ZONE", "UTC", validate=_time_zone),
        database_url=_optional(env, "DATABASE_URL", _scheme("postgres", "postgresql")),
        broker_url=_optional(env, "BROKER_URL", _scheme("redis", "rediss", "redis+socket", "amqp", "amqps")),
        storage_url=_optional(env, "STORAGE_URL", _storage_url) or str(var_dir / "storage"),
        model=_optional(env, "MODEL", _model_or_server) or bundled,
        prm_base=_optional(env, "PRM_BASE", _model) or bundled,
        held_out_share=env.float("HELD_OUT_SHARE", 0.1, validate=_share),
        bootstrap_solutions=env.int("BOOTSTRAP_SOLUTIONS", 40, validate=_between(1, None)),
        prm_trained_layers=env.int(
            "PRM_TRAINED_LAYERS", PRMConfig.trained_layers, validate=_between(0, None)
        ),
        grading_policy=GradingPolicy.parse(policy) if policy else DEFAULT_POLICY,
        judge=_optional(env, "JUDGE", _server),
        retrain_after_labels=env.int("RETRAIN_AFTER_LABELS", 50, validate=_between(1, None)),
        retrain_at=env.time("RETRAIN_AT", dt.time(2, 0)),
        lease_seconds=env.int("LEASE_SECONDS", 900, validate=_between(30, None)),
        job_silence_seconds=env.int("JOB_SILENCE_SECONDS", 120, validate=_between(5, None)),
        worker_silence_seconds=env.int("WORKER_SILENCE_SECONDS", 60, validate=_between(5, None)),
    )
    _refuse(env)
    _check_together(config)
    return config


def _optional(env: Env, name: str, check: Callable[[str], None]) -> str | None:
    """A variable that may be unset; empty counts as unset, as in a copied .env.example."""
    value: str | None = env.str(name, "", validate=lambda v: check(v) if v else None)
    return value or None


def _refuse(env: Env) -> None:
    try:
        env.seal()
    except EnvValidationError as error:
        errors = error.error_messages
        assert isinstance(errors, dict)  # by name, as seal() always has them
        raise BadEnvironment(_message(errors)) from None


def _check_together(config: Config) -> None:
    """Values that make sense alone but not with one another."""
    wrong: dict[str, list[str]] = {}
    loopback = config.host in ("127.0.0.1", "localhost", "::1")
    if not loopback and config.public_url is None:
        wrong["PUBLIC_URL"] = [f"is unset while HOST={config.host} can be reached from outside."]
    public_host = urlsplit(config.public_url or "http://localhost").hostname
    if config.debug and not (loopback and public_host in ("127.0.0.1", "localhost", "::1")):
        wrong["DEBUG"] = ["shows secrets to whoever provokes an error, and this address is public."]
    if config.secret_key is None and config.database_url is not None and not config.debug:
        wrong["SECRET_KEY"] = ["is unset; only the embedded database brings a key of its own."]
    if wrong:
        raise BadEnvironment(_message(wrong))


def _message(errors: dict[str, list[str]]) -> str:
    lines = [f"  {name}: {' '.join(why)} Expected {EXPECTED[name]}." for name, why in sorted(errors.items())]
    return "These environment variables make no sense:\n" + "\n".join(lines)


def _between(low: int, high: int | None) -> Callable[[int], None]:
    def check(value: int) -> None:
        if value < low or (high is not None and value > high):
            raise ValidationError(f"{value} is out of range.")

    return check


def _one_of(*allowed: str) -> Callable[[str], None]:
    def check(value: str) -> None:
        if value not in allowed:
            raise ValidationError(f"{value!r} is none of them.")

    return check


def _scheme(*allowed: str) -> Callable[[str], None]:
    def check(value: str) -> None:
        # The value itself may hold a password, so only its scheme is repeated.
        scheme = value.partition("://")[0] if "://" in value else ""
        if scheme not in allowed:
            raise ValidationError(f"starts with {scheme or 'no scheme'}." if scheme else "has no scheme.")

    return check


def _share(value: float) -> None:
    if not 0 <= value < 1:
        raise ValidationError(f"{value} is no such share.")


def _time_zone(value: str) -> None:
    if value not in zoneinfo.available_timezones():
        raise ValidationError(f"{value!r} is unknown.")


def _public_url(value: str) -> None:
    url = urlsplit(value)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValidationError(f"{value!r} is no http(s) address.")
    if url.path not in ("", "/") or url.query or url.fragment:
        raise ValidationError(f"{value!r} has a path; Plumbline is served at the root of its host.")


def _secret_key(value: str) -> None:
    known = ("django-insecure", "changeme", "change-me", "secret", "password")
    if len(value) < 32 or len(set(value)) < 12 or value.lower().startswith(known):
        raise ValidationError("is too easy to guess.")


def _storage_url(value: str) -> None:
    if "://" not in value:
        return
    url = urlsplit(value)
    if url.scheme not in ("file", "s3"):
        raise ValidationError(f"{url.scheme}:// is not known.")
    if url.scheme == "s3" and not url.netloc:
        raise ValidationError("names no bucket.")


def _model(value: str) -> None:
    """A path must exist; anything else must look like a hub id, whose existence only the hub can tell."""
    looks_like_a_path = value.startswith(("/", ".", "~")) or value.count("/") > 1
    if looks_like_a_path:
        if not Path(value).expanduser().is_dir():
            raise ValidationError(f"there is no folder {value}.")
    elif not Path(value).is_dir() and value.count("/") != 1:
        raise ValidationError(f"{value!r} is neither a folder nor owner/name.")


def _policy(value: str) -> None:
    try:
        GradingPolicy.parse(value)
    except ValueError as error:
        raise ValidationError(f"{error}.") from None


def _model_or_server(value: str) -> None:
    (_server if value.startswith("openai:") else _model)(value)


def _server(value: str) -> None:
    if not value.startswith("openai:"):
        raise ValidationError(f"{value!r} does not begin with openai:.")
    url, _, model = value.removeprefix("openai:").partition("#")
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname or not model:
        raise ValidationError("names no http(s) address, or no model after #.")
