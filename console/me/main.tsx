// Starts the account page.

import { render } from "preact";
import { loadCatalogue, restoreLanguage } from "../web/i18n/translate.ts";
import { MeApp } from "./app.tsx";
import { createMeModels } from "./me_models.ts";

restoreLanguage();
const messages = loadCatalogue();
const models = createMeModels(window);
// `load` keeps its failures in the session's state.
void models.session.load();
try {
  await messages;
} catch (_notToBeHad) {
  // Without messages, the page shows their keys.
}
const root = document.getElementById("app");
if (root !== null) render(<MeApp models={models} />, root);
