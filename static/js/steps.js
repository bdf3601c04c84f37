// The steps of a trace: a press on one shows its turn, E goes to the next that failed.
import { hasSingleKeys } from "./storage.js";

// The next step that failed, and what it led to.
function goToError() {
  const rows = [...document.querySelectorAll("[data-steps] [data-failed]")];
  if (!rows.length) return false;
  const next = rows[(rows.findIndex((one) => one.closest("[aria-current]")) + 1) % rows.length];
  next.focus();
  show(next);
  return true;
}

// Mark a step, and show the turn that it made.
function show(step) {
  for (const row of document.querySelectorAll("[data-steps] [aria-current]")) row.removeAttribute("aria-current");
  step.closest("li").setAttribute("aria-current", "step");
  step.scrollIntoView({ block: "nearest" });
  const turn = step.hash && document.querySelector(step.hash);
  if (!turn) return;
  turn.dispatchEvent(new Event("crowdqc:turn", { bubbles: true }));
  turn.scrollIntoView({ block: "start" });
}

document.addEventListener("click", (event) => {
  const step = event.target.closest("a[data-step]");
  if (!step) return;
  event.preventDefault();
  show(step);
});

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "e" || event.defaultPrevented || event.isComposing || !hasSingleKeys()) return;
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (event.target.closest("textarea, input[type=text], input[type=search], select")) return;
  if (goToError()) event.preventDefault();
});
