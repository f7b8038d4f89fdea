// Renders the page of the address: loads its code, focuses its heading, restores the scroll position, and reports errors.

import { Component, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { permissionHint } from "./session_model.ts";
import type { Models, PageView } from "./app_context.ts";
import { readyValue } from "./resource.ts";
import { matchRoute, type RouteMatch, startPath } from "./routes.ts";
import { focusRowLink, restoreScroll } from "./router.ts";
import { t } from "../i18n/translate.ts";
import { Button } from "../components/button.tsx";
import { Alert } from "../components/alert.tsx";

export function PageHost({ models }: { models: Models }) {
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
