// Judging: lines to choose on by key or pointer, sources and differences on demand, and how long
// each response is before the worker. answer.js keeps and sends what is chosen.
import { log } from "./eventlog.js";
import { hasSingleKeys, setSingleKeys, store } from "./storage.js";
import { gettext, interpolate, ngettext } from "./words.js";

const EXPLAINED = "crowdqc:explained"; // "no" once the worker has put the explanations away
let keepDraft = () => {}; // answer.js gives the function
const IDLE_MS = 120000; // without a sign for so long, nobody counts as reading
const TELL_MS = 5000; // what a killed tab may lose of the times
const narrow = matchMedia("(max-width: 640px)");
const page = () => document.querySelector("#work[data-judged]");
const form = () => page()?.querySelector("form[data-answering]");
const lines = () => [...(page()?.querySelectorAll(".judgment") ?? [])];
const chosen = (line) => line.querySelector("input:checked");
const open = () => lines().filter((line) => !chosen(line));
const current = () => page()?.querySelector(".judgment.current");
const checks = () => page()?.dataset.judged === "checks"; // lines of yes and no
const rating = () => checks() || page()?.dataset.judged === "ratings";

function say(words) {
  const told = page()?.querySelector("[data-told]");
  if (told) told.textContent = words;
}

// Lines ---------------------------------------------------------------------------------------

function stand(line, { focus = true } = {}) {
  if (!line) return;
  lines().forEach((other) => other.classList.toggle("current", other === line));
  if (!focus) return;
  if (document.activeElement?.closest(".judgment") !== line) line.focus({ preventScroll: true });
  const { top, bottom } = line.getBoundingClientRect();
  const bar = document.querySelector(".work-bar").offsetHeight;
  const foot = narrow.matches ? page().querySelector(".work-actions").offsetHeight : 0;
  if (top < bar) scrollBy(0, top - bar - 12);
  else if (bottom > innerHeight - foot) scrollBy(0, bottom - innerHeight + foot + 12);
}

// The next line that is open, from the one after ``line`` on and then from the top.
function onward(line) {
  const all = lines();
  const after = all.slice(all.indexOf(line) + 1);
  return [...after, ...all].find((other) => !chosen(other)) ?? line;
}

function choose(input) {
  const line = input.closest(".judgment");
  if (!input.checked) {
    input.checked = true;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }
  say(`${line.dataset.label}: ${input.dataset.label}.`);
  stand(onward(line));
}

function describe() {
  if (!page()) return;
  const [all, left] = [lines().length, open().length];
  const button = form().querySelector("[data-next]");
  page().querySelector("[data-answered]").textContent = interpolate(gettext("%(done)s of %(all)s answered"), { done: all - left, all }, true);
  button.querySelector("[data-open]").textContent =
    left === 0
      ? ""
      : interpolate(ngettext(", %(left)s line open", ", %(left)s lines open", left), { left }, true);
  button.setAttribute("aria-disabled", String(left > 0));
}

// Both in view ------------------------------------------------------------------------------

// Which responses have been on screen goes along with the draft; the server asks for both.
const seen = () => form()?.querySelector("[name=seen]");
const sidesSeen = () => new Set(seen()?.value.split(" ").filter(Boolean));
const unseen = () => (seen() ? ["left", "right"].filter((one) => !sidesSeen().has(one)) : []);
const sideOf = (name) => page().querySelector(`[data-side=${name}]`);

function onScreen(part) {
  // On a phone the other response keeps its place, unseen.
  if (getComputedStyle(part).visibility === "hidden") return false;
  const { top, bottom, height } = (part.querySelector(".chat, .reading") ?? part).getBoundingClientRect();
  const bar = document.querySelector(".work-bar").offsetHeight;
  const foot = narrow.matches ? page().querySelector(".work-actions").offsetHeight : 0;
  const visible = Math.min(bottom, innerHeight - foot) - Math.max(top, bar);
  return height > 0 && visible >= Math.min(height, 60);
}

function look() {
  if (!seen() || document.hidden) return;
  const fresh = unseen().filter((name) => onScreen(sideOf(name)));
  for (const name of fresh) log.add("view", { target: page().dataset.target, name });
  if (!fresh.length) return;
  seen().value = [...sidesSeen(), ...fresh].join(" ");
  if (lines().some(chosen)) keepDraft();
  sayUnseen();
}

function sayUnseen(held = false) {
  const box = page()?.querySelector("[data-other-side]");
  if (!box) return;
  const left = unseen();
  const other = page().querySelector("[data-switch] input:not(:checked)").value;
  const wanted = left[0] ?? other;
  const button = box.querySelector("button");
  button.dataset.openSide = wanted;
  for (const words of button.querySelectorAll("[data-which]")) words.hidden = words.dataset.which !== wanted;
  box.classList.toggle("held", left.length > 0 && (held || box.classList.contains("held")));
  const words = left[0] === "left" ? gettext("The left response has not been on your screen yet.")
    : gettext("The right response has not been on your screen yet.");
  box.querySelector("[data-unseen]").textContent = left.length ? words : "";
}

function openSide(name) {
  page().querySelector(`[data-switch] input[value=${name}]`).checked = true;
  const part = sideOf(name);
  const switched = page().querySelector("[data-switch]").offsetHeight;
  const bar = document.querySelector(".work-bar").offsetHeight;
  scrollBy(0, part.getBoundingClientRect().top - bar - switched - 12);
  part.focus({ preventScroll: true });
  count();
  sayUnseen();
}

// Says whether going on has to wait; the button tells why, and the page goes to the first.
function holds(action) {
  if (!page() || action !== "next") return false;
  look();
  if (!open().length && unseen().length) {
    sayUnseen(true);
    page().querySelector("[data-other-side] button").focus();
    return true;
  }
  if (!open().length) return false;
  const first = open()[0];
  open().forEach((line) => line.querySelector("[data-missing]")?.removeAttribute("hidden"));
  say(interpolate(ngettext("%(lines)s line is still open.", "%(lines)s lines are still open.", open().length), { lines: open().length }, true));
  stand(first);
  return true;
}

document.addEventListener("input", ({ target }) => {
  if (!form() || target.form !== form() || target.type !== "radio") return;
  log.add("change", { target: page().dataset.target, name: target.name, comment: target.value });
  // Who goes by Tab stays on the line; a click leads on to the next one.
  const line = target.closest(".judgment");
  line.querySelector("[data-missing]")?.setAttribute("hidden", "");
  stand(target.matches(":focus-visible") ? line : onward(line), { focus: false });
});
document.addEventListener("focusin", ({ target }) => {
  const line = target.closest?.(".judgment");
  if (line) stand(line, { focus: false });
});

// Sources, differences, explanations ----------------------------------------------------------

function pressed(name, on) {
  const button = page()?.querySelector(`[data-toggle="${name}"]`);
  if (!button) return;
  if (button.hasAttribute("aria-expanded")) button.setAttribute("aria-expanded", String(on));
  const words = button.querySelector("[data-words]");
  words.textContent = on ? words.dataset.on : words.dataset.words;
}

const sources = () => page()?.querySelector(".sources");
const shown = () => Boolean(sources()) && !sources().classList.contains("closed");

function showSources(on, cited = "") {
  if (!sources()) return;
  sources().classList.toggle("closed", !on);
  pressed("sources", on);
  log.add("sources", {
    target: page().dataset.target, name: on ? "open" : "close", comment: cited,
  });
  sources().querySelectorAll(".source.open").forEach((one) => one.classList.remove("open"));
  if (!on) {
    if (sources().contains(document.activeElement)) current()?.focus({ preventScroll: true });
    return;
  }
  const source = cited && document.getElementById(`source-${cited}`);
  if (source) {
    source.classList.add("open");
    sources().scrollTop = source.offsetTop - sources().offsetTop;
  }
  sources().focus({ preventScroll: true });
  const { top, height } = sources().getBoundingClientRect();
  if (top + height > innerHeight || top < 0) {
    sources().scrollIntoView({ block: "nearest" });
  }
}

// Words of one response that the other does not have, marked without touching the text: by the
// longest common sequence where the two are versions of one text, else by their words.
const WORD = /[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu;
const MOST = 4e6; // cells of the table of common sequences

function words(side) {
  const found = [];
  const walker = document.createTreeWalker(side, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest("sup")) continue;
    for (const match of node.data.matchAll(WORD)) {
      const [from, word] = [match.index, match[0].toLowerCase()];
      found.push({ node, from, to: from + match[0].length, word, at: found.length });
    }
  }
  return found;
}

function common(a, b) {
  const wide = b.length + 1;
  const table = new Uint16Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const at = i * wide + j;
      table[at] = a[i].word === b[j].word
        ? table[at + wide + 1] + 1 : Math.max(table[at + wide], table[at + 1]);
    }
  }
  const shared = [new Set(), new Set()];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const at = i * wide + j;
    if (a[i].word === b[j].word) {
      shared[0].add(i++);
      shared[1].add(j++);
    } else if (table[at + wide] >= table[at + 1]) i++;
    else j++;
  }
  return shared;
}

function alone(a, b) {
  if (a.length * b.length <= MOST) {
    const [left, right] = common(a, b);
    if (2 * left.size >= Math.min(a.length, b.length)) {
      return [a.filter((_, i) => !left.has(i)), b.filter((_, j) => !right.has(j))];
    }
  }
  const [left, right] = [a, b].map((row) => new Set(row.map(({ word }) => word)));
  return [a.filter(({ word }) => !right.has(word)), b.filter(({ word }) => !left.has(word))];
}

// Words that follow one another become one range.
function ranged(found) {
  const runs = [];
  for (const { node, from, to, at } of found) {
    const run = runs.at(-1);
    if (run?.node === node && run.at === at - 1 && !node.data.slice(run.to, from).trim()) {
      Object.assign(run, { to, at });
    } else runs.push({ node, from, to, at });
  }
  return runs.map(({ node: startContainer, from: startOffset, to: endOffset }) => (
    new StaticRange({ startContainer, startOffset, endContainer: startContainer, endOffset })
  ));
}

const marks = () => Boolean(CSS.highlights?.has("only-here"));

function showDifferences(on) {
  const sides = [...(page()?.querySelectorAll("[data-side] .reading") ?? [])];
  if (!CSS.highlights || sides.length !== 2) return;
  CSS.highlights.delete("only-here");
  if (on) {
    const ranges = alone(words(sides[0]), words(sides[1])).flatMap(ranged);
    CSS.highlights.set("only-here", new Highlight(...ranges));
  }
  pressed("differences", on);
  say(on ? gettext("Words that only one response has are marked.") : gettext("The marks are gone."));
  log.add("differences", { target: page().dataset.target, name: on ? "on" : "off" });
}

function explain(on) {
  form().querySelector(".judgments").classList.toggle("brief", !on);
  pressed("explained", on);
}

const TOGGLES = {
  sources: () => showSources(!shown()),
  differences: () => showDifferences(!marks()),
  explained: () => {
    const on = form().querySelector(".judgments").classList.contains("brief");
    store.set(EXPLAINED, on ? "yes" : "no");
    explain(on);
  },
};

function toggle(name) {
  const button = page()?.querySelector(`[data-toggle="${name}"]`);
  if (!button || button.hidden) return false;
  TOGGLES[name]();
  return true;
}

document.addEventListener("click", (event) => {
  if (!page()) return;
  const cite = event.target.closest("a[data-cite]");
  const button = event.target.closest("[data-toggle]");
  const keys = event.target.closest("[data-single-keys]");
  const other = event.target.closest("[data-open-side]");
  if (other) return openSide(other.dataset.openSide);
  if (cite) {
    event.preventDefault();
    showSources(true, cite.dataset.cite);
  } else if (button) toggle(button.dataset.toggle);
  else if (keys) {
    setSingleKeys(keys.checked);
  } else if (event.target.closest(".judgment")) {
    if (!event.target.closest(".choice")) stand(event.target.closest(".judgment"));
  }
});

// Keys ----------------------------------------------------------------------------------------

function arrow(event, line) {
  const inside = event.target.closest(".sources");
  if (inside && (event.key === "ArrowUp" || event.key === "ArrowDown")) return false;
  if (event.key === "ArrowUp" || (rating() && event.key === "ArrowDown")) {
    const all = lines();
    stand(all[all.indexOf(line) + (event.key === "ArrowUp" ? -1 : 1)] ?? line);
    return true;
  }
  if (rating()) return false;
  const input = line.querySelector(`input[data-key="${event.key}"]`);
  if (input) choose(input);
  else say(interpolate(gettext("%(line)s asks for left or right."), { line: line.dataset.label }, true));
  return true;
}

function digit(key, line) {
  if (rating()) {
    const input = line.querySelector(`input[data-key="${key}"]`);
    if (input) choose(input);
    return Boolean(input);
  }
  const wanted = lines()[Number(key) - 1];
  stand(wanted);
  return Boolean(wanted);
}

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (!page() || event.defaultPrevented || event.isComposing) return;
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (target.closest("[data-switch], textarea, select, input:not([type=radio])")) return;
  let done = false;
  if (key === "Enter") {
    if (target.closest("a, button, summary")) return;
    form().requestSubmit(form().querySelector("[data-next]"));
    done = true;
  } else if (key === "Escape" && shown()) done = toggle("sources");
  else if (!hasSingleKeys()) return;
  else if (key.startsWith("Arrow")) done = arrow(event, current());
  else if (checks() && /^[yn]$/i.test(key)) done = digit(key.toLowerCase(), current());
  else if (/^[0-9]$/.test(key)) done = digit(key, current());
  else if (key === "s" || key === "S") done = toggle("sources");
  else if (key === "d" || key === "D") done = toggle("differences");
  if (done) event.preventDefault();
});

// How long ------------------------------------------------------------------------------------

const spent = { page: 0, left: 0, right: 0 };
let held = { page: false, side: "" }; // what has been true since the last count
let since = performance.now();
let sign = performance.now();
let over = ""; // the response under the pointer
let from = 0; // when the pair came, on this page's own clock

function inSight() {
  const { top, bottom } = page().querySelector("[data-shown]").getBoundingClientRect();
  return bottom > 120 && top < innerHeight - 80;
}

function side() {
  if (!narrow.matches || !page().querySelector("[data-switch]")) return over;
  return inSight() ? page().querySelector("[data-switch] input:checked").value : "";
}

// Adds the time since the last count to what held then, and looks what holds from now on.
function count() {
  const now = performance.now();
  const ms = Math.min(now - since, 5000); // a machine that slept did not read
  since = now;
  if (held.page) spent.page += ms;
  if (held.page && held.side) spent[held.side] += ms;
  const here = Boolean(page()) && !document.hidden && now - sign < IDLE_MS;
  held = { page: here, side: here ? side() : "" };
  look();
}

function tell() {
  if (!page()) return;
  count();
  for (const [name, ms] of Object.entries(spent)) {
    if (ms < 100) continue;
    log.add("dwell", { target: page().dataset.target, name, comment: String(Math.round(ms)) });
    spent[name] = 0;
  }
}

function clock() {
  const line = page()?.querySelector("[data-seen]");
  if (!line) return;
  const minutes = Math.floor((Number(line.dataset.seen) + (performance.now() - from) / 1000) / 60);
  const words = minutes ? interpolate(gettext("%(minutes)s min on this %(noun)s"), { minutes, noun: line.dataset.noun }, true) : line.textContent;
  if (line.textContent !== words) line.textContent = words;
}

for (const name of ["pointermove", "pointerdown", "keydown", "wheel", "scroll", "touchstart"]) {
  addEventListener(name, () => (sign = performance.now()), { capture: true, passive: true });
}
document.addEventListener("pointerover", ({ target, pointerType }) => {
  const now = pointerType === "mouse" ? target.closest?.("[data-side]")?.dataset.side ?? "" : "";
  if (now === over) return;
  count();
  over = now === "left" || now === "right" ? now : "";
  count();
});
document.documentElement.addEventListener("pointerleave", () => {
  count();
  over = "";
  count();
});
document.addEventListener("change", ({ target }) => {
  if (!target.closest("[data-switch]")) return;
  count();
  sayUnseen();
});
document.addEventListener("visibilitychange", count);
setInterval(() => (count(), clock()), 1000);
setInterval(tell, TELL_MS);
log.onLeave(tell);

// A pair has come, with the page or in place of the one before.
function begin(keep) {
  keepDraft = keep;
  if (!page()) return;
  CSS.highlights?.delete("only-here");
  Object.assign(spent, { page: 0, left: 0, right: 0 });
  held = { page: false, side: "" };
  from = sign = performance.now();
  count();
  log.showJudged(page());
  const differences = page().querySelector('[data-toggle="differences"]');
  if (differences) differences.hidden = !CSS.highlights;
  const kept = store.get(EXPLAINED);
  if (kept) explain(kept === "yes");
  const single = page().querySelector("[data-single-keys]");
  if (single) single.checked = hasSingleKeys();
  stand(open()[0] ?? lines()[0], { focus: false });
  sayUnseen();
  clock();
}

export const judge = { begin, describe, holds, tell };
