// Managers' pages: figures that refresh themselves rest while nobody looks.
"use strict";

document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && event.target.id === "poll") event.preventDefault();
});
document.addEventListener("visibilitychange", () => {
  const poll = document.getElementById("poll");
  if (poll && !document.hidden) htmx.trigger(poll, "wake");
});

// A file that would be refused is not sent.
document.addEventListener("change", (event) => {
  const { largestMb, tooLarge } = event.target.dataset;
  if (!largestMb) return;
  const bytes = [...event.target.files].reduce((sum, file) => sum + file.size, 0);
  event.target.setCustomValidity(bytes > largestMb * 2 ** 20 ? tooLarge : "");
  event.target.reportValidity();
});
