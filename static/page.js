// What every page does about htmx: a lost session never swaps a login page into a fragment, and silence is told.
"use strict";

const notice = (id, shown) => { document.getElementById(id).hidden = !shown; };

document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr } = event.detail;
  const login = xhr.responseURL && new URL(xhr.responseURL).pathname.startsWith("/login/");
  if (login || xhr.status === 401) {
    event.detail.shouldSwap = false;
    event.stopImmediatePropagation();
    notice("signed-out", true);
    return;
  }
  notice("signed-out", false);
  // A conflict or a refusal comes as the fragment to show, with its message in it.
  if ([400, 409].includes(xhr.status) && xhr.getResponseHeader("HX-Fragment")) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
});

document.addEventListener("htmx:sendError", () => notice("offline", true));
document.addEventListener("htmx:responseError", (event) => {
  if (event.detail.xhr.status >= 500) notice("offline", true);
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.successful) notice("offline", false);
});
