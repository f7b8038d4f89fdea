// Adds a RADIUS client: by hand, or out of a first packet that arrives while the dialog is open.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { HeardSender } from "../../../api/clients/client_types.ts";
import { failureText } from "../../api_client.ts";
import { addClient, hear } from "../../models/connect_calls.ts";
import { type ClientDraft, NEW_DRAFT, toClientRequest } from "../../models/client_form.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import { Button } from "../button.tsx";
import { type FieldRow, Fields } from "../fields.tsx";
import { FormDialog } from "../form_dialog.tsx";
import { Problem } from "../note.tsx";
import { Status } from "../status.tsx";
import { Time } from "../time.tsx";
import { givenSecret, secretOrSaid } from "./client_dialogs.tsx";
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

type NewClient = ClientDraft & { readonly name: string; readonly secret: string };

const BLANK: NewClient = { ...NEW_DRAFT, name: "", secret: "" };
const SECRET_ROWS: readonly FieldRow<NewClient>[] = [{
  name: "secret",
  label: "connect.secret",
  hint: "connect.secret_hint",
  input: { type: "password", minLength: 16, maxLength: 128 },
}];
const NAME_ROWS: readonly FieldRow<NewClient>[] = [{
  name: "name",
  label: "connect.name",
  hint: "connect.name_hint",
  input: { required: true, maxLength: 64, pattern: "[A-Za-z0-9._\\-]+" },
}];

export function AddClientDialog({ models, ldap, onDone, onClose }: AddProps) {
  const draft = useSignal(BLANK);
  const add = async () => {
    const { name, secret, ...rules } = draft.value;
    const answer = await addClient(models, { name, ...toClientRequest(rules), ...givenSecret(secret) });
    onDone();
    return secretOrSaid(models, { name, secret: answer.secret, said: t("connect.client_added", { name }) });
  };
  const take = ({ source, nasIdentifier }: HeardSender, isShared: boolean) => {
    const { name, ...before } = draft.value;
    draft.value = {
      ...before,
      address: source,
      // A client that must be named is a stricter one: only where the address alone does not tell which it is.
      nasIdentifier: isShared ? nasIdentifier : "",
      name: name === "" ? nasIdentifier.replace(/[^A-Za-z0-9._-]/g, "-").slice(0, 64) : name,
    };
  };
  return (
    <FormDialog
      title={t("connect.client_add")}
      verb={t("connect.client_add")}
      onSubmit={add}
      onClose={onClose}
      wide
    >
      <Fields prefix="new" draft={draft} rows={SECRET_ROWS} />
      <Heard models={models} secret={draft.value.secret} onTake={take} />
      <Fields prefix="new" draft={draft} rows={NAME_ROWS} />
      <ClientFields models={models} draft={draft} ldap={ldap} saved={null} />
    </FormDialog>
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
  // Null until the server has answered once: only then does it listen, and an earlier packet would be lost.
  const senders = useSignal<readonly HeardSender[] | null>(null);
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
  const all = senders.value ?? [];
  return (
    <section class="connect-heard" aria-label={t("connect.listening")}>
      <h3>{t("connect.listening")}</h3>
      <Problem of={problem} />
      <p class="quiet" role="status">{senders.value?.length === 0 && t("connect.listening_hint")}</p>
      <ul class="people-list">
        {all.map((sender) => (
          <li key={`${sender.source} ${sender.nasIdentifier}`}>
            <bdi class="mono">{sender.source}</bdi>
            {sender.nasIdentifier !== "" && <bdi class="mono quiet">{sender.nasIdentifier}</bdi>}
            <Status words={{ ...FITS[sender.fits], label: t(`connect.fits_${sender.fits}`) }} />
            <span class="quiet">
              {t("connect.packets", { count: sender.count })} · <Time models={models} atMs={sender.lastMs} />
              {sender.client !== null && <>· {t("connect.wrong_of", { name: sender.client })}</>}
            </span>
            <Button
              small
              of={sender.source}
              onClick={() => onTake(sender, isShared(sender, all))}
            >
              {t("connect.take")}
            </Button>
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
