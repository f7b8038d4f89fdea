// Another secret for a client, and its end: each says first who will feel it.

import { useSignal } from "@preact/signals";
import type { OneClient } from "../../../api/connect/client_shapes.ts";
import { failureText } from "../../api_client.ts";
import { removeClient, rotateSecret } from "../../models/connect_calls.ts";
import { sayOrProblem } from "../../models/deed.ts";
import type { ClientPart } from "../../pages/client_page.tsx";
import { t } from "../../words/translate.ts";
import { ConfirmDialog } from "../confirm_dialog.tsx";
import { Dialog } from "../dialog.tsx";
import { Field } from "../field.tsx";
import { SelectField } from "../inputs.tsx";
import { Note } from "../note.tsx";
import { SecretOnce } from "../secret_once.tsx";

type DialogPart = ClientPart & { readonly onClose: () => void };

const HOUR_MS = 3_600_000;
const OVERLAPS = [
  { ms: 24 * HOUR_MS, word: "connect.overlap_day" },
  { ms: HOUR_MS, word: "connect.overlap_hour" },
  { ms: 7 * 24 * HOUR_MS, word: "connect.overlap_week" },
  { ms: 0, word: "connect.overlap_none" },
] as const;

export function RotateDialog({ models, one, page, onClose }: DialogPart) {
  const { name } = one.client;
  const overlapMs = useSignal<typeof OVERLAPS[number]["ms"]>(24 * HOUR_MS as 86_400_000);
  const secret = useSignal("");
  const busy = useSignal(false);
  const problem = useSignal<string | null>(null);
  const made = useSignal<string | null>(null);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (busy.value) return;
    busy.value = true;
    problem.value = null;
    try {
      const given = secret.value === "" ? {} : { secret: secret.value };
      const answer = await rotateSecret(models, name, { overlapMs: overlapMs.value, ...given });
      void page.reload();
      if (answer.secret === null) {
        models.toasts.say(t("connect.rotated", { name }), { tone: "ok" });
        onClose();
      } else made.value = answer.secret;
    } catch (fault) {
      problem.value = failureText(fault);
    }
    busy.value = false;
  };
  if (made.value !== null) {
    const title = t("connect.secret_of", { name });
    return (
      <Dialog title={title} onClose={onClose}>
        <SecretOnce label={title} secret={made.value} onDone={onClose} />
      </Dialog>
    );
  }
  return (
    <Dialog title={t("connect.rotate_title", { name })} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <Blast one={one} />
        <Field
          id="rotate-secret"
          label={t("connect.new_secret")}
          hint={t("connect.secret_hint")}
          input={{
            type: "password",
            value: secret.value,
            minLength: 16,
            maxLength: 128,
            autocomplete: "off",
            onInput: (event) => secret.value = event.currentTarget.value,
          }}
        />
        <SelectField
          id="rotate-overlap"
          label={t("connect.overlap_label")}
          hint={t("connect.overlap_hint")}
          value={String(overlapMs.value)}
          options={OVERLAPS.map(({ ms, word }) => ({ value: String(ms), label: t(word) }))}
          onChoose={(value) =>
            overlapMs.value = OVERLAPS.find(({ ms }) => String(ms) === value)?.ms ?? overlapMs.value}
        />
        {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
        <button type="submit" class="button button-primary" disabled={busy.value}>
          {busy.value ? t("frame.working") : t("connect.rotate")}
        </button>
      </form>
    </Dialog>
  );
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
        const problem = await sayOrProblem(models, {
          call: () => removeClient(models, name),
          said: () => t("connect.removed", { name }),
        });
        if (problem === null) models.router.go("/clients");
        return problem;
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
