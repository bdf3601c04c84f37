// What this browser keeps, or this page where the browser keeps nothing.
const memory = new Map();
const KEYS = "crowdqc:single-keys"; // "off" where keys without Ctrl or Alt shall do nothing

export const store = {
  get(key) {
    try {
      return localStorage.getItem(key) ?? memory.get(key) ?? null;
    } catch {
      return memory.get(key) ?? null;
    }
  },
  set(key, value) {
    try {
      localStorage.setItem(key, value);
      memory.delete(key);
    } catch {
      memory.set(key, value);
    }
  },
  remove(key) {
    memory.delete(key);
    try {
      localStorage.removeItem(key);
    } catch {
      // nothing is stored then
    }
  },
  keys(prefix) {
    let stored = [];
    try {
      stored = Object.keys(localStorage);
    } catch {
      // only memory is left
    }
    return [...new Set([...stored, ...memory.keys()])].filter((key) => key.startsWith(prefix));
  },
};

export const hasSingleKeys = () => store.get(KEYS) !== "off";
export const setSingleKeys = (on) => store.set(KEYS, on ? "on" : "off");

export function uuid() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5");
}
