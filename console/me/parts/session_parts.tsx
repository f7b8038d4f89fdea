// The session's end: said two minutes before; afterwards a dialog over the page, so that nothing typed is lost.

import { useComputed, useSignal } from "@preact/signals";
import { Dialog } from "../../web/parts/dialog.tsx";
import { Note } from "../../web/parts/note.tsx";
import { Symbol } from "../../web/parts/symbol.tsx";
import { t } from "../../web/i18n/translate.ts";
import type { MeInfo } from "../../api/account/account_types.ts";
import type { MeModels } from "../me_models.ts";
import { LinkForm } from "./link_form.tsx";

const ANNOUNCED_MS = 120_000;

interface SessionProps {
  readonly models: MeModels;
  readonly me: MeInfo;
}

export function SessionEnding({ models }: Pick<SessionProps, "models">) {
  const { session, clock } = models;
  const isLast = useSignal(false);
  // A yes or no alone, so that nothing is drawn each second.
  const soon = useComputed(() => {
    const state = session.state.value;
    const end = state.kind === "ready" ? state.value.me?.endsMs ?? Infinity : Infinity;
    return end - clock.nowMs.value <= ANNOUNCED_MS && !session.interrupted.value;
  });
  if (!soon.value) return null;
  const stay = async () => {
    isLast.value = !await session.stay();
  };
  return (
    <div class="me-ending">
      <Note tone="wait" role="status">
        <span>{t("me.ends_soon")} {isLast.value && t("me.ends_at_last")}</span>
        {!isLast.value && (
          <button type="button" class="button" onClick={() => void stay()}>{t("me.stay")}</button>
        )}
      </Note>
    </div>
  );
}

export function SignInAgain({ models, me }: SessionProps) {
  const { session } = models;
  const problem = useSignal<string | null>(null);
  const busy = useSignal(false);
  const state = session.state.value;
  const isPhone = state.kind === "ready" && state.value.phoneUsers.includes(me.userName);
  const again = async () => {
    busy.value = true;
    problem.value = await session.openPhone(me.userName);
    busy.value = false;
  };
  return (
    <Dialog
      title={t("me.again_title")}
      onClose={session.giveUp}
      footer={<button type="button" class="button" onClick={session.giveUp}>{t("me.again_leave")}</button>}
    >
      <p>{t("me.again_why")}</p>
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      {isPhone && (
        <button
          type="button"
          class="button button-primary me-wide"
          autofocus
          disabled={busy.value}
          onClick={() => void again()}
        >
          <Symbol name="smartphone" />
          <span class="cut">{t("me.door_continue", { user: me.userName })}</span>
        </button>
      )}
      <p class="quiet">{t("me.again_link")}</p>
      <LinkForm onLink={session.openLink} />
    </Dialog>
  );
}
