// Starts the console in the browser.

import { render } from "preact";
import "./core.ts";
import { App } from "./app.tsx";
import { createModels } from "./models/models.ts";
import { ROUTES } from "./routes.ts";
import { loadWords, restoreLanguage } from "./words/translate.ts";
import type { Area } from "./words/words.ts";

restoreLanguage();
const models = createModels(window, { routes: ROUTES });
const root = document.getElementById("app");
// The server says which words come first: of the page, or of signing in. Words, page and session are asked for at once.
const areas = (root?.dataset.areas ?? "frame").split(" ").filter((name) => name !== "") as Area[];
const nothing = () => undefined;
// Without them keys are drawn instead of words: better than nothing at all.
const words = Promise.resolve(loadWords(areas.length === 0 ? ["frame"] : areas)).then(nothing, nothing);
if (areas.join(" ") !== "frame access") void models.pages.prepare(location.pathname);
// `load` keeps its failures in the session's state.
void models.session.load(words);
void words.then(() => root === null ? undefined : render(<App models={models} />, root));
