// Starts the phone page.

import { render } from "preact";
import { createClockModel } from "../web/models/clock_model.ts";
import { PhoneApp } from "./app.tsx";
import { createPhoneModel } from "./phone_model.ts";

const clock = createClockModel();
const model = createPhoneModel(clock);
const invitation = new URLSearchParams(location.hash.slice(1)).get("invite") ?? "";
// The invitation works once; it need not stay in the address bar and the history.
if (invitation !== "") history.replaceState(null, "", location.pathname);
setInterval(clock.tick, 1000);
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") model.wake();
});
const root = document.getElementById("app");
if (root !== null) render(<PhoneApp model={model} clock={clock} invitation={invitation} />, root);
// `load` keeps its failures in the model's state.
void model.load();
