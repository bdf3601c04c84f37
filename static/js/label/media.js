// An item's image is zoomed, moved and brightened, its recording played: by key, button, wheel or
// two fingers. What was done is told to the log once it has come to rest.
import { log } from "../eventlog.js";
import { hasSingleKeys } from "../storage.js";

const STEP = 1.5;
const MOST = 8; // times the size at which the image fits
const LIGHTS = [1, 1.5, 2, 0.6];
const REST_MS = 400;
const SKIP = 5; // seconds
const media = () => document.querySelector("[data-media]");
const frameOf = (figure) => figure?.querySelector("[data-zoom-frame]");
const player = () => media()?.querySelector("audio");
const target = () => document.querySelector("#work")?.dataset.target ?? "page";
let resting = 0;

// Zoom ----------------------------------------------------------------------------------------

const sizeOf = (frame) => Number(frame.dataset.size ?? 1);

// The point at (x, y) of the frame stays where it is.
function zoom(frame, wanted, x = frame.clientWidth / 2, y = frame.clientHeight / 2) {
  const size = Math.min(MOST, Math.max(1, wanted));
  const image = frame.querySelector("img");
  const grown = size / sizeOf(frame);
  const [left, top] = [(frame.scrollLeft + x) * grown - x, (frame.scrollTop + y) * grown - y];
  if (size === 1) {
    frame.style.height = "";
    image.style.width = image.style.maxHeight = "";
  } else {
    if (!frame.style.height) frame.style.height = `${frame.clientHeight}px`;
    frame.dataset.fit ??= String(image.clientWidth);
    image.style.maxHeight = "none";
    image.style.width = `${Number(frame.dataset.fit) * size}px`;
  }
  if (size === 1) delete frame.dataset.fit;
  frame.dataset.size = String(size);
  frame.scrollTo(left, top);
  const percent = String(Math.round(size * 100));
  frame.closest("[data-media]").querySelector("[data-zoom-said]").textContent = size === 1 ? "" : `${percent}%`;
  clearTimeout(resting);
  resting = setTimeout(() => log.add("zoom", { target: target(), comment: percent }), REST_MS);
}

function zoomBy(name) {
  const frame = frameOf(media());
  if (!frame) return false;
  const now = sizeOf(frame);
  zoom(frame, { in: now * STEP, out: now / STEP, fit: 1, toggle: now > 1 ? 1 : 2 }[name]);
  return true;
}

function brighten() {
  const frame = frameOf(media());
  if (!frame) return false;
  const next = (Number(frame.dataset.light ?? 0) + 1) % LIGHTS.length;
  frame.dataset.light = String(next);
  frame.querySelector("img").style.filter = next ? `brightness(${LIGHTS[next]})` : "";
  media().querySelector("[data-brightness]").setAttribute("aria-pressed", String(next > 0));
  return true;
}

document.addEventListener("click", ({ target: at }) => {
  const button = at.closest("[data-zoom]");
  if (button) zoomBy(button.dataset.zoom);
  else if (at.closest("[data-brightness]")) brighten();
});
document.addEventListener("wheel", (event) => {
  const frame = event.target.closest?.("[data-zoom-frame]");
  if (!frame || !(event.ctrlKey || event.metaKey)) return; // the plain wheel scrolls the page
  event.preventDefault();
  const { left, top } = frame.getBoundingClientRect();
  zoom(frame, sizeOf(frame) * Math.exp(-event.deltaY / 200), event.clientX - left, event.clientY - top);
}, { passive: false });

let pinch = null; // {apart, size} when two fingers came down
const apart = ([a, b]) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
document.addEventListener("touchstart", ({ touches, target: at }) => {
  const frame = at.closest?.("[data-zoom-frame]");
  pinch = frame && touches.length === 2 ? { apart: apart(touches), size: sizeOf(frame), frame } : null;
}, { passive: true });
document.addEventListener("touchmove", (event) => {
  if (!pinch || event.touches.length !== 2) return;
  event.preventDefault();
  const { left, top } = pinch.frame.getBoundingClientRect();
  const [a, b] = event.touches;
  const [x, y] = [(a.clientX + b.clientX) / 2 - left, (a.clientY + b.clientY) / 2 - top];
  zoom(pinch.frame, (pinch.size * apart(event.touches)) / pinch.apart, x, y);
}, { passive: false });
document.addEventListener("touchend", () => (pinch = null), { passive: true });

// Sound ---------------------------------------------------------------------------------------

for (const name of ["play", "pause", "ended"]) {
  document.addEventListener(name, ({ target: at }) => {
    if (!at.matches?.("[data-media] audio")) return;
    log.add("play", { target: target(), name, comment: String(Math.round(at.currentTime * 1000)) });
  }, { capture: true });
}
document.addEventListener("change", ({ target: at }) => {
  if (at.matches("[data-speed]") && player()) player().playbackRate = Number(at.value);
});

function play(key) {
  const sound = player();
  if (!sound) return false;
  if (key === "p") {
    if (sound.paused) sound.play();
    else sound.pause();
  } else sound.currentTime = Math.max(0, sound.currentTime + (key === "j" ? -SKIP : SKIP));
  return true;
}

// Keys ----------------------------------------------------------------------------------------

const ZOOMS = { z: "toggle", "+": "in", "=": "in", "-": "out" };
document.addEventListener("keydown", (event) => {
  if (!media() || event.defaultPrevented || event.isComposing) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("textarea, input[type=text], select, audio")) return;
  if (!hasSingleKeys()) return;
  const key = event.key.toLowerCase();
  const done = key in ZOOMS ? zoomBy(ZOOMS[key])
    : key === "b" ? brighten() : "pjl".includes(key) && play(key);
  if (done) event.preventDefault();
});

document.addEventListener("error", ({ target: at }) => {
  at.closest?.("[data-media]")?.querySelector("[data-media-failed]")?.removeAttribute("hidden");
}, { capture: true });
