// What is given goes to the server one act after the other; until it is answered it is kept in this browser, over a
// closed page, too. Every act says when it was given, so that one sent twice or late changes nothing that is newer.
"use strict";

const RETRY_MS = 3_000;

const cookie = (name) => document.cookie.split("; ").find((c) => c.startsWith(`${name}=`))?.slice(name.length + 1);
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const outbox = {
  person: "",
  ahead: 0, // how far the server's clock is ahead of ours, in ms
  latest: 0,
  // When something is given, by the server's clock; never the same moment twice.
  now() {
    this.latest = Math.max(this.latest + 1, Date.now() + this.ahead);
    return this.latest;
  },
  get prefix() {
    return `plumbline:${this.person}:`;
  },
  // One entry an act: two tabs write beside each other, never over each other.
  keep(act) {
    const key = `${this.prefix}${act.item}:${act.values.at}:${act.url}`;
    try {
      localStorage.setItem(key, JSON.stringify(act));
    } catch {
      return ""; // no room, or not allowed: then only this page keeps it
    }
    return key;
  },
  forget(key) {
    if (key) localStorage.removeItem(key);
  },
  // What an earlier page could not send, in the order it was given.
  left() {
    try {
      return Object.keys(localStorage)
        .filter((key) => key.startsWith(this.prefix))
        .map((key) => ({ ...JSON.parse(localStorage.getItem(key)), key }))
        .sort((a, b) => a.values.at - b.values.at);
    } catch {
      return [];
    }
  },
};

let line = Promise.resolve();
let stuck = false; // the server has not answered the first in line, and only this page keeps it
window.addEventListener("beforeunload", (event) => {
  if (stuck) event.preventDefault();
});

// An act: { url, values, item }. `kept` acts survive a closed page.
function act(given, { kept = false } = {}) {
  const key = given.key ?? (kept ? outbox.keep(given) : "");
  line = line
    .then(() => send(given, key))
    .catch((error) => console.error(error));
}

// Sends until the server has answered. A lost session is told, and mended by signing in again in another tab.
async function send(given, key) {
  // Signing in again changes the token: the cookie has the new one, the form the old one.
  const { csrfmiddlewaretoken, ...rest } = given.values;
  for (;;) {
    const response = await fetch(given.url, {
      method: "POST",
      body: new URLSearchParams(rest),
      redirect: "manual",
      keepalive: true,
      headers: { "HX-Request": "true", "X-CSRFToken": cookie("csrftoken") ?? csrfmiddlewaretoken ?? "" },
    }).catch(() => null);
    const signedOut = response?.type === "opaqueredirect" || response?.status === 403;
    const silent = !signedOut && (!response || response.status >= 500);
    notice("signed-out", signedOut);
    if (signedOut) ahead.forget();
    notice("offline", silent);
    stuck = (signedOut || silent) && !key;
    if (!signedOut && !silent) {
      outbox.forget(key);
      return show(response, given);
    }
    await wait(RETRY_MS);
  }
}
