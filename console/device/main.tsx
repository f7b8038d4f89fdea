// Starts the phone page.

import { render } from "preact";
import { createClockModel } from "../web/app/clock_model.ts";
import { loadCatalogue, restoreLanguage, t } from "../web/i18n/translate.ts";
import { PhoneApp } from "./app.tsx";
import { createPhoneApp } from "./phone_app.ts";

restoreLanguage();
const messages = loadCatalogue();
const clock = createClockModel();
const app = createPhoneApp(clock);
const fragment = new URLSearchParams(location.hash.slice(1));
const invitation = fragment.get("invite") ?? "";
const chosen = { opened: fragment.get("request") ?? "", denied: fragment.get("denied") ?? "" };
// The invitation works once, so it is removed from the address bar and the history.
if (location.hash !== "") history.replaceState(null, "", location.pathname);
setInterval(clock.tick, 1000);
try {
  await messages;
} catch (_offline) {
  // Without messages, the page shows their keys: the user can still answer a request.
}
document.title = t("device.title");
const root = document.getElementById("app");
if (root !== null) render(<PhoneApp app={app} clock={clock} invitation={invitation} />, root);
app.start(chosen);
