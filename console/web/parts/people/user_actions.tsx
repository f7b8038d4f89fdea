// What one does to a user as a whole: let in or shut out, set a password, try a login, delete.

import { useSignal } from "@preact/signals";
import type { UserRecord } from "../../../api/people/user_shapes.ts";
import { whyNot } from "../../access_words.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../words/translate.ts";
import { Symbol } from "../symbol.tsx";
import { late } from "../late.tsx";
import { losesSomething } from "./user_consequences.tsx";

const DeleteUserDialog = late(async () => (await import("./delete_user_dialog.tsx")).DeleteUserDialog);
const DeactivateDialog = late(async () =>
  (await import("./deactivate_user_dialog.tsx")).DeactivateUserDialog
);
const MeLinkDialog = late(async () => (await import("./me_link_dialog.tsx")).MeLinkDialog);
const PasswordDialog = late(async () => (await import("./password_dialog.tsx")).PasswordDialog);
const TrialDialog = late(async () => (await import("./trial_dialog.tsx")).TrialDialog);

type Opened = "trial" | "me_link" | "password" | "delete" | null;

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
      {user.login !== null && (
        <button
          type="button"
          class="button"
          disabled={reason !== undefined || user.record?.active === false}
          title={reason ?? (user.record?.active === false ? t("people.me_link_inactive") : undefined)}
          onClick={() => opened.value = "me_link"}
        >
          <Symbol name="link" />
          {t("people.me_link")}
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
      {opened.value === "me_link" && <MeLinkDialog {...part} onClose={close} />}
      {opened.value === "password" && <PasswordDialog {...part} onClose={close} />}
      {opened.value === "delete" && user.record !== null && (
        <DeleteUserDialog {...part} record={user.record} onClose={close} />
      )}
    </>
  );
}

/** Done at once, and taken back for a while; where something would go for good, it is asked first. */
function ActiveButton({ models, user, calls, page, record }: UserPart & { record: UserRecord }) {
  const busy = useSignal(false);
  const asking = useSignal(false);
  const reason = whyNot(models, "user_manager");
  const isLasting = record.active && losesSomething(user);
  const set = async (active: boolean) => {
    busy.value = true;
    try {
      const { user: changed, receipt } = await calls.setActive(active);
      if (changed !== null) page.put(changed);
      const text = t(active ? "people.activated" : "people.deactivated", { name: user.name });
      page.said(text, receipt);
      models.toasts.say(text, isLasting ? {} : { undo: () => set(!active) });
    } catch (fault) {
      page.failed(t("people.active_unchanged"), fault);
    }
    busy.value = false;
  };
  return (
    <>
      <button
        type="button"
        class="button"
        disabled={reason !== undefined || busy.value}
        title={reason}
        onClick={() => isLasting ? asking.value = true : void set(!record.active)}
      >
        {busy.value ? t("frame.working") : t(record.active ? "people.deactivate" : "people.activate")}
      </button>
      {asking.value && (
        <DeactivateDialog
          user={user}
          onConfirm={() => set(false)}
          onClose={() => asking.value = false}
        />
      )}
    </>
  );
}
