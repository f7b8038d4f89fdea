// Starts the phone page.

import { render } from "preact";
import { createClockModel, runLater } from "../web/app/clock_model.ts";
import { loadCatalogue, restoreLanguage, t } from "../web/i18n/translate.ts";
import { PhoneApp } from "./app.tsx";
import { PhoneModel } from "./phone_model.ts";

restoreLanguage();
const messages = loadCatalogue();
const clock = createClockModel();
const model = new PhoneModel({
  clock,
  fetch: (...call) => fetch(...call),
  openStream: () => new EventSource("/device/api/stream"),
  localNowMs: Date.now,
  later: runLater,
});
const invitation = new URLSearchParams(location.hash.slice(1)).get("invite") ?? "";
// The invitation works once, so it is removed from the address bar and the history.
if (invitation !== "") history.replaceState(null, "", location.pathname);
setInterval(clock.tick, 1000);
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") model.wake();
});
try {
  await messages;
} catch (_offline) {
  // Without messages, the page shows their keys: the user can still answer a request.
}
document.title = t("device.title");
const root = document.getElementById("app");
if (root !== null) render(<PhoneApp model={model} clock={clock} invitation={invitation} />, root);
// `load` stores its failures in the model.
void model.load();
