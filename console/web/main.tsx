// Starts the console in the browser.

import { render } from "preact";
import { App } from "./app.tsx";
import { createModels } from "./models/models.ts";
import { loadWords, restoreLanguage } from "./words/translate.ts";

restoreLanguage();
const models = createModels(window);
// The frame's words, the page's files and the session are asked for at once.
const words = loadWords(["frame"]);
void models.pages.prepare(location.pathname);
// `load` keeps its failures in the session's state.
void models.session.load();
try {
  await words;
} catch (_notToBeHad) {
  // Keys are drawn instead of words: better than nothing at all.
}
const root = document.getElementById("app");
if (root !== null) render(<App models={models} />, root);
