// Gives a user a factor: a phone by invitation, a number, an authenticator app with its first code.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { MAX_PHONE_NAME_CHARACTERS } from "../../../../platform/device_label.ts";
import type { PairingView } from "../../../api/users/user_types.ts";
import type { QrPicture } from "../../../api/qr_svg.ts";
import { useDeed } from "../../models/deed.ts";
import { useEvery } from "../../models/every.ts";
import { t } from "../../i18n/translate.ts";
import { Button } from "../button.tsx";
import { CopyButton } from "../copy_button.tsx";
import { Dialog } from "../dialog.tsx";
import { type FieldRow, Fields } from "../fields.tsx";
import { FormDialog } from "../form_dialog.tsx";
import { Note, Problem } from "../note.tsx";
import { QrCode } from "../qr_code.tsx";
import { GoodUntil } from "./good_until.tsx";
import type { FactorPart } from "./user_factors.tsx";
import { factorLabel } from "./user_states.tsx";

interface Invitation {
  readonly link: string;
  readonly qr: QrPicture | null;
  readonly deadlineMs: number;
}

/** How often the page asks whether the phone was paired. */
const LOOK_EVERY_MS = 1500;

type DialogPart = FactorPart & { readonly onClose: () => void };

/** A link that pairs a phone once, as text and as a code to point the phone at. */
export function InviteDialog({ models, user, calls, page, login, onClose }: DialogPart) {
  const made = useSignal<Invitation | null>(null);
  const { busy, fault, run } = useDeed();
  useEffect(() => void run(async () => made.value = await calls.invite()), []);
  const before = useRef(new Set(login.pairings.map(({ id }) => id)));
  const paired = login.pairings.find(({ id, kind }) => kind === "device" && !before.current.has(id));
  // The phone is another device: what it did is only known by asking. The page behind the dialog shows it, too.
  useEvery(LOOK_EVERY_MS, () => {
    if (made.value !== null && paired === undefined) calls.read().then(page.put, () => undefined);
  });
  if (paired !== undefined) {
    return (
      <Dialog
        title={t("people.invite_title", { name: user.name })}
        onClose={onClose}
        footer={<Button kind="primary" onClick={onClose}>{t("frame.done")}</Button>}
      >
        <Note tone="ok" icon="check" role="status">
          {t("people.phone_paired", { phone: paired.name ?? paired.id, name: user.name })}
        </Note>
      </Dialog>
    );
  }
  return (
    <Dialog
      title={t("people.invite_title", { name: user.name })}
      onClose={onClose}
      footer={<Button onClick={onClose}>{t("frame.close")}</Button>}
    >
      <Problem of={fault} />
      {busy.value && <p role="status">{t("frame.loading")}</p>}
      {made.value !== null && (
        <div class="people-secret">
          <QrCode picture={made.value.qr} label={t("people.invite_qr")} />
          <p>{t("people.invite_what", { name: user.name })}</p>
          <p class="mono small">{made.value.link}</p>
          <CopyButton text={made.value.link} what={t("people.copy_link")} />
          <GoodUntil models={models} atMs={made.value.deadlineMs} />
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
    label: "people.number",
    hint: "people.number_hint",
    input: { type: "tel", required: true, autofocus: true, maxLength: 64 },
  },
  { name: "kind", label: "people.number_kind", choices: ["sms", "voice"], sayChoice: factorLabel },
];

export function NumberDialog({ user, calls, page, onClose }: DialogPart) {
  const draft = useSignal<Numbered>({ number: "", kind: "sms" });
  return (
    <FormDialog
      title={t("people.number_title", { name: user.name })}
      verb={t("people.add_phone_number")}
      onSubmit={async () => {
        page.put((await calls.addNumber(draft.value)).user);
        page.said(t("people.number_added", { name: user.name }));
      }}
      onClose={onClose}
    >
      <Fields prefix="factor" draft={draft} rows={NUMBER_ROWS} />
    </FormDialog>
  );
}

/** What a phone is called, so that a person's two can be told apart. */
const NAME_ROWS: readonly FieldRow<{ name: string }>[] = [{
  name: "name",
  label: "people.name",
  input: { required: true, autofocus: true, maxLength: MAX_PHONE_NAME_CHARACTERS },
}];

export function RenameDialog({ user, calls, page, onClose, pairing }: DialogPart & { pairing: PairingView }) {
  const draft = useSignal({ name: pairing.name ?? "" });
  return (
    <FormDialog
      title={t("people.rename_title", { name: user.name })}
      verb={t("people.rename")}
      onSubmit={async () => {
        page.put((await calls.rename(pairing.id, draft.value.name)).user);
        page.said(t("people.renamed", { name: user.name }));
      }}
      onClose={onClose}
    >
      <Fields prefix="phone" draft={draft} rows={NAME_ROWS} />
    </FormDialog>
  );
}

interface Begun {
  readonly id: string;
  readonly secret: string;
  readonly qr: QrPicture | null;
  readonly deadlineMs: number;
}

const CODE_ROWS: readonly FieldRow<{ code: string }>[] = [{
  name: "code",
  label: "people.totp_code",
  input: { required: true, inputMode: "numeric", autocomplete: "one-time-code", maxLength: 16 },
}];

/** The secret is shown this once; it counts when a code of it was typed. */
export function TotpDialog({ models, user, calls, page, onClose }: DialogPart) {
  const begun = useSignal<Begun | null>(null);
  const draft = useSignal({ code: "" });
  const deed = useDeed();
  useEffect(() => void deed.run(async () => begun.value = await calls.beginTotp()), []);
  const seed = begun.value;
  const confirm = async () => {
    if (seed === null) return;
    page.put((await calls.confirmTotp({ id: seed.id, code: draft.value.code.replaceAll(" ", "") })).user);
    page.said(t("people.totp_added", { name: user.name }));
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
          <GoodUntil models={models} atMs={seed.deadlineMs} />
          <Fields prefix="totp" draft={draft} rows={CODE_ROWS} />
        </div>
      )}
    </FormDialog>
  );
}

/** In fours, as people type it. */
function grouped(secret: string): string {
  return secret.match(/.{1,4}/g)?.join(" ") ?? "";
}
