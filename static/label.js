// The labelling page: keys, the current step, a queue of actions that loses nothing, active time, the lease.
// Everything it does goes through the page's own forms; the server answers with the part that changed.
"use strict";

const IDLE_MS = 60_000; // a longer silence is no work
const RETRY_MS = 3_000;

const work = () => document.getElementById("work");
const steps = () => [...document.querySelectorAll("ol.steps > li")];
const later = (step) => step.classList.contains("later");

// Where one stands -------------------------------------------------------------------------------------------

let at = 0; // index of the current step; ours alone, so that a late answer never moves it
let given = []; // steps in the order they were rated here, so that undo knows where to go at once

function stand(index, { focus = true } = {}) {
  const all = steps();
  if (!all.length) return;
  at = Math.max(0, Math.min(index, all.length - 1));
  all.forEach((step, i) => {
    step.classList.toggle("now", i === at);
    if (i === at) step.setAttribute("aria-current", "step");
    else step.removeAttribute("aria-current");
  });
  document.querySelectorAll(".dots i").forEach((dot, i) => dot.classList.toggle("n", i === at));
  const unsure = document.querySelector("#flag button");
  if (unsure) unsure.value = `${at}:${all[at].querySelector(".unsure") ? 0 : 1}`;
  if (focus) {
    all[at].focus({ preventScroll: true });
    all[at].scrollIntoView({ block: "nearest" });
  }
}

let shown = null; // the #work that was last made ready

function arrive() {
  shown = work();
  given = [];
  clock.start();
  at = Math.max(0, steps().findIndex((step) => step.classList.contains("now")));
  stand(at, { focus: false });
  if (at > 0) steps()[at].scrollIntoView({ block: "nearest" });
  say();
}

const say = () => {
  const state = document.getElementById("state");
  document.getElementById("said").textContent = state ? state.textContent : "";
};

// Active time ------------------------------------------------------------------------------------------------

const clock = {
  active: 0,
  last: 0,
  start() {
    this.active = Number(work()?.dataset.activeMs ?? 0);
    this.last = performance.now();
  },
  // Called on every sign of life; the time since the one before counts unless it was a pause.
  tick() {
    const now = performance.now();
    if (now - this.last <= IDLE_MS && !this.hidden) this.active += now - this.last;
    this.last = now;
  },
  hidden: document.hidden,
};
for (const sign of ["keydown", "pointerdown", "pointermove", "wheel", "scroll"]) {
  document.addEventListener(sign, () => clock.tick(), { passive: true, capture: true });
}
document.addEventListener("visibilitychange", () => {
  clock.tick(); // with the old state: what went before a tab was hidden counts, what it was hidden for does not
  clock.hidden = document.hidden;
});

// Actions, one after the other -------------------------------------------------------------------------------

const cookie = (name) => document.cookie.split("; ").find((c) => c.startsWith(`${name}=`))?.slice(name.length + 1);
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

let line = Promise.resolve();
let stuck = false; // the server has not answered the first in line
window.addEventListener("beforeunload", (event) => {
  if (stuck) event.preventDefault();
});
const act = (url, values, follow = false) => {
  line = line.then(() => send(url, values, follow)).catch((error) => console.error(error));
};

// Sends until the server has answered. A lost session is told, and mended by signing in again in another tab.
async function send(url, values, follow) {
  const item = work()?.dataset.item;
  // Signing in again changes the token: the cookie has the new one, the form the old one.
  const { csrfmiddlewaretoken, ...rest } = values;
  for (;;) {
    const response = await fetch(url, {
      method: "POST",
      body: new URLSearchParams(rest),
      redirect: "manual",
      keepalive: true,
      headers: { "HX-Request": "true", "X-CSRFToken": cookie("csrftoken") ?? csrfmiddlewaretoken ?? "" },
    }).catch(() => null);
    const signedOut = response?.type === "opaqueredirect" || response?.status === 403;
    const silent = !signedOut && (!response || response.status >= 500);
    notice("signed-out", signedOut);
    notice("offline", silent);
    stuck = signedOut || silent;
    if (!stuck) return show(response, item, follow);
    await wait(RETRY_MS);
  }
}

async function show(response, item, follow) {
  const swapStyle = response.headers.get("HX-Reswap");
  if (!swapStyle) return;
  htmx.swap("#work", await response.text(), { swapStyle, swapDelay: 0, settleDelay: 0 });
  if (swapStyle === "none") {
    const there = follow ? Number(response.headers.get("Plumbline-Step") ?? at + 1) - 1 : at;
    stand(there, { focus: document.activeElement === document.body });
    say();
    return;
  }
  if (work().dataset.item !== item) window.scrollTo(0, 0);
  arrive();
  (document.querySelector("#work [role=alert]") ?? document.getElementById("problem"))?.focus?.({ preventScroll: true });
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.closest("#work")) return;
  event.preventDefault();
  clock.tick();
  const values = Object.fromEntries(new FormData(form, event.submitter));
  values.active_ms = Math.round(clock.active);
  // After a reload only the server knows which rating was the last: then its answer says where to go.
  const follow = form.id === "undo" && !given.length;
  if (form.id === "undo" && !follow) stand(given.pop());
  act(form.action, values, follow);
});

// An item that htmx itself brought: the page that waited for one looked again.
document.addEventListener("htmx:afterSettle", () => {
  if (work() !== shown) arrive();
});

// Rating -----------------------------------------------------------------------------------------------------

document.addEventListener("click", (event) => {
  const step = event.target.closest("ol.steps > li");
  if (!step) return;
  const index = Number(step.dataset.index);
  const button = event.target.closest("button.rate");
  if (!button || index !== at) {
    // A rated step that is not the current one shows only its rating: pressing it opens it again.
    if (button && event.detail > 0) event.preventDefault();
    if (index !== at) stand(index);
    if (event.detail > 0) return;
  }
  if (button) rated(button, index);
});

function rated(button, index) {
  const reopens = button.parentElement.querySelector(".bad[aria-pressed=true]"); // what was no error after all
  for (const other of button.parentElement.querySelectorAll("button.rate")) {
    other.setAttribute("aria-pressed", String(other === button));
  }
  given.push(index);
  const next = steps()[index + 1];
  const goesOn = next && !button.value.endsWith(":-1") && (reopens || !later(next));
  stand(goesOn ? index + 1 : index);
}

const press = (selector) => document.querySelector(selector)?.click();

const keys = {
  1: () => press("li.now button.bad"),
  2: () => press("li.now button.okay"),
  3: () => press("li.now button.good"),
  j: () => stand(at + 1),
  k: () => stand(at - 1),
  ArrowDown: () => stand(at + 1),
  ArrowUp: () => stand(at - 1),
  u: () => press("#undo button"),
  q: () => press("#flag button"),
  Enter: () => {
    if (document.getElementById("standing")?.dataset.finish) press("#submit button");
    else stand(steps().findIndex((step) => !later(step) && !step.querySelector("[aria-pressed=true]")));
  },
  "?": () => document.getElementById("keys").showModal(),
};

// The digit row by its place, since on some layouts (AZERTY) digits need Shift; letters by what they say.
function named(event) {
  const digit = /^(?:Digit|Numpad)([123])$/.exec(event.code);
  if (digit && (!event.shiftKey || event.key === digit[1])) return digit[1];
  if (event.key === "?") return "?";
  if (event.shiftKey) return "";
  if (/^[a-z]$/i.test(event.key)) return event.key.toLowerCase();
  return /^Key[A-Z]$/.test(event.code) ? event.code.slice(3).toLowerCase() : event.key;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
  if (event.target.closest?.("input, textarea, select, [contenteditable], dialog")) return;
  const key = named(event);
  if (key === "Enter" && event.target.closest?.("a, button, summary")) return; // does what it always does
  if (!Object.hasOwn(keys, key) || !steps().length) return;
  event.preventDefault();
  keys[key]();
});

document.getElementById("help").addEventListener("click", keys["?"]);

document.addEventListener("keydown", (event) => {
  const stop = document.getElementById("stop");
  if (event.key === "Escape" && stop?.open) {
    stop.open = false;
    stand(at); // so that Enter submits again
  }
});

// The lease --------------------------------------------------------------------------------------------------

let beat = performance.now();
setInterval(() => {
  const { heartbeat, leaseSeconds } = work()?.dataset ?? {};
  if (!heartbeat) return;
  const now = performance.now();
  const here = now - clock.last < leaseSeconds * 1000; // somebody who left long ago must not hold it for ever
  if (here && now - beat > (leaseSeconds * 1000) / 3) {
    beat = now;
    act(heartbeat, {});
  }
}, 5_000);

window.addEventListener("pagehide", () => {
  const { release, token } = work()?.dataset ?? {};
  if (!release) return;
  const body = new FormData();
  body.append("csrfmiddlewaretoken", cookie("csrftoken") ?? "");
  body.append("token", token);
  navigator.sendBeacon(release, body);
});
window.addEventListener("pageshow", (event) => {
  if (event.persisted) window.location.reload();
});

arrive();
