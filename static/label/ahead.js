// The next item, fetched once a rating of this one is saved, so that a submit shows it without waiting for the answer.
// It is leased like any other, once; its clock begins when it is shown.
"use strict";

const parsed = (text) => new DOMParser().parseFromString(text, "text/html");
const workIn = (text) => parsed(text).getElementById("work");

const ahead = {
  fetched: { after: "", item: "", text: "", until: 0 },
  forget() {
    this.fetched = { after: "", item: "", text: "", until: 0 };
  },
  // Once an item, and again with a rating given when its lease has run out meanwhile.
  ask() {
    const { item, ahead: url, leaseSeconds } = work().dataset;
    if (!url || (this.fetched.after === item && Date.now() < this.fetched.until)) return;
    const asked = { after: item, item: "", text: "", until: Date.now() + leaseSeconds * 1000 };
    this.fetched = asked;
    // Not in the line of acts, but after what is in it now: before the submit of the item before, the server knows none.
    line.then(() => asked === this.fetched && this.fetch(url, asked));
  },
  async fetch(url, asked) {
    const sent = Date.now();
    const response = await fetch(url, {
      method: "POST",
      body: new URLSearchParams({ person: outbox.person }),
      redirect: "manual",
      headers: { "HX-Request": "true", "X-CSRFToken": cookie("csrftoken") ?? "" },
    }).catch(() => null);
    if (response?.status === 204) return;
    const text = response?.status === 200 ? await response.text().catch(() => "") : "";
    asked.until = text ? sent + response.headers.get("Plumbline-Seconds") * 1000 : 0;
    asked.item = text && (workIn(text).dataset.item ?? "");
    asked.text = text;
  },
  // What comes after the item that is shown, if it is here; it is given out once.
  take() {
    const { after, item, text, until } = this.fetched;
    if (!text || after !== work().dataset.item || Date.now() >= until) return null;
    this.forget();
    return { item, text };
  },
};
