// The page of a user: the header, and tabs for the overview, profile, authenticators, groups, connectors, VPN sessions and history.

import { useSignal } from "@preact/signals";
import type { UserSignIns } from "../../../api/users/user_sign_ins.ts";
import type { UserView } from "../../../api/users/user_types.ts";
import type { ResultMessage } from "../../app/action.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { type Resource, useInterval, useResource } from "../../app/resource.ts";
import { useShortcuts } from "../../app/shortcuts.ts";
import { ResultAlert } from "../../components/backend_results.tsx";
import { ErrorState, Skeleton } from "../../components/alert.tsx";
import { lazy } from "../../components/lazy.tsx";
import { currentTab, type Tab, Tabs } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import { NoticePanel } from "../live/notices.tsx";
import { CreateThisUser } from "./create_this_user.tsx";
import { createUserCalls } from "./user_calls.ts";
import { UserGroups } from "./user_groups.tsx";
import { factorCount } from "./user_summary.ts";
import { UserHeader } from "./user_header.tsx";
import { UserOverview } from "./user_overview.tsx";
import { createUserPage, type UserPart } from "./user_page_model.ts";

const tabs = () => import("./user_tabs.ts");
const UserProfile = lazy(async () => (await tabs()).UserProfile);
const UserFactorsTab = lazy(async () => (await tabs()).UserFactorsTab);
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
