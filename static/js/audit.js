// The judge's page of an audit: A agrees, D does not; a key within a text writes.
import { hasSingleKeys } from "./storage.js";

document.addEventListener("keydown", (event) => {
  const form = document.querySelector("[data-verdict]");
  if (!form || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  if (!hasSingleKeys()) return;
  const button = form.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
  if (!button) return;
  event.preventDefault();
  button.click();
});
