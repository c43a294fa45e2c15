// The labelling page: the current step, ratings and their undoing, what an answer changes, the lease.
// Everything it does goes through the page's own forms; the server answers with the part that changed.
"use strict";

const work = () => document.getElementById("work");
const steps = () => document.querySelectorAll("ol.steps > li");
const later = (step) => step.classList.contains("later");
const rated = (step) => step.querySelector("[aria-checked=true]");

// Where one stands -------------------------------------------------------------------------------------------

let at = 0; // index of the current step; ours alone, so that a late answer never moves it

function stand(index, { focus = true } = {}) {
  const all = steps();
  if (!all.length) return;
  const before = document.querySelector("ol.steps > li.now");
  at = Math.max(0, Math.min(index, all.length - 1));
  clock.stand(at);
  const step = all[at];
  if (before && before !== step) {
    before.classList.remove("now");
    before.removeAttribute("aria-current");
  }
  step.classList.add("now");
  step.setAttribute("aria-current", "step");
  document.querySelectorAll(".dots i").forEach((dot, i) => dot.classList.toggle("n", i === at));
  const unsure = document.querySelector("#flag button");
  if (unsure) unsure.value = `${at}:${step.querySelector(".unsure") ? 0 : 1}`;
  if (focus) {
    step.focus({ preventScroll: true });
    step.scrollIntoView({ block: "nearest" });
  }
}

// The first step that needs a rating.
const missing = () => [...steps()].findIndex((step) => !later(step) && !rated(step));

let shown = null; // the #work that was last made ready

function arrive() {
  shown = work();
  const data = shown.dataset;
  outbox.person = data.person;
  if (data.now) outbox.ahead = Number(data.now) - Date.now(); // what was fetched ahead is too old to say
  if (ahead.fetched.after !== data.item) ahead.forget();
  done = [];
  undone = [];
  clock.start(Number(data.activeMs ?? 0), [...steps()].map((step) => Number(step.dataset.ms)));
  const guess = document.getElementById("guess");
  if (guess) guess.open = !guessHidden;
  at = Math.max(0, [...steps()].findIndex((step) => step.classList.contains("now")));
  stand(at, { focus: false });
  if (at > 0) steps()[at].scrollIntoView({ block: "nearest" });
  say();
}

const say = () => {
  const state = document.getElementById("state");
  document.getElementById("said").textContent = state ? state.textContent : "";
};

let guessHidden = false; // as the person last chose, for the items that follow, too
document.addEventListener("toggle", (event) => {
  if (event.target.id === "guess") guessHidden = !event.target.open;
}, true);

// Acts and their answers ---------------------------------------------------------------------------------------

function give(url, values, options) {
  clock.tick();
  const sent = { ...values, at: outbox.now(), person: outbox.person };
  sent.active_ms = Math.round(clock.active);
  sent.step_ms = clock.stepTimes;
  act({ url, values: sent, item: work().dataset.item ?? "" }, options);
}

async function show(response, given) {
  const swapStyle = response.headers.get("HX-Reswap");
  if (!swapStyle) return;
  const text = await response.text();
  const { shown: next } = given.values;
  const item = work().dataset.item ?? "";
  // What an earlier page left behind, or another tab's item: told if it was refused, but nothing here changes.
  if ((next ?? given.item) !== item) return tell(text);
  if (swapStyle === "none") {
    swap(text, swapStyle);
    work().dataset.token = response.headers.get("Plumbline-Token") ?? work().dataset.token;
    stand(at, { focus: document.activeElement === document.body });
    say();
    return;
  }
  const fresh = next && done.length ? workIn(text) : null;
  if (fresh?.dataset.item === item) { // refused, but what is rated here is theirs: it stays as it stands
    work().dataset.token = fresh.dataset.token;
    return tell(text);
  }
  const typing = document.activeElement?.matches("#work textarea") ? document.activeElement.value : null;
  put(text, swapStyle);
  if (typing && work().dataset.item === item) document.getElementById("comment").value = typing;
}

const swap = (text, swapStyle) => htmx.swap("#work", text, { swapStyle, swapDelay: 0, settleDelay: 0 });

// Another item, or the same one anew, in place of what is shown.
function put(text, swapStyle = "outerHTML") {
  const item = work().dataset.item ?? "";
  swap(text, swapStyle);
  shownAt = -Infinity;
  if ((work().dataset.item ?? "") !== item) window.scrollTo(0, 0);
  arrive();
  (document.querySelector("#work [role=alert]") ?? document.getElementById("problem"))?.focus?.({ preventScroll: true });
}

function tell(text) {
  const refusal = parsed(text).querySelector("[role=alert]");
  if (refusal) document.getElementById("messages").append(refusal);
}

const KEPT = ["rate", "flag", "submit", "stop", "dispute"];
const DOUBLE_MS = 500;
let shownAt = -Infinity; // when this item came into the place of a submitted one, under the hand that pressed

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.closest("#work") || "plain" in form.dataset) return;
  event.preventDefault();
  if (form.id === "undo") return undo();
  // The second press of a double one was meant for the item before.
  if (form.id === "submit" && !done.length && performance.now() - shownAt < DOUBLE_MS) return;
  const kept = KEPT.some((id) => form.id === id || form.closest(`#${id}`));
  const values = Object.fromEntries(new FormData(form, event.submitter));
  const next = form.id === "submit" && document.getElementById("standing").dataset.finish ? ahead.take() : null;
  if (next) values.shown = next.item;
  give(form.action, values, { kept: kept && form.id !== "skip" });
  if (next) {
    put(next.text);
    shownAt = performance.now();
  }
  if (form.id === "rate") ahead.ask();
});

// An item that htmx itself brought: the page that waited for one looked again.
document.addEventListener("htmx:afterSettle", () => {
  if (work() !== shown) arrive();
});

// Rating, undo, redo -------------------------------------------------------------------------------------------

let done = []; // { index, before, after }: ratings given here, the latest last
let undone = [];

const valueOf = (step) => rated(step)?.value.split(":")[1] ?? "none";

function setRating(index, value) {
  for (const button of steps()[index].querySelectorAll("button.rate")) {
    button.setAttribute("aria-checked", String(button.value === `${index}:${value}`));
  }
}

// Change a rating because of undo or redo: to another value or to none, and go there.
function restore(index, value) {
  setRating(index, value);
  stand(index);
  const { csrfmiddlewaretoken } = Object.fromEntries(new FormData(document.getElementById("rate")));
  give(work().dataset.rate, { csrfmiddlewaretoken, rating: `${index}:${value}` }, { kept: true });
}

function undo() {
  const last = document.getElementById("standing")?.dataset.last;
  let change = done.pop();
  // After a reload only the server knows which rating was the last.
  if (!change && last) change = { index: Number(last), before: "none", after: valueOf(steps()[last]) };
  if (!change) return document.querySelector(".take-back button")?.click();
  document.getElementById("standing").dataset.last = "";
  undone.push(change);
  restore(change.index, change.before);
}

function redo() {
  const change = undone.pop();
  if (!change) return;
  done.push(change);
  restore(change.index, change.after);
}

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
  if (button) rate(button, index);
});

function rate(button, index) {
  const step = steps()[index];
  const [before, after] = [valueOf(step), button.value.split(":")[1]];
  if (before !== after) { // the same again is nothing to undo
    done.push({ index, before, after });
    undone = [];
  }
  setRating(index, after);
  const next = steps()[index + 1];
  const ends = after === "-1" && work().dataset.goesOn !== "true" && !step.closest(".options");
  const goesOn = next && !ends && (before === "-1" || !later(next)); // an error taken back opens what follows
  stand(goesOn ? index + 1 : index);
}

// The lease --------------------------------------------------------------------------------------------------

let beat = performance.now();
setInterval(() => {
  const { heartbeat, leaseSeconds } = work()?.dataset ?? {};
  if (!heartbeat) return;
  const now = performance.now();
  const here = now - clock.last < leaseSeconds * 1000; // somebody who left long ago must not hold it for ever
  if (here && now - beat > (leaseSeconds * 1000) / 3) {
    beat = now;
    act({ url: heartbeat, values: { person: outbox.person }, item: work().dataset.item });
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
const leftBehind = outbox.left();
// This page does not show what the earlier one showed when it submitted.
leftBehind.forEach(({ values: { shown: _shown, ...values }, ...given }) => act({ ...given, values }));
if (leftBehind.length) line = line.then(() => missing() >= 0 && stand(missing(), { focus: false }));
