// Writing with sources: marks in the text, what is counted beside it, citing by button and key,
// the way from a mark to its passage and back. answer.js keeps and sends what is written.
import { log } from "../eventlog.js";
import { countWords, gettext, interpolate } from "../words.js";
import { passages } from "./passages.js";

const MARK = /\[\s*(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\s*[,;]?\s*\]/g;
const narrow = matchMedia("(max-width: 900px)");
const page = () => document.querySelector("#work[data-write]");
const field = () => page()?.querySelector("textarea[data-target]");
const mirror = () => page()?.querySelector("[data-mirror]");
const part = (name) => page()?.querySelector(`[data-${name}]`);
let marks = [];
let jumped = { number: 0, at: -1 };
let painting = 0;

function say(words) {
  const told = part("told");
  if (told) told.textContent = words;
}

// Marks: where each stands, its numbers, and where another number would be put in.
function read(text) {
  return [...text.matchAll(MARK)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
    room: match.index + match[0].indexOf(match[1]) + match[1].length,
    numbers: [...new Set(match[1].match(/\d+/g).map(Number))],
  }));
}

function known(number) {
  const { first, passages: there } = field().dataset;
  return number >= Number(first) && number < Number(first) + Number(there);
}

const markAt = (at) => marks.find(({ start, end }) => start < at && at <= end);

// What is counted -----------------------------------------------------------------------------

function describe() {
  if (!field() || !part("count")) return;
  const text = field().value;
  const { min, max, citations } = field().dataset;
  marks = read(text);
  const words = countWords(text.replace(MARK, " "));
  const counts = new Map();
  for (const { numbers } of marks) {
    for (const number of numbers) counts.set(number, (counts.get(number) ?? 0) + 1);
  }
  const unknown = [...counts.keys()].filter((number) => !known(number));
  part("count").textContent = words.toLocaleString("en");
  part("count").parentElement.classList.toggle("over", words > Number(max));
  part("range").classList.toggle("met", words >= Number(min) && words <= Number(max));
  part("cited").textContent = counts.size - unknown.length;
  part("cited").parentElement.classList.toggle("met", counts.size >= Number(citations));
  const named = unknown.map((number) => `[${number}]`).join(", ");
  const words2 = named && interpolate(gettext("There is no passage %(named)s."), { named }, true);
  if (part("unknown").textContent !== words2) part("unknown").textContent = words2;
  passages.used(counts);
  follow();
  painting ||= requestAnimationFrame(paint);
}

// The layer behind the field: the same text, its marks with a ground.
function paint() {
  painting = 0;
  if (!field() || !mirror()) return;
  const { value: text, offsetWidth, clientWidth } = field();
  const at = markAt(field().selectionEnd);
  const parts = [];
  let from = 0;
  for (const mark of marks) {
    const element = document.createElement("mark");
    element.textContent = text.slice(mark.start, mark.end);
    element.classList.toggle("unknown", !mark.numbers.every(known));
    element.classList.toggle("here", mark === at && document.activeElement === field());
    parts.push(text.slice(from, mark.start), element);
    from = mark.end;
  }
  mirror().style.setProperty("--bar", `${offsetWidth - clientWidth - 2}px`);
  mirror().replaceChildren(...parts, `${text.slice(from)}\n`);
  mirror().scrollTop = field().scrollTop;
}

function follow() {
  if (!field() || document.activeElement !== field()) return;
  const mark = markAt(field().selectionEnd);
  passages.point(mark ? mark.numbers.filter(known) : []);
  painting ||= requestAnimationFrame(paint);
}

// Citing --------------------------------------------------------------------------------------

function show(name) {
  const tab = page()?.querySelector(`[data-tabs] input[value=${name}]`);
  if (!tab || tab.checked) return;
  tab.checked = true;
  tab.dispatchEvent(new Event("change", { bubbles: true }));
}

function back() {
  show("write");
  field()?.focus({ preventScroll: true });
}

// By the browser's own way of typing, which can be undone; else into the field as it is.
function put(text, at) {
  field().setSelectionRange(at, at);
  if (document.execCommand("insertText", false, text)) return;
  field().setRangeText(text, at, at, "end");
  const more = { inputType: "insertText", data: text, bubbles: true };
  field().dispatchEvent(new InputEvent("input", more));
}

function cite(number) {
  const at = field().selectionEnd;
  const mark = markAt(at);
  back();
  if (mark?.numbers.includes(number)) {
    field().setSelectionRange(mark.end, mark.end);
    say(interpolate(gettext("[%(number)s] is cited here already."), { number }, true));
    return;
  }
  const target = field().dataset.target;
  log.add("cite", { target, name: String(number) });
  if (mark) {
    const more = `, ${number}`;
    put(more, mark.room);
    field().setSelectionRange(mark.end + more.length, mark.end + more.length);
  } else {
    const apart = at === 0 || /\s/.test(field().value[at - 1]) ? "" : " ";
    put(`${apart}[${number}]`, at);
  }
  say(interpolate(gettext("[%(number)s] is cited."), { number }, true));
  follow();
}

const line = () => part("cite-line");
const asked = () => line()?.querySelector("input");

function ask(on) {
  if (!line()) return false;
  line().hidden = !on;
  asked().value = "";
  asked().removeAttribute("aria-invalid");
  if (on) {
    show("write");
    asked().focus();
  } else {
    back();
    // A new field in its place: undoing in the text meets nothing that was typed here.
    asked().replaceWith(asked().cloneNode());
  }
  return true;
}

function answer() {
  const numbers = (asked().value.match(/\d+/g) ?? []).map(Number);
  const wrong = numbers.find((number) => !known(number));
  if (!numbers.length || wrong !== undefined) {
    asked().setAttribute("aria-invalid", "true");
    say(numbers.length ? interpolate(gettext("There is no passage [%(wrong)s]."), { wrong }, true) : gettext("Write the number of a passage."));
    return;
  }
  ask(false);
  numbers.forEach(cite);
}

// From a passage to the marks that cite it, one after the other.
function jump(number) {
  const own = marks.filter(({ numbers }) => numbers.includes(number));
  if (!own.length) return;
  const after = jumped.number === number && own.find(({ start }) => start > jumped.at);
  const mark = after || own[0];
  jumped = { number, at: mark.start };
  back();
  field().setSelectionRange(mark.start, mark.end);
  cancelAnimationFrame(painting);
  paint();
  const element = mirror().querySelectorAll("mark")[marks.indexOf(mark)];
  element.scrollIntoView({ block: "nearest" });
  field().scrollTop = mirror().scrollTop;
  passages.point(mark.numbers.filter(known));
  say(interpolate(gettext("Mark %(place)s of %(all)s that cite [%(number)s]."), { place: own.indexOf(mark) + 1, all: own.length, number }, true));
}

// What happens --------------------------------------------------------------------------------

document.addEventListener("mousedown", (event) => {
  // The caret stays where it is.
  if (event.target.closest?.("[data-cite], [data-uses]") && !narrow.matches) event.preventDefault();
});
document.addEventListener("click", ({ target }) => {
  if (!page()) return;
  const button = target.closest("[data-cite], [data-uses]");
  if (!button) return;
  const number = Number(button.closest("[data-passage]").dataset.passage);
  if ("cite" in button.dataset) cite(number);
  else jump(number);
});
document.addEventListener("keydown", (event) => {
  const { key, code, altKey, ctrlKey, metaKey } = event;
  if (!field() || event.isComposing) return;
  let done = false;
  if (event.target === asked() && key === "Enter" && !ctrlKey && !metaKey) done = answer() ?? true;
  else if (event.target === asked() && key === "Escape") done = ask(false);
  else if (altKey && !ctrlKey && !metaKey && code === "KeyC") done = ask(true);
  else if (altKey && !ctrlKey && !metaKey && code === "KeyP") {
    show("passages");
    part("find").focus();
    part("find").select();
    done = true;
  }
  if (done) event.preventDefault();
});
document.addEventListener("selectionchange", follow);
document.addEventListener("focusin", ({ target }) => {
  if (page() && target !== field()) painting ||= requestAnimationFrame(paint);
});
document.addEventListener("scroll", ({ target }) => {
  if (mirror() && target === field()) mirror().scrollTop = field().scrollTop;
}, true);
addEventListener("resize", () => (painting ||= requestAnimationFrame(paint)));
document.addEventListener("input", ({ target }) => {
  if (!page()) return;
  if (target === field()) {
    // What was wrong when it was looked at may be right by now.
    document.getElementById("problem")?.remove();
    field().classList.remove("wrong");
  } else if (target.form && target.type === "radio" && /^(entry|exit)\./.test(target.name)) {
    const { item } = page().dataset;
    log.add("change", { target: `item-${item}`, name: target.name, comment: target.value });
    settle(target.closest(".ask"));
  } else if (target.closest(".ask")) settle(target.closest(".ask"));
});

function settle(ask) {
  ask.classList.remove("wrong");
  ask.querySelector(".error")?.remove();
  ask.querySelectorAll("[aria-invalid]").forEach((one) => one.removeAttribute("aria-invalid"));
}

// A part has come, with the page or in place of the one before.
function begin() {
  if (!page()) return;
  marks = [];
  jumped = { number: 0, at: -1 };
  passages.begin(back);
  if (field()) {
    const end = field().value.length;
    field().setSelectionRange(end, end);
    describe();
    return;
  }
  page().querySelector(".ask.wrong :is(input, textarea)")?.focus();
}

export const write = { begin, describe, back, tell: passages.tell };
