// What one does to a user as a whole: let in or shut out, set a password, try a login, delete.

import { type Signal, useSignal } from "@preact/signals";
import { whyNot } from "../../access_words.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../i18n/translate.ts";
import { AuditLink } from "../audit_link.tsx";
import { Button } from "../button.tsx";
import { late } from "../late.tsx";
import type { UserView } from "../../../api/users/user_types.ts";

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
        <Button icon="play" onClick={() => opened.value = "trial"}>{t("people.try_login")}</Button>
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
  const isLasting = record?.active === true && losesSomething(user);
  return (
    <>
      {login !== null && (
        <Button
          icon="link"
          reason={reason ?? (record?.active === false ? t("people.me_link_inactive") : undefined)}
          onClick={() => open("me_link")}
        >
          {t("people.me_link")}
        </Button>
      )}
      {record !== null && (
        <>
          <Button icon="lock" reason={reason} onClick={() => open("password")}>
            {t("people.set_password")}
          </Button>
          <Button
            reason={reason}
            busy={busy.value}
            onClick={() => isLasting ? open("deactivate") : setActive(!record.active)}
          >
            {t(record.active ? "people.deactivate" : "people.activate")}
          </Button>
          <Button kind="bad" icon="trash-2" reason={reason} onClick={() => open("delete")}>
            {t("people.delete")}
          </Button>
        </>
      )}
    </>
  );
}

/** Done at once, and taken back for a while; where something would go for good, it is asked first. */
function activator({ models, user, calls, page }: UserPart, busy: Signal<boolean>) {
  const isLasting = user.record?.active === true && losesSomething(user);
  const set = async (active: boolean, { isUndo = false } = {}): Promise<void> => {
    busy.value = true;
    const done = t(active ? "people.activated" : "people.deactivated", { name: user.name });
    const failed = isUndo ? t("people.active_not_undone", { name: user.name }) : t("people.active_unchanged");
    if (await page.change({ call: () => calls.setActive(active), done, failed, isUndo })) {
      models.toasts.say(done, isLasting ? {} : { undo: () => set(!active, { isUndo: true }) });
    }
    busy.value = false;
  };
  return set;
}

/** Whether anything goes that activating the user again would not bring back. */
function losesSomething({ record, login }: UserView): boolean {
  return (record?.groups.length ?? 0) + (login?.pairings.length ?? 0) + (login?.conversations.length ?? 0) >
    0;
}
