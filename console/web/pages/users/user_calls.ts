// Calls of users. A change waits for a sign-in or a recent factor.

import type { Receipt } from "../../../../scim/ports.ts";
import type { JsonObject } from "../../../../scim/schema/resource.ts";
import type { Factor } from "../../../../radius/flow/context.ts";
import type {
  DryRunResult,
  MembershipChange,
  PairingView,
  TimelinePage,
  UserChange,
  UserView,
} from "../../../api/users/user_types.ts";
import type {
  IssuedBypass,
  LostPhoneResult,
  StartedVerification,
  VerificationAnswer,
} from "../../../api/help_desk/help_desk_types.ts";
import type { UserSignIns } from "../../../api/users/user_routes.ts";
import type { UserSessionsAnswer } from "../../../api/accounting_sessions/session_routes.ts";
import type { RestoreItem, TrashPage } from "../../../api/trash/trash_types.ts";
import type { BulkAction, BulkPreview, JobView } from "../../../api/api_types.ts";
import { escapeParams, failureText, take } from "../../app/api_client.ts";
import type { FilterQuery } from "../../app/filters.ts";
import type { Models } from "../../app/app_context.ts";
import { userHref } from "../../app/routes.ts";
import { backendSummary } from "../../components/backend_results.tsx";
import { t } from "../../i18n/translate.ts";

export type UserCalls = ReturnType<typeof createUserCalls>;

/** A user of a target; empty for the target whose users log in. */
interface UserKey {
  readonly name: string;
  readonly target: string;
}

export interface TrialInput {
  readonly client: string;
  readonly method: "pap" | "mschapv2" | "eap_gtc";
  readonly password: "right" | "wrong" | "empty";
  readonly appended: "push" | "sms" | "call" | null;
}

/** The server validates the query. */
export function fetchUsers({ api }: Models, query: FilterQuery) {
  return take(api.users.$get({ query } as Parameters<typeof api.users.$get>[0]));
}

export function addUser(
  models: Models,
  { target, user, backends }: { target: string; user: JsonObject; backends: readonly string[] | null },
) {
  const json = { user, ...backendsOf(backends) };
  return models.session.whileSignedIn(() =>
    as<UserChange>(models.api.users.$post({ query: targetQuery(target), json }))
  );
}

export function createUserCalls({ api, session }: Models, { name, target }: UserKey) {
  const one = api.users[":id"];
  const param = escapeParams({ id: name });
  const query = targetQuery(target);
  const ask = session.whileSignedIn;
  const pairing = one.pairings[":pairing"];
  const verificationOf = (id: string) => ({ ...param, ...escapeParams({ verification: id }) });
  const factorOf = (id: string) => ({ ...param, ...escapeParams({ factor: id }) });
  const pairingOf = (id: string) => ({ ...param, ...escapeParams({ pairing: id }) });
  return {
    read: () => as<UserView>(one.$get({ param, query })),
    backends: () => as<Pick<UserView, "backends">>(one.backends.$get({ param, query })),
    replace: (json: { user: JsonObject; version: string; backends?: string[] }) =>
      ask(() => as<UserChange>(one.$put({ param, query, json }))),
    remove: (json: { version?: string; backends?: string[] }) =>
      ask(() => as<UserChange>(one.$delete({ param, query, json }))),
    setActive: (active: boolean) =>
      ask(() => as<UserChange>(one.active.$put({ param, query, json: { active } }))),
    setPassword: (json: { password: string; backends?: string[] }) =>
      ask(() => as<UserChange>(one.password.$put({ param, query, json }))),
    changeGroups: (json: { add: string[]; remove: string[] }) =>
      ask(() =>
        as<WithUser & { readonly groups: readonly MembershipChange[] }>(
          one.groups.$put({ param, query, json }),
        )
      ),
    refresh: () => ask(() => as<UserView>(one.refresh.$post({ param, query, json: {} }))),
    retry: (backend: string) =>
      ask(() =>
        as<WithUser & { readonly receipt: Receipt | null }>(
          one.retry.$post({ param, query, json: { backend } }),
        )
      ),
    timeline: (before: string) =>
      ask(() => as<TimelinePage>(one.timeline.$get({ param, query: { ...query, before } }))),
    signIns: () => ask(() => as<UserSignIns>(one["sign-ins"].$get({ param }))),
    sessions: () => ask(() => as<UserSessionsAnswer>(one.sessions.$get({ param }))),
    tryLogin: (json: TrialInput) => ask(() => as<DryRunResult>(one.trial.$post({ param, json }))),
    invite: () => ask(() => take(one.invitation.$post({ param, json: {} }))),
    createAccountLink: () => ask(() => take(one["me-link"].$post({ param, json: {} }))),
    addFactor: (json: { kind: "sms" | "voice"; number: string } | { kind: "totp"; seed: string }) =>
      ask(() => as<WithPairing>(one.pairings.$post({ param, json }))),
    rename: (id: string, name: string) =>
      ask(() => as<WithUser>(pairing.$put({ param: pairingOf(id), json: { name } }))),
    revoke: (id: string) => ask(() => as<WithUser>(pairing.$delete({ param: pairingOf(id), json: {} }))),
    /** A factor that a revoked phone added. */
    keepUnconfirmed: (id: string) =>
      ask(() => as<WithUser>(one.unconfirmed[":factor"].keep.$post({ param: factorOf(id), json: {} }))),
    removeUnconfirmed: (id: string) =>
      ask(() => as<WithUser>(one.unconfirmed[":factor"].$delete({ param: factorOf(id), json: {} }))),
    beginTotp: () => ask(() => take(one.totp.$post({ param, json: {} }))),
    confirmTotp: (json: { id: string; code: string }) =>
      ask(() => as<WithPairing>(one.totp.confirm.$post({ param, json }))),
    prefer: (factor: Factor | null) =>
      ask(() => as<WithUser>(one.preference.$put({ param, json: { factor } }))),
    unlock: () => ask(() => as<WithUser>(one.unlock.$post({ param, json: {} }))),
    forgetDevices: () => ask(() => as<WithUser>(one["remembered-devices"].$delete({ param, json: {} }))),
    verifyCaller: (phone: string) =>
      ask(() => as<StartedVerification>(one.verification.$post({ param, json: { phone } }))),
    /** Does not wait for a sign-in, because it runs by itself. */
    verification: (id: string) =>
      as<VerificationAnswer>(one.verification[":verification"].$get({ param: verificationOf(id) })),
    cancelVerification: (id: string) =>
      as<VerificationAnswer>(
        one.verification[":verification"].$delete({ param: verificationOf(id), json: {} }),
      ),
    issueBypass: (json: { uses: number | null; minutes: number; reason: string }) =>
      ask(() => as<WithUser & IssuedBypass>(one.bypass.$post({ param, json }))),
    revokeBypass: () => ask(() => as<WithUser>(one.bypass.$delete({ param, json: {} }))),
    lostPhone: (
      json: {
        phones: string[];
        bypass: { uses: number | null; minutes: number } | null;
        link: "show" | "mail";
        reason: string;
      },
    ) => ask(() => as<WithUser & LostPhoneResult>(one["lost-phone"].$post({ param, json }))),
    resetLimits: () => ask(() => as<WithUser>(one["reset-limits"].$post({ param, json: {} }))),
  };
}

/** The backends of a change; `null` for all, which the request omits. */
export function backendsOf(backends: readonly string[] | null): { backends?: string[] } {
  return backends === null ? {} : { backends: [...backends] };
}

export function targetQuery(target: string): { target?: string } {
  return target === "" ? {} : { target };
}

/** Replaces the type that hono infers, which expands every JSON value. */
async function as<T>(call: Parameters<typeof take<unknown>>[0]): Promise<T> {
  return await take(call) as T;
}

type WithUser = { readonly user: UserView };
type WithPairing = WithUser & { readonly pairing: PairingView };

// Calls of the trash. A change waits for a sign-in or a recent factor.

/** Users of the trash. An empty target is the one whose users log in. */
interface TrashChoice {
  readonly target: string;
  readonly ids: readonly string[];
}

/** The server validates the query. */
export function fetchTrash({ api }: Models, query: FilterQuery): Promise<TrashPage> {
  return take(api.trash.$get({ query } as Parameters<typeof api.trash.$get>[0]));
}

export function restoreUsers(
  { api, session }: Models,
  { target, ids }: TrashChoice,
): Promise<{ items: RestoreItem[] }> {
  const request = { query: targetQuery(target), json: { ids: [...ids] } };
  return session.whileSignedIn(() => take(api.trash.restore.$post(request)));
}

export function purgeUsers(
  { api, session }: Models,
  { target, ids }: TrashChoice,
): Promise<{ purged: number }> {
  const request = { query: targetQuery(target), json: { ids: [...ids] } };
  return session.whileSignedIn(() => take(api.trash.purge.$post(request)));
}

/** Undoes the deletion of a user, shows the result, and opens the user. */
export async function undoDeletion(
  models: Models,
  { target, id, name }: { target: string; id: string; name: string },
): Promise<void> {
  const fail = (reason: string) =>
    models.toasts.show(`${t("users.trash_not_undone", { name })} ${reason}`, { tone: "bad" });
  try {
    const [item] = (await restoreUsers(models, { target, ids: [id] })).items;
    if (item === undefined || item.problem !== null) return fail(item?.problem ?? "");
    const { receipt, missingGroups } = item;
    const summary = receipt === null ? "" : backendSummary(receipt.entries);
    const missing = missingGroups.length === 0
      ? ""
      : t("users.trash_group_missing", { name, groups: missingGroups.join(", ") });
    models.toasts.show([t("users.trash_restored_one", { name }), summary, missing].join(" ").trim(), {
      tone: missing === "" ? "ok" : "wait",
    });
    models.router.go(userHref(name, target));
  } catch (fault) {
    fail(failureText(fault));
  }
}

// The calls of bulk actions on users, and of their jobs.

/** The filters of the list of users; an empty text for an unused filter. */
export type SelectionFilters = Readonly<
  Record<"q" | "status" | "enrolled" | "inactive" | "backend" | "sync", string>
>;

/** The users of the action: by name, or all that match the filters. */
export type UserChoice =
  | { readonly names: readonly string[] }
  | { readonly filters: SelectionFilters; readonly expected: number };

interface BulkActionRequest {
  readonly target: string;
  readonly choice: UserChoice;
  readonly action: BulkAction;
  readonly group?: string;
  readonly backends: readonly string[] | null;
}

/** An action with its users. */
export interface PendingAction {
  readonly action: BulkAction;
  readonly selected: Pick<BulkActionRequest, "target" | "choice">;
}

/** The server validates the filters. */
type BulkBody = Parameters<Models["api"]["bulk"]["$post"]>[0]["json"];

export function startBulkJob({ api, session }: Models, request: BulkActionRequest): Promise<JobView> {
  const { target, backends, ...rest } = request;
  const json = {
    ...rest,
    ...(target === "" ? {} : { target }),
    ...(backends === null ? {} : { backends: [...backends] }),
  } as BulkBody;
  return session.whileSignedIn(() => take(api.bulk.$post({ json })));
}

export function previewBulkAction(
  { api, session }: Models,
  { target, choice, group }: Pick<BulkActionRequest, "target" | "choice" | "group">,
): Promise<BulkPreview> {
  const json = {
    choice,
    ...(target === "" ? {} : { target }),
    ...(group === undefined ? {} : { group }),
  } as Pick<BulkBody, "choice" | "target" | "group">;
  return session.whileSignedIn(() => take(api.bulk.preview.$post({ json })));
}

export function createJobCalls({ api, session }: Models, id: string) {
  const one = api.jobs[":id"];
  const param = escapeParams({ id });
  return {
    view: (): Promise<JobView> => session.whileSignedIn(() => take(one.$get({ param }))),
    stop: (): Promise<JobView> => session.whileSignedIn(() => take(one.stop.$post({ param, json: {} }))),
    undo: (): Promise<JobView> => session.whileSignedIn(() => take(one.undo.$post({ param, json: {} }))),
  };
}
