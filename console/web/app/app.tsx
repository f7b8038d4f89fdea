// The console: the sign-in page without a session, otherwise the sidebar, a page, and the shortcuts of every page.

import { effect, useComputed } from "@preact/signals";
import { Component, type ComponentChildren, type ComponentType } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { lazy } from "../components/lazy.tsx";
import { Alert } from "../components/alert.tsx";
import { t } from "../i18n/translate.ts";
import type { Models, Overlay, PageView } from "./app_context.ts";
import { Sidebar } from "./sidebar.tsx";
import { ToastRegion } from "./toasts.tsx";
import { HOME_PATH, matchRoute, openableRoutes, type RouteMatch, startPath } from "./routes.ts";
import { DENSITIES } from "./preferences.ts";
import { activeShortcuts, listenForShortcuts, type Shortcut, useShortcuts } from "./shortcuts.ts";
import { permissionHint } from "./session_model.ts";
import { readyValue } from "./resource.ts";
import { focusRowLink, restoreScroll } from "./router.ts";

const QuestionDialog = lazy(async () => (await import("../components/form_dialog.tsx")).QuestionDialog);
const SignInPage = lazy(async () => (await import("../pages/sign_in/sign_in_page.tsx")).default);
const RequiredFactorPage = lazy(async () =>
  (await import("../pages/sign_in/required_factor_page.tsx")).default
);
const SignInDialog = lazy(async () => (await import("../pages/sign_in/sign_in_page.tsx")).SignInDialog);

export function App({ models }: { models: Models }) {
  const { session, router } = models;
  const state = session.session.value;
  useStartPage(models);
  if (matchRoute(router.path.value)?.route.needs === "anyone") {
    return (
      <>
        <PageHost models={models} />
        <SignInOver models={models} />
      </>
    );
  }
  if (state.kind === "failed") return <Unreached models={models} message={state.message} />;
  if (state.kind !== "ready") return null;
  if (state.value === null) return <SignInPage models={models} />;
  if (state.value.mustSetUpFactor === true) {
    return (
      <>
        <RequiredFactorPage models={models} />
        <SignInOver models={models} />
      </>
    );
  }
  return (
    <>
      <div class="shell">
        <Sidebar models={models} />
        <PageHost models={models} />
      </div>
      {models.question.value !== null && <QuestionDialog models={models} />}
      <FrameKeys models={models} />
      <ToastRegion models={models} />
      <SignInOver models={models} />
      <SessionWarning models={models} />
    </>
  );
}

/** After a sign-in at the home page, the page of the role. A link to another page stays. */
function useStartPage({ session, router }: Models): void {
  const isSignedOut = useRef(false);
  const state = session.session.value;
  useEffect(() => {
    if (state.kind !== "ready") return;
    const isSignIn = isSignedOut.current && state.value !== null;
    isSignedOut.current = state.value === null;
    const path = startPath(state.value?.role);
    if (isSignIn && router.path.peek() === HOME_PATH && path !== HOME_PATH) router.go(path);
  }, [state]);
}

/** Also over a page that needs no role: the set-up of a factor can take longer than a factor counts as recent. */
function SignInOver({ models }: { models: Models }) {
  const { isInterrupted, isSteppingUp } = models.session;
  if (!isInterrupted.value && !isSteppingUp.value) return null;
  return <SignInDialog models={models} />;
}

function Unreached({ models, message }: { models: Models; message: string }) {
  return (
    <main class="auth">
      <div class="auth-panel">
        <h1 class="unseen">Countersign</h1>
        <Alert tone="bad" role="alert">{message}</Alert>
        <Button onClick={() => models.session.load()}>{t("common.try_again")}</Button>
      </div>
    </main>
  );
}

const WARNING_MS = 120_000;

function SessionWarning({ models }: { models: Models }) {
  const { session, clock } = models;
  // A boolean, so that the component does not render every second.
  const soon = useComputed(() => {
    const leftMs = (session.endsMs.value ?? Infinity) - clock.nowMs.value;
    return leftMs <= WARNING_MS && !session.isInterrupted.value;
  });
  if (!soon.value) return null;
  const stay = async () => {
    await session.extend();
    // Use does not extend the maximum lifetime of a session.
    if (soon.peek()) session.signInAgain();
  };
  return (
    <div class="session-end">
      <Alert tone="wait" role="status">
        {t("common.session_ends")} <Button small onClick={stay}>{t("common.stay_signed_in")}</Button>
      </Alert>
    </div>
  );
}

const OVERLAYS: Readonly<Record<Overlay, ComponentType<{ readonly models: Models }>>> = {
  palette: lazy(async () => (await import("./palette.tsx")).Palette),
  help: lazy(async () => (await import("./help_dialog.tsx")).HelpDialog),
  look: lazy(async () => (await import("./appearance.tsx")).AppearanceDialog),
};

function FrameKeys({ models }: { models: Models }) {
  const { overlay } = models;
  useShortcuts(frameRows(models), { isFrame: true });
  useEffect(() => listenForFrameKeys(document, models), []);
  // Shows which shortcuts are active: components add theirs a moment after the page is rendered.
  useEffect(() =>
    effect(() => {
      document.documentElement.dataset.keys = activeShortcuts().map(({ keys }) => keys).join("\n");
    }), []);
  const Open = overlay.value === null ? null : OVERLAYS[overlay.value];
  return Open === null ? null : <Open models={models} />;
}

/** As the input of the palette has. */
const MAX_PALETTE_TEXT = 100;

/** Runs the shortcuts and opens the palette with Ctrl+K. Returns a function that ends both. */
export function listenForFrameKeys(
  document: Document,
  { overlay, typedAhead, preferences, session }: Pick<
    Models,
    "overlay" | "typedAhead" | "preferences" | "session"
  >,
): () => void {
  const end = new AbortController();
  // Before the shortcuts, because these keys are text.
  document.addEventListener("keydown", (event) => {
    if (overlay.peek() !== "palette" || document.querySelector("dialog[open]") !== null) return;
    if (event.key === "Escape") overlay.value = null;
    if (event.ctrlKey || event.metaKey || event.altKey || event.key.length !== 1) return;
    event.preventDefault();
    typedAhead.value = (typedAhead.peek() + event.key).slice(0, MAX_PALETTE_TEXT);
  }, { signal: end.signal });
  listenForShortcuts(document, {
    may: session.hasRole,
    singleKeys: preferences.singleKeys,
    nowMs: () => performance.now(),
    signal: end.signal,
  });
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    if (event.key.toLowerCase() !== "k" || document.querySelector("dialog[open]") !== null) return;
    event.preventDefault();
    overlay.value = "palette";
  }, { signal: end.signal });
  return () => end.abort();
}

function frameRows({ overlay, preferences, router, toasts }: Models): Shortcut[] {
  const go = openableRoutes().flatMap(([, { key, pattern, title, needs }]): Shortcut[] =>
    key === undefined || needs === "anyone"
      ? []
      : [{ keys: `g ${key}`, label: title, needs, run: () => router.go(pattern) }]
  );
  const flipDensity = () => {
    const next = DENSITIES.find((one) => one !== preferences.density.value);
    if (next !== undefined) preferences.setDensity(next);
  };
  return [
    { keys: "?", label: "shell.key_help", run: () => overlay.value = "help" },
    { keys: "/", label: "shell.key_search", run: focusSearch },
    ...go,
    { keys: "z", label: "shell.key_undo", run: toasts.undoNewest },
    { keys: "t", label: "shell.key_theme", run: preferences.toggleTheme },
    { keys: ".", label: "shell.key_density", run: flipDensity },
    { keys: "Escape", label: "shell.key_back", run: goBack },
  ];
}

function focusSearch(): void {
  document.querySelector<HTMLElement>("main input[type=search]")?.focus();
}

/** Goes from an item back to its list. If a popover is open, the browser closes it instead. */
function goBack(): void {
  if (document.querySelector("[popover=auto]:popover-open") !== null) return;
  document.querySelector<HTMLElement>("main a.back")?.click();
}

// Renders the page of the address: loads its code, focuses its heading, restores the scroll position, and reports errors.

function PageHost({ models }: { models: Models }) {
  const path = models.router.path.value;
  const visit = matchRoute(path);
  useEffect(() => {
    // After a sign-in: the code of the page is not loaded before it.
    if (visit !== null && models.pages.find(visit.name).kind === "loading") void models.pages.prepare(path);
  }, [path]);
  if (visit === null) return <PageNotFound models={models} />;
  const { needs } = visit.route;
  const reason = needs === "anyone" ? undefined : permissionHint(models, needs);
  if (reason !== undefined) return <PageForbidden visit={visit} reason={reason} />;
  const loaded = models.pages.find(visit.name);
  if (loaded.kind === "loading") return <main class="page" aria-busy="true" tabIndex={-1} />;
  if (loaded.kind === "failed") return <PageFailed why="page_unloaded" />;
  return (
    <ErrorBoundary key={path}>
      <PageFrame models={models} visit={visit} page={loaded.page} />
    </ErrorBoundary>
  );
}

function PageFrame({ models, visit, page: Page }: { models: Models; visit: RouteMatch; page: PageView }) {
  const { visits, scrollTopPx, path, previousPath } = models.router;
  const title = t(visit.route.title);
  const arrived = useRef(-1);
  useLayoutEffect(() => {
    // The heading of the page is more specific, such as the name of a user. Children are rendered before this effect.
    const heading = document.querySelector("main h1")?.textContent ?? title;
    document.title = `${heading} · Countersign`;
  }, [title]);
  useLayoutEffect(() => {
    if (arrived.current === visits.value) return;
    arrived.current = visits.value;
    // The browser sets the focus of the first page, which begins at the top.
    if (visits.value === 0) return;
    document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true });
    restoreScroll(scrollTopPx.value);
    // After Back from the page of a row, the focus returns to the row.
    if (previousPath.value.startsWith(`${path.value}/`)) focusRowLink(previousPath.value);
  });
  return <Page models={models} params={visit.params} />;
}

function PageNotFound({ models }: { models: Models }) {
  return (
    <main class="page">
      <h1 tabIndex={-1}>{t("shell.page_missing")}</h1>
      <p>
        {t("shell.page_missing_next")}{" "}
        <a href={startPath(readyValue(models.session.session.value)?.role)}>{t("shell.to_home")}</a>
      </p>
    </main>
  );
}

function PageForbidden({ visit, reason }: { visit: RouteMatch; reason: string }) {
  return (
    <main class="page">
      <h1 tabIndex={-1}>{t(visit.route.title)}</h1>
      <Alert tone="idle">{reason}</Alert>
    </main>
  );
}

/** A page that could not be loaded, or failed. */
function PageFailed({ why }: { why: "page_unloaded" | "page_broken" }) {
  return (
    <main class="page">
      <Alert tone="bad" role="alert">
        <strong>{t(`shell.${why}`)}</strong> {t(`shell.${why}_next`)}{" "}
        <Button small onClick={() => location.reload()}>{t("shell.reload")}</Button>
      </Alert>
    </main>
  );
}

/** Shows the error of a page and keeps the sidebar. Navigation to another path renders the page again. */
class ErrorBoundary extends Component<{ children: ComponentChildren }, { broken: boolean }> {
  override state = { broken: false };

  static override getDerivedStateFromError() {
    return { broken: true };
  }

  override render() {
    return this.state.broken ? <PageFailed why="page_broken" /> : this.props.children;
  }
}
