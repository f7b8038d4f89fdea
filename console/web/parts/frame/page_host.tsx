// Draws the page of the address: waits for its files, moves the focus to its heading, puts the scroll back, and says so
// when it breaks.

import { Component, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { whyNot } from "../../access_words.ts";
import type { Models } from "../../models/models.ts";
import { type Visit, visitOf } from "../../places.ts";
import type { PageView } from "../../page_loader.ts";
import { focusRowOf } from "../../row_focus.ts";
import { scrollBackTo } from "../../scroll_back.ts";
import { t } from "../../i18n/translate.ts";
import { Button } from "../button.tsx";
import { Note } from "../note.tsx";

export function PageHost({ models }: { models: Models }) {
  const path = models.router.path.value;
  const visit = visitOf(path);
  useEffect(() => {
    // After a sign-in: before it nothing of the page was asked for.
    if (visit !== null && models.pages.pageOf(visit.name).kind === "loading") void models.pages.prepare(path);
  }, [path]);
  if (visit === null) return <Missing />;
  const { needs } = visit.place;
  const reason = needs === "anyone" ? undefined : whyNot(models, needs);
  if (reason !== undefined) return <Unavailable visit={visit} reason={reason} />;
  const loaded = models.pages.pageOf(visit.name);
  if (loaded.kind === "loading") return <main class="page" aria-busy="true" />;
  if (loaded.kind === "failed") return <Gone why="page_unloaded" />;
  return (
    <Boundary key={path}>
      <Arrived models={models} visit={visit} page={loaded.page} />
    </Boundary>
  );
}

function Arrived({ models, visit, page: Page }: { models: Models; visit: Visit; page: PageView }) {
  const { visits, topPx, path, leftPath } = models.router;
  const title = t(visit.place.title);
  const arrived = useRef(-1);
  useLayoutEffect(() => {
    // A page's own heading says more, such as whose page it is; children have drawn theirs before.
    const heading = document.querySelector("main h1")?.textContent ?? title;
    document.title = `${heading} · Countersign`;
  }, [title]);
  useLayoutEffect(() => {
    if (arrived.current === visits.value) return;
    arrived.current = visits.value;
    // The page that the browser opened keeps the browser's own start of the focus.
    if (visits.value > 0) document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true });
    scrollBackTo(topPx.value);
    // Back from one row's page: the row has the focus, so that the next one is a key away.
    if (leftPath.value.startsWith(`${path.value}/`)) focusRowOf(leftPath.value);
  });
  return <Page models={models} params={visit.params} />;
}

function Missing() {
  return (
    <main class="page">
      <h1 tabIndex={-1}>{t("frame.page_missing")}</h1>
      <p>
        {t("frame.page_missing_next")} <a href="/live">{t("frame.to_live")}</a>
      </p>
    </main>
  );
}

function Unavailable({ visit, reason }: { visit: Visit; reason: string }) {
  return (
    <main class="page">
      <h1 tabIndex={-1}>{t(visit.place.title)}</h1>
      <Note tone="idle">{reason}</Note>
    </main>
  );
}

/** A page that is not to be had, or broke. */
function Gone({ why }: { why: "page_unloaded" | "page_broken" }) {
  return (
    <main class="page">
      <Note tone="bad" role="alert">
        <strong>{t(`frame.${why}`)}</strong> {t(`frame.${why}_next`)}{" "}
        <Button small onClick={() => location.reload()}>{t("frame.reload")}</Button>
      </Note>
    </main>
  );
}

/** A page that broke says so and leaves the rail; another path starts afresh. */
class Boundary extends Component<{ children: ComponentChildren }, { broken: boolean }> {
  override state = { broken: false };

  static override getDerivedStateFromError() {
    return { broken: true };
  }

  override render() {
    return this.state.broken ? <Gone why="page_broken" /> : this.props.children;
  }
}
