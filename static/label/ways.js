// The ways of labelling in which the model proposes next steps: going on with one, writing one, what is asked further.
"use strict";

// A step of one's own is written only where no option is great.
function own() {
  const box = document.getElementById("own");
  if (!box) return;
  const writes = document.getElementById("submit")?.dataset.onward === "write";
  box.hidden = !writes;
  box.querySelector("textarea").disabled = !writes;
}
new MutationObserver(own).observe(document.getElementById("content"), { childList: true, subtree: true });
own();

// The model's next steps have come.
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id !== "proposed" || missing() < 0) return;
  const typing = document.activeElement?.matches("input, textarea, select, details *");
  stand(missing(), { focus: !typing });
  say();
});

// Enter goes on with the option one stands at, where that is a great one.
document.addEventListener("click", (event) => {
  const button = event.target.closest("#submit[data-onward=choose] button");
  const here = steps()[at];
  if (button && here?.querySelector(".good[aria-checked=true]")) button.value = here.dataset.index;
}, true);

document.addEventListener("keydown", (event) => {
  if (event.target.matches?.("#own-text, #critique") && event.key === "Enter" && event.ctrlKey) press("#submit button");
});

// A critique is written where none is rated.
function critic() {
  const own = document.getElementById("critique");
  if (own) own.required = !document.querySelector("#critic-word [aria-checked=true]");
}
document.addEventListener("click", critic, true); // before the browser looks whether the form is complete

// What is said further is saved while it is typed, and sent with the submit in any case.
let told = 0;

function tellFurther() {
  clearTimeout(told);
  told = 0;
  const section = document.getElementById("further");
  if (!section) return;
  const values = { csrfmiddlewaretoken: cookie("csrftoken") ?? "", critique: document.getElementById("critique").value };
  const far = section.querySelector("[name=progress]:checked");
  if (far) values.progress = far.value;
  give(section.dataset.tell, values, { kept: true });
}
document.addEventListener("input", (event) => {
  if (!event.target.closest("#further .card")) return;
  clearTimeout(told);
  told = setTimeout(tellFurther, 800);
});
document.addEventListener("submit", () => {
  if (told) tellFurther();
}, true);
