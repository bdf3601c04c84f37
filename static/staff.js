// What all other pages run: those of requesters and managers, signing in, and public ones.
import "./vendor/htmx/htmx.min.js";
import "./js/app.js";
import "./js/charts.js";
import "./js/audit.js";
import "./js/drop.js";
import "./js/label/preview.js";
import "./js/label/media.js";
import "./js/passkeys.js";
import "./js/payouts.js";
import "./js/resume.js";
import "./js/steps.js";
import { startBuilder } from "./js/builder.js";
import { startReplay } from "./js/replay/replay.js";

const replay = document.querySelector("[data-replay]");
if (replay) startReplay(replay);
if (document.getElementById("builder")) startBuilder();
