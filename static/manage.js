// Managers' pages: figures that refresh themselves rest while nobody looks.
"use strict";

document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && event.target.id === "live") event.preventDefault();
});
document.addEventListener("visibilitychange", () => {
  const live = document.getElementById("live");
  if (live && !document.hidden) htmx.trigger(live, "wake");
});
