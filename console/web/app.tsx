// What the page shows: a gate for those outside, the rail and a page for those inside.

import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import type { Models } from "./models/models.ts";
import { Note } from "./parts/note.tsx";
import { PageHost } from "./parts/page_host.tsx";
import { Rail } from "./parts/rail.tsx";
import { Toasts } from "./parts/toasts.tsx";
import { visitOf } from "./places.ts";
import { loadWords, t } from "./words/translate.ts";

export function App({ models }: { models: Models }) {
  const { session, router } = models;
  const state = session.session.value;
  if (visitOf(router.path.value)?.place.needs === "anyone") return <PageHost models={models} />;
  if (state.kind === "failed") return <Unreached models={models} message={state.message} />;
  if (state.kind !== "ready") return null;
  if (state.value === null) return <Late load={loadSignIn} models={models} />;
  return (
    <>
      <div class="shell">
        <Rail models={models} />
        <PageHost models={models} />
      </div>
      <Toasts model={models.toasts} />
      {session.interrupted.value && <Late load={loadSignInDialog} models={models} />}
    </>
  );
}

type ModelsPart = ComponentType<{ readonly models: Models }>;
const loadSignIn = async (): Promise<ModelsPart> => (await import("./pages/sign_in_page.tsx")).default;
const loadSignInDialog = async (): Promise<ModelsPart> =>
  (await import("./parts/sign_in_dialog.tsx")).SignInDialog;

function Unreached({ models, message }: { models: Models; message: string }) {
  return (
    <main class="gate">
      <div class="gate-panel">
        <Note tone="bad" role="alert">{message}</Note>
        <button type="button" class="button" onClick={() => void models.session.load()}>
          {t("frame.try_again")}
        </button>
      </div>
    </main>
  );
}

/** A part that is fetched when it is needed, with the words of signing in; nothing is shown until it is here. */
function Late({ load, models }: { load: () => Promise<ModelsPart>; models: Models }) {
  const part = useSignal<{ readonly Part: ModelsPart } | "failed" | null>(null);
  useEffect(() => {
    Promise.all([load(), loadWords(["access"])])
      .then(([Part]) => part.value = { Part }, () => part.value = "failed");
  }, [load]);
  if (part.value === "failed") return <Note tone="bad" role="alert">{t("frame.page_unloaded")}</Note>;
  if (part.value === null) return null;
  const { Part } = part.value;
  return <Part models={models} />;
}
