// The answering page: keys, words, clock, going on without loading a page anew, submit. What is
// filled in is a text in a field, choices on lines, which judge.js looks after, or a response with
// its questions, which write.js does.
import { drafts } from "./drafts.js";
import { log } from "./eventlog.js";
import { judge } from "./judge.js";
import { label } from "./label/label.js";
import { rate } from "./rate.js";
import { record } from "./record.js";
import { post } from "./requests.js";
import { store, uuid } from "./storage.js";
import { think } from "./think.js";
import { countWords, gettext, interpolate, ngettext } from "./words.js";
import { write } from "./write/write.js";

export function startAnswering() {
  const work = () => document.getElementById("work");
  const form = () => work()?.querySelector("form[data-answering]");
  const field = () => work()?.querySelector("textarea[data-target]:not([data-beside])");
  const LONG = 20000; // characters; of a longer text a moment's change is not looked at by itself
  const NOT_DRAFT = new Set(["csrfmiddlewaretoken", "go", "version", "key", "part"]);
  let ends = 0; // when the lease is over, on this page's own clock
  let address = location.href; // of the item that is shown
  let moving = false; // the next page is on its way
  let touched = false;
  let submitting = false;
  let seen = {}; // what is shown takes these versions into account: of each tab the last one
  let offline = false; // the line above the page says so
  let other = null; // a second version, while nobody has chosen yet
  let due = false; // something was filled in and is not kept yet
  let keeping = 0;
  let describing = 0;
  let inMoment = false;
  const moment = new MessageChannel();

  function tell(text, choices = {}) {
    offline = false;
    const line = document.createElement("div");
    line.className = "notice warn";
    line.setAttribute("role", "alert");
    line.append(text);
    for (const [label, choose] of Object.entries(choices)) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = label;
      button.addEventListener("click", choose);
      line.append(" ", button);
    }
    document.getElementById("notices")?.replaceChildren(...(text ? [line] : []));
    return line;
  }

  // Signed out, nothing can be saved: said where it cannot be missed, with the way back to here.
  function askToSignIn() {
    drafts.show("signed-out");
    document.getElementById("signed-out")?.showModal();
  }

  // The draft ---------------------------------------------------------------------------------

  function draftOf() {
    const entries = [...new FormData(form())].filter(([name]) => !NOT_DRAFT.has(name));
    return Object.fromEntries(entries.map(([name, value]) => [name, value.replace(/\r\n/g, "\n")]));
  }

  // The form as a draft says: what it does not name is empty.
  function fill(draft) {
    think.fit(draft);
    for (const input of form().elements) {
      if (!input.name || NOT_DRAFT.has(input.name)) continue;
      const held = draft[input.name] === true ? "true" : draft[input.name] || "";
      if (input.type === "radio" || input.type === "checkbox") input.checked = held === input.value;
      else if ("union" in input.dataset) {
        input.value = [...new Set(`${input.value} ${held}`.trim().split(/\s+/))].join(" ");
      } else input.value = held;
    }
    label.fit(draft);
    describe();
  }

  const flags = () => ["declined", "skipped"].map((name) => form().elements[name]).filter(Boolean);

  function keep(chosen = false) {
    due = false;
    const { assignment, item, draftUrl } = work().dataset;
    const record = drafts.put(assignment, item, draftOf(), draftUrl, seen, chosen);
    seen = record.seen;
    return record;
  }

  // What was filled in is kept and described at once; of thousands of events in one moment, by
  // which a text may come in, the first and what they come to. In a long text, where each letter
  // would cost as much as all of it, that is done now and then, and words are counted at rest.
  function changed() {
    due = true;
    if (inMoment) return;
    inMoment = true;
    moment.port2.postMessage("");
    attend();
  }
  moment.port1.onmessage = () => {
    inMoment = false;
    if (due && form()) attend();
  };
  function attend() {
    if (![...form().elements].some((one) => one.value?.length > LONG)) return takeIn();
    clearTimeout(describing);
    describing = setTimeout(() => work() && describe(), 600);
    keeping ||= setTimeout(takeIn, 400, false);
  }
  function takeIn(describes = true) {
    clearTimeout(keeping);
    keeping = 0;
    if (!due || !form()) return;
    if (describes) describe();
    keep();
  }
  addEventListener("pagehide", () => takeIn(false), true); // before drafts.js sends what is kept
  document.addEventListener("visibilitychange", () => document.hidden && takeIn(false), true);

  const shows = (assignment, item) =>
    Boolean(form()) && work().dataset.assignment === assignment && work().dataset.item === item;

  // Whether nothing stands here that the server lacks.
  function isClean() {
    const { assignment, item } = work().dataset;
    return !due && !drafts.pending(assignment, item).some((record) => drafts.covers(seen, record));
  }

  function knows(version) {
    seen = { ...seen };
    const all = { ...version.seen, ...(version.seq && { [version.tab]: version.seq }) };
    for (const [tab, seq] of Object.entries(all)) seen[tab] = Math.max(seen[tab] ?? 0, seq);
  }

  // Two versions ------------------------------------------------------------------------------

  // What a draft says, in the form's words as in the server's: what is empty is left out.
  function fingerprint(draft) {
    const kept = Object.entries(draft).filter(([name, value]) => {
      const input = form().elements[name];
      return value && String(value).trim() && !(input?.dataset && "union" in input.dataset);
    });
    return JSON.stringify(kept.map(([name, value]) => [name, String(value)]).sort());
  }
  const place = () => work().dataset.noun || "answer";

  // What is shown here is the newer version; what stood here before can be had back.
  function offerBack(mine) {
    tell(interpolate(gettext("This %(place)s was changed in another tab or on another device. The other version stands here now."), { place: place() }, true), {
      [gettext("Back to my version")]: () => {
        fill(mine);
        keep(true);
        tell("");
        drafts.sync();
      },
    });
  }

  function choose(draft) {
    const mine = draftOf();
    knows(other);
    other = null;
    tell("");
    if (draft) fill(draft);
    keep(true);
    logTexts();
    if (draft) offerBack(mine);
    drafts.sync();
  }

  // There is a version that this page has not seen: nothing of either is lost until one is chosen.
  // The one that is offered may be replaced by a newer one, without new buttons: one that is made
  // anew while it is pressed would take no click.
  function offer(version) {
    if (drafts.covers(seen, version)) return;
    if (fingerprint(draftOf()) === fingerprint(version.draft)) {
      knows(version);
      keep();
      return;
    }
    const isOffered = other && document.querySelector("#notices [data-versions]");
    other = version;
    if (isOffered) return;
    const line = tell(interpolate(gettext("This %(place)s was changed in another tab or on another device as well. Nothing is lost: choose a version."), { place: place() }, true), {
      [gettext("Keep my version")]: () => choose(null),
      [gettext("Use the other version")]: () => choose(other.draft),
    });
    line.dataset.versions = "";
  }

  const logTexts = () => work().querySelectorAll("textarea[data-target]").forEach((one) => log.sync(one));

  function describe() {
    judge.describe();
    write.describe();
    think.describe();
    rate.describe();
    label.describe();
    const answer = field();
    const count = work().querySelector("[data-words]");
    if (!answer || !count) return;
    const words = countWords(answer.value);
    count.textContent = interpolate(ngettext("%(words)s word", "%(words)s words", words), { words }, true);
    count.classList.toggle("over", words > Number(answer.dataset.max));
    work().querySelector("p[data-declined]").hidden = !form().elements.declined.value;
  }

  function begin() {
    address = location.href;
    tick(true);
    const { assignment, item, versions, savedAt } = work().dataset;
    touched = false;
    other = null;
    if (!item) return drafts.tellState();
    const stored = JSON.parse(versions);
    seen = stored.seen;
    if (savedAt) drafts.savedAt(Date.parse(savedAt));
    think.trim();
    restore(stored);
    describe();
    work().querySelectorAll("textarea[data-target]").forEach((one) => log.show(one));
    judge.begin(keep);
    write.begin();
    rate.begin();
    label.begin();
    record.begin();
    if (drafts.unsent(assignment).length) drafts.sync();
    drafts.tellState();
    if (think.begin() || !field()) return;
    if (matchMedia("(min-width: 641px)").matches || touched) {
      field().focus({ preventScroll: true });
      field().setSelectionRange(field().value.length, field().value.length);
    }
  }

  // What this device holds and the server lacks; where the server was given something else
  // meanwhile, or keeps a second version, both are offered.
  function restore(stored) {
    const { assignment, item } = work().dataset;
    drafts.drop(assignment, item, stored.seen);
    const held = drafts.pending(assignment, item).at(-1);
    if (held) {
      const theirs = { ...stored, draft: draftOf() };
      fill(held.draft);
      seen = held.seen;
      if (stored.seq) offer(theirs);
    }
    stored.others.forEach(offer);
  }

  document.addEventListener("input", (event) => {
    if (!event.target.name || event.target.form !== form()) return;
    touched = true;
    for (const flag of flags()) flag.value = "";
    work().querySelector("#problem")?.remove(); // it said what was wrong before this
    changed();
  });
  document.addEventListener("focusout", (event) => {
    if (event.target.matches("textarea[data-target]") && touched && !moving) {
      takeIn(false);
      drafts.sync();
    }
  });

  // Another tab, or another device by way of the server, holds what builds on what stands here.
  function adopt(version) {
    if (drafts.covers(seen, version)) return;
    const [mine, waiting] = [draftOf(), other];
    knows(version);
    other = null;
    tell("");
    fill(version.draft);
    logTexts();
    if (waiting) offer(waiting);
    else if (touched && fingerprint(mine) !== fingerprint(draftOf())) offerBack(mine);
  }
  drafts.onSent((assignment, item, record, held) => {
    if (!shows(assignment, item)) return;
    if (held.draft && drafts.covers(seen, record) && isClean()) adopt(held);
    held.others.forEach(offer);
  });
  drafts.onOther((assignment, item, version) => {
    if (!shows(assignment, item)) return;
    const builds = Object.entries(seen).every(([tab, seq]) => drafts.covers(version.seen, { tab, seq }));
    if (builds) adopt(version);
  });
  drafts.onConflict((assignment, item, record, held) => {
    if (shows(assignment, item)) return offer(drafts.covers(seen, record) ? held : record);
    const row = work()?.dataset.assignment === assignment && work().querySelector(`li[data-item="${item}"] a`);
    if (row) tell(gettext("An answer was changed in another tab or on another device as well."), {
      [gettext("Open it")]: () => location.assign(row.href),
    });
  });
  drafts.onSaved(() => offline && tell(""));

  // Going on ----------------------------------------------------------------------------------

  // While the next page is on its way this one takes no input: a key is meant for what comes.
  function freeze(on) {
    const page = work();
    moving = on;
    if (on) {
      page.focused = page.contains(document.activeElement) ? document.activeElement : null;
      page.focused?.blur(); // a word that is being composed is ended, and belongs to this page
    }
    page.inert = on;
    page.setAttribute("aria-busy", String(on));
    if (!on) page.focused?.focus({ preventScroll: true });
  }
  addEventListener("keydown", (event) => {
    if (!moving || event.target.closest?.("a, button, dialog")) return;
    event.stopImmediatePropagation();
    if (/^(.|Enter|Backspace|Delete|Arrow.*)$/su.test(event.key)) event.preventDefault();
  }, true);

  async function go(action) {
    if (moving || !form()) return;
    if (other) return document.querySelector("#notices button")?.focus();
    if (judge.holds(action) || rate.holds(action)) return;
    if (label.holds(action) || record.holds()) return;
    if (action === "reset") reset();
    judge.tell();
    label.tell();
    write.tell();
    freeze(true);
    const flagged = { dont_know: "declined", skip: "skipped" }[action];
    const before = flags().map((flag) => [flag, flag.value]);
    const body = new FormData(form());
    let kept = null;
    if (work().dataset.item) {
      if (flagged && form().elements[flagged]) form().elements[flagged].value = "true";
      if (flagged || !isClean()) kept = keep();
      body.set("version", kept ? versionOf(kept) : "unchanged");
    }
    body.set("go", action);
    let stays = true;
    try {
      const signal = AbortSignal.timeout(15000);
      const response = await fetch(address, { method: "POST", body, signal });
      if (response.status === 409) await drafts.sync(); // says whether there are two versions
      if (!other) stays = await arrive(response, kept);
    } catch {
      if (kept && flagged) {
        for (const [flag, value] of before) flag.value = value;
        keep(); // it is not answered that way before one goes on
      }
      drafts.show("device");
      tell(gettext("No network: this answer is kept on this device. Press Next again when it is back."));
      offline = true;
    } finally {
      if (stays) freeze(false);
    }
  }

  // What was entered for this item is taken out here; the server empties its draft as well.
  function reset() {
    const target = (work().querySelector("[data-target]") ?? work()).dataset.target;
    log.add("reset", { target });
    fill({});
    logTexts();
    due = true;
  }

  const versionOf = ({ tab, seq, seen: all, chosen }) => JSON.stringify({ tab, seq, seen: all, chosen });

  // Shows what came. Says whether this page stays open to input.
  async function arrive(response, record) {
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = page.getElementById("work");
    if (response.status >= 500) throw new Error(gettext("The server cannot answer."));
    if (page.querySelector("[data-stale]")) {
      askToSignIn();
      return true;
    }
    if (!response.ok) {
      tell(page.querySelector(".lead")?.textContent.trim() ?? interpolate(gettext("The server answered %(status)s."), { status: response.status }, true));
      return true;
    }
    const { assignment, item } = work().dataset;
    if (!fresh || fresh.dataset.assignment !== assignment) {
      const leads = new URL(response.url).pathname.startsWith("/work/");
      if (leads) location.assign(response.url);
      else askToSignIn();
      return !leads;
    }
    if (record) drafts.sent(assignment, item, record);
    takeIn(false);
    tell("");
    work().replaceWith(fresh);
    for (const part of [".segments", "#clock"]) {
      document.querySelector(part)?.replaceWith(page.querySelector(part));
    }
    document.title = page.title;
    history.pushState(null, "", response.url);
    scrollTo(0, 0);
    begin();
    if (!field() && !work().contains(document.activeElement)) {
      document.getElementById("main").focus({ preventScroll: true });
    }
    return true;
  }

  addEventListener("popstate", () => {
    freeze(true); // what stands here is no longer what the address says
    location.reload();
  });
  addEventListener("pageshow", ({ persisted }) => persisted && freeze(false));
  document.addEventListener("submit", (event) => {
    const target = event.target;
    if (target.matches("[data-answering]")) {
      event.preventDefault();
      go(event.submitter?.value ?? "next");
    } else if (target.matches("[data-extend]")) {
      event.preventDefault();
      extend(target);
    } else if (target.matches("[data-submit]")) {
      event.preventDefault();
      submit(target);
    } else if (target.matches("[data-return]")) {
      drafts.clear(work().dataset.assignment);
    }
  });

  // Keys ----------------------------------------------------------------------------------------

  function toggleKeys() {
    document.getElementById("keys")?.togglePopover();
  }

  function press(value) {
    const button = form()?.querySelector(`button[value="${value}"]`);
    if (button) go(value);
    return Boolean(button);
  }

  document.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const { altKey, ctrlKey, metaKey, code, key } = event;
    const typing = event.target.closest?.("textarea, input:not([type=radio], [type=checkbox]), select");
    let done = false;
    if ((ctrlKey || metaKey) && key === "Enter") done = press("next") || press("read");
    else if (altKey && key === "ArrowLeft") done = press("back");
    else if (altKey && code === "KeyS") done = press("skip");
    else if (altKey && code === "KeyD") done = press("dont_know");
    else if (altKey && code === "KeyR" && form()) location.assign(work().dataset.reviewUrl);
    else if (key === "?" && !typing) done = toggleKeys() ?? true;
    else if (altKey && code === "KeyK") done = toggleKeys() ?? true;
    else if (key === "Escape" && event.target === field()) field().blur();
    if (done) event.preventDefault();
  });

  // The clock -----------------------------------------------------------------------------------

  function tick(fresh = false) {
    const clock = document.querySelector("[data-left]");
    if (fresh && clock) ends = performance.now() + Number(clock.dataset.left) * 1000;
    if (!clock) return;
    const left = Math.max(0, Math.floor((ends - performance.now()) / 1000));
    const two = (value) => String(value).padStart(2, "0");
    const minutes = Math.floor(left / 60);
    const hours = Math.floor(minutes / 60);
    clock.textContent = hours
      ? `${hours}:${two(minutes % 60)}:${two(left % 60)}`
      : `${minutes}:${two(left % 60)}`;
    clock.classList.toggle("soon", left < 300);
    const over = document.querySelector("[data-over]");
    if (over) over.hidden = left > 0;
  }
  setInterval(tick, 1000);

  async function extend(target) {
    try {
      const { ok, data } = await post(target.action, {});
      if (!ok) return tell(data.detail ?? gettext("It could not be extended."));
      document.querySelector("[data-left]").dataset.left = data.left;
      if (!data.extensions) target.remove();
      tick(true);
    } catch {
      tell(gettext("No network: the time could not be extended."));
    }
  }

  // Submit --------------------------------------------------------------------------------------

  function keyOf(assignment) {
    const name = `crowdqc:key:${assignment}`;
    if (!store.get(name)) store.set(name, uuid());
    return store.get(name);
  }

  async function submit(target) {
    if (submitting) return;
    submitting = true;
    const { assignment } = work().dataset;
    const state = work().querySelector("[data-submit-state]");
    const body = { key: keyOf(assignment), drafts: {} };
    for (const key of drafts.unsent(assignment)) {
      const item = key.split(":")[3];
      const { draft, ...record } = drafts.pending(assignment, item).at(-1);
      body.drafts[item] = { draft, ...JSON.parse(versionOf(record)) };
    }
    state.textContent = gettext("Submitting.");
    try {
      const { status, ok, data } = await post(target.action, body);
      if (ok || data.code === "submitted") {
        drafts.clear(assignment);
        await log.flush();
        location.assign(data.next ?? work().dataset.reviewUrl);
        return;
      }
      submitting = false;
      if (status >= 500) throw new Error(data.detail, { cause: data.code });
      state.textContent = "";
      if (status === 401 || (status === 403 && !data.code)) askToSignIn();
      else refuse(data.detail);
    } catch (error) {
      submitting = false;
      const isReadOnly = error.cause === "read-only";
      state.textContent = isReadOnly
        ? interpolate(gettext("Not submitted yet. %(reason)s It is sent again by itself while this page is open."), { reason: error.message }, true)
        : gettext("Not submitted yet: no network. It is sent again by itself while this page is open.");
      setTimeout(() => work()?.contains(target) && submit(target), isReadOnly ? 15000 : 3000);
    }
  }

  function refuse(why) {
    const line = document.createElement("p");
    line.className = "note bad";
    line.textContent = why ?? gettext("It was not taken. Load the page again.");
    work().querySelector("[data-refused]").replaceChildren(line);
    work().querySelector("[data-wait]")?.remove(); // what was left when the page came
  }

  // The list of questions is as the server knows them: send what it lacks, then look again.
  async function review() {
    const { assignment } = work().dataset;
    const before = drafts.unsent(assignment).length;
    await drafts.sync();
    if (drafts.unsent(assignment).length < before) location.reload();
  }

  begin();
  if ("review" in (work()?.dataset ?? {})) review();
}
