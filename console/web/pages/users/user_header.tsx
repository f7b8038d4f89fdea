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
import { Menu, type MenuItem } from "../../components/menu.tsx";
import { auditHref } from "../../components/page_layout.tsx";
import { Chip } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { defaultFactor, factorCount, initialsOf, userDisplayName } from "./user_summary.ts";
import type { UserPart } from "./user_page_model.ts";
import { factorLabel, userState } from "./user_states.tsx";

const InvitePhoneDialog = lazy(async () => (await import("./factor_dialogs.tsx")).InvitePhoneDialog);
const AccountLinkDialog = lazy(async () => (await import("./user_dialogs.tsx")).AccountLinkDialog);
const DeactivateDialog = lazy(async () => (await import("./user_dialogs.tsx")).DeactivateUserDialog);
const DeleteUserDialog = lazy(async () => (await import("./user_dialogs.tsx")).DeleteUserDialog);
const PasswordDialog = lazy(async () => (await import("./user_dialogs.tsx")).PasswordDialog);
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
  if (record === null) {
    return <Chip words={{ label: t("common.not_in_directory"), tone: "idle", shape: "ring" }} />;
  }
  const locked = login?.lock.locked === true;
  return (
    <>
      <Chip words={userState({ active: record.active, locked: false })} />
      {locked && <Chip words={userState({ active: true, locked })} />}
    </>
  );
}

function UserFacts({ part: { models, user }, signIns }: { part: UserPart; signIns: HeaderProps["signIns"] }) {
  const { name, login, record } = user;
  const managedBy = record?.managedBy ?? null;
  return (
    <dl class="user-facts">
      <div>
        <dt>{t("common.user_name")}</dt>
        <dd>
          <bdi class="mono">{name}</bdi>
        </dd>
      </div>
      {managedBy !== null && (
        <div>
          <dt>{t("users.managed_by")}</dt>
          <dd>
            <a class="mono" href={`/connections/${encodeURIComponent(managedBy)}`}>
              <bdi>{managedBy}</bdi>
            </a>
          </dd>
        </div>
      )}
      {login !== null && (
        <>
          <div>
            <dt>{t("users.last_sign_in")}</dt>
            <dd>
              <LastSignIn models={models} answer={readyValue(signIns.state.value)} />
            </dd>
          </div>
          <div>
            <dt>{t("common.default_factor")}</dt>
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
  return <>{t("common.never")}</>;
}

function factorFact(login: UserLoginView): string {
  const chosen = defaultFactor(login);
  if (chosen === null) return t("users.no_default");
  const label = factorLabel(chosen.factor);
  return chosen.isAutomatic ? t("users.automatic_factor", { factor: label }) : label;
}

type Opened = "invite" | "trial" | "me_link" | "password" | "deactivate" | "delete" | null;

/** One primary action; the others are in a menu. */
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
      {primary !== null && (
        <Button kind="primary" {...phoneAction({ models, open }, primary)}>{t(PHONE_LABELS[primary])}</Button>
      )}
      <Menu
        text={t("common.more")}
        label={`${t("common.more")} ${user.name}`}
        items={() => [
          ...otherPhoneAction({ models, user, open }),
          { label: t("shell.audit"), icon: "scroll-text", href: auditHref(`user:${user.name}`) },
          ...rarerActions({ models, user, open, setActive: (active) => busy.peek() || setActive(active) }),
        ]}
      />
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
  const hasFactor = factorCount(login) > 0;
  return !hasFactor && login.canInvite && record?.active !== false ? "invite" : "trial";
}

interface ActionsProps extends Pick<UserPart, "models"> {
  readonly open: (what: Opened) => void;
}

type PhoneAction = "invite" | "trial";
const PHONE_LABELS = { invite: "common.pair_phone", trial: "users.try_login" } as const;

function phoneAction({ models, open }: ActionsProps, action: PhoneAction) {
  return {
    icon: action === "invite" ? "smartphone" : "play",
    reason: action === "invite" ? permissionHint(models, "user_manager") : undefined,
    onClick: () => open(action),
  } as const;
}

/** The one that is not the primary action. */
function otherPhoneAction({ user, ...props }: ActionsProps & { user: UserView }): MenuItem[] {
  const primary = primaryAction(user);
  if (primary === null || (primary === "trial" && user.login?.canInvite !== true)) return [];
  const other = primary === "invite" ? "trial" : "invite";
  const { onClick, ...item } = phoneAction(props, other);
  return [{ ...item, label: t(PHONE_LABELS[other]), run: onClick }];
}

interface RarerProps extends ActionsProps {
  readonly user: UserView;
  readonly setActive: (active: boolean) => unknown;
}

function rarerActions({ models, user, setActive, open }: RarerProps): MenuItem[] {
  const { record, login } = user;
  const reason = permissionHint(models, "user_manager");
  const isIrreversible = record?.active === true && losesSomething(user);
  const link: MenuItem = {
    label: t("users.me_link"),
    icon: "link",
    reason: reason ?? (record?.active === false ? t("users.me_link_inactive") : undefined),
    run: () => open("me_link"),
  };
  const ofRecord = ({ active }: NonNullable<typeof record>): MenuItem[] => [
    { label: t("users.set_password"), icon: "lock", reason, run: () => open("password") },
    {
      label: t(active ? "users.deactivate" : "users.activate"),
      icon: "user",
      reason,
      run: () => isIrreversible ? open("deactivate") : setActive(!active),
    },
    { label: t("users.delete"), icon: "trash-2", isBad: true, reason, run: () => open("delete") },
  ];
  return [...login === null ? [] : [link], ...record === null ? [] : ofRecord(record)];
}

/** Changes the status at once, with undo. If the change removes something for good, a dialog asks first. */
function activator({ models, user, calls, page }: UserPart, busy: Signal<boolean>) {
  const isIrreversible = user.record?.active === true && losesSomething(user);
  const set = async (active: boolean, { isUndo = false } = {}): Promise<void> => {
    busy.value = true;
    const done = t(active ? "common.can_sign_in_again" : "users.deactivated", { name: user.name });
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
  const ofLogin = login === null
    ? 0
    : login.pairings.length + (login.tokens?.length ?? 0) + login.conversations.length;
  return (record?.groups.length ?? 0) + ofLogin > 0;
}
