// The account page: the door for those outside, the account for who is inside, and what lies over both.

import { useEffect } from "preact/hooks";
import { Mark } from "../web/parts/frame/mark.tsx";
import { Skeleton } from "../web/parts/states.tsx";
import { Toasts } from "../web/parts/frame/toasts.tsx";
import { language, t } from "../web/i18n/translate.ts";
import type { MeModels } from "./me_models.ts";
import { AccountView } from "./parts/account_view.tsx";
import { Door, Unreached } from "./parts/door.tsx";
import { Foot } from "./parts/foot.tsx";
import { SessionEnding, SignInAgain } from "./parts/session_parts.tsx";
import { SignOut } from "./parts/sign_out.tsx";

export function MeApp({ models }: { models: MeModels }) {
  const { session } = models;
  const state = session.state.value;
  const me = state.kind === "ready" ? state.value.me : null;
  const isInside = me !== null && session.link.value === "";
  const spoken = language.value;
  useEffect(() => {
    document.title = `${t("me.title")} · Countersign`;
  }, [spoken]);
  return (
    <div class="me">
      <header class="me-head">
        <span class="wordmark">
          <Mark />
          Countersign
        </span>
        {isInside && <SignOut models={models} />}
      </header>
      <main class={isInside ? "me-main" : "me-main me-outside"}>
        {state.kind === "loading" && <Skeleton rows={4} />}
        {state.kind === "failed" && <Unreached models={models} message={state.message} />}
        {state.kind === "ready" && (
          isInside
            ? <AccountView key={me.userName} models={models} me={me} />
            : <Door models={models} answer={state.value} />
        )}
      </main>
      <Foot models={models} showsPhonePage={state.kind === "ready" && state.value.phoneUsers.length > 0} />
      {isInside && <SessionEnding models={models} />}
      {isInside && session.interrupted.value && <SignInAgain models={models} me={me} />}
      <Toasts models={models} />
    </div>
  );
}
