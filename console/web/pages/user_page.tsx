// Everything for one person: profile, groups, factors, backends, timeline, and what cannot be undone.

import { type Signal, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { LoginView, UserView } from "../../api/users/user_types.ts";
import { type Resource, useResource } from "../models/resource.ts";
import { createUserCalls, type UserCalls } from "../models/user_calls.ts";
import type { Models } from "../models/models.ts";
import type { Toasts } from "../models/toasts_model.ts";
import { type Said, saidOf, unsaidOf } from "../models/said.ts";
import { PageBar } from "../parts/page_bar.tsx";
import { UserActions } from "../parts/people/user_actions.tsx";
import { userState } from "../parts/people/user_states.tsx";
import { ErrorState, Skeleton } from "../parts/states.tsx";
import { Chip } from "../parts/status.tsx";
import { currentTab, type Tab, Tabs } from "../parts/tabs.tsx";
import type { PageProps } from "../page_loader.ts";
import { useShortcuts } from "../shortcuts.ts";
import { t } from "../i18n/translate.ts";
import type { Receipt } from "../../../scim/ports.ts";
import { late } from "../parts/late.tsx";

const Notices = late(async () => (await import("../parts/live/notices.tsx")).Notices);
const UserBackends = late(async () => (await import("../parts/people/user_backends.tsx")).UserBackends);
const UserFactors = late(async () => (await import("../parts/people/user_factors.tsx")).UserFactors);
const UserGroups = late(async () => (await import("../parts/people/user_groups.tsx")).UserGroups);
const UserProfile = late(async () => (await import("../parts/people/user_profile.tsx")).UserProfile);
const UserSessions = late(async () => (await import("../parts/people/user_sessions.tsx")).UserSessions);
const UserTimeline = late(async () => (await import("../parts/people/user_timeline.tsx")).UserTimeline);
const CreateThisUser = late(async () =>
  (await import("../parts/people/create_this_user.tsx")).CreateThisUser
);
const SaidNote = late(async () => (await import("../parts/people/said_note.tsx")).SaidNote);

/** What the parts of the page are given. */
export interface UserPart {
  readonly models: Models;
  readonly user: UserView;
  readonly calls: UserCalls;
  readonly page: UserPageModel;
}

/** A change of the user: the call, and what is said of it. */
interface UserDeed {
  readonly call: () => Promise<{ readonly user: UserView | null; readonly receipt?: Receipt | null }>;
  readonly done: string;
  /** Before the reason why it was not made. */
  readonly failed: string;
  /** It takes a change back: a failure is a message, because the page may have been left. */
  readonly isUndo?: boolean;
}

/** What a part does to the page when something was changed. */
export interface UserPageModel {
  /** Puts the user that a change returned. */
  put(user: UserView): void;
  /** Says what a change did, with what each backend said. */
  said(text: string, receipt?: Receipt | null): void;
  /** Says why a change was not made. */
  failed(title: string, fault: unknown): void;
  /** Says why a change was not taken back, in a message: the page may have been left. */
  undoFailed(title: string, fault: unknown): void;
  /** Makes a change, puts the user that it returned, and says what it did or why it was not made: whether it was. */
  change(deed: UserDeed): Promise<boolean>;
  /** Tries one backend again. */
  retry(backend: string): Promise<unknown>;
  /** Shows what backends have by now; the rest of the page, and what is typed there, stays as it is. Never rejects. */
  lookAtBackends(): Promise<void>;
}

/** Another target has another user of the name: nothing of the one before stays. */
export default function UserPage(props: PageProps) {
  return <UserOfTarget key={props.models.router.param("target")} {...props} />;
}

function UserOfTarget({ models, params }: PageProps) {
  const name = params.id ?? "";
  const target = models.router.param("target");
  const calls = createUserCalls(models, { name, target });
  const loaded = useResource<UserView>(models, { fetch: calls.read, inputs: [name, target] });
  const said = useSignal<Said | null>(null);
  const state = loaded.state.value;
  const user = state.kind === "ready" ? state.value : null;
  const page = pageModel({ loaded, said, calls, toasts: models.toasts });
  const list = target === "" ? "/users" : `/users?target=${encodeURIComponent(target)}`;
  return (
    <main class="page" id="page">
      <PageBar
        title={user?.name ?? name}
        back={{ href: list, label: t("people.back") }}
        chips={user === null ? undefined : <UserChips user={user} />}
      >
        {user !== null && <UserActions {...{ models, user, calls, page }} />}
      </PageBar>
      {user !== null && user.login !== null && <Notices models={models} user={user.name} />}
      {said.value !== null && <SaidNote said={said} onRetry={page.retry} />}
      {loaded.problem.value !== null && user !== null && (
        <ErrorState
          title={t("people.unread")}
          onRetry={() => void loaded.reload()}
        >
          {loaded.problem.value} {t("people.old_user")}
        </ErrorState>
      )}
      {state.kind === "failed" && (
        <ErrorState title={t("people.unread")} onRetry={() => void loaded.reload()}>
          {state.message}
        </ErrorState>
      )}
      {state.kind === "loading" && <Skeleton />}
      {user !== null && <Parts key={user.name} {...{ models, user, calls, page }} />}
    </main>
  );
}

interface PageModelDeps {
  readonly loaded: Resource<UserView>;
  readonly said: Signal<Said | null>;
  readonly calls: UserCalls;
  readonly toasts: Toasts;
}

function pageModel({ loaded, said, calls, toasts }: PageModelDeps): UserPageModel {
  const page: UserPageModel = {
    put: (user) => loaded.put(user),
    said(text, receipt) {
      said.value = saidOf(text, receipt);
    },
    failed(title, fault) {
      said.value = unsaidOf(title, fault);
    },
    undoFailed(title, fault) {
      toasts.say(unsaidOf(title, fault).text, { tone: "bad" });
    },
    async change({ call, done, failed, isUndo = false }) {
      try {
        const { user, receipt } = await call();
        if (user !== null) page.put(user);
        page.said(done, receipt);
        return true;
      } catch (fault) {
        if (isUndo) page.undoFailed(failed, fault);
        else page.failed(failed, fault);
        return false;
      }
    },
    retry: (backend) =>
      page.change({
        call: () => calls.retry(backend),
        done: t("people.retried", { backend }),
        failed: t("people.not_retried", { backend }),
      }),
    async lookAtBackends() {
      const before = loaded.state.peek();
      const now = await calls.backends().catch(() => null);
      // What was put meanwhile may be newer than this answer.
      if (now === null || before.kind !== "ready" || loaded.state.peek() !== before) return;
      loaded.put({ ...before.value, ...now });
    },
  };
  return page;
}

function UserChips({ user: { record, login } }: { user: UserView }) {
  if (record === null) return <Chip words={{ label: t("people.unknown"), tone: "idle", shape: "ring" }} />;
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
  useShortcuts([{ keys: "e", does: "people.edit", needs: "user_manager", run: () => edit(models) }]);
  const seen = useRef(false);
  seen.current ||= current === "";
  return (
    <>
      {user.record === null && <CreateThisUser {...part} />}
      <Tabs models={models} tabs={tabs} label={t("people.parts", { name: user.name })} />
      {/* A part that is left is only hidden: what was typed there is there still. */}
      {user.record !== null && seen.current && (
        <div hidden={current !== ""}>
          <UserProfile {...part} />
        </div>
      )}
      {current === "groups" && <UserGroups {...part} />}
      {current === "devices" && user.login !== null && <UserFactors {...part} login={user.login} />}
      {current === "backends" && <UserBackends {...part} />}
      {current === "sessions" && user.login !== null && <UserSessions {...part} />}
      {current === "timeline" && <UserTimeline {...part} />}
    </>
  );
}

/** The first field of the profile, whatever part is open. */
function edit({ router }: Models): void {
  if (router.hash.peek() !== "") router.go(router.path.peek() + location.search);
  requestAnimationFrame(() => document.querySelector<HTMLElement>("#user-profile input")?.focus());
}

function tabsOf({ record, login, backends }: UserView): Tab[] {
  const profile: Tab[] = record === null ? [] : [
    { hash: "", label: t("people.profile") },
    { hash: "groups", label: t("frame.groups"), count: record.groups.length },
  ];
  const devices: Tab[] = login === null ? [] : [
    { hash: "devices", label: t("people.factors"), count: factorCount(login) },
    { hash: "sessions", label: t("live.sessions_tab") },
  ];
  const held: Tab[] = record === null
    ? []
    : [{ hash: "backends", label: t("people.backends"), count: backends.length }];
  return [...profile, ...devices, ...held, { hash: "timeline", label: t("people.timeline") }];
}

/** What the tab counts: factors that were paired or verified, and numbers of the directory. */
function factorCount({ pairings, directoryNumbers }: LoginView): number {
  return pairings.length + directoryNumbers.length;
}
