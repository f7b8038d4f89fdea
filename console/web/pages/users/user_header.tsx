// The header of a user: initials, names, status, the last sign-in, the default factor, one primary action, and a menu of the others.

import { type Signal, useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import type { UserSignIns } from "../../../api/users/user_sign_ins.ts";
import type { UserLoginView, UserView } from "../../../api/users/user_types.ts";
import { readyValue, type Resource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Button } from "../../components/button.tsx";
import { Icon } from "../../components/icons.tsx";
import { lazy } from "../../components/lazy.tsx";
import { AuditLink } from "../../components/page_layout.tsx";
import { Chip } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import {
  AccountLinkDialog,
  DeactivateUserDialog as DeactivateDialog,
  DeleteUserDialog,
  PasswordDialog,
} from "./user_dialogs.tsx";
import { defaultFactor, initialsOf, userDisplayName } from "./user_summary.ts";
import type { UserPart } from "./user_page_model.ts";
import { factorLabel, userState } from "./user_states.tsx";

const InvitePhoneDialog = lazy(async () => (await import("./factor_dialogs.tsx")).InvitePhoneDialog);
const TrialDialog = lazy(async () => (await import("./user_trial.tsx")).TrialDialog);

interface HeaderProps {
  /** The list of users. */
  readonly back: string;
  /** The name in the address, until the user is loaded. */
  readonly name: string;
  /** `null` until the user is loaded. */
  readonly part: UserPart | null;
  readonly signIns: Resource<UserSignIns>;
}

export function UserHeader({ back, name, part, signIns }: HeaderProps) {
  const user = part?.user ?? null;
  const displayName = user?.record ? userDisplayName(user.record.attributes) : "";
  const title = displayName === "" ? user?.name ?? name : displayName;
  useLayoutEffect(() => {
    document.title = `${title} · Countersign`;
  }, [title]);
  return (
    <header class="page-bar user-bar">
      <a class="back" href={back}>
        <Icon name="arrow-left" />
        <span class="unseen">{t("common.all_users")}</span>
      </a>
      <span class="avatar" aria-hidden="true">{initialsOf(title)}</span>
      <h1 tabIndex={-1}>{title}</h1>
      {user !== null && <UserChips user={user} />}
      {part !== null && (
        <div class="end">
          <UserActions {...part} />
        </div>
      )}
      {part !== null && <UserFacts part={part} signIns={signIns} />}
    </header>
  );
}

function UserChips({ user: { record, login } }: { user: UserView }) {
  if (record === null) return <Chip words={{ label: t("users.unknown"), tone: "idle", shape: "ring" }} />;
  const locked = login?.lock.locked === true;
  return (
    <>
      <Chip words={userState({ active: record.active, locked: false })} />
      {locked && <Chip words={userState({ active: true, locked })} />}
    </>
  );
}

function UserFacts({ part: { models, user }, signIns }: { part: UserPart; signIns: HeaderProps["signIns"] }) {
  const { name, login } = user;
  return (
    <dl class="user-facts">
      <div>
        <dt>{t("common.user_name")}</dt>
        <dd>
          <bdi class="mono">{name}</bdi>
        </dd>
      </div>
      {login !== null && (
        <>
          <div>
            <dt>{t("users.last_sign_in")}</dt>
            <dd>
              <LastSignIn models={models} answer={readyValue(signIns.state.value)} />
            </dd>
          </div>
          <div>
            <dt>{t("users.first_factor")}</dt>
            <dd>{factorFact(login)}</dd>
          </div>
        </>
      )}
    </dl>
  );
}

function LastSignIn({ models, answer }: { models: UserPart["models"]; answer: UserSignIns | null }) {
  if (answer === null) return <>–</>;
  if (answer.lastMs !== null) return <Time models={models} atMs={answer.lastMs} />;
  return <>{t(answer.isCut ? "users.last_unknown" : "users.last_never")}</>;
}

function factorFact(login: UserLoginView): string {
  const chosen = defaultFactor(login);
  if (chosen === null) return t("users.no_default");
  const label = factorLabel(chosen.factor);
  return chosen.isAutomatic ? t("users.automatic_factor", { factor: label }) : label;
}

type Opened = "invite" | "trial" | "me_link" | "password" | "deactivate" | "delete" | null;

const MENU = "user-more";

/** One primary action; the others are in a menu. The dialogs are outside of it, because a closed menu hides its content. */
function UserActions(part: UserPart) {
  const { models, user } = part;
  const opened = useSignal<Opened>(null);
  const busy = useSignal(false);
  const setActive = activator(part, busy);
  const close = () => opened.value = null;
  const open = (what: Opened) => opened.value = what;
  const primary = primaryAction(user);
  return (
    <>
      {primary !== null && <PhoneAction {...{ models, open }} action={primary} isPrimary />}
      <button type="button" class="button more-button" popovertarget={MENU}>
        {t("common.more")}
        <span class="unseen">{` ${user.name}`}</span>
        <Icon name="chevron-down" size={14} />
      </button>
      <div
        class="more-menu"
        id={MENU}
        popover="auto"
        // Closes the menu before the click opens a dialog, so that the focus returns to the button of the menu.
        onClickCapture={({ currentTarget }) =>
          currentTarget.matches(":popover-open") && currentTarget.hidePopover()}
      >
        {primary === "invite" && <PhoneAction {...{ models, open }} action="trial" />}
        {primary === "trial" && user.login?.canInvite === true && (
          <PhoneAction {...{ models, open }} action="invite" />
        )}
        <AuditLink object={`user:${user.name}`} />
        <RarerActions {...{ models, user, busy, setActive, open }} />
      </div>
      {user.login !== null && <SignInDialogs {...part} login={user.login} {...{ opened, close }} />}
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

interface SignInDialogsProps extends UserPart {
  readonly login: UserLoginView;
  readonly opened: Signal<Opened>;
  readonly close: () => void;
}

function SignInDialogs({ opened, close, ...part }: SignInDialogsProps) {
  return (
    <>
      {opened.value === "invite" && <InvitePhoneDialog {...part} onClose={close} />}
      {opened.value === "trial" && <TrialDialog {...part} onClose={close} />}
      {opened.value === "me_link" && <AccountLinkDialog {...part} onClose={close} />}
    </>
  );
}

/** A user without a factor needs a phone first. `null`: the users of this directory do not sign in here. */
function primaryAction({ record, login }: UserView): "invite" | "trial" | null {
  if (login === null) return null;
  const hasFactor = login.pairings.length + login.directoryNumbers.length > 0;
  return !hasFactor && login.canInvite && record?.active !== false ? "invite" : "trial";
}

interface PhoneActionProps extends Pick<UserPart, "models"> {
  readonly action: "invite" | "trial";
  readonly open: (what: Opened) => void;
  readonly isPrimary?: true;
}

function PhoneAction({ models, action, open, isPrimary }: PhoneActionProps) {
  const isInvite = action === "invite";
  return (
    <Button
      kind={isPrimary ? "primary" : undefined}
      icon={isInvite ? "smartphone" : "play"}
      reason={isInvite ? permissionHint(models, "user_manager") : undefined}
      onClick={() => open(action)}
    >
      {t(isInvite ? "users.invite" : "users.try_login")}
    </Button>
  );
}

interface RarerProps extends Pick<UserPart, "models" | "user"> {
  readonly busy: Signal<boolean>;
  readonly setActive: (active: boolean) => Promise<void>;
  readonly open: (what: Opened) => void;
}

function RarerActions({ models, user, busy, setActive, open }: RarerProps) {
  const { record, login } = user;
  const reason = permissionHint(models, "user_manager");
  const isIrreversible = record?.active === true && losesSomething(user);
  return (
    <>
      {login !== null && (
        <Button
          icon="link"
          reason={reason ?? (record?.active === false ? t("users.me_link_inactive") : undefined)}
          onClick={() => open("me_link")}
        >
          {t("users.me_link")}
        </Button>
      )}
      {record !== null && (
        <>
          <Button icon="lock" reason={reason} onClick={() => open("password")}>
            {t("users.set_password")}
          </Button>
          <Button
            icon="user"
            reason={reason}
            busy={busy.value}
            onClick={() => isIrreversible ? open("deactivate") : setActive(!record.active)}
          >
            {t(record.active ? "users.deactivate" : "users.activate")}
          </Button>
          <Button kind="bad" icon="trash-2" reason={reason} onClick={() => open("delete")}>
            {t("users.delete")}
          </Button>
        </>
      )}
    </>
  );
}

/** Changes the status at once, with undo. If the change removes something for good, a dialog asks first. */
function activator({ models, user, calls, page }: UserPart, busy: Signal<boolean>) {
  const isIrreversible = user.record?.active === true && losesSomething(user);
  const set = async (active: boolean, { isUndo = false } = {}): Promise<void> => {
    busy.value = true;
    const done = t(active ? "users.activated" : "users.deactivated", { name: user.name });
    const failed = isUndo ? t("users.active_not_undone", { name: user.name }) : t("users.active_unchanged");
    if (await page.change({ call: () => calls.setActive(active), done, failed, isUndo })) {
      models.toasts.show(done, isIrreversible ? {} : { undo: () => set(!active, { isUndo: true }) });
    }
    busy.value = false;
  };
  return set;
}

/** Whether a deactivation removes something that a later activation does not restore. */
function losesSomething({ record, login }: UserView): boolean {
  return (record?.groups.length ?? 0) + (login?.pairings.length ?? 0) + (login?.conversations.length ?? 0) >
    0;
}
