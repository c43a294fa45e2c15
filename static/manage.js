// Managers' pages: figures that refresh themselves rest while nobody looks.
"use strict";

document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && event.target.id === "poll") event.preventDefault();
});
document.addEventListener("visibilitychange", () => {
  const poll = document.getElementById("poll");
  if (poll && !document.hidden) htmx.trigger(poll, "wake");
});
