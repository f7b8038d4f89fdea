// What one does to a user as a whole: let in or shut out, set a password, try a login, delete.

import { useSignal } from "@preact/signals";
import type { UserRecord } from "../../../api/user_shapes.ts";
import { whyNot } from "../../access_words.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../words/translate.ts";
import { Symbol } from "../symbol.tsx";
import { late } from "../late.tsx";

const DeleteUserDialog = late(async () => (await import("./delete_user_dialog.tsx")).DeleteUserDialog);
const PasswordDialog = late(async () => (await import("./password_dialog.tsx")).PasswordDialog);
const TrialDialog = late(async () => (await import("./trial_dialog.tsx")).TrialDialog);

type Opened = "trial" | "password" | "delete" | null;

export function UserActions(part: UserPart) {
  const { models, user } = part;
  const opened = useSignal<Opened>(null);
  const reason = whyNot(models, "user_manager");
  const close = () => opened.value = null;
  return (
    <>
      {user.login !== null && (
        <button type="button" class="button" onClick={() => opened.value = "trial"}>
          <Symbol name="play" />
          {t("people.try_login")}
        </button>
      )}
      {user.record !== null && (
        <>
          <button
            type="button"
            class="button"
            disabled={reason !== undefined}
            title={reason}
            onClick={() => opened.value = "password"}
          >
            <Symbol name="lock" />
            {t("people.set_password")}
          </button>
          <ActiveButton {...part} record={user.record} />
          <button
            type="button"
            class="button button-bad"
            disabled={reason !== undefined}
            title={reason}
            onClick={() => opened.value = "delete"}
          >
            <Symbol name="trash-2" />
            {t("people.delete")}
          </button>
        </>
      )}
      {opened.value === "trial" && user.login !== null && (
        <TrialDialog {...part} login={user.login} onClose={close} />
      )}
      {opened.value === "password" && <PasswordDialog {...part} onClose={close} />}
      {opened.value === "delete" && user.record !== null && (
        <DeleteUserDialog {...part} record={user.record} onClose={close} />
      )}
    </>
  );
}

/** Reversible, so it is done at once and can be taken back for a while. */
function ActiveButton({ models, user, calls, page, record }: UserPart & { record: UserRecord }) {
  const busy = useSignal(false);
  const reason = whyNot(models, "user_manager");
  const set = async (active: boolean) => {
    busy.value = true;
    try {
      const { user: changed, receipt } = await calls.setActive(active);
      if (changed !== null) page.put(changed);
      const text = t(active ? "people.activated" : "people.deactivated", { name: user.name });
      page.said(text, receipt);
      models.toasts.say(text, { undo: () => set(!active) });
    } catch (fault) {
      page.failed(t("people.active_unchanged"), fault);
    }
    busy.value = false;
  };
  return (
    <button
      type="button"
      class="button"
      disabled={reason !== undefined || busy.value}
      title={reason}
      onClick={() => void set(!record.active)}
    >
      {busy.value ? t("frame.working") : t(record.active ? "people.deactivate" : "people.activate")}
    </button>
  );
}
