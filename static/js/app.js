// Small behaviours of every page, bound by attribute; no page needs them to be usable.
import { formKey } from "./requests.js";
import { gettext, interpolate } from "./words.js";

document.addEventListener("formdata", ({ formData }) => {
  if (formData.has("csrfmiddlewaretoken")) formData.set("csrfmiddlewaretoken", formKey());
});
document.addEventListener("htmx:configRequest", ({ detail }) => {
  detail.headers["X-CSRFToken"] = formKey();
});

// A code that is pasted is whole, so it is sent at once.
document.addEventListener("paste", ({ target }) => {
  if (!target.matches?.("input.code-input") || target.value) return;
  setTimeout(() => target.value.trim().length >= 6 && target.form.requestSubmit());
});

const notices = () => document.getElementById("notices");

// A refusal is read in one place, at the top, and stays until the next attempt.
function tell(html) {
  const box = notices();
  if (!box) return;
  box.innerHTML = html;
  box.dataset.told = "";
  box.scrollIntoView({ block: "nearest" });
}

function tellText(text) {
  const box = notices();
  if (!box) return;
  const line = document.createElement("div");
  line.className = "notice bad";
  line.textContent = text;
  box.replaceChildren(line);
  box.dataset.told = "";
  box.scrollIntoView({ block: "nearest" });
}

document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr } = event.detail;
  if (xhr.status < 400) return;
  const refused = xhr.responseText.includes("data-refusal");
  if (!refused && xhr.status === 422) return; // the form itself, with its errors
  event.detail.shouldSwap = false;
  if (refused) tell(xhr.responseText);
  else tellText(interpolate(gettext("The server answered %(status)s. Load the page again to see what stands."), { status: xhr.status }, true));
});

// A page that has been sent elsewhere asks no more: each answer would send it anew, and end a
// page on its way that takes longer than that.
let sent = false;
document.addEventListener("htmx:beforeOnLoad", ({ detail: { xhr } }) => {
  sent ||= Boolean(xhr.getResponseHeader("HX-Redirect") || xhr.getResponseHeader("HX-Refresh"));
});
document.addEventListener("htmx:beforeRequest", (event) => {
  if (sent && event.detail.requestConfig.verb === "get") event.preventDefault();
});
addEventListener("pageshow", () => (sent = false)); // back at it

// What was told of the last attempt goes when the next one starts; polling leaves it alone.
document.addEventListener("htmx:beforeRequest", (event) => {
  const box = notices();
  if (!box || !("told" in box.dataset) || event.detail.requestConfig.verb === "get") return;
  box.replaceChildren();
  delete box.dataset.told;
});

document.addEventListener("htmx:sendError", () => {
  tellText(gettext("The server cannot be reached. Nothing was sent; try again when the network is back."));
});

document.addEventListener("htmx:timeout", () => {
  tellText(gettext("The server took longer than 30 s. Load the page again to see what happened."));
});

// Copying: data-copy holds the text itself, or "#id" of an element whose text is copied.
async function copy(button) {
  const what = button.dataset.copy;
  const source = what.startsWith("#") ? document.querySelector(what) : null;
  const text = source ? (source.value ?? source.textContent) : what;
  const words = button.dataset.words ?? button.textContent;
  button.dataset.words = words;
  try {
    await navigator.clipboard.writeText(text.trim());
    button.textContent = gettext("Copied");
  } catch {
    button.textContent = gettext("Copying is not allowed here");
  }
  setTimeout(() => (button.textContent = words), 2000);
}

// Filling in: data-fill names the field that takes the button's words; an empty one takes the words
// of a button with data-fill-empty at once.
function fill(button) {
  const field = document.querySelector(button.dataset.fill);
  field.value = button.textContent.trim();
  field.dispatchEvent(new Event("change", { bubbles: true }));
}

document.addEventListener("htmx:load", (event) => {
  const only = event.detail.elt.parentElement?.querySelector("[data-fill-empty]");
  if (only && !document.querySelector(only.dataset.fill)?.value) fill(only);
});

function closeMenus(except) {
  document.querySelectorAll("details[data-menu][open]").forEach((menu) => {
    if (menu !== except) menu.open = false;
  });
}

document.addEventListener("click", (event) => {
  const target = event.target instanceof Element ? event.target : null;
  if (!target) return;
  closeMenus(target.closest("details[data-menu]"));
  const copier = target.closest("[data-copy]");
  if (copier) copy(copier);
  const filler = target.closest("[data-fill]");
  if (filler) fill(filler);
  const closer = target.closest("[data-close]");
  const opener = target.closest("[data-opens]");
  const opened = opener && document.getElementById(opener.dataset.opens);
  if (opened) {
    event.preventDefault();
    opened.dispatchEvent(new CustomEvent("opens"));
  }
  const dialog = closer?.closest("dialog");
  if (dialog) {
    event.preventDefault();
    dialog.close();
  }
  const details = closer?.closest("details");
  if (details) {
    details.open = false;
    details.querySelector("summary")?.focus();
  }
  const unfold = target.closest("[data-unfold]");
  if (unfold) {
    event.preventDefault();
    const text = document.querySelector(unfold.dataset.unfold);
    const open = text.dataset.fold !== "open";
    text.dataset.fold = open ? "open" : "";
    unfold.setAttribute("aria-expanded", String(open));
    unfold.textContent = open ? gettext("Fold the text") : gettext("Read the whole text again");
  }
});

// A press is a click also where an answer replaced what was pressed before it was let go: leaving a
// field saves it, and what the answer draws anew is often the very button that was pressed.
let pressed = null;
const pressable = (target) => target.closest?.("a[href], button, summary, label");
document.addEventListener("pointerdown", ({ target, button, clientX, clientY }) => {
  const one = button ? null : pressable(target);
  pressed = one && { one, clientX, clientY };
}, true);
document.addEventListener("pointerup", ({ target, clientX, clientY }) => {
  const { one, ...from } = pressed ?? {};
  pressed = null;
  if (!one || one.isConnected) return;
  if (Math.hypot(clientX - from.clientX, clientY - from.clientY) > 10) return; // moved off it
  const under = pressable(target);
  const same = under && under.textContent.trim() === one.textContent.trim() ? under : null;
  (one.id ? document.getElementById(one.id) : same)?.click();
}, true);

// A dialog opens once its content is there.
document.addEventListener("htmx:afterSwap", (event) => {
  const dialog = event.detail.target;
  if (dialog instanceof HTMLDialogElement && !dialog.open) dialog.showModal();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const open = document.activeElement?.closest("details.confirm[open], details[data-menu][open]");
  if (!open) return;
  open.open = false;
  open.querySelector("summary")?.focus();
});

document.addEventListener("change", (event) => {
  const field = event.target;
  field.closest("form[data-autosubmit]")?.requestSubmit();
  const all = field.dataset?.checkAll;
  if (all) {
    const wanted = field.checked;
    boxesOf(all).forEach((box) => {
      if (box.checked === wanted) return;
      box.checked = wanted;
      box.dispatchEvent(new Event("change", { bubbles: true }));
    });
  }
  showAllTicked();
});

// "Tick all" is ticked while all are, and half while some are.
function boxesOf(name) {
  return document.querySelectorAll(`input[type=checkbox][name="${CSS.escape(name)}"]:enabled`);
}

function showAllTicked() {
  document.querySelectorAll("[data-check-all]").forEach((field) => {
    const boxes = [...boxesOf(field.dataset.checkAll)];
    const n = boxes.filter((box) => box.checked).length;
    field.checked = n > 0 && n === boxes.length;
    field.indeterminate = n > 0 && n < boxes.length;
  });
}

window.addEventListener("pageshow", showAllTicked);
document.addEventListener("htmx:afterSettle", showAllTicked);

// How many rows of a list are selected; "All" stands for those on other pages as well.
document.addEventListener("change", (event) => {
  const form = event.target.form;
  const line = form?.matches(".bulk") && form.querySelector("[data-picked]");
  if (!line) return;
  line.dataset.words ??= line.textContent;
  const n = [...form.elements].filter((box) => box.name === "pick" && box.checked).length;
  line.textContent = n ? `${n} selected` : line.dataset.words;
});

// "/" leads to the search of the project.
document.addEventListener("keydown", (event) => {
  const busy = event.target.closest?.("input, textarea, select, [contenteditable]");
  const box = document.querySelector("[data-search]");
  if (event.key !== "/" || busy || !box || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  box.focus();
});

// A long page shows one of its sections at a time; without script all stand below one another.
function showSection() {
  const nav = document.querySelector("nav[data-sections]");
  if (!nav) return;
  const parts = [...document.querySelectorAll("[data-section]")];
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  const shown = (target && target.closest("[data-section]")) || parts[0];
  parts.forEach((part) => (part.hidden = part !== shown));
  nav.querySelectorAll("a").forEach((link) => {
    if (link.hash === `#${shown.id}`) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  });
  // What stood further down has moved: the section begins below the links to it.
  if (target) nav.scrollIntoView({ block: "nearest" });
}

addEventListener("hashchange", showSection);
showSection();

// A preview follows its form, also what was entered before htmx listened. On the first load only.
document.addEventListener(
  "htmx:load",
  () => {
    document.querySelectorAll("form[hx-get]").forEach((form) => {
      const entered = [...form.elements].find(
        (field) => field.matches("input, textarea") && field.value !== field.defaultValue,
      );
      entered?.dispatchEvent(new Event("change", { bubbles: true }));
    });
  },
  { once: true },
);

// What a term means opens below its "?", above it near the lower edge, and scrolls with the page.
document.addEventListener(
  "beforetoggle",
  (event) => {
    const box = event.target;
    if (event.newState !== "open" || !box.matches(".popover")) return;
    const mark = document.querySelector(`[popovertarget="${CSS.escape(box.id)}"]`);
    const rect = mark.getBoundingClientRect();
    const wide = Math.min(340, document.documentElement.clientWidth - 16);
    const most = document.documentElement.clientWidth - wide - 8;
    const above = rect.bottom > innerHeight - 240 && rect.top > 240;
    box.classList.toggle("above", above);
    Object.assign(box.style, {
      position: "absolute",
      inset: "auto",
      width: `${wide}px`,
      left: `${Math.max(8, Math.min(rect.left - 12, most)) + scrollX}px`,
      top: `${(above ? rect.top - 6 : rect.bottom + 6) + scrollY}px`,
    });
  },
  true,
);

document.addEventListener("keydown", (event) => {
  if (event.key === "?" && document.activeElement?.matches(".help-mark")) {
    event.stopPropagation();
    document.activeElement.click();
  }
}, true);

// What scrolls sideways must be reachable by keyboard.
function markScrollers() {
  document.querySelectorAll(".scroll").forEach((box) => {
    if (box.scrollWidth <= box.clientWidth + 1) {
      box.removeAttribute("tabindex");
      return;
    }
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    if (!box.hasAttribute("aria-label")) {
      const caption = box.querySelector("caption")?.textContent.trim();
      box.setAttribute("aria-label", caption || gettext("Table, scrolls sideways"));
    }
  });
}

// Where tabs scroll inside themselves, the current one is in sight at once.
function showCurrentTab() {
  document.querySelectorAll("nav.tabs, nav.segmented").forEach((tabs) => {
    const current = tabs.querySelector("[aria-current]");
    if (!current) return;
    const left = current.getBoundingClientRect().left - tabs.getBoundingClientRect().left;
    tabs.scrollLeft += left - (tabs.clientWidth - current.offsetWidth) / 2;
  });
}

markScrollers();
showCurrentTab();
addEventListener("resize", markScrollers);
addEventListener("resize", showCurrentTab);
document.addEventListener("htmx:afterSettle", markScrollers);
