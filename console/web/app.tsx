// What the page shows: a gate for those outside, the rail and a page for those inside.

import type { Models } from "./models/models.ts";
import { Button } from "./parts/button.tsx";
import { FrameKeys } from "./parts/frame/frame_keys.tsx";
import { Late, type ModelsPart } from "./parts/late.tsx";
import { Note } from "./parts/note.tsx";
import { PageHost } from "./parts/frame/page_host.tsx";
import { Rail } from "./parts/frame/rail.tsx";
import { SessionEnd } from "./parts/frame/session_end.tsx";
import { Toasts } from "./parts/frame/toasts.tsx";
import { visitOf } from "./places.ts";
import { t } from "./i18n/translate.ts";

export function App({ models }: { models: Models }) {
  const { session, router } = models;
  const state = session.session.value;
  if (visitOf(router.path.value)?.place.needs === "anyone") {
    return (
      <>
        <PageHost models={models} />
        <SignInOver models={models} />
      </>
    );
  }
  if (state.kind === "failed") return <Unreached models={models} message={state.message} />;
  if (state.kind !== "ready") return null;
  if (state.value === null) return <Late load={loadSignIn} models={models} />;
  return (
    <>
      <div class="shell">
        <Rail models={models} />
        <PageHost models={models} />
      </div>
      <FrameKeys models={models} />
      <Toasts models={models} />
      <SignInOver models={models} />
      <SessionEnd models={models} />
    </>
  );
}

/** Also over a page for anyone: setting up a factor may take longer than the set-up's own is fresh. */
function SignInOver({ models }: { models: Models }) {
  const { interrupted, steppingUp } = models.session;
  if (!interrupted.value && !steppingUp.value) return null;
  return <Late load={loadSignInDialog} models={models} />;
}

const loadSignIn = async (): Promise<ModelsPart> => (await import("./pages/sign_in_page.tsx")).default;
const loadSignInDialog = async (): Promise<ModelsPart> =>
  (await import("./parts/access/sign_in_dialog.tsx")).SignInDialog;

function Unreached({ models, message }: { models: Models; message: string }) {
  return (
    <main class="gate">
      <div class="gate-panel">
        <h1 class="unseen">Countersign</h1>
        <Note tone="bad" role="alert">{message}</Note>
        <Button onClick={() => models.session.load()}>{t("frame.try_again")}</Button>
      </div>
    </main>
  );
}
