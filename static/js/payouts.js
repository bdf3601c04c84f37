// Review and proposals: what is ticked, which row is looked at. The server counts all money.

import { gettext, interpolate, ngettext } from "./words.js";

// Review: what the ticked assignments were agreed to be paid, in whole cents.
function picked() {
  const line = document.getElementById("pick-line");
  if (!line) return;
  const boxes = [...document.querySelectorAll("#queue input[name=assignment]:checked")];
  const cents = boxes.reduce((sum, box) => sum + Math.round(Number(box.dataset.pay) * 100), 0);
  const style = { style: "currency", currency: line.dataset.currency };
  const pay = new Intl.NumberFormat(document.documentElement.lang, style).format(cents / 100);
  const told = ngettext(
    "%(n)s assignment ticked, agreed pay %(pay)s",
    "%(n)s assignments ticked, agreed pay %(pay)s",
    boxes.length,
  );
  line.querySelector("[data-picked]").textContent = boxes.length
    ? interpolate(told, { n: boxes.length, pay }, true)
    : gettext("Tick assignments to propose what they are paid.");
}

document.addEventListener("change", (event) => {
  if (event.target.name === "assignment") picked();
});

// A base under the agreed pay opens the field for its reason.
document.addEventListener("input", (event) => {
  const row = event.target.closest?.("tr[data-agreed]");
  if (!row || !event.target.name.startsWith("base_")) return;
  const base = Number(event.target.value.trim().replace(",", "."));
  const written = event.target.value.trim() !== "";
  row.classList.toggle("less", written && base < Number(row.dataset.agreed));
});

// A proposal keeps its ticks and the row that is looked at in its address, for a detour and Back.
function keepChoices(line) {
  const form = document.getElementById("lines");
  if (!form?.hasAttribute("hx-get")) return;
  const kept = new FormData(form);
  const query = new URLSearchParams({ counting: "1" });
  for (const name of ["pay", "reject"]) {
    const ids = kept.getAll(name).join(",");
    if (ids) query.set(name, ids);
  }
  const looked = line ?? new URLSearchParams(location.search).get("line");
  if (looked) query.set("line", looked);
  history.replaceState(history.state, "", `?${query}`);
}

document.addEventListener("change", (event) => {
  if (event.target.form?.id === "lines") keepChoices();
});

document.addEventListener("submit", (event) => {
  const choices = event.target.elements.choices;
  if (choices) choices.value = location.search;
});

// Faults that the server no longer finds leave their fields.
document.addEventListener("htmx:afterSettle", (event) => {
  const totals = document.getElementById("totals");
  if (!totals || event.detail.target !== totals && event.detail.elt !== totals) return;
  const faults = totals.dataset.faults.split(" ");
  for (const field of document.querySelectorAll(".proposal [aria-invalid]")) {
    if (faults.includes(field.name)) continue;
    field.removeAttribute("aria-invalid");
    field.parentElement.querySelector(".error")?.remove();
  }
});

document.addEventListener("click", (event) => {
  const target = event.target instanceof Element ? event.target : null;
  if (!target) return;

  // The row whose evidence is shown.
  const chosen = target.closest("[data-select]");
  if (chosen) {
    document.querySelectorAll("tr.selected").forEach((row) => row.classList.remove("selected"));
    chosen.closest("tr").classList.add("selected");
    keepChoices(new URLSearchParams(chosen.search).get("line"));
  }

  // "Add" in the evidence card ticks its line.
  const ticks = target.closest("[data-ticks]");
  if (ticks) {
    const box = document.querySelector(ticks.dataset.ticks);
    if (box && !box.checked) {
      box.checked = true;
      box.dispatchEvent(new Event("change", { bubbles: true }));
    }
    if (box) ticks.replaceWith("Ticked; it is paid with the others.");
  }

  const hides = target.closest("[data-hides]");
  if (hides) {
    const row = document.querySelector(hides.dataset.hides);
    const opener = document.querySelector(`[data-toggles="${hides.dataset.hides}"]`);
    row.hidden = true;
    row.replaceChildren();
    opener?.setAttribute("aria-expanded", "false");
    opener?.focus();
  }
});

// A second click on "Read 8" closes what the first one opened.
document.addEventListener("htmx:beforeRequest", (event) => {
  const opener = event.detail.elt;
  if (!opener.dataset?.toggles) return;
  const row = document.querySelector(opener.dataset.toggles);
  if (opener.getAttribute("aria-expanded") === "true") {
    event.preventDefault();
    row.hidden = true;
    row.replaceChildren();
    opener.setAttribute("aria-expanded", "false");
  } else {
    opener.setAttribute("aria-expanded", "true");
  }
});

picked();
