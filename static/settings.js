// A key pressed in a field becomes its value; Tab and Escape still do what they do.
"use strict";

document.getElementById("keys-form")?.addEventListener("keydown", (event) => {
  const { target: field, key } = event;
  if (field.tagName !== "INPUT" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (["Tab", "Escape", "Shift", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].includes(key)) return;
  event.preventDefault();
  if (key === "Backspace" && field.value) field.value = "";
  else if (key === " ") field.value = "Space";
  else field.value = key.length === 1 ? key.toUpperCase() : key;
});
