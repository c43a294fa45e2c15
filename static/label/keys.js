// The keys of the labelling page, as the person chose them.
"use strict";

const press = (selector) => document.querySelector(selector)?.click();

function stopFor(reason) {
  const stop = document.getElementById("stop");
  if (!stop) return;
  stop.open = true;
  stop.querySelector(`[value=${reason}]`).checked = true;
  document.getElementById("comment").focus();
}

function zoom() {
  const text = document.querySelector("li.now .text");
  const dialog = document.getElementById("zoom");
  if (!text) return;
  dialog.querySelector(".text").replaceChildren(...text.cloneNode(true).childNodes);
  dialog.showModal();
}

const doing = {
  bad: () => press("li.now button.bad"),
  okay: () => press("li.now button.okay"),
  great: () => press("li.now button.good"),
  next: () => stand(at + 1),
  previous: () => stand(at - 1),
  undo,
  redo,
  unsure: () => press("#flag button"),
  answer: () => press("#guess > summary"),
  zoom,
  give_up: () => stopFor("give_up"),
  bad_problem: () => stopFor("bad_problem"),
  skip: () => press("#skip button"),
  submit: () => {
    if (document.getElementById("standing")?.dataset.finish) press("#submit button");
    else if (missing() >= 0) stand(missing());
  },
  rules: () => press("#rules-link"),
  keys: () => {
    document.getElementById("keys").showModal();
    document.getElementById("keys-title").focus(); // by autofocus, a page that is loading would try it, too
  },
};
const arrows = { ArrowDown: "next", ArrowUp: "previous" };
const keymap = { ...arrows, ...JSON.parse(document.getElementById("keys").dataset.keymap) };

// A digit by its place, since on some layouts (AZERTY) digits need Shift; everything else by what it says.
function named(event) {
  const digit = /^(?:Digit|Numpad)([0-9])$/.exec(event.code);
  if (digit && (!event.shiftKey || event.key === digit[1])) return digit[1];
  if (event.key === " ") return "Space";
  if (event.key.length > 1) return event.shiftKey ? "" : event.key;
  const letter = event.key.toLowerCase() !== event.key.toUpperCase();
  if (letter && event.shiftKey) return "";
  const key = event.key.toLowerCase();
  if (!letter || Object.hasOwn(keymap, key)) return key;
  return /^Key[A-Z]$/.test(event.code) ? event.code.slice(3).toLowerCase() : key; // another script's letters
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
  if (event.getModifierState?.("AltGraph")) return;
  const key = named(event);
  if (event.target.closest?.("dialog")) {
    if (keymap[key] === "zoom") {
      document.getElementById("zoom").close();
      stand(at); // the browser lets go of the closed dialog's button a frame later: a key before that must not be lost
    }
    return;
  }
  if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
  // These do what they always do.
  if ((key === "Enter" || key === "Space") && event.target.closest?.("a, button, summary")) return;
  const action = Object.hasOwn(keymap, key) ? keymap[key] : undefined;
  if (!action || (!steps().length && action !== "keys" && action !== "undo")) return;
  event.preventDefault();
  doing[action]();
});

document.getElementById("help").addEventListener("click", doing.keys);
document.getElementById("rules-link").addEventListener("click", () => document.getElementById("rules").showModal());

document.addEventListener("keydown", (event) => {
  const open = document.querySelector("#stop[open], #dispute[open]");
  if (event.key === "Escape" && open) {
    open.open = false;
    stand(at); // so that Enter submits again
  }
});
