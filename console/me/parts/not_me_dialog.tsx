// Asks before a login is disowned, and says exactly what that does.

import { useSignal } from "@preact/signals";
import { Dialog } from "../../web/parts/dialog.tsx";
import { Note } from "../../web/parts/note.tsx";
import { Time } from "../../web/parts/time.tsx";
import { t } from "../../web/i18n/translate.ts";
import { isOpen, loginWords, type OwnLogin } from "../login_looks.ts";
import { LoginPlace } from "./login_place.tsx";
import type { PartProps } from "./part_props.ts";

/** Which login; `null` for none in particular. */
export interface Doubt {
  readonly login: OwnLogin | null;
}

export function NotMeDialog(
  { models, account, doubt: { login }, onClose }: PartProps & { doubt: Doubt; onClose: () => void },
) {
  const problem = useSignal<string | null>(null);
  const busy = useSignal(false);
  const confirm = async () => {
    busy.value = true;
    problem.value = await account.notMe(login?.conversationId ?? null);
    busy.value = false;
    if (problem.value === null) onClose();
  };
  return (
    <Dialog
      title={t(login === null ? "me.not_me_any_title" : "me.not_me_title")}
      onClose={onClose}
      footer={
        <>
          <button type="button" class="button" autofocus onClick={onClose}>
            {t(login === null ? "me.not_me_any_keep" : "me.not_me_keep")}
          </button>
          <button
            type="button"
            class="button button-bad"
            disabled={busy.value}
            onClick={() => void confirm()}
          >
            {busy.value ? t("frame.working") : t(login === null ? "me.not_me_any_do" : "me.not_me_do")}
          </button>
        </>
      }
    >
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      {login !== null && (
        <p class="me-which">
          <strong>{loginWords(login).label}</strong> <LoginPlace login={login} />
          {", "}
          <Time models={models} atMs={login.startedMs} />
        </p>
      )}
      <ul class="me-effects">
        <li>{t(endsWord(login))}</li>
        <li>{t("me.not_me_locks")}</li>
        <li>{t("me.not_me_sessions")}</li>
        <li>{t("me.not_me_tells")}</li>
      </ul>
    </Dialog>
  );
}

/** A login that is over cannot be ended; those that wait can. */
function endsWord(login: OwnLogin | null): "me.not_me_any_ends" | "me.not_me_ends" | "me.not_me_past" {
  if (login === null) return "me.not_me_any_ends";
  return isOpen(login) ? "me.not_me_ends" : "me.not_me_past";
}
