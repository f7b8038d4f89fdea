// The Overview tab of a user: locks and limits, authenticators, the latest sign-ins, and groups.

import { useSignal } from "@preact/signals";
import type { UserDetails, UserLoginView } from "../../../api/users/user_types.ts";
import type { UserSignIn, UserSignIns } from "../../../api/users/user_routes.ts";
import { OUTCOME_NAMES, outcomeLabel, shortReasonText, stateLabel } from "../../app/login_state_labels.ts";
import type { Resource } from "../../app/resource.ts";
import { EmptyState, Fetched } from "../../components/alert.tsx";
import { clientHref, clientText } from "../../components/client_text.ts";
import { Chip, StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Button } from "../../components/button.tsx";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import { lazy } from "../../components/lazy.tsx";
import { factorLabel, usedFactorLabel } from "./user_states.tsx";
import { defaultFactor, factorCount, valueText, VerifiedCaller } from "./user_summary.tsx";
import { LockNote } from "./user_locks.tsx";
import type { FactorPart, UserPart } from "./user_page_model.ts";

interface OverviewPart extends UserPart {
  readonly signIns: Resource<UserSignIns>;
}

export function UserOverview({ signIns, ...part }: OverviewPart) {
  const { user: { record, login } } = part;
  return (
    <>
      {login !== null && <LockNote {...part} login={login} />}
      <div class="overview-columns">
        <div class="overview-column">
          {login !== null && <HelpDeskPanel {...part} login={login} />}
          {login !== null && <Authenticators {...part} login={login} />}
          {record !== null && <Groups {...part} groups={record.groups} />}
        </div>
        <div class="overview-column">
          {login !== null && <OpenSignIns {...part} login={login} />}
          {login !== null && <LatestSignIns {...part} signIns={signIns} />}
          {record !== null && <ProfilePanel {...part} record={record} />}
        </div>
      </div>
    </>
  );
}

function Authenticators({ models, login }: FactorPart) {
  const { pairings, directoryNumbers, tokens = [] } = login;
  const preferred = defaultFactor(login);
  return (
    <section class="panel overview-panel" aria-labelledby="user-authenticators">
      <div class="panel-head">
        <h2 id="user-authenticators">{t("shell.devices")}</h2>
        <a class="end" href={`${models.router.path.value}#devices`}>{t("users.manage")}</a>
      </div>
      {factorCount(login) === 0
        ? <EmptyState title={t("common.no_second_factors")} next={t("users.no_factors_next")} />
        : (
          <ul class="user-rows">
            {pairings.map((pairing) => (
              <li key={pairing.id}>
                <strong>{factorLabel(pairing.kind)}</strong>
                <bdi class="user-row-name">{pairing.name ?? pairing.number}</bdi>
                {preferred?.factor === pairing.kind && (
                  <Chip words={{ label: t("users.default_mark"), tone: "ok", shape: "check" }} />
                )}
                <span class="quiet small">
                  {t("users.since")} <Time models={models} atMs={pairing.createdMs} />
                </span>
              </li>
            ))}
            {tokens.map(({ id, serial, assignedMs }) => (
              <li key={id}>
                <strong>{t("common.hardware_token")}</strong>
                <bdi class="user-row-name mono">{serial}</bdi>
                {preferred?.factor === "totp" && (
                  <Chip words={{ label: t("users.default_mark"), tone: "ok", shape: "check" }} />
                )}
                <span class="quiet small">
                  {t("users.since")} <Time models={models} atMs={assignedMs ?? 0} />
                </span>
              </li>
            ))}
            {directoryNumbers.map(({ number, kinds }) => (
              <li key={number}>
                <strong>{kinds.map(factorLabel).join(", ")}</strong>
                <bdi class="user-row-name">{number}</bdi>
                <span class="quiet small">{t("users.from_directory")}</span>
              </li>
            ))}
          </ul>
        )}
    </section>
  );
}

const PROFILE_ROWS = [
  ["emails", "users.mails"],
  ["phoneNumbers", "common.phone_numbers"],
  ["title", "users.job_title"],
  ["department", "users.department"],
] as const;

/** What identifies the person, so that a help desk needs no other tab. */
function ProfilePanel({ models, user, record }: UserPart & { readonly record: UserDetails }) {
  const { attributes, createdMs, modifiedMs } = record;
  const rows = PROFILE_ROWS.flatMap(([name, label]) => {
    const text = valueText(attributes[name]);
    return text === "" ? [] : [[label, text] as const];
  });
  return (
    <section class="panel overview-panel" aria-labelledby="user-profile">
      <div class="panel-head">
        <h2 id="user-profile">{t("users.profile")}</h2>
        <a class="end" href={`${models.router.path.value}#profile`}>
          {t("users.profile_open")}
        </a>
      </div>
      <dl class="facts user-profile-facts">
        {rows.map(([label, text]) => [
          <dt key={label}>{t(label)}</dt>,
          <dd key={`${label} value`}>
            <bdi>{text}</bdi>
          </dd>,
        ])}
        <dt>{t("common.target")}</dt>
        <dd>
          <a href={`/targets/${encodeURIComponent(user.target)}`}>
            <bdi>{user.target}</bdi>
          </a>
        </dd>
        <dt>{t("users.created_at")}</dt>
        <dd>
          <Time models={models} atMs={createdMs} />
        </dd>
        <dt>{t("users.profile_changed")}</dt>
        <dd>
          <Time models={models} atMs={modifiedMs} />
        </dd>
      </dl>
    </section>
  );
}

const MAX_GROUPS = 12;

function Groups({ models, groups }: UserPart & { readonly groups: readonly string[] }) {
  const more = groups.length - MAX_GROUPS;
  return (
    <section class="panel overview-panel" aria-labelledby="user-groups">
      <div class="panel-head">
        <h2 id="user-groups">{t("shell.groups")}</h2>
        <a class="end" href={`${models.router.path.value}#groups`}>
          {t("users.manage")}
          <span class="unseen">{` ${t("shell.groups")}`}</span>
        </a>
      </div>
      {groups.length === 0 ? <p class="quiet user-none">{t("users.no_groups")}</p> : (
        <ul class="user-groups">
          {groups.slice(0, MAX_GROUPS).map((group) => (
            <li key={group}>
              <a href={`/groups/${encodeURIComponent(group)}`}>
                <bdi>{group}</bdi>
              </a>
            </li>
          ))}
          {more > 0 && <li class="quiet">{t("users.more_groups", { count: more })}</li>}
        </ul>
      )}
    </section>
  );
}

function OpenSignIns({ models, login: { conversations } }: FactorPart) {
  if (conversations.length === 0) return null;
  return (
    <section class="panel overview-panel" aria-labelledby="user-open">
      <div class="panel-head">
        <h2 id="user-open">{t("common.sign_ins_in_progress")}</h2>
      </div>
      <ul class="user-rows">
        {conversations.map((view) => (
          <li key={view.id}>
            <StateText words={stateLabel(view)} />
            <a href={`/live?c=${encodeURIComponent(view.id)}`} class="user-row-name">
              <bdi>{clientText(view.client)}</bdi>
            </a>
            <Time models={models} atMs={view.startedMs} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function LatestSignIns({ models, user, signIns }: OverviewPart) {
  return (
    <section class="panel overview-panel" aria-labelledby="user-sign-ins">
      <div class="panel-head">
        <h2 id="user-sign-ins">{t("users.sign_ins")}</h2>
        <a class="end" href={`/history?user=${encodeURIComponent(user.name)}`}>{t("users.all_sign_ins")}</a>
      </div>
      <Fetched resource={signIns} rows={5} failed="users.sign_ins_unread">
        {({ items }) =>
          items.length === 0
            ? <EmptyState title={t("users.no_sign_ins")} next={t("users.no_sign_ins_next")} />
            : (
              <ul class="sign-in-rows">
                {items.map((item) => <SignInRow key={item.id} models={models} item={item} />)}
              </ul>
            )}
      </Fetched>
    </section>
  );
}

function SignInRow({ models, item }: { models: UserPart["models"]; item: UserSignIn }) {
  const { id, client, factor, outcome, reason, endedMs } = item;
  const known = OUTCOME_NAMES.find((one) => one === outcome);
  const label = known && outcomeLabel(known);
  const why = reason && shortReasonText(reason);
  return (
    <li>
      <a class="sign-in-outcome" href={`/live/c/${encodeURIComponent(id)}`}>
        {label ? <StateText words={label} /> : outcome}
      </a>
      <span class="sign-in-why">
        {reason === null ? factor !== null && usedFactorLabel(factor) : why !== label?.label && why}
      </span>
      <a class="quiet" href={clientHref(client)}>
        <bdi>{clientText(client)}</bdi>
      </a>
      <Time models={models} atMs={endedMs} />
    </li>
  );
}

// The Help desk panel of a user: verify the caller, issue or revoke a bypass code, and handle a lost phone.

const dialogs = () => import("./help_desk_dialogs.tsx");
const VerifyCallerDialog = lazy(async () => (await dialogs()).VerifyCallerDialog);
const BypassDialog = lazy(async () => (await dialogs()).BypassDialog);
const LostPhoneDialog = lazy(async () => (await dialogs()).LostPhoneDialog);

type Opened = "verify" | "bypass" | "revoke" | "lost" | null;

function HelpDeskPanel(part: FactorPart) {
  const { models, user, login } = part;
  const opened = useSignal<Opened>(null);
  const close = () => opened.value = null;
  const reason = permissionHint(models, "help_desk");
  const inactive = user.record?.active === true ? undefined : t("users.bypass_inactive");
  return (
    <section class="panel overview-panel" aria-labelledby="user-help-desk">
      <div class="panel-head">
        <h2 id="user-help-desk">{t("users.help_desk")}</h2>
      </div>
      <div class="help-desk">
        <div class="people-actions">
          <Button icon="user" reason={verifyReason(part)} onClick={() => opened.value = "verify"}>
            {t("users.verify_caller")}
          </Button>
          <Button icon="key-round" reason={reason ?? inactive} onClick={() => opened.value = "bypass"}>
            {t("users.bypass_issue")}
          </Button>
          <Button icon="smartphone" reason={reason ?? inactive} onClick={() => opened.value = "lost"}>
            {t("users.lost_phone")}
          </Button>
        </div>
        <VerifiedCaller {...part} />
        {login.bypass !== null && (
          <BypassRow
            {...part}
            bypass={login.bypass}
            reason={reason}
            onRevoke={() => opened.value = "revoke"}
          />
        )}
      </div>
      {opened.value === "verify" && <VerifyCallerDialog {...part} onClose={close} />}
      {opened.value === "bypass" && <BypassDialog {...part} onClose={close} />}
      {opened.value === "lost" && <LostPhoneDialog {...part} onClose={close} />}
      {opened.value === "revoke" && <RevokeBypassDialog {...part} onClose={close} />}
    </section>
  );
}

/** Why a caller cannot be verified. */
function verifyReason({ models, login }: FactorPart): string | undefined {
  if (!models.session.hasRole("operator") && !models.session.hasRole("help_desk")) {
    return permissionHint(models, "help_desk");
  }
  if (!login.canInvite) return t("users.verify_external");
  return login.pairings.some(({ kind }) => kind === "device") ? undefined : t("users.verify_no_phone");
}

interface BypassRowProps extends FactorPart {
  readonly bypass: NonNullable<UserLoginView["bypass"]>;
  readonly reason: string | undefined;
  readonly onRevoke: () => void;
}

function BypassRow({ models, bypass, reason, onRevoke }: BypassRowProps) {
  const { usesLeft, expiresMs, by, createdMs } = bypass;
  return (
    <p class="help-desk-bypass">
      <strong>{t("common.bypass_code")}</strong>
      <span>
        {usesLeft === null
          ? t("common.any_number_of_sign_ins")
          : t("common.sign_ins_left", { count: usesLeft })}
      </span>
      <span>
        {t("common.until")} <Time models={models} atMs={expiresMs} absolute />
      </span>
      <span class="quiet small">
        {t("common.issued_by", { by })} <Time models={models} atMs={createdMs} />
      </span>
      <Button small kind="bad" reason={reason} of={t("common.bypass_code")} onClick={onRevoke}>
        {t("users.revoke")}
      </Button>
    </p>
  );
}

function RevokeBypassDialog(
  { user: { name }, calls, page, onClose }: FactorPart & { readonly onClose: () => void },
) {
  return (
    <ConfirmDialog
      title={t("users.bypass_revoke_title", { name })}
      submitLabel={t("common.revoke_code")}
      onConfirm={async () => {
        page.put((await calls.revokeBypass()).user);
        page.said(t("users.bypass_revoked", { name }));
      }}
      onClose={onClose}
    >
      <p>{t("common.cannot_sign_in_with_it", { name })}</p>
    </ConfirmDialog>
  );
}
