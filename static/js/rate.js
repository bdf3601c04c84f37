// Rating an answer beside its document: sentences chosen by pointer, key or number, the reason in
// words, and what is missing said beside its field. judge.js looks after the scales.
import { log } from "./eventlog.js";
import { hasSingleKeys } from "./storage.js";
import { countWords, gettext, interpolate, ngettext } from "./words.js";

const page = () => document.querySelector("#work[data-rate]");
const part = (name) => page()?.querySelector(`[data-${name}]`);
const field = () => page()?.querySelector("#evidence");
const why = () => page()?.querySelector("#explanation");
const buttons = () => [...(page()?.querySelectorAll("[data-document] button.no") ?? [])];

function say(words) {
  const told = part("told");
  if (told) told.textContent = words;
}

// Numbers -------------------------------------------------------------------------------------

// What is typed, as numbers; null where it cannot be read.
function read(typed, last) {
  const found = new Set();
  for (const one of typed.replace(/\s*[-–]\s*/g, "-").split(/[,;\s]+/)) {
    if (!one) continue;
    const match = /^(\d{1,4})(?:-(\d{1,4}))?$/.exec(one);
    const [low, high] = match ? [Number(match[1]), Number(match[2] ?? match[1])] : [0, 0];
    if (low < 1 || high < low || high > last) return null;
    for (let number = low; number <= high; number++) found.add(number);
  }
  return found;
}

const last = () => Number(part("evidence")?.dataset.last ?? 0);
const chosen = () => (field() ? read(field().value, last()) : null);

function paint() {
  const found = chosen() ?? new Set();
  for (const button of buttons()) {
    const sentence = button.closest("[data-sentence]");
    const on = found.has(Number(sentence.dataset.sentence));
    sentence.classList.toggle("chosen", on);
    button.setAttribute("aria-pressed", String(on));
  }
  const count = part("evidence-count");
  if (count) count.textContent = interpolate(gettext("%(number)s chosen"), { number: found.size }, true);
}

function choose(number) {
  const found = chosen() ?? new Set();
  const on = !found.has(number);
  if (on) found.add(number);
  else found.delete(number);
  field().value = [...found].sort((a, b) => a - b).join(", ");
  field().dispatchEvent(new Event("input", { bubbles: true }));
  say(interpolate(on ? gettext("Sentence %(number)s chosen.") : gettext("Sentence %(number)s no longer chosen."), { number }, true));
}

// One of the numbers is reached by Tab; arrows go from there.
function stand(button) {
  if (!button) return;
  for (const one of buttons()) one.tabIndex = one === button ? 0 : -1;
  button.focus();
  button.scrollIntoView({ block: "nearest" });
}

function step(button, by) {
  const all = buttons();
  stand(all[Math.max(0, Math.min(all.length - 1, all.indexOf(button) + by))]);
}

function unfold() {
  const fold = page().querySelector('[data-unfold="#document"]');
  if (fold?.getAttribute("aria-expanded") === "false" && fold.offsetParent) fold.click();
}

// Sentences -----------------------------------------------------------------------------------

function goTo(number) {
  const sentence = document.getElementById(`sentence-${number}`);
  if (!sentence) return;
  unfold();
  sentence.scrollIntoView({ block: "center" });
  const button = sentence.querySelector("button.no");
  if (button) stand(button);
  else sentence.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  if (!page()) return;
  const anchor = event.target.closest("a[data-anchor]");
  if (anchor) {
    event.preventDefault();
    goTo(anchor.dataset.anchor);
    return;
  }
  const sentence = event.target.closest("[data-document] [data-sentence]");
  if (!sentence || !field() || !getSelection().isCollapsed) return;
  const button = sentence.querySelector("button.no");
  for (const one of buttons()) one.tabIndex = one === button ? 0 : -1;
  // A click on the number is logged by its name already; one on the words is the same.
  if (!event.target.closest("button")) {
    log.add("click", { target: page().dataset.target, name: button.value });
  }
  choose(Number(sentence.dataset.sentence));
});

// What is missing -----------------------------------------------------------------------------

const words = () => countWords(why()?.value ?? "");

function tooShort() {
  const { min, required } = part("explain")?.dataset ?? {};
  if (!min || (!required && !why().value.trim())) return "";
  if (!words()) return gettext("Say in a few words why.");
  if (words() >= Number(min)) return "";
  return interpolate(ngettext("%(words)s word so far; at least %(min)s are wanted.", "%(words)s words so far; at least %(min)s are wanted.", words()), { words: words(), min }, true);
}

function topPoints() {
  const lines = [...page().querySelectorAll(".judgment")];
  return lines.every((line) => [...line.querySelectorAll("input[type=radio]")].at(-1).checked);
}

function unread() {
  if (!field()) return "";
  const found = chosen();
  if (!found) return interpolate(gettext("Numbers of sentences, 1 to %(last)s, as in 3, 5-7."), { last: last() }, true);
  const wanted = part("evidence").dataset.wanted === "required" && !topPoints();
  return wanted && !found.size ? gettext("Choose the sentences that show it, or write their numbers.") : "";
}

function beside(input, name, wrong) {
  const line = part(`${name}-wrong`);
  if (!line) return;
  line.textContent = wrong;
  line.closest(".field").classList.toggle("wrong", Boolean(wrong));
  if (wrong) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
}

// Says whether going on has to wait, and why, beside the field.
function holds(action) {
  if (!page() || action !== "next") return false;
  const wrong = [[why(), "explain", tooShort()], [field(), "evidence", unread()]]
    .filter(([input]) => input);
  for (const one of wrong) beside(...one);
  const first = wrong.find(([, , words2]) => words2);
  if (!first) return false;
  first[0].focus();
  say(first[2]);
  return true;
}

// What the server refused is refused until it is changed; then the page knows as much.
function mend(input, name, wrong) {
  if (!input?.hasAttribute("aria-invalid") || input.dataset.refused === input.value) return;
  delete input.dataset.refused;
  beside(input, name, wrong());
}

// A mended field stops complaining as soon as it is right.
function describe() {
  if (!page()) return;
  for (const input of page().querySelectorAll("[aria-invalid]:not([data-seen-wrong])")) {
    input.dataset.seenWrong = "";
    input.dataset.refused = input.value;
  }
  paint();
  const count = part("explain-words");
  if (count) count.textContent = words();
  mend(why(), "explain", tooShort);
  mend(field(), "evidence", unread);
}

// Keys ----------------------------------------------------------------------------------------

function inDocument(event, button) {
  const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  if (by) step(button, by);
  else if (event.key === "Home") stand(buttons()[0]);
  else if (event.key === "End") stand(buttons().at(-1));
  else if (event.key === "Escape") (why() ?? page().querySelector(".judgment")).focus();
  else return false;
  return true;
}

function letter(key) {
  if (key === "e" && buttons().length) {
    unfold();
    stand(buttons().find((one) => one.tabIndex === 0) ?? buttons()[0]);
  } else if (key === "w" && why()) why().focus();
  else if (key === "q" && part("anchor")) goTo(part("anchor").dataset.anchor);
  else return false;
  return true;
}

// Before judge.js, which takes arrows for its lines.
document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (!page() || event.isComposing) return;
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  let done = false;
  const button = target.closest?.("[data-document] button.no");
  if (button) done = inDocument(event, button);
  else if (target.matches?.("textarea, input:not([type=radio])")) {
    if (key === "Escape") target.blur();
    return;
  }
  if (!done && hasSingleKeys()) done = letter(key.toLowerCase());
  if (done) event.preventDefault();
});

function begin() {
  if (!page()) return;
  paint();
  const anchor = part("anchor")?.dataset.anchor;
  const sentence = anchor && document.getElementById(`sentence-${anchor}`);
  const button = sentence?.querySelector("button.no");
  if (button) for (const one of buttons()) one.tabIndex = one === button ? 0 : -1;
  if (sentence && matchMedia("(min-width: 901px)").matches) {
    const text = page().querySelector("#document");
    text.scrollTop = sentence.offsetTop - text.offsetTop - 60;
  }
  page().querySelector("[aria-invalid]")?.focus();
}

export const rate = { begin, describe, holds };
