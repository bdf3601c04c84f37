// What a worker's pages run, in this order: of two listeners the earlier one comes first.
import "./js/app.js";
import "./js/sending.js";
import "./js/rate.js";
import "./js/judge.js";
import "./js/label/label.js";
import "./js/label/media.js";
import "./js/label/chat.js";
import "./js/steps.js";
import { startAnswering } from "./js/answer.js";

if (document.querySelector("#work[data-assignment]")) startAnswering();
