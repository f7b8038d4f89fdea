// A one-time link to a person's own page: made by a press, shown once.

import { useSignal } from "@preact/signals";
import { failureText } from "../../api_client.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../words/translate.ts";
import { Dialog } from "../dialog.tsx";
import { Note } from "../note.tsx";
import { SecretOnce } from "../secret_once.tsx";
import { Time } from "../time.tsx";

export function MeLinkDialog({ models, user, calls, onClose }: UserPart & { readonly onClose: () => void }) {
  const made = useSignal<{ readonly url: string; readonly deadlineMs: number } | null>(null);
  const problem = useSignal<string | null>(null);
  const busy = useSignal(false);
  const make = async () => {
    busy.value = true;
    problem.value = null;
    try {
      made.value = await calls.makeMeLink();
    } catch (fault) {
      problem.value = failureText(fault);
    }
    busy.value = false;
  };
  return (
    <Dialog
      title={t("people.me_link_title", { name: user.name })}
      onClose={onClose}
      footer={made.value !== null ? undefined : (
        <>
          <button type="button" class="button" onClick={onClose}>{t("frame.cancel")}</button>
          <button
            type="button"
            class="button button-primary"
            disabled={busy.value}
            onClick={() => void make()}
          >
            {busy.value ? t("frame.working") : t("people.me_link_make")}
          </button>
        </>
      )}
    >
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      {made.value === null
        ? <p>{t("people.me_link_what", { name: user.name })}</p>
        : (
          <SecretOnce label={t("people.me_link_label")} secret={made.value.url} onDone={onClose}>
            <p class="quiet small">
              {t("people.good_until")} <Time models={models} atMs={made.value.deadlineMs} absolute />
            </p>
          </SecretOnce>
        )}
    </Dialog>
  );
}
