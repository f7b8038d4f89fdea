// The page of a user: profile, groups, factors, backends, VPN sessions, history, and actions.

import { type Signal, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { UserSessionsAnswer } from "../../../api/accounting_sessions/session_routes.ts";
import type { UserLoginView, UserView } from "../../../api/users/user_types.ts";
import type { ResultMessage } from "../../app/action.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { useResource } from "../../app/resource.ts";
import { useShortcuts } from "../../app/shortcuts.ts";
import { ResultAlert } from "../../components/backend_results.tsx";
import { EmptyState, ErrorState, Fetched, Skeleton } from "../../components/alert.tsx";
import { lazy } from "../../components/lazy.tsx";
import { AuditLink, currentTab, PageBar, Panel, type Tab, Tabs } from "../../components/page_layout.tsx";
import { Chip } from "../../components/status.tsx";
import { t } from "../../i18n/translate.ts";
import { NoticePanel } from "../live/notices.tsx";
import { VpnSessionList } from "../live/session_list.tsx";
import { CreateThisUser } from "./create_user_dialog.tsx";
import { createUserCalls } from "./user_calls.ts";
import { UserFactorsTab } from "./user_factors.tsx";
import { UserGroups } from "./user_groups.tsx";
import { createUserPage, type UserPart } from "./user_page_model.ts";
import { UserProfile } from "./user_profile.tsx";
import { userState } from "./user_states.tsx";
import { permissionHint } from "../../app/session_model.ts";
import { Button } from "../../components/button.tsx";
import {
  AccountLinkDialog,
  DeactivateUserDialog as DeactivateDialog,
  DeleteUserDialog,
  PasswordDialog,
  TrialDialog,
} from "./user_dialogs.tsx";

const UserBackends = lazy(async () => (await import("./user_backends.tsx")).UserBackends);

const UserTimeline = lazy(async () => (await import("./user_timeline.tsx")).UserTimeline);

/** A user of another target gets a new page, without the state of this one. */
export default function UserPage(props: PageProps) {
  return <UserOfTarget key={props.models.router.param("target")} {...props} />;
}

function UserOfTarget({ models, params }: PageProps) {
  const name = params.id ?? "";
  const target = models.router.param("target");
  const calls = createUserCalls(models, { name, target });
  const loaded = useResource<UserView>(models, { fetch: calls.read, inputs: [name, target] });
  const said = useSignal<ResultMessage | null>(null);
  const state = loaded.state.value;
  const user = state.kind === "ready" ? state.value : null;
  const page = createUserPage({ loaded, said, calls, toasts: models.toasts });
  const list = target === "" ? "/users" : `/users?target=${encodeURIComponent(target)}`;
  return (
    <main class="page" id="page">
      <PageBar
        title={user?.name ?? name}
        back={{ href: list, label: t("common.all_users") }}
        chips={user === null ? undefined : <UserChips user={user} />}
      >
        {user !== null && <UserActions {...{ models, user, calls, page }} />}
      </PageBar>
      {user !== null && user.login !== null && <NoticePanel models={models} user={user.name} />}
      {said.value !== null && <ResultAlert said={said} onRetry={page.retry} />}
      {loaded.problem.value !== null && user !== null && (
        <ErrorState
          title={t("users.unread")}
          onRetry={() => void loaded.reload()}
        >
          {loaded.problem.value} {t("users.old_user")}
        </ErrorState>
      )}
      {state.kind === "failed" && (
        <ErrorState title={t("users.unread")} onRetry={() => void loaded.reload()}>
          {state.message}
        </ErrorState>
      )}
      {state.kind === "loading" && <Skeleton />}
      {user !== null && <Parts key={user.name} {...{ models, user, calls, page }} />}
    </main>
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

function Parts(part: UserPart) {
  const { models, user } = part;
  const tabs = tabsOf(user);
  const current = currentTab(models, tabs);
  useShortcuts([{ keys: "e", label: "users.edit", needs: "user_manager", run: () => edit(models) }]);
  const seen = useRef(false);
  seen.current ||= current === "";
  return (
    <>
      {user.record === null && <CreateThisUser {...part} />}
      <Tabs models={models} tabs={tabs} label={t("users.parts", { name: user.name })} />
      {/* The profile is hidden, not removed, so that its input remains. */}
      {user.record !== null && seen.current && (
        <div hidden={current !== ""}>
          <UserProfile {...part} />
        </div>
      )}
      {current === "groups" && <UserGroups {...part} />}
      {current === "devices" && user.login !== null && <UserFactorsTab {...part} login={user.login} />}
      {current === "backends" && <UserBackends {...part} />}
      {current === "sessions" && user.login !== null && <UserSessions {...part} />}
      {current === "timeline" && <UserTimeline {...part} />}
    </>
  );
}

/** Opens the profile and focuses its first field. */
function edit({ router }: Models): void {
  if (router.hash.peek() !== "") router.go(router.path.peek() + location.search);
  requestAnimationFrame(() => document.querySelector<HTMLElement>("#user-profile input")?.focus());
}

function tabsOf({ record, login, backends }: UserView): Tab[] {
  const profile: Tab[] = record === null ? [] : [
    { hash: "", label: t("users.profile") },
    { hash: "groups", label: t("shell.groups"), count: record.groups.length },
  ];
  const devices: Tab[] = login === null ? [] : [
    { hash: "devices", label: t("users.factors"), count: factorCount(login) },
    { hash: "sessions", label: t("users.sessions_tab") },
  ];
  const held: Tab[] = record === null
    ? []
    : [{ hash: "backends", label: t("common.backends"), count: backends.length }];
  return [...profile, ...devices, ...held, { hash: "timeline", label: t("users.timeline") }];
}

/** Paired or verified factors, and phone numbers of the directory. */
function factorCount({ pairings, directoryNumbers }: UserLoginView): number {
  return pairings.length + directoryNumbers.length;
}

export function UserSessions({ models, user, calls }: UserPart) {
  const sessions = useResource<UserSessionsAnswer>(models, { fetch: calls.sessions, inputs: [user] });
  return (
    <Panel quiet title={t("users.sessions_tab")}>
      <Fetched resource={sessions} failed="users.sessions_unread">
        {({ sessions }) =>
          sessions.length === 0
            ? <EmptyState title={t("users.sessions_none")} next={t("users.sessions_none_next")} />
            : <VpnSessionList models={models} label={t("users.sessions_tab")} sessions={sessions} />}
      </Fetched>
    </Panel>
  );
}

type Opened = "trial" | "me_link" | "password" | "deactivate" | "delete" | null;

const MENU = "user-more";

/** Less common actions are in a menu. The dialogs are outside of it, because a closed menu hides its content. */
function UserActions(part: UserPart) {
  const { models, user } = part;
  const opened = useSignal<Opened>(null);
  const busy = useSignal(false);
  const setActive = activator(part, busy);
  const close = () => opened.value = null;
  return (
    <>
      {user.login !== null && (
        <Button icon="play" onClick={() => opened.value = "trial"}>{t("users.try_login")}</Button>
      )}
      <button type="button" class="button more-button" popovertarget={MENU}>
        {t("common.more")}
        <span class="unseen">{` ${user.name}`}</span>
      </button>
      <div
        class="more-menu"
        id={MENU}
        popover="auto"
        // Closes the menu before the click opens a dialog, so that the focus returns to the button of the menu.
        onClickCapture={({ currentTarget }) =>
          currentTarget.matches(":popover-open") && currentTarget.hidePopover()}
      >
        <AuditLink object={`user:${user.name}`} />
        <RarerActions {...{ models, user, busy, setActive }} open={(what) => opened.value = what} />
      </div>
      {opened.value === "trial" && user.login !== null && (
        <TrialDialog {...part} login={user.login} onClose={close} />
      )}
      {opened.value === "me_link" && <AccountLinkDialog {...part} onClose={close} />}
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
