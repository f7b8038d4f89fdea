// Adds a RADIUS client: by hand, or out of a first packet that arrives while the dialog is open.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { HeardSender } from "../../../api/connect/client_shapes.ts";
import { failureText } from "../../api_client.ts";
import { addClient, hear } from "../../models/connect_calls.ts";
import { type ClientDraft, formOf, NEW_DRAFT } from "../../models/client_form.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../words/translate.ts";
import { Dialog } from "../dialog.tsx";
import { Field } from "../field.tsx";
import { Note } from "../note.tsx";
import { SecretOnce } from "../secret_once.tsx";
import { Status } from "../status.tsx";
import { Time } from "../time.tsx";
import { ClientFields } from "./client_fields.tsx";
import { useEvery } from "../../models/every.ts";

interface AddProps {
  readonly models: Models;
  /** LDAP backends that can be the first factor. */
  readonly ldap: readonly string[];
  readonly onDone: () => void;
  readonly onClose: () => void;
}

const LISTEN_EVERY_MS = 1500;

export function AddClientDialog({ models, ldap, onDone, onClose }: AddProps) {
  const name = useSignal("");
  const secret = useSignal("");
  const draft = useSignal<ClientDraft>(NEW_DRAFT);
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
      const answer = await addClient(models, { name: name.value, ...formOf(draft.value), ...given });
      onDone();
      if (answer.secret === null) {
        models.toasts.say(t("connect.client_added", { name: name.value }), { tone: "ok" });
        onClose();
      } else made.value = answer.secret;
    } catch (fault) {
      problem.value = failureText(fault);
    }
    busy.value = false;
  };
  const take = ({ source, nasIdentifier }: HeardSender, isShared: boolean) => {
    // A client that must be named is a stricter one: only where the address alone does not tell which it is.
    draft.value = { ...draft.value, addressText: source, nasIdentifier: isShared ? nasIdentifier : "" };
    if (name.value === "") name.value = nasIdentifier.replace(/[^A-Za-z0-9._-]/g, "-").slice(0, 64);
  };
  if (made.value !== null) {
    const title = t("connect.secret_of", { name: name.value });
    return (
      <Dialog title={title} onClose={onClose}>
        <SecretOnce label={title} secret={made.value} onDone={onClose} />
      </Dialog>
    );
  }
  return (
    <Dialog title={t("connect.client_add")} wide onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <Field
          id="client-secret"
          label={t("connect.secret")}
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
        <Heard models={models} secret={secret.value} onTake={take} />
        <Field
          id="client-name"
          label={t("connect.name")}
          hint={t("connect.name_hint")}
          input={{
            value: name.value,
            required: true,
            maxLength: 64,
            pattern: "[A-Za-z0-9._\\-]+",
            autocomplete: "off",
            spellcheck: false,
            onInput: (event) => name.value = event.currentTarget.value,
          }}
        />
        <ClientFields models={models} draft={draft} ldap={ldap} saved={null} />
        {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
        <button type="submit" class="button button-primary" disabled={busy.value}>
          {busy.value ? t("frame.working") : t("connect.client_add")}
        </button>
      </form>
    </Dialog>
  );
}

const FITS = {
  signed: { tone: "ok", shape: "check" },
  likely: { tone: "ok", shape: "ring" },
  wrong: { tone: "bad", shape: "cross" },
  unknown: { tone: "idle", shape: "ring" },
} as const;

interface HeardProps {
  readonly models: Models;
  readonly secret: string;
  readonly onTake: (sender: HeardSender, isShared: boolean) => void;
}

function Heard({ models, secret, onTake }: HeardProps) {
  const senders = useSignal<readonly HeardSender[]>([]);
  const problem = useSignal<string | null>(null);
  const candidate = useSignal(secret);
  candidate.value = secret;
  const listen = async () => {
    try {
      const { items } = await hear(models, candidate.peek() === "" ? undefined : candidate.peek());
      senders.value = items;
      problem.value = null;
    } catch (fault) {
      problem.value = failureText(fault);
    }
  };
  useEffect(() => void listen(), []);
  useEvery(LISTEN_EVERY_MS, () => void listen());
  return (
    <section class="connect-heard" aria-label={t("connect.listening")}>
      <h3>{t("connect.listening")}</h3>
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      {senders.value.length === 0 && <p class="quiet" role="status">{t("connect.listening_hint")}</p>}
      <ul class="people-list">
        {senders.value.map((sender) => (
          <li key={`${sender.source} ${sender.nasIdentifier}`}>
            <bdi class="mono">{sender.source}</bdi>
            {sender.nasIdentifier !== "" && <bdi class="mono quiet">{sender.nasIdentifier}</bdi>}
            <Status words={{ ...FITS[sender.fits], label: t(`connect.fits_${sender.fits}`) }} />
            <span class="quiet">
              {t("connect.packets", { count: sender.count })} · <Time models={models} atMs={sender.lastMs} />
              {sender.client !== null && <>· {t("connect.wrong_of", { name: sender.client })}</>}
            </span>
            <button
              type="button"
              class="button button-small"
              onClick={() => onTake(sender, isShared(sender, senders.value))}
            >
              {t("connect.take")} <span class="unseen">{sender.source}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Whether others are behind the same address. */
function isShared({ source, client }: HeardSender, all: readonly HeardSender[]): boolean {
  return client !== null || all.filter((one) => one.source === source).length > 1;
}
