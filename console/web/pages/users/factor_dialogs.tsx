// Dialogs that add a factor to a user: a phone by invitation, a phone number, or an authenticator app.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { MAX_DEVICE_LABEL_CHARACTERS } from "../../../../platform/device_label.ts";
import type { PairingView } from "../../../api/users/user_types.ts";
import type { QrMatrix } from "../../../api/qr_svg.ts";
import { useAction } from "../../app/action.ts";
import { useInterval } from "../../app/resource.ts";
import { t } from "../../i18n/translate.ts";
import { Button, CopyButton } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { Alert, ErrorAlert } from "../../components/alert.tsx";
import { QrCode } from "../../components/qr_code.tsx";
import { Expiry } from "../../components/time.tsx";
import type { FactorPart } from "./user_page_model.ts";
import { factorLabel } from "./user_states.tsx";

interface Invitation {
  readonly link: string;
  readonly qr: QrMatrix | null;
  readonly deadlineMs: number;
}

const POLL_INTERVAL_MS = 1500;

type DialogPart = FactorPart & { readonly onClose: () => void };

/** An invitation link for one phone, as text and as a QR code. */
export function InvitePhoneDialog({ models, user, calls, page, login, onClose }: DialogPart) {
  const made = useSignal<Invitation | null>(null);
  const { busy, fault, run } = useAction();
  /** The factors when the invitation was made; `null` before. The list of the page may be older. */
  const before = useRef<ReadonlySet<string> | null>(null);
  useEffect(() =>
    void run(async () => {
      const current = await models.session.whileSignedIn(calls.read);
      page.put(current);
      before.current = new Set(current.login?.pairings.map(({ id }) => id));
      made.value = await calls.invite();
    }), []);
  const paired = made.value === null
    ? undefined
    : login.pairings.find(({ id, kind }) => kind === "device" && before.current?.has(id) === false);
  // Only the server knows when the phone is paired. The page behind the dialog shows the new phone, too.
  useInterval(POLL_INTERVAL_MS, async () => {
    if (made.value !== null && paired === undefined) await calls.read().then(page.put, () => undefined);
  });
  if (paired !== undefined) {
    return (
      <Dialog
        title={t("users.invite_title", { name: user.name })}
        onClose={onClose}
        footer={<Button kind="primary" onClick={onClose}>{t("common.done")}</Button>}
      >
        <Alert tone="ok" icon="check" role="status">
          {t("users.phone_paired", { phone: paired.name ?? paired.id, name: user.name })}
        </Alert>
      </Dialog>
    );
  }
  return (
    <Dialog
      title={t("users.invite_title", { name: user.name })}
      onClose={onClose}
      footer={<Button onClick={onClose}>{t("common.close")}</Button>}
    >
      <ErrorAlert of={fault} />
      {busy.value && <p role="status">{t("common.loading")}</p>}
      {made.value !== null && (
        <div class="people-secret">
          <QrCode picture={made.value.qr} label={t("common.pairing_qr")} />
          <p>{t("users.invite_what", { name: user.name })}</p>
          <p class="mono small">{made.value.link}</p>
          <CopyButton text={made.value.link} what={t("common.copy_link")} />
          <Expiry models={models} atMs={made.value.deadlineMs} />
        </div>
      )}
    </Dialog>
  );
}

interface Numbered {
  readonly number: string;
  readonly kind: "sms" | "voice";
}

const NUMBER_ROWS: readonly FieldRow<Numbered>[] = [
  {
    name: "number",
    label: "users.number",
    hint: "users.number_hint",
    input: { type: "tel", required: true, autofocus: true, maxLength: 64 },
  },
  { name: "kind", label: "users.number_kind", choices: ["sms", "voice"], choiceLabel: factorLabel },
];

export function NumberDialog({ user, calls, page, onClose }: DialogPart) {
  const draft = useSignal<Numbered>({ number: "", kind: "sms" });
  return (
    <FormDialog
      title={t("users.number_title", { name: user.name })}
      submitLabel={t("users.add_phone_number")}
      onSubmit={async () => {
        page.put((await calls.addFactor(draft.value)).user);
        page.said(t("users.number_added", { name: user.name }));
      }}
      onClose={onClose}
    >
      <FormFields prefix="factor" draft={draft} rows={NUMBER_ROWS} />
    </FormDialog>
  );
}

const NAME_ROWS: readonly FieldRow<{ name: string }>[] = [{
  name: "name",
  label: "common.user_name",
  input: { required: true, autofocus: true, maxLength: MAX_DEVICE_LABEL_CHARACTERS },
}];

export function RenameDialog({ user, calls, page, onClose, pairing }: DialogPart & { pairing: PairingView }) {
  const draft = useSignal({ name: pairing.name ?? "" });
  return (
    <FormDialog
      title={t("users.rename_title", { name: user.name })}
      submitLabel={t("users.rename")}
      onSubmit={async () => {
        page.put((await calls.rename(pairing.id, draft.value.name)).user);
        page.said(t("users.renamed", { name: user.name }));
      }}
      onClose={onClose}
    >
      <FormFields prefix="phone" draft={draft} rows={NAME_ROWS} />
    </FormDialog>
  );
}

interface Begun {
  readonly id: string;
  readonly secret: string;
  readonly qr: QrMatrix | null;
  readonly deadlineMs: number;
}

interface AppDraft {
  readonly code: string;
  /** The secret of an app that the user has already; "" for the new one. */
  readonly existing: string;
}

const SECRET_ROW: FieldRow<AppDraft> = {
  name: "existing",
  label: "users.totp_existing",
  hint: "users.totp_existing_hint",
  input: { autocomplete: "off", spellcheck: false, maxLength: 1024 },
};
const CODE_ROWS: readonly FieldRow<AppDraft>[] = [{
  name: "code",
  label: "common.totp_code",
  input: { required: true, inputMode: "numeric", autocomplete: "one-time-code", maxLength: 16 },
}];

/** The new secret is shown once. It becomes a factor when the user enters a code of it. An existing one needs no code. */
export function TotpDialog({ models, user, calls, page, onClose }: DialogPart) {
  const begun = useSignal<Begun | null>(null);
  const draft = useSignal<AppDraft>({ code: "", existing: "" });
  const action = useAction();
  useEffect(() => void action.run(async () => begun.value = await calls.beginTotp()), []);
  const seed = begun.value;
  const confirm = async () => {
    if (seed === null) return;
    const existing = draft.value.existing.trim();
    const added = existing === ""
      ? calls.confirmTotp({ id: seed.id, code: draft.value.code.replaceAll(" ", "") })
      : calls.addFactor({ kind: "totp", seed: existing });
    page.put((await added).user);
    page.said(t("users.totp_added", { name: user.name }));
  };
  const isNew = draft.value.existing.trim() === "";
  return (
    <FormDialog
      title={t("users.totp_title", { name: user.name })}
      submitLabel={t("common.confirm")}
      action={action}
      reason={seed === null ? t("common.loading") : undefined}
      onSubmit={confirm}
      onClose={onClose}
    >
      {seed === null && action.busy.value && <p role="status">{t("common.loading")}</p>}
      {seed !== null && (
        <div class="people-secret">
          {isNew && (
            <>
              <QrCode picture={seed.qr} label={t("users.totp_qr")} />
              <p>{t("users.totp_what")}</p>
              <p class="mono" aria-label={t("users.totp_secret")} role="note">{grouped(seed.secret)}</p>
              <Expiry models={models} atMs={seed.deadlineMs} />
              <FormFields prefix="totp" draft={draft} rows={CODE_ROWS} />
            </>
          )}
          <FormFields prefix="totp" draft={draft} rows={[SECRET_ROW]} />
        </div>
      )}
    </FormDialog>
  );
}

/** Groups of four characters are easier to type. */
function grouped(secret: string): string {
  return secret.match(/.{1,4}/g)?.join(" ") ?? "";
}
