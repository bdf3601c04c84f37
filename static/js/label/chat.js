// A conversation: J and K move from turn to turn, T opens the call, and the field follows.
import { hasSingleKeys } from "../storage.js";

const chat = () => document.querySelector("#work [data-chat]");
const turns = () => [...(chat()?.querySelectorAll("[data-turn]") ?? [])];
let at = null; // the turn that the keys stand on

function current() {
  const field = chat()?.querySelector(".current")?.closest("[data-turn]");
  if (field) return field;
  return at?.isConnected ? at : null;
}

function go(step) {
  const all = turns();
  const next = all[all.indexOf(current()) + step] ?? null;
  if (!next) return false;
  at = next;
  const field = next.querySelector("[data-field]:not([hidden]) :is(input:checked, input, textarea)");
  if (field) field.focus({ preventScroll: true });
  else {
    document.activeElement?.blur();
    chat().querySelectorAll(".current").forEach((one) => one.classList.remove("current"));
  }
  next.scrollIntoView({ block: "nearest" });
  return true;
}

function fold() {
  const calls = [...(current() ?? chat()).querySelectorAll("[data-call]")];
  if (!calls.length) return false;
  const open = !calls.some((one) => one.open);
  for (const call of calls) call.open = open;
  return true;
}

// The beginning that two conversations share.
function share() {
  const shared = document.querySelector("#work [data-shared]");
  if (shared) shared.open = !shared.open;
  return Boolean(shared);
}

document.addEventListener("crowdqc:turn", ({ target }) => {
  at = target;
});

document.addEventListener("click", ({ target }) => {
  const button = chat() && target.closest("[data-correct]");
  if (!button) return;
  const field = button.closest("[data-field]");
  const box = field.querySelector("textarea[name]");
  if (!box.value.trim()) box.value = field.querySelector("[data-original]").value;
  box.focus();
  box.dispatchEvent(new Event("input", { bubbles: true }));
});

document.addEventListener("keydown", (event) => {
  if (!chat() || event.defaultPrevented || event.isComposing || !hasSingleKeys()) return;
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (event.target.closest("textarea, input[type=text], select")) return;
  const key = event.key.toLowerCase();
  const done = key === "j" ? go(1) : key === "k" ? go(-1) : key === "t" ? fold() : key === "s" && share();
  if (done) event.preventDefault();
});
