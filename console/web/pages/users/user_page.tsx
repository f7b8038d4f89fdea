// The page of a user: the header, and tabs for the overview, profile, authenticators, groups, connectors, VPN sessions and history.

import { type Signal, useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import type { UserSignIns } from "../../../api/users/user_routes.ts";
import type { UserLoginView, UserPage as UserRows, UserView } from "../../../api/users/user_types.ts";
import { type ResultMessage, useAction } from "../../app/action.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { readyValue, type Resource, useInterval, useResource } from "../../app/resource.ts";
import { useShortcuts } from "../../app/shortcuts.ts";
import { ResultAlert } from "../../components/backend_results.tsx";
import { Alert, ErrorAlert, ErrorState, Skeleton } from "../../components/alert.tsx";
import { lazy } from "../../components/lazy.tsx";
import { auditHref, currentTab, type Tab, Tabs } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Button } from "../../components/button.tsx";
import { Icon } from "../../components/icons.tsx";
import { Menu, type MenuItem } from "../../components/menu.tsx";
import { Chip } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { userHref } from "../../app/routes.ts";
import { NoticePanel } from "../live/notices.tsx";
import { createUserCalls, fetchUsers } from "./user_calls.ts";
import { UserGroups } from "./user_groups.tsx";
import { factorLabel, userState } from "./user_states.tsx";
import { defaultFactor, factorCount, initialsOf, userDisplayName } from "./user_summary.tsx";
import { UserOverview } from "./user_overview.tsx";
import { createUserPage, type UserPart } from "./user_page_model.ts";

const tabs = () => import("./user_tabs.tsx");
const UserProfile = lazy(async () => (await tabs()).UserProfile);
const UserFactorsTab = lazy(async () => (await import("./user_factors.tsx")).UserFactorsTab);
const UserBackends = lazy(async () => (await tabs()).UserBackends);
const UserSessions = lazy(async () => (await tabs()).UserSessions);
const UserTimeline = lazy(async () => (await tabs()).UserTimeline);

const SIGN_INS_EVERY_MS = 15_000;

/** A user of another target gets a new page, without the state of this one. */
export default function UserPage(props: PageProps) {
  return <UserOfTarget key={props.models.router.param("target")} {...props} />;
}

function UserOfTarget({ models, params }: PageProps) {
  const name = params.id ?? "";
  const target = models.router.param("target");
  const calls = createUserCalls(models, { name, target });
  const loaded = useResource<UserView>(models, { fetch: calls.read, inputs: [name, target] });
  const signIns = useResource<UserSignIns>(models, { fetch: calls.signIns, inputs: [name], key: name });
  useInterval(SIGN_INS_EVERY_MS, signIns.reload);
  const said = useSignal<ResultMessage | null>(null);
  const state = loaded.state.value;
  const user = state.kind === "ready" ? state.value : null;
  const page = createUserPage({ loaded, said, calls, toasts: models.toasts });
  const list = target === "" ? "/users" : `/users?target=${encodeURIComponent(target)}`;
  const part = user === null ? null : { models, user, calls, page };
  return (
    <main class="page" id="page">
      <UserHeader {...{ back: list, name, part, signIns }} />
      {user !== null && user.login !== null && (
        <NoticePanel models={models} user={user.name} state={user.login.lock.locked} />
      )}
      {said.value !== null && <ResultAlert said={said} onRetry={page.retry} />}
      {loaded.problem.value !== null && user !== null && (
        <ErrorState
          title={t("users.unread")}
          onRetry={() => void loaded.reload()}
        >
          {loaded.problem.value} {t("common.old")}
        </ErrorState>
      )}
      {state.kind === "failed" && (
        <ErrorState title={t("users.unread")} onRetry={() => void loaded.reload()}>
          {state.message}
        </ErrorState>
      )}
      {state.kind === "loading" && <Skeleton />}
      {part !== null && <Parts key={part.user.name} {...part} signIns={signIns} />}
    </main>
  );
}

function Parts({ signIns, ...part }: UserPart & { signIns: Resource<UserSignIns> }) {
  const { models, user } = part;
  const tabs = tabsOf(user);
  const current = currentTab(models, tabs);
  useShortcuts([{ keys: "e", label: "users.edit", needs: "user_manager", run: () => edit(models) }]);
  return (
    <>
      {user.record === null && <CreateThisUser {...part} />}
      <Tabs models={models} tabs={tabs} label={t("users.parts", { name: user.name })} />
      {current === "" && <UserOverview {...part} signIns={signIns} />}
      {current === "profile" && <UserProfile {...part} />}
      {current === "devices" && user.login !== null && <UserFactorsTab {...part} login={user.login} />}
      {current === "groups" && <UserGroups {...part} />}
      {current === "backends" && <UserBackends {...part} />}
      {current === "sessions" && user.login !== null && <UserSessions {...part} />}
      {current === "timeline" && <UserTimeline {...part} />}
    </>
  );
}

/** Opens the profile and focuses its first field. */
function edit({ router }: Models): void {
  if (router.hash.peek() !== "profile") router.go(`${router.path.peek()}${location.search}#profile`);
  focusSoon("#user-profile input");
}

const FOCUS_TIMEOUT_MS = 3000;

/** Focuses an element as soon as it is on the page: its script may still load. */
function focusSoon(selector: string): void {
  const focus = () => {
    const found = document.querySelector<HTMLElement>(selector);
    found?.focus();
    return found !== null;
  };
  if (focus()) return;
  const observer = new MutationObserver(() => focus() && observer.disconnect());
  observer.observe(document.body, { childList: true, subtree: true });
  setTimeout(() => observer.disconnect(), FOCUS_TIMEOUT_MS);
}

function tabsOf({ record, login }: UserView): Tab[] {
  const overview = { hash: "", label: t("shell.overview") };
  const timeline = { hash: "timeline", label: t("users.timeline") };
  const isKnown = record !== null;
  return [
    overview,
    ...(isKnown ? [{ hash: "profile", label: t("users.profile") }] : []),
    ...(login === null ? [] : [{ hash: "devices", label: t("shell.devices"), count: factorCount(login) }]),
    ...(isKnown ? [{ hash: "groups", label: t("shell.groups"), count: record.groups.length }] : []),
    ...(isKnown ? [{ hash: "backends", label: t("users.by_connector") }] : []),
    ...(login === null ? [] : [{ hash: "sessions", label: t("users.sessions_tab") }]),
    timeline,
  ];
}

// The header of a user: initials, names, status, the last sign-in, the default factor, one primary action, and a menu of the others.

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

function UserHeader({ back, name, part, signIns }: HeaderProps) {
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

// A name that sign-ins use and the directory does not have: a button that creates the user.

const CreateUserDialog = lazy(async () => (await import("./create_user_dialog.tsx")).CreateUserDialog);

const FIRST_ROW = { q: "", page: "1", size: "1", status: "", enrolled: "", backend: "", sync: "" };

function CreateThisUser({ models, user, calls, page }: UserPart) {
  const creating = useSignal<UserRows | null>(null);
  const { busy, fault, run } = useAction();
  const { name, target, login, renamedTo } = user;
  const shownTarget = login === null ? target : "";
  /** The dialog needs the backends of the target. */
  const open = () =>
    void run(async () => {
      creating.value = await fetchUsers(models, { ...FIRST_ROW, target: shownTarget });
    });
  return (
    <Alert tone="idle">
      {t("users.unknown_next")} {renamedTo !== null && (
        <>
          {t("users.now_named")} <a href={userHref(renamedTo, shownTarget)}>{renamedTo}</a>
          {" "}
        </>
      )}
      <Button small busy={busy.value} reason={permissionHint(models, "user_manager")} onClick={open}>
        {t("users.create_this")}
      </Button>
      <ErrorAlert of={fault} />
      {creating.value !== null && (
        <CreateUserDialog
          models={models}
          page={creating.value}
          name={name}
          onMade={() => {
            creating.value = null;
            calls.read().then(page.put, () => undefined);
          }}
          onClose={() => creating.value = null}
        />
      )}
    </Alert>
  );
}
