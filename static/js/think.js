// Thinking aloud: attributes one a line, or marked in a transcript. answer.js keeps and sends them.
// A line's fields are attribute-N and mark-N, N from 0; marks count characters, not UTF-16 units.
import { log } from "./eventlog.js";
import { change } from "./textchange.js";
import { gettext, interpolate } from "./words.js";

const narrow = matchMedia("(max-width: 640px)");
const page = () => document.querySelector("#work[data-think]");
const list = () => page()?.querySelector("[data-attributes]");
const rows = () => [...(list()?.children ?? [])];
const text = (row) => row.querySelector("textarea");
const mark = (row) => row.querySelector("input[type=hidden]");
const said = () => page()?.querySelector("textarea[name=transcript]");
const filled = () => rows().filter((row) => text(row).value.trim());
const written = (field) => field.dispatchEvent(new Event("input", { bubbles: true }));
let before = ""; // the transcript when its marks were last looked at
let made = 0; // lines of this page so far: each is its own in the log
let painting = 0;

function say(words) {
  const told = page()?.querySelector("[data-told]");
  if (told) told.textContent = words;
}

// Lines ---------------------------------------------------------------------------------------

// As high as what is written, where the browser does not see to it.
function grow(field) {
  if (CSS.supports("field-sizing", "content")) return;
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight + 2}px`;
}

function number() {
  rows().forEach((row, place) => {
    row.querySelector("[data-no]").textContent = place + 1;
    text(row).name = `attribute-${place}`;
    text(row).setAttribute("aria-label", interpolate(gettext("Attribute %(place)s"), { place: place + 1 }, true));
    mark(row).name = `mark-${place}`;
    const remove = row.querySelector("[data-remove]");
    remove.setAttribute("aria-label", interpolate(gettext("Remove attribute %(place)s"), { place: place + 1 }, true));
  });
}

function clear(row) {
  text(row).value = "";
  mark(row).value = "";
}

function add() {
  const row = rows().at(-1).cloneNode(true);
  clear(row);
  text(row).dataset.target = `attribute-${made++}`;
  list().append(row);
  number();
  log.show(text(row));
  return row;
}

// The empty line at the end, which is always there.
function last() {
  const row = rows().at(-1);
  return text(row).value.trim() ? add() : row;
}

function remove(row) {
  const place = rows().indexOf(row);
  log.add("mark", { target: text(row).dataset.target, name: "remove" });
  if (rows().length === 1) clear(row);
  else row.remove();
  number();
  const next = rows()[Math.min(place, rows().length - 1)];
  text(next).focus();
  written(text(next));
  say(interpolate(gettext("Attribute %(place)s is removed."), { place: place + 1 }, true));
}

function enter(row) {
  const next = row.nextElementSibling ?? last();
  text(next).focus();
}

// Exactly as many lines as a draft has, and one more; answer.js fills them.
function fit(draft) {
  if (!page()) return;
  const told = Object.entries(draft).filter(([name, value]) => name.startsWith("attribute-") && value);
  const wanted = Math.max(0, ...told.map(([name]) => Number(name.slice(10)) + 1)) + 1;
  while (rows().length < wanted) add();
  while (rows().length > wanted) rows().at(-1).remove();
  rows().forEach(clear);
  if (said()) {
    said().value = "";
    before = draft.transcript ?? "";
    if (before) page().querySelector(".think-transcript").open = true;
  }
}

function describe() {
  if (!page()) return;
  last();
  for (const row of rows()) {
    row.querySelector("[data-remove]").hidden = !text(row).value.trim();
    row.querySelector("[data-show-mark]").hidden = !mark(row).value;
    grow(text(row));
  }
  const [count, least] = [page().querySelector("[data-count]"), page().querySelector("[data-least]")];
  count.textContent = filled().length;
  page().querySelector("[data-enough]").classList.toggle(
    "met", filled().length >= Number(least.textContent),
  );
  const problem = page().querySelector("#problem");
  if (problem) problem.hidden = filled().length >= Number(least.textContent);
  painting ||= requestAnimationFrame(paint);
}

// The transcript ------------------------------------------------------------------------------

const characters = (value, units) => [...value.slice(0, units)].length;
const units = (value, count) => [...value].slice(0, count).join("").length;

// Where a line is marked, in units of ``value``; nothing where it is not.
function stretch(row, value) {
  const [start, end] = mark(row).value.split("-").map(Number);
  return mark(row).value ? [units(value, start), units(value, end)] : null;
}

function point(row, value, start, end) {
  mark(row).value = `${characters(value, start)}-${characters(value, end)}`;
}

// The marks go with the text around them; one that is cut into is none any more.
function follow() {
  const now = said().value;
  if (now === before) return;
  const [, from, deleted, inserted] = change(before, now, said().selectionEnd);
  const moved = inserted.length - deleted;
  for (const row of rows()) {
    const [start, end] = stretch(row, before) ?? [];
    if (start === undefined || from >= end) continue;
    if (from + deleted <= start) point(row, now, start + moved, end + moved);
    else if (from > start && from + deleted < end) point(row, now, start, end + moved);
    else mark(row).value = "";
  }
  before = now;
}

function marked() {
  const field = said();
  if (!field) return;
  let [start, end] = [field.selectionStart, field.selectionEnd];
  while (start < end && /\s/.test(field.value[start])) start++;
  while (end > start && /\s/.test(field.value[end - 1])) end--;
  if (start === end) {
    say(gettext("Select a stretch of the transcript first."));
    field.focus();
    return;
  }
  const row = last();
  text(row).value = field.value.slice(start, end).replace(/\s+/g, " ").slice(0, 1000);
  point(row, field.value, start, end);
  log.add("mark", { target: "transcript", name: "set", comment: mark(row).value });
  written(text(row));
  field.focus({ preventScroll: true });
  field.setSelectionRange(end, end);
  say(interpolate(gettext("Marked as attribute %(place)s."), { place: rows().indexOf(row) + 1 }, true));
}

function showMark(row) {
  page().querySelector(".think-transcript").open = true;
  const [start, end] = stretch(row, said().value);
  said().focus();
  said().setSelectionRange(start, end);
  paint();
  said().scrollIntoView({ block: "nearest" });
}

// The layer behind the field: the same text, what is marked with a ground.
function paint() {
  painting = 0;
  const mirror = page()?.querySelector("[data-mirror]");
  if (!mirror) return;
  const { value, offsetWidth, clientWidth } = said();
  const found = rows().map((row) => stretch(row, value)).filter(Boolean);
  found.sort((a, b) => a[0] - b[0]);
  const parts = [];
  let at = 0;
  for (const [start, end] of found) {
    if (start < at) continue; // within one that is painted
    const ground = document.createElement("mark");
    ground.textContent = value.slice(start, end);
    parts.push(value.slice(at, start), ground);
    at = end;
  }
  mirror.style.setProperty("--bar", `${offsetWidth - clientWidth - 2}px`);
  mirror.replaceChildren(...parts, `${value.slice(at)}\n`);
  mirror.scrollTop = said().scrollTop;
}

// What happens --------------------------------------------------------------------------------

// Before answer.js keeps the draft, the marks have moved along.
document.addEventListener("input", ({ target }) => page() && target === said() && follow(), true);
document.addEventListener("pointerdown", (event) => {
  if (event.target.closest?.("[data-mark]")) event.preventDefault(); // the selection stays
});
document.addEventListener("click", ({ target }) => {
  if (!page()) return;
  const row = target.closest(".attribute");
  if (target.closest("[data-mark]")) marked();
  else if (target.closest("[data-remove]")) remove(row);
  else if (target.closest("[data-show-mark]")) showMark(row);
});
document.addEventListener("keydown", (event) => {
  if (!page() || event.isComposing) return;
  const { key, code, target, altKey, ctrlKey, metaKey, shiftKey } = event;
  const row = target.closest?.(".attribute");
  let done = true;
  if (altKey && code === "KeyM" && target === said()) marked();
  else if (altKey || ctrlKey || metaKey || shiftKey || target !== (row && text(row))) return;
  else if (key === "Enter") enter(row);
  else if (key === "Backspace" && !target.value && row !== rows().at(-1)) remove(row);
  else done = false;
  if (done) event.preventDefault();
});
document.addEventListener("scroll", ({ target }) => target === said() && paint(), true);
document.addEventListener("toggle", ({ target }) => {
  if (target.matches?.(".think-transcript")) paint();
}, true);
addEventListener("resize", () => (painting ||= requestAnimationFrame(paint)));

// A dimension has come. Says whether it is one, and has taken the focus.
function begin() {
  if (!page()) return false;
  if (narrow.matches) {
    const folded = [...page().querySelectorAll("[data-sample]")].slice(1);
    folded.forEach((sample) => (sample.open = false));
  }
  if (!narrow.matches) text(rows().at(-1)).focus({ preventScroll: true });
  return true;
}

// Lines for those without scripts go, before the log looks at what is there.
function trim() {
  if (!page()) return;
  rows().slice(filled().length + 1).forEach((row) => row.remove());
  made = rows().length;
  before = said()?.value ?? "";
}

export const think = { trim, fit, describe, begin };
