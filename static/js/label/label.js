// Labeling: fields answered by key or pointer, fields that depend on others, and how long an item
// is on screen. spans.js marks text, media.js zooms and plays; answer.js keeps and sends what is chosen.
import { log } from "../eventlog.js";
import { hasSingleKeys, setSingleKeys } from "../storage.js";
import { gettext, interpolate, ngettext } from "../words.js";
import { spans } from "./spans.js";

const UNSURE = "unsure";
const IDLE_MS = 120000; // without a sign for so long, nobody counts as reading
const TELL_MS = 5000;
const narrow = matchMedia("(max-width: 640px)");
const page = () => document.querySelector("#work[data-labels]");
const form = () => page()?.querySelector("form[data-answering]");
const fields = () => [...(page()?.querySelectorAll("[data-field]") ?? [])];
const asked = () => fields().filter((field) => !field.hidden);
const ruleOf = (field) => JSON.parse(field.dataset.script);
const current = () => page()?.querySelector("[data-field].current");
const boxes = (field) => [...field.querySelectorAll("input[data-place]")];
const unsureBox = (field) => field.querySelector('input[data-place="0"]');
const spansOf = (field) => field.querySelector("[data-spans]");

function say(words) {
  const told = page()?.querySelector("[data-told]");
  if (told) told.textContent = words;
}

// Answers -------------------------------------------------------------------------------------

// The codes that a field's answer holds; null where it is not answered.
function codesOf(field) {
  if (unsureBox(field)?.checked) return [UNSURE];
  const ticked = boxes(field).filter((box) => box.checked).map((box) => box.dataset.code);
  return ticked.length ? ticked : null;
}

function isOpen(field) {
  const { kind, required, min, max } = ruleOf(field);
  if (unsureBox(field)?.checked) return false;
  if (kind === "choose_several") {
    const ticked = codesOf(field)?.length ?? 0;
    return ticked ? ticked < min || (max > 0 && ticked > max) : required;
  }
  if (kind === "rank") {
    const ranks = [...field.querySelectorAll("select")].map((one) => one.value).filter(Boolean);
    const whole = new Set(ranks).size === field.querySelectorAll("select").length;
    return ranks.length ? !whole : required;
  }
  if (kind === "spans") {
    const { value } = spansOf(field);
    const count = value && value !== "nothing" ? JSON.parse(value).length : 0;
    if (!value || (value !== "nothing" && !count)) return required;
    return value !== "nothing" && (count < min || (max > 0 && count > max));
  }
  const typed = field.querySelector("textarea[name], input[type=text]");
  if (typed) return required && !typed.value.trim();
  return required && !codesOf(field);
}

const open = () => asked().filter(isOpen);

// Whether all conditions of a field hold, and the labels of what they look at.
function condition(field, shown) {
  const why = [];
  for (const { field: name, is, values } of ruleOf(field).conditions) {
    const about = fields().find((one) => one.dataset.field === name);
    const codes = shown.has(name) ? codesOf(about) : null;
    if (!codes) return null;
    const hit = values.some((value) => codes.includes(value));
    if (hit === (is === "is_not" || is === "none_of")) return null;
    const { labels } = ruleOf(about);
    why.push(...codes.map((code) => `“${labels[code] ?? code}”`));
  }
  return [...new Set(why)];
}

// Fields come and go with what they depend on; what was answered in them stays until it is sent.
function unfold() {
  const shown = new Set();
  for (const field of fields()) {
    const why = condition(field, shown);
    field.hidden = why === null;
    if (why === null) continue;
    shown.add(field.dataset.field);
    const hint = field.querySelector("[data-hint]").textContent;
    field.querySelector("[data-reason]").textContent = why.length
      ? (hint ? "; " : "") + interpolate(gettext("asked because you chose %(options)s"), { options: why.join(", ") }, true) : "";
  }
  if (!current() || current().hidden) stand(open()[0] ?? asked()[0], { focus: false });
}

function describe() {
  if (!page()) return;
  unfold();
  spans.paint();
  const left = open().length;
  const button = form().querySelector("[data-next]");
  if (!button) return; // the last item of a preview
  button.querySelector("[data-open]").textContent =
    left === 0 ? "" : interpolate(ngettext(", %(left)s field open", ", %(left)s fields open", left), { left }, true);
  button.setAttribute("aria-disabled", String(left > 0));
}

// What a draft holds goes into the form: boxes that it does not name are empty.
function fit(draft) {
  for (const input of form()?.elements ?? []) {
    if (!input.name?.startsWith("l-")) continue;
    const held = draft[input.name];
    if (input.type === "radio" || input.type === "checkbox") input.checked = held === input.value;
    else input.value = held === undefined || held === UNSURE ? "" : held;
  }
  for (const box of page()?.querySelectorAll("[data-nothing]") ?? []) {
    box.checked = spansOf(box.closest("[data-field]")).value === "nothing";
  }
}

// Says whether going on has to wait; the fields that are open say so, and the first is shown.
function holds(action) {
  if (!page() || action !== "next") return false;
  const left = open();
  if (!left.length) return false;
  left.forEach((field) => field.querySelector("[data-missing]")?.removeAttribute("hidden"));
  say(left.length === 1 ? gettext("One field is still open.") : interpolate(gettext("%(fields)s fields are still open."), { fields: left.length }, true));
  stand(left[0]);
  return true;
}

// The field that takes the keys ---------------------------------------------------------------

const entrance = (field) =>
  boxes(field).find((box) => box.checked)
  ?? field.querySelector("input:not([type=hidden]), select, textarea");

function stand(field, { focus = true } = {}) {
  if (!field) return;
  fields().forEach((other) => other.classList.toggle("current", other === field));
  if (!focus) return;
  if (!field.contains(document.activeElement)) entrance(field)?.focus({ preventScroll: true });
  const { top, bottom } = field.getBoundingClientRect();
  const bar = document.querySelector(".work-bar").offsetHeight;
  const foot = narrow.matches ? page().querySelector(".work-actions").offsetHeight : 0;
  if (top < bar) scrollBy(0, top - bar - 12);
  else if (bottom > innerHeight - foot) scrollBy(0, Math.min(top - bar - 12, bottom - innerHeight + foot + 12));
}

function tell(input) {
  const field = input.closest("[data-field]");
  const { place } = input.dataset;
  if (place === undefined) return;
  const gone = input.type === "checkbox" && !input.checked;
  log.add("change", {
    target: page().dataset.target,
    name: field.dataset.key,
    comment: gone && place !== "0" ? `-${place}` : place,
  });
}

// "Unsure" stands alone: it takes the other boxes out, and they take it out.
function exclude(input) {
  const field = input.closest("[data-field]");
  const unsure = unsureBox(field);
  if (!unsure || unsure.type === "radio") return;
  if (input === unsure) {
    if (!unsure.checked) return;
    boxes(field).forEach((box) => (box.checked = box === unsure));
    for (const one of field.querySelectorAll("select, textarea[name], input[type=text], [data-spans]")) {
      one.value = "";
    }
    for (const box of field.querySelectorAll("[data-nothing]")) box.checked = false;
  } else unsure.checked = false;
}

document.addEventListener("input", ({ target }) => {
  if (!form() || target.form !== form() || !target.closest("[data-field]")) return;
  exclude(target);
  tell(target);
  if (target.dataset.place !== undefined) unfold(); // the next key may come before describe()
  target.closest("[data-field]").querySelector("[data-missing]")?.setAttribute("hidden", "");
  stand(target.closest("[data-field]"), { focus: false });
});
document.addEventListener("focusin", ({ target }) => {
  const field = target.closest?.("[data-field]");
  if (field && page()) stand(field, { focus: false });
});
document.addEventListener("click", ({ target }) => {
  const keys = page() && target.closest("[data-single-keys]");
  if (keys) setSingleKeys(keys.checked);
  if (page() && target.closest("[data-instructions]")) {
    page().querySelector("#instructions").open = true;
  }
});

// Keys ----------------------------------------------------------------------------------------

function digit(key, field) {
  const select = field.querySelector(`select[data-key="${key}"]`);
  if (select) return rank(field, select);
  const input = field.querySelector(`input[data-key="${key}"]`);
  if (!input) return false;
  input.checked = input.type === "radio" || !input.checked;
  input.focus({ preventScroll: true });
  input.dispatchEvent(new Event("input", { bubbles: true }));
  const words = input.closest("label")?.querySelector("b")?.textContent ?? key;
  say(input.checked ? `${words}.` : interpolate(gettext("%(label)s, not chosen."), { label: words }, true));
  return true;
}

// Digits rank options in the order in which they are pressed; a second time takes it back.
function rank(field, select) {
  const all = [...field.querySelectorAll("select")];
  const had = Number(select.value);
  if (had) {
    select.value = "";
    for (const one of all) if (Number(one.value) > had) one.value = String(Number(one.value) - 1);
  } else select.value = String(all.filter((one) => one.value).length + 1);
  select.dispatchEvent(new Event("input", { bubbles: true }));
  return true;
}

// Where Tab stops within a field: its boxes are one stop, since arrows go through them.
function stops(field) {
  const all = boxes(field);
  const box = all.find((one) => one === document.activeElement) ?? all.find((one) => one.checked) ?? all[0];
  return [...field.querySelectorAll("input:not([type=hidden]), select, textarea, button")]
    .filter((one) => (one === box || !all.includes(one)) && one.getClientRects().length);
}

// Tab goes through a field and on to the next one, and from the last one on to the buttons.
function step(event, field) {
  const all = asked();
  const inside = event.target.closest("[data-field]");
  if (!inside && event.target !== document.body && event.target.id !== "main") return false;
  const by = event.shiftKey ? -1 : 1;
  const own = inside ? stops(inside) : [];
  const more = own[own.indexOf(event.target) + by];
  if (more) {
    more.focus();
    return true;
  }
  const next = inside ? all[all.indexOf(inside) + by] : field;
  if (next) {
    stand(next);
    if (event.shiftKey) stops(next).at(-1)?.focus({ preventScroll: true });
    return true;
  }
  if (inside && !event.shiftKey) {
    form().querySelector(".work-actions button")?.focus();
    return true;
  }
  return false;
}

// Arrows go through the boxes of a field; radio buttons do that by themselves.
function arrow(event) {
  if (event.target.type !== "checkbox") return false;
  const all = boxes(event.target.closest("[data-field]") ?? page());
  const at = all.indexOf(event.target);
  const to = all[at + (event.key === "ArrowDown" ? 1 : -1)];
  if (at < 0 || !to) return false;
  to.focus();
  return true;
}

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (!page() || event.defaultPrevented || event.isComposing) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  let done = false;
  if (key === "Tab") done = step(event, current());
  else if (event.shiftKey) return;
  else if (target.closest("textarea, input[type=text]") && key !== "Enter") return;
  else if (key === "Enter") {
    if (target.closest("a, button, summary, textarea, select")) return;
    const next = form().querySelector("[data-next]");
    if (next) form().requestSubmit(next);
    done = true;
  } else if (key === "ArrowDown" || key === "ArrowUp") done = arrow(event);
  else if (!hasSingleKeys() || target.closest("select")) return;
  else if (/^[0-9]$/.test(key)) done = spans.label(key) || digit(key, current());
  if (done) event.preventDefault();
});

// How long ------------------------------------------------------------------------------------

let spent = 0;
let since = performance.now();
let sign = performance.now();

function count() {
  const now = performance.now();
  if (page() && !document.hidden && now - sign < IDLE_MS) spent += Math.min(now - since, 5000);
  since = now;
}

function report() {
  count();
  if (!page() || spent < 100) return;
  log.add("dwell", { target: page().dataset.target, name: "page", comment: String(Math.round(spent)) });
  spent = 0;
}

for (const name of ["pointermove", "pointerdown", "keydown", "wheel", "scroll", "touchstart"]) {
  addEventListener(name, () => (sign = performance.now()), { capture: true, passive: true });
}
setInterval(count, 1000);
setInterval(report, TELL_MS);
log.onLeave(report);

// An item has come, with the page or in place of the one before.
function begin() {
  if (!page()) return;
  spent = 0;
  since = sign = performance.now();
  log.showJudged(page());
  const single = page().querySelector("[data-single-keys]");
  if (single) single.checked = hasSingleKeys();
  spans.begin();
  stand(open()[0] ?? asked()[0], { focus: false });
}

export const label = { begin, describe, fit, holds, tell: report };
