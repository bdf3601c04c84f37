// What workers wrote and what the log holds goes to the server, from any of their pages.
import { drafts, startDrafts } from "./drafts.js";
import { log, startLog } from "./eventlog.js";

startDrafts();
startLog();
window.crowdqc = { drafts, log }; // for tests, which wait until all is sent
