// A user's second factors: phones, numbers, authenticator apps, which comes first; the lock that follows failures; open logins.

import { type Signal, useSignal } from "@preact/signals";
import type { Factor } from "../../../../radius/facts/factors.ts";
import type { LoginView, PairingView } from "../../../api/people/user_shapes.ts";
import { whyNot } from "../../access_words.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../words/translate.ts";
import { stateWords } from "../../words.ts";
import { ConfirmDialog } from "../confirm_dialog.tsx";
import { failureText } from "../../api_client.ts";
import { SelectField } from "../inputs.tsx";
import { Note } from "../note.tsx";
import { EmptyState } from "../states.tsx";
import { Status } from "../status.tsx";
import { Symbol } from "../symbol.tsx";
import { Time } from "../time.tsx";
import { factorLabel } from "./user_states.tsx";
import { late } from "../late.tsx";

const RenameDialog = late(async () => (await import("./factor_dialogs.tsx")).RenameDialog);
const InviteDialog = late(async () => (await import("./factor_dialogs.tsx")).InviteDialog);
const NumberDialog = late(async () => (await import("./factor_dialogs.tsx")).NumberDialog);
const TotpDialog = late(async () => (await import("./factor_dialogs.tsx")).TotpDialog);

/** A part of a user who logs in. */
export interface FactorPart extends UserPart {
  readonly login: LoginView;
}

type Opened = "invite" | "number" | "totp" | null;

export function UserFactors(part: FactorPart) {
  const { models, user, calls, page, login } = part;
  const opened = useSignal<Opened>(null);
  const revoking = useSignal<PairingView | null>(null);
  const renaming = useSignal<PairingView | null>(null);
  const reason = whyNot(models, "user_manager");
  const close = () => opened.value = null;
  const revoke = async ({ id, kind }: PairingView): Promise<string | null> => {
    try {
      page.put((await calls.revoke(id)).user);
      page.said(t("people.revoked", { factor: factorLabel(kind), name: user.name }));
      return null;
    } catch (fault) {
      return failureText(fault);
    }
  };
  return (
    <section class="panel people-panel" aria-label={t("people.factors")}>
      <LockNote {...part} />
      <div class="people-actions">
        <OpenButton
          label={t("people.invite")}
          reason={reason ?? (login.canInvite ? undefined : t("people.no_invitations"))}
          onOpen={() => opened.value = "invite"}
          icon="smartphone"
        />
        <OpenButton
          label={t("people.add_totp")}
          reason={reason}
          onOpen={() => opened.value = "totp"}
          icon="key-round"
        />
        <OpenButton
          label={t("people.add_phone_number")}
          reason={reason}
          onOpen={() => opened.value = "number"}
          icon="plus"
        />
      </div>
      {login.pairings.length === 0
        ? <EmptyState title={t("people.no_factors")} next={t("people.no_factors_next")} />
        : (
          <ul class="people-list">
            {login.pairings.map((pairing) => (
              <li key={pairing.id}>
                <strong>{factorLabel(pairing.kind)}</strong>
                <bdi class={pairing.name === undefined ? "mono" : ""}>{calledOf(pairing)}</bdi>
                <span class="quiet small">
                  {t("people.since")} <Time models={models} atMs={pairing.createdMs} />
                </span>
                {!login.enabled.includes(pairing.kind) && <span class="small">{t("people.not_offered")}
                </span>}
                {pairing.kind === "device" && (
                  <DeedButton {...{ pairing, reason }} deed="rename" on={renaming} />
                )}
                <DeedButton {...{ pairing, reason }} deed="revoke" on={revoking} />
              </li>
            ))}
          </ul>
        )}
      <Preference {...part} {...(reason === undefined ? {} : { reason })} />
      <OpenLogins {...part} />
      {opened.value === "invite" && <InviteDialog {...part} onClose={close} />}
      {opened.value === "number" && <NumberDialog {...part} onClose={close} />}
      {opened.value === "totp" && <TotpDialog {...part} onClose={close} />}
      {renaming.value !== null && (
        <RenameDialog
          {...part}
          pairing={renaming.value}
          onClose={() => renaming.value = null}
        />
      )}
      {revoking.value !== null && (
        <RevokeDialog
          name={user.name}
          pairing={revoking.value}
          onConfirm={revoke}
          onClose={() => revoking.value = null}
        />
      )}
    </section>
  );
}

/** What tells a factor from others of its kind. */
function calledOf({ name, number, id }: PairingView): string {
  return name ?? number ?? id;
}

function DeedButton({ pairing, reason, deed, on }: {
  pairing: PairingView;
  reason: string | undefined;
  deed: "rename" | "revoke";
  /** Whose dialog opens. */
  on: Signal<PairingView | null>;
}) {
  return (
    <button
      type="button"
      class={`button button-small ${deed === "revoke" ? "button-bad" : ""}`}
      disabled={reason !== undefined}
      title={reason}
      onClick={() => on.value = pairing}
    >
      {t(`people.${deed}`)}
      <span class="unseen">{` ${factorLabel(pairing.kind)} ${calledOf(pairing)}`}</span>
    </button>
  );
}

function OpenButton({ label, reason, onOpen, icon }: {
  label: string;
  reason: string | undefined;
  onOpen: () => void;
  icon: "smartphone" | "key-round" | "plus";
}) {
  return (
    <button type="button" class="button" disabled={reason !== undefined} title={reason} onClick={onOpen}>
      <Symbol name={icon} />
      {label}
    </button>
  );
}

function RevokeDialog({ name, pairing, onConfirm, onClose }: {
  name: string;
  pairing: PairingView;
  onConfirm: (pairing: PairingView) => Promise<string | null>;
  onClose: () => void;
}) {
  const factor = factorLabel(pairing.kind);
  return (
    <ConfirmDialog
      title={t("people.revoke_title", { factor, name })}
      verb={t("people.revoke")}
      onConfirm={() => onConfirm(pairing)}
      onClose={onClose}
    >
      <p>{t("people.revoke_what", { factor, name })}</p>
    </ConfirmDialog>
  );
}

function LockNote({ models, user, calls, page, login: { lock } }: FactorPart) {
  const reason = whyNot(models, "user_manager");
  const unlock = async () => {
    try {
      page.put((await calls.unlock()).user);
      page.said(t("people.unlocked", { name: user.name }));
    } catch (fault) {
      page.failed(t("people.not_unlocked"), fault);
    }
  };
  if (!lock.locked && lock.failures === 0 && lock.pushesLeft && lock.sendsLeft) return null;
  const until = lock.hardLocked
    ? t("people.locked_hard")
    : lock.locked
    ? t("people.locked_until")
    : t("people.has_failures");
  return (
    <Note tone={lock.locked ? "bad" : "wait"} icon="alert">
      <strong>{until}</strong>{" "}
      {lock.locked && !lock.hardLocked && <Time models={models} atMs={lock.lockedUntilMs} absolute />}{" "}
      {t("people.failures", { count: lock.failures })}
      {!lock.pushesLeft && ` ${t("people.no_pushes_left")}`}
      {!lock.sendsLeft && ` ${t("people.no_sends_left")}`} {lock.failures > 0 && (
        <button
          type="button"
          class="button button-small"
          disabled={reason !== undefined}
          title={reason}
          onClick={() => void unlock()}
        >
          <Symbol name="lock-open" size={14} />
          {t("people.unlock")}
        </button>
      )}
    </Note>
  );
}

function Preference({ calls, page, login, user, reason }: FactorPart & { reason?: string }) {
  const kinds = [...new Set(login.pairings.map(({ kind }) => kind))];
  if (kinds.length < 2 && login.preferred === null) return null;
  const choose = async (value: string) => {
    const factor = kinds.find((kind) => kind === value) ?? null;
    try {
      page.put((await calls.prefer(factor)).user);
      page.said(t("people.preferred", { name: user.name, factor: factorText(factor) }));
    } catch (fault) {
      page.failed(t("people.not_preferred"), fault);
    }
  };
  return (
    <SelectField
      id="preferred-factor"
      label={t("people.first_factor")}
      hint={reason ?? t("people.first_factor_hint")}
      value={login.preferred ?? ""}
      options={[
        { value: "", label: factorText(null) },
        ...kinds.map((kind) => ({ value: kind, label: factorLabel(kind) })),
      ]}
      onChoose={(value) => void choose(value)}
      input={{ disabled: reason !== undefined }}
    />
  );
}

function factorText(factor: Factor | null): string {
  return factor === null ? t("people.no_preference") : factorLabel(factor);
}

function OpenLogins({ models, login: { conversations } }: FactorPart) {
  if (conversations.length === 0) return null;
  return (
    <div>
      <h2>{t("people.open_logins")}</h2>
      <ul class="people-list">
        {conversations.map((view) => (
          <li key={view.id}>
            <a href={`/live?c=${encodeURIComponent(view.id)}`} class="mono">{view.client}</a>
            <Status words={stateWords(view)} />
            <Time models={models} atMs={view.startedMs} />
          </li>
        ))}
      </ul>
    </div>
  );
}
