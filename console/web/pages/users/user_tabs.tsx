// The tabs of a user besides the overview and the authenticators: the first one that is opened loads all of them.
// The profile: an editable form, a review of the differences, and the merge with concurrent changes.

import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { Fragment } from "preact";
import type { JsonObject } from "../../../../scim/schema/resource.ts";
import type {
  BackendView,
  TimelineEntry,
  TimelinePage,
  UserDetails,
  UserView,
} from "../../../api/users/user_types.ts";
import type { UserSessionsAnswer } from "../../../api/accounting_sessions/session_routes.ts";
import { ApiFailure } from "../../app/api_client.ts";
import { permissionHint } from "../../app/session_model.ts";
import { ReadOnlyField } from "../../components/field.tsx";
import { lazy } from "../../components/lazy.tsx";
import { ReviewDialog, ReviewedForm } from "../../components/review_dialog.tsx";
import { ClockTime, DayTitle, isNewDay, Time } from "../../components/time.tsx";
import { findMessage, t } from "../../i18n/translate.ts";
import {
  BackendChoice,
  firstChoice,
  noBackendReason,
  showReceiptToast,
} from "../../components/backend_results.tsx";
import { useInterval, useResource } from "../../app/resource.ts";
import { Button } from "../../components/button.tsx";
import { Icon } from "../../components/icons.tsx";
import { Panel } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { EmptyState, ErrorAlert, ErrorState, Fetched, Skeleton } from "../../components/alert.tsx";
import { useAction } from "../../app/action.ts";
import { clientText } from "../../components/client_text.ts";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { DisconnectAll, VpnSessionList } from "../live/session_list.tsx";
import { auditActionLabel, ChangeText } from "../audit/change_text.tsx";
import { backendsOf } from "./user_calls.ts";
import {
  attributeName,
  changedFields,
  diffRows,
  fieldLabel,
  mergeForms,
  otherAttributes,
  toAttributes,
  toUserForm,
  UserFields,
  type UserForm,
} from "./user_form.tsx";
import type { UserPart } from "./user_page_model.ts";
import { backendState } from "./user_states.tsx";
import { valueText } from "./user_summary.tsx";

const UserReplyAttributes = lazy(async () => (await import("./user_replies.tsx")).UserReplyAttributes);

export function UserProfile(part: UserPart) {
  const { record, login } = part.user;
  return record === null ? null : (
    <>
      <Profile {...part} record={record} />
      {login !== null && <UserReplyAttributes {...part} />}
    </>
  );
}

function Profile(part: UserPart & { record: UserDetails }) {
  const { models, record } = part;
  const reason = permissionHint(models, "user_manager");
  /** The record that the form started with. A newer record replaces it only while nothing is typed. */
  const began = useSignal(record);
  const form = useSignal<UserForm>(toUserForm(record.attributes));
  const reviewing = useSignal(false);
  const base = toUserForm(began.value.attributes);
  const changed = changedFields(base, form.value);
  useEffect(() => {
    // Effects run late: this also counts input since the last render.
    if (changedFields(toUserForm(began.peek().attributes), form.peek()).length > 0) return;
    began.value = record;
    form.value = toUserForm(record.attributes);
  }, [record.version]);
  const others = useMemo(() => otherAttributes(record.attributes), [record.version]);
  return (
    <section class="panel people-panel" aria-label={t("users.profile")}>
      <ReviewedForm
        router={models.router}
        id="user-profile"
        isSame={changed.length === 0}
        reason={reason}
        onReview={() => reviewing.value = true}
        onDiscard={() => form.value = base}
      >
        <ReadOnlyField label={t("common.user_name")} hint={t("users.name_fixed")}>
          <bdi class="mono">{part.user.name}</bdi>
        </ReadOnlyField>
        <UserFields prefix="profile" form={form} base={base} readOnly={part.user.readOnly} reason={reason} />
        {others.map(({ name, text }) => (
          <ReadOnlyField key={name} label={findMessage(`users.attribute_${name}`) ?? name}>
            <bdi class="mono">{text}</bdi>
          </ReadOnlyField>
        ))}
        <p class="quiet small">
          {t("users.created_at")} <Time models={models} atMs={record.createdMs} /> · {t("common.changed_at")}
          {" "}
          <Time models={models} atMs={record.modifiedMs} />
        </p>
      </ReviewedForm>
      {reviewing.value && (
        <UserReview
          {...part}
          began={began}
          form={form}
          onClose={() => reviewing.value = false}
        />
      )}
    </section>
  );
}

interface ReviewProps extends UserPart {
  /** The profile as it was when the form was opened. */
  readonly began: Signal<UserDetails>;
  readonly form: Signal<UserForm>;
  readonly onClose: () => void;
}

function UserReview({ models, user, calls, page, began, form, onClose }: ReviewProps) {
  const chosen = useSignal(firstChoice(user.backends));
  const { attributes, active, version, modifiedMs } = began.value;
  const base = toUserForm(attributes);
  const mine = form.value;
  const changed = changedFields(base, mine);
  const begin = (record: UserDetails, next: UserForm) => {
    began.value = record;
    form.value = next;
  };
  return (
    <ReviewDialog
      name={user.name}
      rows={diffRows({ now: base, after: mine }, fieldLabel)
        .map((row, at) => ({ ...row, ...keptNote(user, changed[at]) }))}
      reason={noBackendReason(chosen, user.backends)}
      onSave={async () => {
        const { user: saved, receipt } = await calls.replace({
          user: { ...toAttributes(mine, attributes), userName: user.name, active },
          version,
          ...backendsOf(chosen.value),
        });
        const text = t("common.name_changed", { name: user.name });
        const isStoreAlone = user.backends.every(({ kind }) => kind === "store");
        // A toast does not move the form. What a connector did not take stays on the page.
        const isWhole = receipt.entries.every(({ outcome }) => outcome === "done");
        if (!isWhole) page.said(text, receipt);
        else if (isStoreAlone) models.toasts.show(text, { tone: "ok" });
        else showReceiptToast(models, text, receipt);
        if (saved === null) return;
        page.put(saved);
        if (saved.record !== null) begin(saved.record, toUserForm(saved.record.attributes));
      }}
      onRebase={async () => {
        const current = await models.session.whileSignedIn(calls.read);
        if (current.record === null) throw new ApiFailure("unknown_object", { message: t("users.gone") });
        const theirs = toUserForm(current.record.attributes);
        page.put(current);
        begin(current.record, mergeForms({ base, mine, theirs }));
        // A membership also changes the version of a user, but is recorded with the group.
        if (current.record.modifiedMs === modifiedMs) {
          return { fields: [t("shell.groups")], lastChange: null };
        }
        return { fields: changedFields(base, theirs).map(fieldLabel) };
      }}
      onClose={onClose}
    >
      <BackendChoice backends={user.backends} chosen={chosen} />
    </ReviewDialog>
  );
}

/** Names the backends where the attribute is read-only. */
function keptNote({ backends }: UserView, field: keyof UserForm | undefined): { note?: string } {
  const keepers = field === undefined
    ? []
    : backends.filter(({ keeps }) => keeps?.includes(attributeName(field)) === true);
  if (keepers.length === 0) return {};
  return { note: t("users.kept_by", { backend: keepers.map(({ name }) => name).join(", ") }) };
}

// The attributes of a user in each backend, with differences marked, and the sync status with a retry.

const BACKENDS_EVERY_MS = 2000;

export function UserBackends(part: UserPart) {
  const { models, user, calls, page } = part;
  const { record, backends } = user;
  const isPending = backends.some(({ state }) => state?.operation !== undefined);
  useInterval(BACKENDS_EVERY_MS, async () => {
    if (isPending) await page.refreshBackends();
  });
  const refreshing = useSignal(false);
  const reason = permissionHint(models, "operator");
  const refresh = async () => {
    refreshing.value = true;
    await page.change({
      call: async () => ({ user: await calls.refresh() }),
      done: t("users.refreshed"),
      failed: t("users.not_refreshed"),
    });
    refreshing.value = false;
  };
  if (record === null) return null;
  return (
    <Panel quiet title={t("users.by_connector")}>
      <div class="people-head">
        <p class="quiet">{t("users.truth_hint")}</p>
        <Button icon="refresh-cw" reason={reason} busy={refreshing.value} onClick={refresh}>
          {t("users.refresh")}
        </Button>
      </div>
      <TruthTable record={record} backends={backends} name={user.name} />
      <ul class="people-list">
        {backends.map((backend) => <BackendStatus key={backend.name} {...part} backend={backend} />)}
      </ul>
    </Panel>
  );
}

function BackendStatus({ models, page, backend }: UserPart & { backend: BackendView }) {
  const { name, kind, mode, state } = backend;
  const reason = permissionHint(models, "user_manager");
  const differs = state?.differs === true;
  const isOwed = state?.operation !== undefined;
  return (
    <li>
      <strong>
        <bdi>{name}</bdi>
      </strong>
      <span class="quiet small">{`${kind}, ${t(mode === "async" ? "users.later" : "users.at_once")}`}</span>
      <StateText words={backendState(state === null ? null : { state: state.state, differs })} />
      {state !== null && <Time models={models} atMs={state.sinceMs} />}
      {state?.remoteId !== undefined && <bdi class="mono quiet small">{state.remoteId}</bdi>}
      {state?.why !== undefined && <span class="small">{state.why}</span>}
      {(isOwed || differs || state?.state === "vanished") && (
        <Button
          small
          reason={reason}
          of={name}
          onClick={() => page.retry(name)}
        >
          {t(isOwed ? "common.try_again" : "users.make_agree")}
        </Button>
      )}
    </li>
  );
}

type Cells = ReadonlyMap<string, string>;

function TruthTable({ record, backends, name }: {
  record: UserDetails;
  backends: readonly BackendView[];
  name: string;
}) {
  const own = cellsOf(record);
  const columns = backends.map((backend) => ({
    backend,
    cells: backend.state === null || backend.state.state === "vanished"
      ? null
      : backend.holds === null && backend.state.operation !== undefined
      ? "owed" as const
      : backend.holds === null
      ? own
      : cellsOf(backend.holds),
  }));
  const names = [
    ...new Set(
      [own, ...columns.flatMap(({ cells }) => cells === null || cells === "owed" ? [] : [cells])].flatMap((
        one,
      ) => [...one.keys()]),
    ),
  ];
  return (
    <div class="table-frame" role="region" aria-label={t("users.truth", { name })} tabIndex={0}>
      <table class="table people-truth">
        <thead>
          <tr>
            <th scope="col">{t("common.attribute")}</th>
            <th scope="col">{t("common.target")}</th>
            {backends.map((backend) => <th key={backend.name} scope="col">{backend.name}</th>)}
          </tr>
        </thead>
        <tbody>
          {names.map((attribute) => (
            <tr key={attribute}>
              <th scope="row" class="mono">{attribute}</th>
              <td>
                <bdi>{own.get(attribute) ?? ""}</bdi>
              </td>
              {columns.map(({ backend, cells }) => (
                <Cell
                  key={backend.name}
                  own={own.get(attribute) ?? ""}
                  held={cells === null || cells === "owed" ? cells : { value: cells.get(attribute) ?? "" }}
                  keeper={backend.keeps?.includes(attribute) === true ? backend.name : null}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A value in a backend: unknown while a write is pending; `null` if the backend does not have the user. */
type Held = { readonly value: string } | "owed" | null;

/** @param props.keeper the backend if the attribute is read-only there. Then no difference is marked. */
function Cell({ own, held: cell, keeper }: { own: string; held: Held; keeper: string | null }) {
  if (cell === null) return <td class="quiet">{t("users.sync_absent")}</td>;
  if (cell === "owed") return <td class="quiet">{t("users.sync_pending")}</td>;
  const { value: held } = cell;
  if (keeper !== null) {
    return (
      <td>
        <bdi>{held}</bdi> <span class="quiet small">{t("users.kept_by", { backend: keeper })}</span>
      </td>
    );
  }
  if (held === own) return <td class="quiet">{held === "" ? "" : t("users.same")}</td>;
  return (
    <td class="tone-wait differs">
      <Icon name="line-diamond" size={12} />
      <span class="unseen">{t("users.sync_differs")}</span>
      <bdi>{held === "" ? t("common.none") : held}</bdi>
    </td>
  );
}

/** The attributes as texts; an object has a text for each part. */
function cellsOf({ active, attributes }: { active: boolean; attributes: JsonObject }): Cells {
  const cells = new Map([["active", String(active)]]);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      cells.set(name, valueText(value));
    } else {
      for (const [sub, one] of Object.entries(value)) cells.set(prefixOf(name) + sub, valueText(one));
    }
  }
  return new Map([...cells].filter(([, text]) => text !== ""));
}

/** The URN of an extension is omitted. */
function prefixOf(name: string): string {
  return name.startsWith("urn:") ? "" : `${name}.`;
}

// The VPN sessions of a user, with the action that ends them.

const SESSIONS_EVERY_MS = 5000;

export function UserSessions({ models, user, calls }: UserPart) {
  const sessions = useResource<UserSessionsAnswer>(models, { fetch: calls.sessions, inputs: [user] });
  useInterval(SESSIONS_EVERY_MS, sessions.reload);
  return (
    <Panel quiet title={t("users.sessions_tab")}>
      <Fetched resource={sessions} failed="users.sessions_unread">
        {({ sessions: shown }) =>
          shown.length === 0
            ? <EmptyState title={t("users.sessions_none")} next={t("users.sessions_none_next")} />
            : (
              <>
                <DisconnectAll
                  models={models}
                  user={user.name}
                  sessions={shown}
                  onOrdered={sessions.reload}
                />
                <VpnSessionList
                  models={models}
                  label={t("users.sessions_tab")}
                  sessions={shown}
                  onOrdered={sessions.reload}
                />
              </>
            )}
      </Fetched>
    </Panel>
  );
}

// The history of a user, newest first: logins and changes with their actors and sources.

export function UserTimeline({ models, user, calls }: UserPart) {
  const older = useSignal<TimelinePage | null>(null);
  const first = useResource<TimelinePage>(models, {
    fetch() {
      // The older pages belong to the previous state.
      older.value = null;
      return calls.timeline("");
    },
    inputs: [user],
  });
  const action = useAction();
  const state = first.state.value;
  if (state.kind === "failed") {
    return (
      <ErrorState title={t("users.timeline_unread")} onRetry={() => void first.reload()}>
        {state.message}
      </ErrorState>
    );
  }
  if (state.kind !== "ready") return <Skeleton />;
  const entries = [...state.value.entries, ...older.value?.entries ?? []];
  const next = older.value === null ? state.value.next : older.value.next;
  const more = (before: string) =>
    action.run(async () => {
      const page = await calls.timeline(before);
      older.value = { entries: [...older.value?.entries ?? [], ...page.entries], next: page.next };
    });
  return (
    <Panel quiet title={t("users.timeline")}>
      {entries.length === 0 && next === null &&
        <EmptyState title={t("users.no_timeline")} next={t("users.no_timeline_next")} />}
      <ol class="people-timeline">
        {entries.map((entry, at) => (
          <Fragment key={entry.id}>
            {isNewDay(entry.atMs, entries[at - 1]?.atMs) && (
              <li class="day-item">
                <DayTitle atMs={entry.atMs} nowMs={models.clock.nowMs.peek()} />
              </li>
            )}
            <Entry entry={entry} />
          </Fragment>
        ))}
      </ol>
      <ErrorAlert of={action.fault} />
      {next !== null && (
        <Button busy={action.busy.value} onClick={() => more(next)}>{t("users.older")}</Button>
      )}
    </Panel>
  );
}

/** Why a login was rejected; `null` if the record has no known reason. */
function reasonOf({ action, details: { because, by } }: TimelineEntry): string | null {
  if (action !== "login.rejected" || because === undefined) return null;
  if (findMessage(`users.because_${because}`) === null) return null;
  return t(`users.because_${because}` as MessageKey, { by: by ?? "" });
}

function Entry({ entry }: { entry: TimelineEntry }) {
  const { atMs, actor, source, action, before, after, details } = entry;
  const tone = action === "login.accepted" ? "ok" : action === "login.rejected" ? "bad" : "idle";
  const reason = reasonOf(entry);
  // The reason covers these details; the backends have their own tab.
  const leftOut = new Set([
    "backends",
    ...actor === "radius" ? ["client"] : [],
    ...reason === null ? [] : ["because", "by", "row"],
  ]);
  const shown = Object.fromEntries(Object.entries(details).filter(([name]) => !leftOut.has(name)));
  return (
    <li class={`tone-${tone}`}>
      <ClockTime atMs={atMs} />
      <strong>{auditActionLabel(action)}</strong>
      <span class="quiet small">
        {actor === "radius" && details.client !== undefined
          ? (
            <>
              {t("shell.client")} <bdi class="mono">{clientText(details.client)}</bdi>
            </>
          )
          : (
            <>
              {t("users.by")} <bdi class="mono">{actor}</bdi>
              {source !== "" && <bdi class="mono">{` ${source}`}</bdi>}
            </>
          )}
      </span>
      {reason !== null && <span class="small">{reason}</span>}
      <span class="small">
        <ChangeText item={{ before, after, details: shown }} />
      </span>
    </li>
  );
}
