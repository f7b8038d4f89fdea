// Gives a user a factor: a phone by invitation, a number, an authenticator app with its first code.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { MAX_PHONE_NAME_CHARACTERS } from "../../../../phone_name.ts";
import type { PairingView } from "../../../api/people/user_shapes.ts";
import type { QrPicture } from "../../../api/qr_picture.ts";
import { failureText } from "../../api_client.ts";
import { useDeed } from "../../models/deed.ts";
import { t } from "../../words/translate.ts";
import { CopyButton } from "../copy_button.tsx";
import { Dialog } from "../dialog.tsx";
import { Field, TextField } from "../field.tsx";
import { FormDialog } from "../form_dialog.tsx";
import { SelectField } from "../inputs.tsx";
import { Note } from "../note.tsx";
import { QrCode } from "../qr_code.tsx";
import { Time } from "../time.tsx";
import type { FactorPart } from "./user_factors.tsx";

interface Invitation {
  readonly link: string;
  readonly qr: QrPicture | null;
  readonly deadlineMs: number;
}

type DialogPart = FactorPart & { readonly onClose: () => void };

/** A link that pairs a phone once, as text and as a code to point the phone at. */
export function InviteDialog({ models, user, calls, onClose }: DialogPart) {
  const made = useSignal<Invitation | null>(null);
  const problem = useSignal<string | null>(null);
  useEffect(() => {
    calls.invite().then(
      (invitation) => made.value = invitation,
      (fault: unknown) => problem.value = failureText(fault),
    );
  }, []);
  return (
    <Dialog
      title={t("people.invite_title", { name: user.name })}
      onClose={onClose}
      footer={<button type="button" class="button" onClick={onClose}>{t("frame.close")}</button>}
    >
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      {made.value === null && problem.value === null && <p role="status">{t("frame.loading")}</p>}
      {made.value !== null && (
        <div class="people-secret">
          <QrCode picture={made.value.qr} label={t("people.invite_qr")} />
          <p>{t("people.invite_what", { name: user.name })}</p>
          <p class="mono small">{made.value.link}</p>
          <CopyButton text={made.value.link} what={t("people.copy_link")} />
          <p class="quiet small">
            {t("people.good_until")} <Time models={models} atMs={made.value.deadlineMs} absolute />
          </p>
        </div>
      )}
    </Dialog>
  );
}

export function NumberDialog({ user, calls, page, onClose }: DialogPart) {
  const kind = useSignal<"sms" | "voice">("sms");
  const number = useSignal("");
  const add = async () => {
    page.put((await calls.addNumber({ kind: kind.value, number: number.value })).user);
    page.said(t("people.number_added", { name: user.name }));
    onClose();
  };
  return (
    <FormDialog
      title={t("people.number_title", { name: user.name })}
      verb={t("people.add_phone_number")}
      onSubmit={add}
      onClose={onClose}
    >
      <TextField
        id="factor-number"
        label={t("people.number")}
        hint={t("people.number_hint")}
        text={number}
        input={{ type: "tel", required: true, autofocus: true, maxLength: 64 }}
      />
      <SelectField
        id="factor-kind"
        label={t("people.number_kind")}
        value={kind.value}
        options={[
          { value: "sms", label: t("people.factor_sms") },
          { value: "voice", label: t("people.factor_voice") },
        ]}
        onChoose={(value) => kind.value = value === "voice" ? "voice" : "sms"}
      />
    </FormDialog>
  );
}

/** What a phone is called, so that a person's two can be told apart. */
export function RenameDialog({ user, calls, page, onClose, pairing }: DialogPart & { pairing: PairingView }) {
  return (
    <FormDialog
      title={t("people.rename_title", { name: user.name })}
      verb={t("people.rename")}
      onSubmit={async (field) => {
        page.put((await calls.rename(pairing.id, field("name"))).user);
        page.said(t("people.renamed", { name: user.name }));
        onClose();
      }}
      onClose={onClose}
    >
      <Field
        id="phone-name"
        label={t("people.name")}
        input={{
          name: "name",
          defaultValue: pairing.name ?? "",
          required: true,
          autofocus: true,
          autocomplete: "off",
          maxLength: MAX_PHONE_NAME_CHARACTERS,
        }}
      />
    </FormDialog>
  );
}

interface Begun {
  readonly id: string;
  readonly secret: string;
  readonly qr: QrPicture | null;
  readonly deadlineMs: number;
}

/** The secret is shown this once; it counts when a code of it was typed. */
export function TotpDialog({ models, user, calls, page, onClose }: DialogPart) {
  const begun = useSignal<Begun | null>(null);
  const code = useSignal("");
  const deed = useDeed();
  useEffect(() => void deed.run(async () => begun.value = await calls.beginTotp()), []);
  const seed = begun.value;
  const confirm = async () => {
    if (seed === null) return;
    page.put((await calls.confirmTotp({ id: seed.id, code: code.value.replaceAll(" ", "") })).user);
    page.said(t("people.totp_added", { name: user.name }));
    onClose();
  };
  return (
    <FormDialog
      title={t("people.totp_title", { name: user.name })}
      verb={t("people.confirm")}
      deed={deed}
      reason={seed === null ? t("frame.loading") : undefined}
      onSubmit={confirm}
      onClose={onClose}
    >
      {seed === null && deed.busy.value && <p role="status">{t("frame.loading")}</p>}
      {seed !== null && (
        <div class="people-secret">
          <QrCode picture={seed.qr} label={t("people.totp_qr")} />
          <p>{t("people.totp_what")}</p>
          <p class="mono" aria-label={t("people.totp_secret")} role="note">{grouped(seed.secret)}</p>
          <p class="quiet small">
            {t("people.good_until")} <Time models={models} atMs={seed.deadlineMs} absolute />
          </p>
          <TextField
            id="totp-code"
            label={t("people.totp_code")}
            text={code}
            input={{ required: true, inputMode: "numeric", autocomplete: "one-time-code", maxLength: 16 }}
          />
        </div>
      )}
    </FormDialog>
  );
}

/** In fours, as people type it. */
function grouped(secret: string): string {
  return secret.match(/.{1,4}/g)?.join(" ") ?? "";
}
