"""Settings, from the environment (`annotate/env.py`) and nothing else. Importing them starts no server."""

from __future__ import annotations

import mimetypes
from datetime import timedelta
from typing import Any
from urllib.parse import unquote, urlsplit

import dj_database_url
from celery.schedules import crontab
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from kombu import Queue
from redis.backoff import NoBackoff
from redis.retry import Retry

from annotate import env
from annotate.services import places, secret
from prm_backend.config import PRMConfig

try:
    CONFIG = env.load()
except env.BadEnvironment as error:
    raise ImproperlyConfigured(str(error)) from None

BASE_DIR = env.BASE_DIR
VAR_DIR = CONFIG.var_dir
HOST, PORT = CONFIG.host, CONFIG.port
PUBLIC_URL = (CONFIG.public_url or f"http://{HOST}:{PORT}").rstrip("/")

# The product ----------------------------------------------------------------------------------------------
MODEL = CONFIG.model
PRM_BASE = CONFIG.prm_base
DEFAULT_MODEL_DIR = CONFIG.default_model_dir
HELD_OUT_SHARE = CONFIG.held_out_share
BOOTSTRAP_SOLUTIONS = CONFIG.bootstrap_solutions
PRM_CONFIG = PRMConfig(trained_layers=CONFIG.prm_trained_layers)
GRADING_POLICY = CONFIG.grading_policy
JUDGE = CONFIG.judge
RETRAIN_AFTER_LABELS = CONFIG.retrain_after_labels
LEASE_SECONDS = CONFIG.lease_seconds
JOB_SILENCE_SECONDS = CONFIG.job_silence_seconds
WORKER_SILENCE_SECONDS = CONFIG.worker_silence_seconds

# Services -------------------------------------------------------------------------------------------------
# Unset means embedded: the addresses below are where `annotate.services` will start the servers.
EMBEDDED_DATABASE = CONFIG.database_url is None
EMBEDDED_BROKER = CONFIG.broker_url is None
DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": places.DATABASE,
        "USER": places.DATABASE_USER,
        "HOST": str(places.socket_dir(VAR_DIR)),
        "PORT": "",
    }
    if CONFIG.database_url is None
    else dict(dj_database_url.parse(CONFIG.database_url)),
}
# What is asked often is planned once a connection, else half of what the database does for an annotator (decision 21).
# A pooler that gives each transaction another connection wants `?server_side_binding=false` behind DATABASE_URL.
_OPTIONS = DATABASES["default"].setdefault("OPTIONS", {})
if _OPTIONS.setdefault("server_side_binding", True):
    _OPTIONS.setdefault("prepare_threshold", 2)
DATABASES["default"] |= {"CONN_MAX_AGE": 600, "CONN_HEALTH_CHECKS": True, "ATOMIC_REQUESTS": False}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"


def _default_storage(url: str) -> dict[str, Any]:
    """Checkpoints, snapshots and exports: a folder, or a bucket that several hosts share."""
    parts = urlsplit(url)
    if parts.scheme == "s3":
        options = {"bucket_name": parts.netloc, "location": parts.path.strip("/"), "default_acl": None}
        return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}
    folder = unquote(parts.path) if parts.scheme == "file" else url
    return {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": folder}}


STORAGES = {
    "default": _default_storage(CONFIG.storage_url),
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

# Django ---------------------------------------------------------------------------------------------------
DEBUG = CONFIG.debug
SECRET_KEY = CONFIG.secret_key or secret.read_or_create(VAR_DIR / "secret_key")
ROOT_URLCONF = "annotate.urls"
WSGI_APPLICATION = "annotate.wsgi.application"
INSTALLED_APPS = [
    "annotate",
    "annotate.apps.LookingConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "csp",
    "django_celery_beat",
    "django_htmx",
    "drf_spectacular",
    "rest_framework",
    "rest_framework.authtoken",
    "template_partials",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "annotate.web.language.LanguageMiddleware",
    "annotate.web.large.refuse_large_bodies",
    # Closed by default: a public page says so with @login_not_required.
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {
                "manage": "annotate.web.words",
                "mathml": "annotate.web.mathml",
                "prose": "annotate.web.prose",
                "records": "annotate.web.records",
                "steps": "annotate.web.steps",
            },
            "builtins": ["template_partials.templatetags.partials"],
        },
    }
]
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True  # served where they lie: no collectstatic step to forget
mimetypes.add_type("text/javascript", ".js", strict=True)  # some machines' registries say text/plain

# People ---------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "annotate.Person"
AUTHENTICATION_BACKENDS = ["annotate.web.access.Backend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"

# Safety ---------------------------------------------------------------------------------------------------
_public = urlsplit(PUBLIC_URL)
ALLOWED_HOSTS = sorted({"127.0.0.1", "localhost", "[::1]", _public.hostname or "localhost"})
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{_public.netloc}"]
_https = _public.scheme == "https"
if CONFIG.trust_proxy:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _https
SESSION_ENGINE = "annotate.web.sessions"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_HSTS_SECONDS = int(timedelta(days=365).total_seconds()) if _https else 0
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "form-action": [SELF],
    }
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

# The API --------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    # One kind of token for scripts; the session, with its CSRF check, for pages. A deactivated person has neither.
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rest_framework.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["annotate.api.bodies.BoundedJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_FILTER_BACKENDS": ["annotate.api.listing.NamedFilters"],
    "DEFAULT_PAGINATION_CLASS": "annotate.api.listing.NewestFirst",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_THROTTLE_CLASSES": ["annotate.api.throttles.PersonRate", "annotate.api.throttles.ScopedRate"],
    "DEFAULT_THROTTLE_RATES": {"user": "6000/min", "files": "30/min"},
    "EXCEPTION_HANDLER": "annotate.api.errors.handle",
    "UNICODE_JSON": False,  # escapes: a refusal may quote half a surrogate pair, which UTF-8 cannot say
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Plumbline",
    "DESCRIPTION": "The loop for scripts. Send `Authorization: Token …`, made by `manage.py create_token USERNAME`.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SCHEMA_PATH_PREFIX": "/api",
    "SORT_OPERATIONS": False,  # as in annotate/api/urls.py: in the order of the loop
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "annotate.api.docs.with_errors",
    ],
    "ENUM_NAME_OVERRIDES": {
        "AnswerKind": "annotate.api.problems.KINDS",
        "ConcernKind": "annotate.models.Concern.Kind",
        "JobStatus": "annotate.models.JobStatus",
        "PRMStatus": "annotate.models.PRMStatus",
        "FinishReason": "annotate.api.queue.FINISH_REASONS",
    },
}

# Time and words -------------------------------------------------------------------------------------------
TIME_ZONE = CONFIG.time_zone
USE_TZ = True
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [BASE_DIR / "annotate" / "locale"]
USE_I18N = True

# Celery ---------------------------------------------------------------------------------------------------
_six_hours = 6 * 60 * 60  # above the longest retrain: a broker must not hand running work out again
CELERY_BROKER_URL = CONFIG.broker_url or f"redis+socket://{places.valkey_socket(VAR_DIR)}"
_amqp = CELERY_BROKER_URL.startswith("amqp")
# RabbitMQ closes a channel whose delivery stays unacknowledged for 30 minutes unless the queue says otherwise.
_queue_arguments = {"x-consumer-timeout": _six_hours * 1000} if _amqp else None
CELERY_BROKER_TRANSPORT_OPTIONS = (
    {} if _amqp else {"visibility_timeout": _six_hours, "socket_timeout": 30, "socket_connect_timeout": 5}
)
# The API's counts stand beside the messages, so that all web processes count the same; with RabbitMQ each has its own.
CACHES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "throttle": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "throttle"},
}
if CELERY_BROKER_URL.startswith(("redis://", "rediss://", "redis+socket://")):
    CACHES["throttle"] = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": CELERY_BROKER_URL.replace("redis+socket://", "unix://"),
        "KEY_PREFIX": "plumbline",
        "OPTIONS": {"socket_timeout": 1, "socket_connect_timeout": 1, "retry": Retry(NoBackoff(), 0)},
    }
# A worker that trains in its only thread sends no heartbeats to RabbitMQ, and is alive all the same.
CELERY_BROKER_HEARTBEAT = 0
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
# A page waits for a publish: give up soon, the periodic sweep finds the work in any case.
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 2, "interval_start": 0, "interval_step": 0.2}
CELERY_TASK_QUEUES = [Queue(name, queue_arguments=_queue_arguments) for name in ("quick", "model")]
CELERY_TASK_DEFAULT_QUEUE = "quick"
CELERY_TASK_ROUTES = {
    f"annotate.tasks.{name}": {"queue": "model"}
    for name in ("generate", "score", "bootstrap", "retrain", "benchmark", "propose")
}
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = TIME_ZONE
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "annotate.tasks.sweep", "schedule": timedelta(seconds=30)},
    "retrain nightly": {
        "task": "annotate.tasks.retrain_if_due",
        "schedule": crontab(hour=CONFIG.retrain_at.hour, minute=CONFIG.retrain_at.minute),
    },
}

# Logs -----------------------------------------------------------------------------------------------------
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "annotate": {"level": CONFIG.log_level},
        "prm_backend": {"level": CONFIG.log_level},
        "django": {"handlers": [], "level": "WARNING", "propagate": True},
        "django.request": {"level": "ERROR"},  # a page that is not there is no news
    },
}
