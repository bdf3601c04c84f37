// The builder: how long ago it saved, errors marked on fields, questions dragged within a text.
import { gettext, interpolate } from "./words.js";
import { formKey } from "./requests.js";

export function startBuilder() {
  // Saved how long ago. Counted from the answer's arrival, so that clocks need not agree.
  const DAY = 24 * 3600; // older: the date stays as the server wrote it
  let savedAt = null;
  let savedText = "";

  function ago(seconds) {
    if (seconds < 60) return interpolate(gettext("%(seconds)s s ago"), { seconds }, true);
    const minutes = Math.floor(seconds / 60);
    if (minutes < 60) return interpolate(gettext("%(minutes)s min ago"), { minutes }, true);
    return interpolate(gettext("%(hours)s h ago"), { hours: Math.floor(minutes / 60) }, true);
  }

  function tick() {
    const time = document.querySelector("time[data-saved]");
    if (!time) return;
    if (time.dataset.saved !== savedText) {
      const { saved, now } = time.dataset; // both of the server's clock
      savedText = saved;
      savedAt = Date.now() - (Date.parse(now) - Date.parse(saved));
    }
    const seconds = Math.max(1, Math.round((Date.now() - savedAt) / 1000));
    if (seconds < DAY) time.textContent = ago(seconds);
  }
  tick();
  setInterval(tick, 4000);

  // The preview leads back to the part that is open now, not the one that the page began with.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("#preview-task");
    if (link && location.search) link.search = location.search;
  });

  // A field's short name and its options' values follow what is written: the page goes on with them.
  const renamed = new Map();
  const renew = (path) =>
    path.replace(/([?&]question=)([^&#]*)/, (all, mark, name) => mark + (renamed.get(name) ?? name));

  document.addEventListener("followed", ({ detail: { before, now, fields } }) => {
    if (before !== now) renamed.set(before, now);
    renamed.forEach((name, old) => name === before && renamed.set(old, now));
    for (const [name, value] of Object.entries(fields)) {
      const field = document.querySelector(`.label-field [name="${name}"]`);
      if (field && field !== document.activeElement) field.value = value;
    }
  });

  document.addEventListener("htmx:configRequest", ({ detail }) => (detail.path = renew(detail.path)));
  document.addEventListener("htmx:afterSwap", ({ detail }) => {
    if (detail.target.id === "builder") renamed.clear(); // all its addresses are new
  });

  // What was typed and not yet sent goes out when the page hides.
  const dirty = new Set();
  const autosaved = (field) => field.matches?.("[data-autosave] :is(input, textarea)[hx-post]");

  document.addEventListener("input", (event) => {
    if (autosaved(event.target)) dirty.add(event.target);
  });

  addEventListener("pagehide", () => {
    dirty.forEach((field) => {
      if (field.type === "checkbox" || !field.isConnected) return;
      const body = new FormData();
      body.append("csrfmiddlewaretoken", formKey());
      body.append(field.name, field.value);
      fetch(renew(field.getAttribute("hx-post")), { method: "POST", body, keepalive: true });
    });
  });

  // Leaving a field whose text is saved already sends nothing.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const { elt, requestConfig } = event.detail;
    const left = requestConfig.triggeringEvent?.type === "change";
    if (left && autosaved(elt) && !dirty.has(elt)) event.preventDefault();
  });

  document.addEventListener("htmx:afterRequest", (event) => {
    const field = event.detail.elt;
    const sent = event.detail.requestConfig?.parameters?.[field.name];
    const newer = "value" in field && field.type !== "checkbox" && sent !== field.value;
    if (event.detail.successful && !newer) dirty.delete(field);
    if (!field.matches?.("input, textarea, select")) return;
    const refused = event.detail.xhr?.status === 422;
    if (refused) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  });

  document.addEventListener("htmx:afterSettle", () => {
    const time = document.querySelector("time[data-saved]");
    if (!time || time.dataset.saved === savedText) return;
    savedText = time.dataset.saved;
    savedAt = Date.now();
    time.textContent = "now";
  });

  // The question just opened is seen whole, above the cost line.
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target?.id !== "builder" && event.detail.elt?.id !== "builder") return;
    document.querySelector("tr.editing")?.scrollIntoView({ block: "nearest" });
  });

  // Enter in a field saves the field; it does not send the form.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-autosave]")) return;
    event.preventDefault();
  });

  // Dragging a question by its row; the buttons in the open row do the same by keyboard.
  let dragged = null;

  const rowOf = (event) => event.target.closest?.("tr[data-key]");

  function clear() {
    document.querySelectorAll(".drop-here, .drop-above, .dragged").forEach((row) => {
      row.classList.remove("drop-here", "drop-above", "dragged");
    });
  }

  document.addEventListener("dragstart", (event) => {
    dragged = rowOf(event);
    if (!dragged) return;
    dragged.classList.add("dragged");
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", dragged.dataset.key);
  });

  document.addEventListener("dragover", (event) => {
    const row = rowOf(event);
    if (!dragged || !row || row === dragged) return;
    event.preventDefault();
    document.querySelectorAll(".drop-here, .drop-above").forEach((other) => {
      other.classList.remove("drop-here", "drop-above");
    });
    const above = row.compareDocumentPosition(dragged) & Node.DOCUMENT_POSITION_FOLLOWING;
    row.classList.add(above ? "drop-above" : "drop-here");
  });

  document.addEventListener("drop", (event) => {
    const row = rowOf(event);
    if (!dragged || !row || row === dragged) return;
    event.preventDefault();
    const mover = document.getElementById("mover");
    mover.setAttribute("hx-vals", JSON.stringify({ key: dragged.dataset.key, beside: row.dataset.key }));
    clear();
    mover.dispatchEvent(new Event("moved", { bubbles: true }));
  });

  document.addEventListener("dragend", () => {
    dragged = null;
    clear();
  });
}
