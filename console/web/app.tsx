// What the page shows: a gate for those outside, the rail and a page for those inside.

import { Component, type ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Models } from "./models/models.ts";
import { LivePage } from "./pages/live_page.tsx";
import { SetUpPage, SignInPage } from "./pages/gate_pages.tsx";
import { Note } from "./parts/note.tsx";
import { Rail } from "./parts/rail.tsx";
import { SignInDialog } from "./parts/sign_in_dialog.tsx";

export function App({ models }: { models: Models }) {
  const { session, router } = models;
  const state = session.session.value;
  const path = router.path.value;
  if (path === "/setup") return <SetUpPage models={models} />;
  if (state.kind === "failed") {
    return (
      <main class="gate">
        <div class="gate-panel">
          <Note tone="bad" role="alert">{state.message}</Note>
          <button type="button" class="button" onClick={() => void session.load()}>Try again</button>
        </div>
      </main>
    );
  }
  if (state.kind !== "ready") return null;
  if (state.value === null) return <SignInPage models={models} />;
  return (
    <>
      <div class="shell">
        <Rail models={models} />
        <Boundary key={path}>
          <Home models={models} />
        </Boundary>
      </div>
      <SignInDialog model={session} />
    </>
  );
}

function Home({ models }: { models: Models }) {
  const path = models.router.path.value;
  useEffect(() => {
    if (path === "/") history.replaceState(null, "", `/live${location.search}`);
    document.title = "Live · Countersign";
  }, [path]);
  return <LivePage models={models} />;
}

/** A page that broke says so and leaves the rail; another path starts afresh. */
class Boundary extends Component<{ children: ComponentChildren }, { broken: boolean }> {
  override state = { broken: false };

  static override getDerivedStateFromError() {
    return { broken: true };
  }

  override render() {
    if (!this.state.broken) return this.props.children;
    return (
      <main class="page">
        <Note tone="bad" role="alert">
          <strong>This page could not be drawn.</strong> The gateway itself goes on. Reload the page.
        </Note>
      </main>
    );
  }
}
