// The judge's page of an audit: A agrees, D does not; a key within a text writes.
"use strict";

(() => {
  const KEYS = "crowdqc:single-keys"; // "off" where keys without Ctrl or Alt shall do nothing
  const form = document.querySelector("[data-verdict]");
  if (!form) return;

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    if (localStorage.getItem(KEYS) === "off") return;
    const button = form.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
    if (!button) return;
    event.preventDefault();
    button.click();
  });
})();
