// Your own sign-in methods: the authenticator app with its recovery codes, and passkeys.

import { type Signal, useSignal } from "@preact/signals";
import type { FactorSummary } from "../../../api/api_types.ts";
import { useAction } from "../../app/action.ts";
import type { Models } from "../../app/app_context.ts";
import { relativeText } from "../../app/format.ts";
import { type Resource, useResource } from "../../app/resource.ts";
import { Alert, Fetched } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { ConfirmDialog, FormDialog } from "../../components/form_dialog.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { Icon } from "../../components/icons.tsx";
import { lazy } from "../../components/lazy.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { namedAddress, passkeyUnavailableReason, refreshSession } from "../sign_in/sign_in_calls.ts";
import { addPasskey, fetchFactors, newRecoveryCodes, removePasskey, removeTotp } from "./access_calls.ts";

const setUp = () => import("./factor_set_up.tsx");
const CreatedRecoveryCodes = lazy(async () => (await setUp()).CreatedRecoveryCodes);
const TotpSetUp = lazy(async () => (await setUp()).TotpSetUp);

type Passkey = FactorSummary["passkeys"][number];
type Open =
  | { readonly kind: "totp" | "totp_remove" | "passkey" }
  | { readonly kind: "codes"; readonly codes: readonly string[] }
  | { readonly kind: "passkey_remove"; readonly passkey: Passkey }
  | null;

interface PartProps {
  readonly models: Models;
  readonly resource: Resource<FactorSummary>;
  readonly open: Signal<Open>;
}

export function OwnFactors({ models }: { models: Models }) {
  const resource = useResource(models, { fetch: () => fetchFactors(models), inputs: [] });
  const open = useSignal<Open>(null);
  const part = { models, resource, open };
  return (
    <Fetched resource={resource} failed="common.unread" rows={4}>
      {(factors) => (
        <div class="access-columns">
          <KeyWarning factors={factors} />
          <App {...part} factors={factors} />
          <Passkeys {...part} factors={factors} />
          <OpenDialog {...part} />
        </div>
      )}
    </Fetched>
  );
}

/** What is still missing so that the loss of one key does not end the access. */
function KeyWarning({ factors }: { factors: FactorSummary }) {
  const { totpSinceMs, passkeys, hasPassword, recoveryCodesLeft } = factors;
  const hasFactor = totpSinceMs !== null || passkeys.length > 0;
  const isLastKey = passkeys.length === 1 && totpSinceMs === null && !hasPassword;
  if (hasFactor && !isLastKey) return null;
  return (
    <div class="access-warning">
      <Alert tone="wait" icon="alert">
        {!hasFactor ? t("access.no_factor") : t("access.one_key", { count: recoveryCodesLeft })}
      </Alert>
    </div>
  );
}

/** Asks first, because the earlier codes stop working. */
function askForCodes(models: Models, open: Signal<Open>): void {
  models.question.value = {
    title: t("common.codes_renew_title"),
    submitLabel: t("access.codes_new"),
    text: t("access.codes_new_what"),
    async run() {
      open.value = { kind: "codes", codes: (await newRecoveryCodes(models)).codes };
    },
  };
}

function App({ models, factors, open }: PartProps & { factors: FactorSummary }) {
  const since = factors.totpSinceMs;
  const renew = () => askForCodes(models, open);
  return (
    <section class="panel access-panel" aria-label={t("common.authenticator_app")}>
      <h2>{t("common.authenticator_app")}</h2>
      <p>
        {since === null
          ? t("access.app_none")
          : t("access.app_since", { time: relativeText(since, factors.nowMs) })}{" "}
        {since !== null && t("access.codes_left", { count: factors.recoveryCodesLeft })}
      </p>
      <div class="access-actions">
        {since === null
          ? (
            <Button kind="primary" onClick={() => open.value = { kind: "totp" }}>
              {t("common.totp_add")}
            </Button>
          )
          : (
            <>
              <Button onClick={renew}>{t("access.codes_new")}</Button>
              <Button onClick={() => open.value = { kind: "totp_remove" }}>{t("common.app_remove")}</Button>
            </>
          )}
      </div>
    </section>
  );
}

function Passkeys({ models, factors, open }: PartProps & { factors: FactorSummary }) {
  const renew = () => askForCodes(models, open);
  const why = passkeyUnavailableReason();
  const reason = why === null ? undefined : t(why, { url: namedAddress() });
  return (
    <section class="panel access-panel" aria-label={t("common.passkeys")}>
      <h2>{t("common.passkeys")}</h2>
      {factors.passkeys.length === 0
        ? (
          <p>
            {t("access.passkeys_none")} {t("access.passkeys_none_next")}
          </p>
        )
        : (
          <ul class="access-rows">
            {factors.passkeys.map((passkey) => (
              <li key={passkey.id}>
                <Icon name="key-round" />
                <span>
                  <bdi>{passkey.label}</bdi>
                  <span class="hint">
                    {t("common.last_used")}: {passkey.usedMs === null
                      ? t("common.never")
                      : <Time models={models} atMs={passkey.usedMs} />}
                  </span>
                </span>
                <Button
                  small
                  of={passkey.label}
                  onClick={() => open.value = { kind: "passkey_remove", passkey }}
                >
                  {t("common.remove")}
                </Button>
              </li>
            ))}
          </ul>
        )}
      {factors.totpSinceMs === null && factors.passkeys.length > 0 && (
        <p>{t("access.codes_left", { count: factors.recoveryCodesLeft })}</p>
      )}
      <div class="access-actions">
        <Button
          icon="plus"
          {...(factors.passkeys.length === 1 ? { kind: "primary" as const } : {})}
          reason={reason}
          onClick={() => open.value = { kind: "passkey" }}
        >
          {t("common.passkey_add")}
        </Button>
        {factors.totpSinceMs === null && factors.passkeys.length > 0 && (
          <Button onClick={renew}>{t("access.codes_new")}</Button>
        )}
        {reason !== undefined && <span class="hint">{reason}</span>}
      </div>
    </section>
  );
}

interface AddTotpProps {
  readonly models: Models;
  readonly onCodes: (codes: readonly string[]) => void;
  readonly onClose: () => void;
}

/** Cannot be closed while a code is checked: the recovery codes in the answer would be lost. */
function AddTotp({ models, onCodes, onClose }: AddTotpProps) {
  const action = useAction();
  return (
    <Dialog title={t("common.totp_add")} onClose={onClose} action={action}>
      <TotpSetUp models={models} action={action} onCodes={onCodes} />
    </Dialog>
  );
}

function OpenDialog({ models, resource, open }: PartProps) {
  const shown = open.value;
  const close = () => {
    open.value = null;
  };
  const closeAndLoad = () => {
    close();
    void resource.reload();
    void refreshSession(models);
  };
  /** Runs a change and shows the factors that it returns. */
  const run = async (call: () => Promise<FactorSummary>, said: string) => {
    resource.set(await call());
    // The change affects which factor the session can confirm.
    void refreshSession(models);
    models.toasts.show(said, { tone: "ok" });
  };
  if (shown === null) return null;
  if (shown.kind === "totp") {
    return (
      <AddTotp
        models={models}
        onCodes={(codes) => open.value = { kind: "codes", codes }}
        onClose={closeAndLoad}
      />
    );
  }
  if (shown.kind === "codes") {
    return (
      <Dialog title={t("common.recovery_title")}>
        <CreatedRecoveryCodes codes={shown.codes} onDone={closeAndLoad} />
      </Dialog>
    );
  }
  if (shown.kind === "passkey") {
    return (
      <AddPasskey
        onAdd={(label) =>
          run(() => addPasskey(models, label), t("access.passkey_added_said", { name: label }))}
        onClose={close}
      />
    );
  }
  if (shown.kind === "totp_remove") {
    return (
      <ConfirmDialog
        title={t("common.app_remove_title")}
        submitLabel={t("common.app_remove")}
        onClose={close}
        onConfirm={() => run(() => removeTotp(models), t("common.app_removed"))}
      >
        <p>{t("access.app_remove_why")}</p>
      </ConfirmDialog>
    );
  }
  if (shown.kind !== "passkey_remove") return null;
  const { id, label: name } = shown.passkey;
  return (
    <ConfirmDialog
      title={t("access.passkey_remove_title", { name })}
      submitLabel={t("common.remove")}
      onClose={close}
      onConfirm={() => run(() => removePasskey(models, id), t("access.passkey_removed_said", { name }))}
    >
      <p>{t("access.passkey_remove_why")}</p>
    </ConfirmDialog>
  );
}

const PASSKEY_ROWS: readonly FieldRow<{ label: string }>[] = [{
  name: "label",
  label: "access.passkey_label",
  hint: "access.passkey_label_hint",
  input: { required: true, maxLength: 64, autofocus: true },
}];

interface AddPasskeyProps {
  readonly onAdd: (label: string) => Promise<void>;
  readonly onClose: () => void;
}

function AddPasskey({ onAdd, onClose }: AddPasskeyProps) {
  const draft = useSignal({ label: "" });
  return (
    <FormDialog
      title={t("common.passkey_add")}
      submitLabel={t("common.passkey_add")}
      onClose={onClose}
      onSubmit={() => onAdd(draft.value.label)}
    >
      <FormFields prefix="passkey" draft={draft} rows={PASSKEY_ROWS} />
    </FormDialog>
  );
}
