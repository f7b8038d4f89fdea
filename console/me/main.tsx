// Starts the account page.

import { render } from "preact";
import { loadWords, restoreLanguage } from "../web/words/translate.ts";
import { MeApp } from "./app.tsx";
import { createMeModels } from "./me_models.ts";

restoreLanguage();
const words = loadWords(["frame", "me"]);
const models = createMeModels(window);
// `load` keeps its failures in the session's state.
void models.session.load();
try {
  await words;
} catch (_notToBeHad) {
  // Keys are drawn instead of words: better than nothing at all.
}
const root = document.getElementById("app");
if (root !== null) render(<MeApp models={models} />, root);
