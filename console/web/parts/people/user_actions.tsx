// What one does to a user as a whole: let in or shut out, set a password, try a login, delete.

import { type Signal, useSignal } from "@preact/signals";
import { whyNot } from "../../access_words.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../words/translate.ts";
import { AuditLink } from "../audit_link.tsx";
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

type Opened = "trial" | "me_link" | "password" | "deactivate" | "delete" | null;

const MENU = "user-more";

/** The rarer ones stand in a menu where there is little room; its dialogs are outside, since a closed menu shows nothing. */
export function UserActions(part: UserPart) {
  const { models, user } = part;
  const opened = useSignal<Opened>(null);
  const busy = useSignal(false);
  const setActive = activator(part, busy);
  const close = () => opened.value = null;
  return (
    <>
      {user.login !== null && (
        <button type="button" class="button" onClick={() => opened.value = "trial"}>
          <Symbol name="play" />
          {t("people.try_login")}
        </button>
      )}
      <button type="button" class="button more-button" popovertarget={MENU}>
        {t("frame.more")}
        <span class="unseen">{` ${user.name}`}</span>
      </button>
      <div
        class="more-menu"
        id={MENU}
        popover="auto"
        // Closed before a dialog opens, so that the focus comes back to the button of the menu.
        onClick={({ currentTarget }) => currentTarget.matches(":popover-open") && currentTarget.hidePopover()}
      >
        <AuditLink object={`user:${user.name}`} />
        <RarerActions {...{ models, user, busy, setActive }} open={(what) => opened.value = what} />
      </div>
      {opened.value === "trial" && user.login !== null && (
        <TrialDialog {...part} login={user.login} onClose={close} />
      )}
      {opened.value === "me_link" && <MeLinkDialog {...part} onClose={close} />}
      {opened.value === "password" && <PasswordDialog {...part} onClose={close} />}
      {opened.value === "deactivate" && (
        <DeactivateDialog
          user={user}
          onConfirm={() => setActive(false)}
          onClose={close}
        />
      )}
      {opened.value === "delete" && user.record !== null && (
        <DeleteUserDialog {...part} record={user.record} onClose={close} />
      )}
    </>
  );
}

interface RarerProps extends Pick<UserPart, "models" | "user"> {
  readonly busy: Signal<boolean>;
  readonly setActive: (active: boolean) => Promise<void>;
  readonly open: (what: Opened) => void;
}

function RarerActions({ models, user, busy, setActive, open }: RarerProps) {
  const { record, login } = user;
  const reason = whyNot(models, "user_manager");
  const off = { type: "button", disabled: reason !== undefined, title: reason } as const;
  const isLasting = record?.active === true && losesSomething(user);
  return (
    <>
      {login !== null && (
        <button
          {...off}
          class="button"
          disabled={off.disabled || record?.active === false}
          title={reason ?? (record?.active === false ? t("people.me_link_inactive") : undefined)}
          onClick={() => open("me_link")}
        >
          <Symbol name="link" />
          {t("people.me_link")}
        </button>
      )}
      {record !== null && (
        <>
          <button {...off} class="button" onClick={() => open("password")}>
            <Symbol name="lock" />
            {t("people.set_password")}
          </button>
          <button
            {...off}
            class="button"
            disabled={off.disabled || busy.value}
            onClick={() => isLasting ? open("deactivate") : void setActive(!record.active)}
          >
            {busy.value ? t("frame.working") : t(record.active ? "people.deactivate" : "people.activate")}
          </button>
          <button {...off} class="button button-bad" onClick={() => open("delete")}>
            <Symbol name="trash-2" />
            {t("people.delete")}
          </button>
        </>
      )}
    </>
  );
}

/** Done at once, and taken back for a while; where something would go for good, it is asked first. */
function activator({ models, user, calls, page }: UserPart, busy: Signal<boolean>) {
  const isLasting = user.record?.active === true && losesSomething(user);
  const set = async (active: boolean): Promise<void> => {
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
  return set;
}
