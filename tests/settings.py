"""Settings of a test run: the product's own, in a fresh VAR_DIR that is gone afterwards.

DATABASE_URL and BROKER_URL are obeyed where set; otherwise tests/conftest.py starts servers in that folder.
"""

import os
import secrets
import tempfile

# Short, because Unix socket paths are; ours by pid, so that a later run can clear up after one that was killed.
# Processes the tests start inherit it.
os.environ["VAR_DIR"] = tempfile.mkdtemp(prefix=f"plumbline-test-{os.getpid()}-", dir="/tmp")
os.environ["SECRET_KEY"] = secrets.token_urlsafe(50)
os.environ["DEBUG"] = "false"

# Two halves of the tests run beside each other: each takes one core.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

from annotate.settings import *

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # quick, and every test signs in
