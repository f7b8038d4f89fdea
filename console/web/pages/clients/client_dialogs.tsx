// Dialogs of a RADIUS client: add it, replace its shared secret, remove it.

import { type Signal, useSignal } from "@preact/signals";
import type { ClientGateway, DiscoveredSender, OneClient } from "../../../api/clients/client_types.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import type { Resource } from "../../app/resource.ts";
import { Alert, ErrorAlert } from "../../components/alert.tsx";
import { ConfirmDialog, type CreatedSecret, FormDialog } from "../../components/form_dialog.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { t } from "../../i18n/translate.ts";
import {
  addClient,
  type ClientDraft,
  fetchUnknownSenders,
  NEW_CLIENT_DRAFT,
  removeClient,
  rotateSecret,
  toClientRequest,
  withHeard,
} from "./client_form.ts";
import { useEffect } from "preact/hooks";
import { failureText } from "../../app/api_client.ts";
import { Button } from "../../components/button.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { ClientFields, TransportField } from "./client_fields.tsx";

type DialogPart = ClientPart & { readonly onClose: () => void };

interface Rotation {
  readonly secret: string;
  readonly overlapMs: keyof typeof OVERLAP_WORDS;
}

const OVERLAP_WORDS = {
  86_400_000: "clients.overlap_day",
  3_600_000: "clients.overlap_hour",
  604_800_000: "clients.overlap_week",
  0: "clients.overlap_none",
} as const;
const ROTATION_ROWS: readonly FieldRow<Rotation>[] = [
  {
    name: "secret",
    label: "clients.new_secret",
    hint: "clients.secret_hint",
    input: { type: "password", minLength: 16, maxLength: 128 },
  },
  {
    name: "overlapMs",
    label: "clients.overlap_label",
    hint: "clients.overlap_hint",
    choices: [86_400_000, 3_600_000, 604_800_000, 0],
    choiceLabel: (ms) => t(OVERLAP_WORDS[ms]),
  },
];

export function RotateDialog({ models, one, page, onClose }: DialogPart) {
  const { name } = one.client;
  const draft = useSignal<Rotation>({ secret: "", overlapMs: 86_400_000 });
  const rotate = async () => {
    const { secret, overlapMs } = draft.value;
    const answer = await rotateSecret(models, name, { overlapMs, ...optionalSecret(secret) });
    void page.reload();
    return secretOrToast(models, { name, secret: answer.secret, said: t("clients.rotated", { name }) });
  };
  return (
    <FormDialog
      title={t("clients.rotate_title", { name })}
      submitLabel={t("clients.rotate")}
      onSubmit={rotate}
      onClose={onClose}
    >
      <ClientUsage one={one} />
      <FormFields prefix="rotate" draft={draft} rows={ROTATION_ROWS} />
    </FormDialog>
  );
}

/** Without a secret, the server generates one. */
function optionalSecret(secret: string): { secret?: string } {
  return secret === "" ? {} : { secret };
}

/** Shows a generated secret once. For a given secret, shows a toast. */
function secretOrToast(
  { toasts }: Pick<Models, "toasts">,
  { name, secret, said }: { name: string; secret: string | null; said: string },
): CreatedSecret | undefined {
  if (secret !== null) return { title: t("clients.secret_of", { name }), secret };
  toasts.show(said, { tone: "ok" });
}

export function RemoveDialog({ models, one, onClose }: DialogPart) {
  const { name } = one.client;
  return (
    <ConfirmDialog
      title={t("clients.remove_title", { name })}
      submitLabel={t("clients.remove")}
      count={one.blast.users.length}
      word={name}
      onClose={onClose}
      onConfirm={async () => {
        await removeClient(models, name);
        models.toasts.show(t("clients.removed", { name }), { tone: "ok" });
        models.router.go("/clients");
      }}
    >
      <ClientUsage one={one} />
      <p>{t("clients.remove_why")}</p>
    </ConfirmDialog>
  );
}

const MAX_NAMES_SHOWN = 8;

/** Recent and current logins of a client. */
export function ClientUsage({ one: { blast } }: { one: OneClient }) {
  const more = blast.users.length - MAX_NAMES_SHOWN;
  return (
    <Alert tone={blast.logins + blast.open > 0 ? "wait" : "idle"}>
      {blast.logins + blast.open === 0
        ? t("clients.blast_none")
        : t("clients.blast", { logins: blast.logins, people: blast.users.length, count: blast.open })}
      {blast.users.length > 0 && (
        <>
          {" "}
          <bdi class="mono">{blast.users.slice(0, MAX_NAMES_SHOWN).join(", ")}</bdi>
          {more > 0 && ` + ${more}`}
        </>
      )}
    </Alert>
  );
}

export interface ClientPart extends Pick<PageProps, "models"> {
  readonly one: OneClient;
  readonly page: Resource<OneClient>;
}

interface AddProps {
  readonly models: Models;
  /** LDAP backends that can be the first factor. */
  readonly ldap: readonly string[];
  readonly gateway: ClientGateway;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

const POLL_INTERVAL_MS = 1500;

type NewClient = ClientDraft & { readonly name: string; readonly secret: string };

const BLANK: NewClient = { ...NEW_CLIENT_DRAFT, name: "", secret: "" };
const SECRET_ROWS: readonly FieldRow<NewClient>[] = [{
  name: "secret",
  label: "clients.secret",
  hint: "clients.secret_hint",
  input: { type: "password", minLength: 16, maxLength: 128 },
}];
const NAME_ROWS: readonly FieldRow<NewClient>[] = [{
  name: "name",
  label: "common.name",
  hint: "common.name_hint",
  input: { required: true, maxLength: 64, pattern: "[A-Za-z0-9._\\-]+" },
}];

export function AddClientDialog({ models, ldap, gateway, onDone, onClose }: AddProps) {
  const draft = useSignal(BLANK);
  const isTls = draft.value.transport === "tls";
  const add = async () => {
    const { name, secret, ...rules } = draft.value;
    const own = isTls ? {} : optionalSecret(secret);
    const answer = await addClient(models, { name, ...toClientRequest(rules), ...own });
    onDone();
    return secretOrToast(models, { name, secret: answer.secret, said: t("clients.added", { name }) });
  };
  const take = (sender: DiscoveredSender) => {
    const { name, secret, ...before } = draft.value;
    const heard = withHeard(before, sender);
    const own = (sender.nasIdentifier || heard.tlsSan).replace(/[^A-Za-z0-9._-]/g, "-").slice(0, 64);
    draft.value = { ...heard, secret, name: name === "" ? own : name };
  };
  return (
    <FormDialog
      title={t("common.client_add")}
      submitLabel={t("common.client_add")}
      onSubmit={add}
      onClose={onClose}
      wide
    >
      <TransportField draft={draft as unknown as Signal<ClientDraft>} gateway={gateway} saved={null} />
      {!isTls && <FormFields prefix="new" draft={draft} rows={SECRET_ROWS} />}
      <UnknownSenders models={models} secret={isTls ? null : draft.value.secret} onTake={take} />
      <FormFields prefix="new" draft={draft} rows={NAME_ROWS} />
      <ClientFields {...{ models, draft, ldap, gateway }} saved={null} />
    </FormDialog>
  );
}

const SECRET_MATCHES = {
  signed: { tone: "ok", shape: "check" },
  likely: { tone: "ok", shape: "ring" },
  wrong: { tone: "bad", shape: "cross" },
  unknown: { tone: "idle", shape: "ring" },
} as const;

/** The heading of the senders: waiting, or how many there are. */
export function sendersTitle(count: number): string {
  return count === 0 ? t("clients.listening") : t("clients.heard_title", { count });
}

interface UnknownSendersProps {
  readonly models: Models;
  /** The candidate, or "": none. `null`: the client will have none. */
  readonly secret: string | null;
  readonly onTake: (sender: DiscoveredSender) => void;
}

function UnknownSenders({ models, secret, onTake }: UnknownSendersProps) {
  // Null until the first answer. Before it, discovery does not run, and packets are not recorded.
  const senders = useSignal<readonly DiscoveredSender[] | null>(null);
  const problem = useSignal<string | null>(null);
  const candidate = useSignal(secret);
  candidate.value = secret;
  const listen = async () => {
    try {
      const { items } = await fetchUnknownSenders(
        models,
        candidate.peek() || undefined,
      );
      senders.value = items;
      problem.value = null;
    } catch (fault) {
      problem.value = failureText(fault);
    }
  };
  // Also in a hidden tab: discovery ends when the polling ends, and the administrator may be at the other device.
  useEffect(() => {
    void listen();
    const timer = setInterval(() => void listen(), POLL_INTERVAL_MS);
    return () => clearInterval(timer);
  }, []);
  const all = senders.value ?? [];
  return (
    <section class="connect-heard" aria-label={t("clients.listening")}>
      <h3>{sendersTitle(all.length)}</h3>
      <ErrorAlert of={problem} />
      <p class="quiet" role="status">{senders.value?.length === 0 && t("clients.listening_hint")}</p>
      <ul class="people-list">
        {all.map((sender) => (
          <li key={`${sender.source} ${sender.nasIdentifier} ${sender.certificate?.fingerprint ?? ""}`}>
            <bdi class="mono">{sender.source}</bdi>
            <span class="chip tone-idle">{sender.certificate === null ? sender.method : "TLS"}</span>
            {sender.nasIdentifier !== "" && <bdi class="mono quiet">{sender.nasIdentifier}</bdi>}
            {sender.certificate !== null && <Certificate certificate={sender.certificate} />}
            {sender.certificate === null && secret !== null && (
              <StateText
                words={{ ...SECRET_MATCHES[sender.fits], label: t(`clients.fits_${sender.fits}`) }}
              />
            )}
            <span class="quiet">
              {t(sender.certificate === null ? "clients.packets" : "clients.connections", {
                count: sender.count,
              })} · <Time models={models} atMs={sender.lastMs} />
              {sender.client !== null && <>· {t(conflictKey(sender), { name: sender.client })}</>}
            </span>
            <Button
              small
              of={sender.certificate?.san || sender.source}
              onClick={() =>
                onTake(sender)}
            >
              {t(sender.certificate === null ? "clients.take" : "clients.take_certificate")}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What a client that is known has in common with the sender, and what differs. */
function conflictKey({ certificate, reason }: DiscoveredSender) {
  if (certificate !== null) return "clients.certificate_of";
  return reason === "other_nas" ? "clients.other_nas_of" : "clients.wrong_of";
}

/** The names that can select a certificate, and its fingerprint in groups, as administrators compare it. */
function Certificate({ certificate: { names, subject, fingerprint } }: {
  certificate: NonNullable<DiscoveredSender["certificate"]>;
}) {
  return (
    <span class="connect-certificate">
      <bdi class="mono">{names.length === 0 ? subject : names.join(", ")}</bdi>
      <span class="quiet small">
        SHA-256 <bdi class="mono">{fingerprint.match(/.{4}/g)?.join(" ")}</bdi>
      </span>
    </span>
  );
}
