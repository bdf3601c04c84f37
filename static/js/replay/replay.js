// The replay page: plays a text as it was written, and jumps to what may be worth a look.
import { gettext, interpolate } from "../words.js";
import { Text, Time, lines } from "./text.js";

export function startReplay(root) {
  const KEYS = "crowdqc:single-keys"; // "off" where keys without Ctrl or Alt shall do nothing
  const ARROW_MS = 5000;
  const PAGE_MS = 60000;
  const NO_MORE = {
    paste: gettext("There is no later paste in this log."),
    big: gettext("There is no later big change in this log."),
    pause: gettext("There is no later long pause in this log."),
  };
  const NONE = {
    paste: gettext("There is no paste in this log."),
    big: gettext("There is no big change in this log."),
    pause: gettext("There is no long pause in this log."),
  };
  const NEAR_MS = 20; // a moment so near is the one where we are
  const one = (name) => root.querySelector(`[data-${name}]`);
  const all = (name) => [...root.querySelectorAll(`[data-${name}]`)];
  const [pane, scrub, playhead, dimmed] = ["text", "scrub", "playhead", "not-yet"].map(one);
  const opened = all("opened-at").map((node) => ({
    node, number: Number(node.dataset.passage), spans: JSON.parse(node.dataset.openedAt),
  }));
  const used = all("since").map((node) => ({ node, since: Number(node.dataset.since) }));

  let text, time, jumps, first;
  let now = 0; // real milliseconds since the log began
  let speed = 16;
  let playing = false;
  let frame = 0;
  let shown = { count: -1, gone: false, keys: [] };
  let follows = true; // until the reader scrolls by hand

  function clock(ms) {
    const seconds = Math.floor(ms / 1000);
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    const two = (n) => String(n).padStart(2, "0");
    return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
  }

  function say(words) {
    one("told").textContent = words;
  }

  // The text -------------------------------------------------------------------------------------

  const SOURCES = {
    passage: (run) => [
      "from-passage",
      run.passage
        ? interpolate(gettext("from passage [%(number)s]"), { number: run.passage + first - 1 }, true)
        : gettext("from the text on the page"),
    ],
    own: () => ["from-own", gettext("from the text written here before")],
    outside: () => ["from-outside", gettext("pasted from outside")],
    unexplained: () => ["from-nowhere", gettext("came in at once; no paste explains it")],
  };

  function node(run) {
    const made = document.createElement(run.gone ? "del" : run.number ? "a" : "span");
    made.textContent = run.text;
    if (run.number) made.href = `#passage-${run.number - first + 1}`;
    if (run.mark) made.classList.add("cite");
    if (SOURCES[run.source]) {
      const [name, title] = SOURCES[run.source](run);
      made.classList.add(name);
      made.title = title;
    }
    return made;
  }

  function caret() {
    const made = document.createElement("span");
    made.className = "caret";
    made.dataset.caret = "";
    return made;
  }

  function line(runs) {
    const made = document.createElement("p");
    for (const run of runs) {
      if (run.caret) made.append(caret());
      if (run.text) made.append(node(run));
    }
    if (!runs.some((run) => run.text)) made.className = "blank";
    return made;
  }

  // Only lines that changed are made anew.
  function write(state, atEnd) {
    const rows = lines(state, atEnd);
    const keys = rows.map((runs) =>
      runs.map((r) => [r.text, r.source, r.passage, r.gone, r.number, r.mark, r.caret]).join("\u0001"),
    );
    const before = shown.keys;
    let head = 0;
    while (head < keys.length && keys[head] === before[head]) head++;
    let tail = 0;
    const most = Math.min(keys.length, before.length) - head;
    while (tail < most && keys.at(-1 - tail) === before.at(-1 - tail)) tail++;
    for (let k = before.length - tail - 1; k >= head; k--) pane.children[k].remove();
    const after = pane.children[head] ?? null;
    for (const runs of rows.slice(head, rows.length - tail)) pane.insertBefore(line(runs), after);
    shown.keys = keys;
  }

  function drawText() {
    const atEnd = now >= time.length;
    const count = text.count(now);
    if (count === shown.count && !shown.gone && atEnd === shown.atEnd) return;
    const state = text.at(atEnd ? now + 60000 : now); // at the end nothing is struck any more
    Object.assign(shown, { count, atEnd, gone: state.pieces.some((piece) => piece.gone) });
    write(state, atEnd);
  }

  // What stands around it ------------------------------------------------------------------------

  function drawStrip() {
    const folded = time.folded(now);
    const share = time.total ? folded / time.total : 1;
    const here = `${(100 * share).toFixed(3)}%`;
    const [needle, knob] = playhead.children;
    for (const name of ["x1", "x2"]) needle.setAttribute(name, here);
    knob.setAttribute("cx", here);
    dimmed.setAttribute("x", here);
    dimmed.setAttribute("width", `${(100 * (1 - share)).toFixed(3)}%`);
    scrub.value = String(Math.round(folded));
  }

  function drawTimes() {
    const words = clock(now);
    if (shown.words === words) return;
    shown.words = words;
    all("now").forEach((place) => (place.textContent = words));
    scrub.setAttribute("aria-valuetext", interpolate(gettext("%(now)s of %(length)s"), { now: words, length: clock(time.length) }, true));
  }

  function drawPassages() {
    let current = null;
    let seen = 0;
    for (const { node: passage, spans } of opened) {
      const open = spans.some(([start, end]) => start <= now && now < end);
      passage.classList.toggle("current", open);
      if (spans[0]?.[0] <= now) seen++;
      passage.classList.toggle("ahead", spans[0]?.[0] > now);
      if (open) current = passage;
    }
    if (one("opened")) one("opened").textContent = String(seen);
    for (const { node: stretch, since } of used) stretch.classList.toggle("later", since > now);
    if (current && current !== shown.passage) {
      const list = current.parentElement;
      if (list.scrollHeight > list.clientHeight) list.scrollTop = current.offsetTop - list.offsetTop;
    }
    shown.passage = current;
  }

  function draw() {
    drawText();
    drawStrip();
    drawTimes();
    drawPassages();
  }

  function showCaret() {
    if (follows) one("caret")?.scrollIntoView({ block: "nearest" });
  }

  // Time goes on ---------------------------------------------------------------------------------

  // What was said last was of another moment.
  function goTo(ms, { keep = true } = {}) {
    say("");
    now = Math.max(0, Math.min(time.length, ms));
    draw();
    if (keep && !playing) remember();
  }

  // The address names the moment, so that it can be given to somebody else.
  function remember() {
    const address = new URL(location.href);
    address.searchParams.set("at", (now / 1000).toFixed(1).replace(".0", ""));
    address.hash = "";
    history.replaceState(history.state, "", address);
  }

  function play(on) {
    playing = on;
    root.classList.toggle("playing", on);
    one("play-words").textContent = on ? gettext("Pause") : gettext("Play");
    if (!on) {
      cancelAnimationFrame(frame);
      remember();
      return;
    }
    say("");
    if (now >= time.length) now = 0;
    follows = true;
    let last = performance.now();
    const turn = (at) => {
      now = Math.min(time.length, now + Math.min(at - last, 200) * speed);
      last = at;
      const fold = time.within(now);
      if (fold) {
        now = fold.end;
        say(interpolate(gettext("Skipped %(time)s without a change."), { time: clock(fold.end - fold.start) }, true));
      }
      draw();
      showCaret();
      if (now >= time.length) play(false);
      else frame = requestAnimationFrame(turn);
    };
    frame = requestAnimationFrame(turn);
  }

  function setSpeed(value) {
    speed = value;
    all("speed").forEach((button) => {
      button.setAttribute("aria-pressed", String(Number(button.dataset.speed) === value));
    });
  }

  function jump(kind) {
    const found = jumps[kind].find(([at]) => at > now + NEAR_MS);
    if (!found) {
      say((jumps[kind].length ? NO_MORE : NONE)[kind]);
      return;
    }
    follows = true;
    goTo(found[0]);
    say(`${clock(found[0])}: ${found[1]}`);
    showCaret();
  }

  // One change of the text on or back.
  function step(direction) {
    const count = text.count(now) + direction;
    if (count <= 0) goTo(0);
    else if (count <= text.steps.length) goTo(text.steps[count - 1].time);
  }

  // Hands ----------------------------------------------------------------------------------------

  function onScrubKey(event) {
    const way = { ArrowRight: 1, ArrowUp: 1, PageUp: 1, ArrowLeft: -1, ArrowDown: -1, PageDown: -1 };
    const direction = way[event.key];
    if (!direction || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    if (event.shiftKey) step(direction);
    else {
      const by = event.key.startsWith("Page") ? PAGE_MS : ARROW_MS;
      goTo(time.real(Math.max(0, Math.min(time.total, time.folded(now) + direction * by))));
    }
  }

  function keysAreOn() {
    try {
      return localStorage.getItem(KEYS) !== "off";
    } catch {
      return true; // nothing can be stored here
    }
  }

  function onKey(event) {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || !keysAreOn()) return;
    if (target.closest("input:not([data-scrub]), textarea, select, [contenteditable]")) return;
    const kind = { p: "paste", b: "big", l: "pause" }[key.toLowerCase()];
    if (kind) jump(kind);
    else if (key === " " && !target.closest("button, a, summary")) play(!playing);
    else return;
    event.preventDefault();
  }

  function onClick(event) {
    const there = event.target.closest("[data-at]");
    const speeds = event.target.closest("[data-speed]");
    const jumper = event.target.closest("[data-jump]");
    if (event.target.closest("[data-play]")) play(!playing);
    else if (speeds) setSpeed(Number(speeds.dataset.speed));
    else if (jumper) jump(jumper.dataset.jump);
    else if (there && root.contains(there) && there !== root) {
      event.preventDefault();
      follows = true;
      goTo(Number(there.dataset.at));
      showCaret();
    }
  }

  function bind() {
    root.addEventListener("click", onClick);
    document.addEventListener("keydown", onKey);
    scrub.addEventListener("keydown", onScrubKey);
    scrub.addEventListener("input", () => goTo(time.real(Number(scrub.value)), { keep: false }));
    scrub.addEventListener("change", () => !playing && remember());
    for (const name of ["wheel", "touchmove"]) {
      addEventListener(name, () => (follows = false), { passive: true });
    }
    const single = one("single-keys");
    single.checked = keysAreOn();
    single.addEventListener("change", () => {
      try {
        localStorage.setItem(KEYS, single.checked ? "on" : "off");
      } catch {
        say(gettext("This browser keeps no settings; the keys stay on."));
      }
    });
  }

  function begin(data) {
    text = new Text(data.changes);
    time = new Time(data.length, data.folds);
    ({ jumps, first } = data);
    scrub.max = String(Math.round(time.total));
    pane.replaceChildren();
    bind();
    const asked = root.dataset.startAt;
    goTo(asked === "" ? time.length : Number(asked) * 1000, { keep: false });
    all("needs-data").forEach((button) => (button.disabled = false));
    root.dataset.ready = "";
  }

  async function load() {
    try {
      const answer = await fetch(root.dataset.source); // the page's head has asked for it already
      if (!answer.ok) throw new Error(interpolate(gettext("The server answered %(status)s."), { status: answer.status }, true));
      begin(await answer.json());
    } catch (error) {
      say(interpolate(gettext("The recorded changes could not be loaded. %(error)s Load the page again."), { error: error.message }, true));
      throw error;
    }
  }

  load();
}
