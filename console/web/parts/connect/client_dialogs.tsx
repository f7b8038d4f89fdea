// Another secret for a client, and its end: each says first who will feel it.

import { useSignal } from "@preact/signals";
import type { OneClient } from "../../../api/clients/client_types.ts";
import { removeClient, rotateSecret } from "../../models/connect_calls.ts";
import type { Models } from "../../models/models.ts";
import type { ClientPart } from "../../pages/client_page.tsx";
import { t } from "../../i18n/translate.ts";
import { ConfirmDialog } from "../confirm_dialog.tsx";
import { type FieldRow, Fields } from "../fields.tsx";
import { FormDialog } from "../form_dialog.tsx";
import { Note } from "../note.tsx";
import type { Secret } from "../secret_once.tsx";

type DialogPart = ClientPart & { readonly onClose: () => void };

interface Rotation {
  readonly secret: string;
  readonly overlapMs: keyof typeof OVERLAP_WORDS;
}

const OVERLAP_WORDS = {
  86_400_000: "connect.overlap_day",
  3_600_000: "connect.overlap_hour",
  604_800_000: "connect.overlap_week",
  0: "connect.overlap_none",
} as const;
const ROTATION_ROWS: readonly FieldRow<Rotation>[] = [
  {
    name: "secret",
    label: "connect.new_secret",
    hint: "connect.secret_hint",
    input: { type: "password", minLength: 16, maxLength: 128 },
  },
  {
    name: "overlapMs",
    label: "connect.overlap_label",
    hint: "connect.overlap_hint",
    choices: [86_400_000, 3_600_000, 604_800_000, 0],
    sayChoice: (ms) => t(OVERLAP_WORDS[ms]),
  },
];

export function RotateDialog({ models, one, page, onClose }: DialogPart) {
  const { name } = one.client;
  const draft = useSignal<Rotation>({ secret: "", overlapMs: 86_400_000 });
  const rotate = async () => {
    const { secret, overlapMs } = draft.value;
    const answer = await rotateSecret(models, name, { overlapMs, ...givenSecret(secret) });
    void page.reload();
    return secretOrSaid(models, { name, secret: answer.secret, said: t("connect.rotated", { name }) });
  };
  return (
    <FormDialog
      title={t("connect.rotate_title", { name })}
      verb={t("connect.rotate")}
      onSubmit={rotate}
      onClose={onClose}
    >
      <Blast one={one} />
      <Fields prefix="rotate" draft={draft} rows={ROTATION_ROWS} />
    </FormDialog>
  );
}

/** A secret that was typed; without one the server makes one. */
export function givenSecret(secret: string): { secret?: string } {
  return secret === "" ? {} : { secret };
}

/** The secret that the server made, to be shown once; where it was given, a word in passing. */
export function secretOrSaid(
  { toasts }: Pick<Models, "toasts">,
  { name, secret, said }: { name: string; secret: string | null; said: string },
): Secret | undefined {
  if (secret !== null) return { title: t("connect.secret_of", { name }), secret };
  toasts.say(said, { tone: "ok" });
}

export function RemoveDialog({ models, one, onClose }: DialogPart) {
  const { name } = one.client;
  return (
    <ConfirmDialog
      title={t("connect.remove_title", { name })}
      verb={t("connect.client_remove")}
      count={one.blast.users.length}
      word={name}
      onClose={onClose}
      onConfirm={async () => {
        await removeClient(models, name);
        models.toasts.say(t("connect.removed", { name }), { tone: "ok" });
        models.router.go("/clients");
      }}
    >
      <Blast one={one} />
      <p>{t("connect.remove_why")}</p>
    </ConfirmDialog>
  );
}

const MOST_NAMED = 8;

/** Who used it lately and who is logging in at this moment. */
export function Blast({ one: { blast } }: { one: OneClient }) {
  const more = blast.users.length - MOST_NAMED;
  return (
    <Note tone={blast.logins + blast.open > 0 ? "wait" : "idle"}>
      {blast.logins + blast.open === 0
        ? t("connect.blast_none")
        : t("connect.blast", { logins: blast.logins, people: blast.users.length, count: blast.open })}
      {blast.users.length > 0 && (
        <>
          {" "}
          <bdi class="mono">{blast.users.slice(0, MOST_NAMED).join(", ")}</bdi>
          {more > 0 && ` + ${more}`}
        </>
      )}
    </Note>
  );
}
