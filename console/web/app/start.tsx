// Starts the console in the browser.

import { render } from "preact";
import { App } from "./app.tsx";
import { loadCatalogue, restoreLanguage } from "../i18n/translate.ts";
import { createModels } from "./app_context.ts";
import { PAGE_IMPORTS } from "./page_imports.ts";

restoreLanguage();
const models = createModels(window, { imports: PAGE_IMPORTS });
const root = document.getElementById("app");
// Messages, page, and session load at the same time. Without messages, the console shows their keys.
const messages = loadCatalogue().catch(() => undefined);
// The server marks requests without a session: those need the sign-in page instead of the page of the address.
if (root?.dataset.signedOut === undefined) void models.pages.prepare(location.pathname);
// `load` keeps its failures in the session's state.
void models.session.load(messages);
void messages.then(() => root === null ? undefined : render(<App models={models} />, root));
// After the first page: no focus is lost before. Without this file, the console works, too.
void import("./focus_keeper.ts").then(({ keepFocus }) => keepFocus(document), () => undefined);
