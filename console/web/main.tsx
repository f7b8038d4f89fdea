// Starts the console in the browser.

import { render } from "preact";
import { App } from "./app.tsx";
import { createModels } from "./models/models.ts";
import { restoreTheme } from "./theme.ts";

restoreTheme();
const models = createModels(window);
const root = document.getElementById("app");
if (root !== null) render(<App models={models} />, root);
// `load` keeps its failures in the session's state.
void models.session.load();
