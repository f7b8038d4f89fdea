// The authenticators of a user: phones, phone numbers, authenticator apps, and the default factor.

import { type Signal, useSignal } from "@preact/signals";
import type { Factor } from "../../../../radius/flow/context.ts";
import type { PairingView } from "../../../api/users/user_types.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert, EmptyState } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { SelectField } from "../../components/field.tsx";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import { choicesOf } from "../../components/form_fields.tsx";
import { lazy } from "../../components/lazy.tsx";
import { PhoneNote } from "../../components/phone_note.tsx";
import { Panel } from "../../components/page_layout.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { UserTokens } from "../tokens/user_tokens.tsx";
import type { FactorPart } from "./user_page_model.ts";
import { LockNote } from "./user_locks.tsx";
import { factorLabel } from "./user_states.tsx";
import { calledOf, factorCount } from "./user_summary.tsx";

const dialogs = () => import("./factor_dialogs.tsx");
const InvitePhoneDialog = lazy(async () => (await dialogs()).InvitePhoneDialog);
const NumberDialog = lazy(async () => (await dialogs()).NumberDialog);
const RenameDialog = lazy(async () => (await dialogs()).RenameDialog);
const TotpDialog = lazy(async () => (await dialogs()).TotpDialog);

type Opened = "invite" | "number" | "totp" | null;

export function UserFactorsTab(part: FactorPart) {
  const { models, login } = part;
  const opened = useSignal<Opened>(null);
  const revoking = useSignal<PairingView | null>(null);
  const renaming = useSignal<PairingView | null>(null);
  const reason = permissionHint(models, "user_manager");
  const close = () => opened.value = null;
  return (
    <Panel quiet title={t("shell.devices")}>
      <LockNote {...part} />
      <Unconfirmed {...part} reason={reason} />
      <div class="people-actions">
        <Button
          icon="smartphone"
          reason={reason ?? (login.canInvite ? undefined : t("users.no_invitations"))}
          onClick={() => opened.value = "invite"}
        >
          {t("common.pair_phone")}
        </Button>
        <Button icon="key-round" reason={reason} onClick={() => opened.value = "totp"}>
          {t("users.add_totp")}
        </Button>
        <Button icon="plus" reason={reason} onClick={() => opened.value = "number"}>
          {t("users.add_phone_number")}
        </Button>
      </div>
      {factorCount(login) === 0
        ? <EmptyState title={t("common.no_second_factors")} next={t("users.no_factors_next")} />
        : (
          <ul class="people-list">
            {login.pairings.map((pairing) => (
              <li key={pairing.id}>
                <strong>{factorLabel(pairing.kind)}</strong>
                <bdi class={pairing.number === undefined ? "" : "mono"}>{calledOf(pairing)}</bdi>
                <span class="quiet small">
                  {t("users.since")} <Time models={models} atMs={pairing.createdMs} />
                </span>
                {pairing.phone !== undefined && <PhoneNote models={models} phone={pairing.phone} />}
                {!login.enabled.includes(pairing.kind) && <span class="small">{t("users.not_offered")}</span>}
                {pairing.kind === "device" && (
                  <PairingButton {...{ pairing, reason }} action="rename" on={renaming} />
                )}
                <PairingButton {...{ pairing, reason }} action="revoke" on={revoking} />
              </li>
            ))}
            {login.directoryNumbers.map(({ number, kinds }) => (
              <li key={number}>
                <strong>{kinds.map(factorLabel).join(", ")}</strong>
                <bdi class="mono">{number}</bdi>
                <span class="quiet small">{t("users.directory_number")}</span>
              </li>
            ))}
          </ul>
        )}
      <UserTokens {...part} reason={reason} />
      <Preference {...part} reason={reason} />
      <RememberedDevices {...part} reason={reason} />
      {opened.value === "invite" && <InvitePhoneDialog {...part} onClose={close} />}
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
          {...part}
          pairing={revoking.value}
          onClose={() => revoking.value = null}
        />
      )}
    </Panel>
  );
}

/** Factors that a revoked phone added. They are not valid until an administrator keeps them. */
function Unconfirmed(
  { models, user, calls, page, login, reason }: FactorPart & { reason: string | undefined },
) {
  const factors = login.unconfirmed ?? [];
  if (factors.length === 0) return null;
  return (
    <Alert tone="wait" icon="alert">
      <strong>{t("users.unconfirmed_title")}</strong>
      <p>{t("users.unconfirmed_text")}</p>
      <ul class="people-list">
        {factors.map(({ id, kind, name, addedBy, createdMs }) => {
          const factor = kind === "recovery_codes" ? t("common.recovery_codes") : factorLabel(kind);
          const called = name === undefined ? factor : `${factor} ${name}`;
          const keep = () =>
            page.change({
              call: () => calls.keepUnconfirmed(id),
              done: t("users.unconfirmed_kept", { factor: called }),
              failed: t("users.unconfirmed_not_kept"),
            });
          const remove = () =>
            page.change({
              call: () => calls.removeUnconfirmed(id),
              done: t("users.unconfirmed_removed", { factor: called }),
              failed: t("users.unconfirmed_not_removed"),
            });
          const ask = (verb: "keep" | "remove") =>
            models.question.value = {
              title: t(`users.unconfirmed_${verb}_title`, { factor: called }),
              submitLabel: t(`users.unconfirmed_${verb}`),
              text: t(`users.unconfirmed_${verb}_what`, { name: user.name, phone: addedBy }),
              isBad: verb === "remove",
              run: verb === "keep" ? keep : remove,
            };
          return (
            <li key={id}>
              <strong>{factor}</strong>
              {name !== undefined && <bdi>{name}</bdi>}
              <span class="small">{t("users.unconfirmed_by", { phone: addedBy })}</span>
              <Time models={models} atMs={createdMs} />
              <Button small reason={reason} of={called} onClick={() => ask("keep")}>
                {t("users.unconfirmed_keep")}
              </Button>
              <Button small kind="bad" reason={reason} of={called} onClick={() => ask("remove")}>
                {t("users.unconfirmed_remove")}
              </Button>
            </li>
          );
        })}
      </ul>
    </Alert>
  );
}

function PairingButton({ pairing, reason, action, on }: {
  pairing: PairingView;
  reason: string | undefined;
  action: "rename" | "revoke";
  /** The factor whose dialog is open. */
  on: Signal<PairingView | null>;
}) {
  return (
    <Button
      small
      kind={action === "revoke" ? "bad" : undefined}
      reason={reason}
      of={pairing.kind === "device" && pairing.name === undefined
        ? calledOf(pairing)
        : `${factorLabel(pairing.kind)} ${calledOf(pairing)}`}
      onClick={() => on.value = pairing}
    >
      {t(`users.${action}`)}
    </Button>
  );
}

interface RevokeProps extends FactorPart {
  readonly pairing: PairingView;
  readonly onClose: () => void;
}

function RevokeDialog({ user: { name }, calls, page, pairing: { id, kind }, onClose }: RevokeProps) {
  const factor = factorLabel(kind);
  return (
    <ConfirmDialog
      title={t("users.revoke_title", { factor, name })}
      submitLabel={t("users.revoke")}
      onConfirm={async () => {
        page.put((await calls.revoke(id)).user);
        page.said(t("users.revoked", { factor, name }));
      }}
      onClose={onClose}
    >
      <p>{t("users.revoke_what", { factor, name })}</p>
    </ConfirmDialog>
  );
}

function Preference({ calls, page, login, user, reason }: FactorPart & { reason: string | undefined }) {
  const withTokens = (login.tokens?.length ?? 0) > 0 ? ["totp" as const] : [];
  const kinds: Factor[] = [...new Set(login.pairings.map(({ kind }) => kind).concat(withTokens))];
  if (kinds.length < 2 && login.preferred === null) return null;
  const choose = (factor: Factor | null) =>
    void page.change({
      call: () => calls.prefer(factor),
      done: t("users.preferred", { name: user.name, factor: factorText(factor) }),
      failed: t("users.not_preferred"),
    });
  return (
    <SelectField
      id="preferred-factor"
      label={t("common.default_factor")}
      hint={reason ?? t("users.first_factor_hint")}
      {...choicesOf({ choices: [null, ...kinds], choiceLabel: factorText }, {
        value: login.preferred,
        onChange: choose,
      })}
      input={{ disabled: reason !== undefined }}
    />
  );
}

/** The devices that a policy remembers, with the button that forgets them. */
function RememberedDevices(
  { models, calls, page, login: { rememberedDevices = 0 }, user: { name }, reason }: FactorPart & {
    reason: string | undefined;
  },
) {
  if (rememberedDevices === 0) return null;
  const forget = () =>
    page.change({
      call: calls.forgetDevices,
      done: t("users.remembered_forgotten", { name }),
      failed: t("users.remembered_not_forgotten"),
    });
  const ask = () =>
    models.question.value = {
      title: t("users.remembered_title", { name }),
      submitLabel: t("users.remembered_forget"),
      text: t("users.remembered_forgotten", { name }),
      isBad: true,
      run: forget,
    };
  return (
    <div class="people-actions">
      <span>{t("users.remembered", { count: rememberedDevices })}</span>
      <Button small reason={reason} onClick={ask}>{t("users.remembered_forget")}</Button>
    </div>
  );
}

function factorText(factor: Factor | null): string {
  return factor === null ? t("users.no_preference") : factorLabel(factor);
}
