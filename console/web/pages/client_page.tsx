// One RADIUS client: how it does, who uses it, its rules, and another secret for it.

import { useSignal } from "@preact/signals";
import type { OneClient } from "../../api/clients/client_types.ts";
import { whyNot } from "../access_words.ts";
import { fullTimeText } from "../format.ts";
import { CLIENT_FIELDS, draftOf, toClientRequest } from "../models/client_form.ts";
import { changeClient, endOverlap, fetchClient } from "../models/connect_calls.ts";
import { useDeed } from "../models/deed.ts";
import { type Resource, useResource } from "../models/resource.ts";
import { Button } from "../parts/button.tsx";
import { isVerbatim, settingLabel, settingText } from "../parts/connect/client_words.ts";
import { Fetched } from "../parts/connect/fetched.tsx";
import { FixedField } from "../parts/inputs.tsx";
import { late } from "../parts/late.tsx";
import { Note, Problem } from "../parts/note.tsx";
import { AuditLink } from "../parts/audit_link.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { Panel } from "../parts/panel.tsx";
import { Time } from "../parts/time.tsx";
import type { PageProps } from "../page_loader.ts";
import { t } from "../i18n/translate.ts";

const EditClient = late(async () => (await import("../parts/connect/edit_client.tsx")).EditClient);
const RotateDialog = late(async () => (await import("../parts/connect/client_dialogs.tsx")).RotateDialog);
const RemoveDialog = late(async () => (await import("../parts/connect/client_dialogs.tsx")).RemoveDialog);

export default function ClientPage({ models, params }: PageProps) {
  const name = params.id ?? "";
  const page = useResource(models, { fetch: () => fetchClient(models, name), inputs: [name] });
  return (
    <main class="page" id="page">
      <PageBar title={name} back={{ href: "/clients", label: t("connect.all_clients") }}>
        <AuditLink object={`client:${name}`} />
      </PageBar>
      <Fetched resource={page}>
        {(one) => <Client models={models} one={one} page={page} />}
      </Fetched>
    </main>
  );
}

export interface ClientPart extends Pick<PageProps, "models"> {
  readonly one: OneClient;
  readonly page: Resource<OneClient>;
}

function Client({ models, one, page }: ClientPart) {
  const { client } = one;
  const open = useSignal<"rotate" | "remove" | null>(null);
  const inFile = client.from === "settings" ? t("connect.in_settings") : undefined;
  const reason = whyNot(models, "owner") ?? inFile;
  const close = () => open.value = null;
  return (
    <>
      {inFile !== undefined && <Note tone="idle">{inFile}</Note>}
      <Facts models={models} one={one} page={page} />
      <Panel title={t("connect.rules")}>
        {reason === undefined
          ? <EditClient key={client.name} models={models} one={one} page={page} />
          : <FixedRules one={one} />}
      </Panel>
      <div class="people-actions">
        <Button reason={reason} onClick={() => open.value = "rotate"}>{t("connect.rotate")}</Button>
        <Button kind="bad" reason={reason} onClick={() => open.value = "remove"}>
          {t("connect.client_remove")}
        </Button>
      </div>
      {open.value === "rotate" && <RotateDialog models={models} one={one} page={page} onClose={close} />}
      {open.value === "remove" && <RemoveDialog models={models} one={one} page={page} onClose={close} />}
    </>
  );
}

function Facts({ models, one: { client, blast }, page }: ClientPart) {
  const { use, overlapUntilMs, secretMs } = client;
  const deed = useDeed();
  const rate = client.accepted + client.rejected === 0
    ? t("connect.no_logins")
    : `${client.rejected} / ${client.accepted + client.rejected}`;
  const end = () =>
    deed.run(async () => {
      await endOverlap(models, client.name).finally(() => void page.reload());
      models.toasts.say(t("connect.overlap_ended"), { tone: "ok" });
    });
  const requireSigned = () =>
    deed.run(async () => {
      const form = toClientRequest({ ...draftOf(client), messageAuthenticator: "require" });
      await changeClient(models, client.name, { ...form, version: client.version })
        .finally(() => void page.reload());
      models.toasts.say(t("connect.unsigned_required", { name: client.name }), { tone: "ok" });
    });
  return (
    <Panel quiet title={t("connect.use")}>
      {overlapUntilMs !== null && (
        <Note tone="wait" role="status">
          <strong>{t("connect.overlap_until", { time: fullTimeText(overlapUntilMs) })}</strong>{" "}
          {secretWord(client)}{" "}
          <Button small reason={whyNot(models, "owner")} onClick={end}>
            {t("connect.overlap_end")}
          </Button>
        </Note>
      )}
      {client.signing.acceptsUnsigned && !client.disabled && (
        <Note tone="wait" icon="alert">
          {t("connect.unsigned_accepted")}{" "}
          <Button
            small
            reason={whyNot(models, "owner") ??
              (client.from === "settings" ? t("connect.in_settings") : undefined)}
            onClick={requireSigned}
          >
            {t("connect.unsigned_require")}
          </Button>
        </Note>
      )}
      <Problem of={deed.fault} />
      <div class="people-fields">
        {client.signing.required === "learnt" && (
          <FixedField label={t("connect.signing_addresses")}>
            <bdi class="mono">{addressesText(client.signing) || t("frame.none")}</bdi>
          </FixedField>
        )}
        {use.unsignedMs > 0 && (
          <FixedField label={t("connect.unsigned_last")}>
            <Time models={models} atMs={use.unsignedMs} />
          </FixedField>
        )}
        <FixedField label={t("connect.last_packet")}>
          {use.lastMs === 0 ? t("connect.never") : <Time models={models} atMs={use.lastMs} />}
        </FixedField>
        <FixedField label={t("connect.packets_since")}>{String(use.packets)}</FixedField>
        <FixedField label={t("connect.rejected_24")}>{rate}</FixedField>
        <FixedField label={t("connect.used_by")}>
          {t("connect.people_24", { count: blast.users.length })}
        </FixedField>
        <FixedField label={t("connect.open_now")}>{String(blast.open)}</FixedField>
        <FixedField label={t("connect.secret")}>
          {secretMs === null ? t("connect.secret_file") : (
            <>
              {t("connect.secret_set")} <Time models={models} atMs={secretMs} />
            </>
          )}
        </FixedField>
      </div>
      <a href={`/history?client=${encodeURIComponent(client.name)}`}>{t("connect.to_history")}</a>
    </Panel>
  );
}

const MAX_ADDRESSES = 8;

function addressesText({ addresses, count }: OneClient["client"]["signing"]): string {
  const shown = addresses.slice(0, MAX_ADDRESSES).join(", ");
  return count > MAX_ADDRESSES ? `${shown} (+${count - MAX_ADDRESSES})` : shown;
}

/** Which secret it was heard with last, since there are two. */
function secretWord({ use, secretMs }: OneClient["client"]): string {
  if (use.lastMs <= (secretMs ?? 0)) return t("connect.secret_unheard");
  return use.previousMs === use.lastMs ? t("connect.secret_old") : t("connect.secret_new");
}

function FixedRules({ one: { client } }: Pick<ClientPart, "one">) {
  const draft = draftOf(client);
  return (
    <div class="people-fields">
      {CLIENT_FIELDS.map((name) => {
        const text = settingText(draft, name);
        return text !== null && (
          <FixedField key={name} label={settingLabel(name)}>
            <bdi class={isVerbatim(name) ? "mono" : undefined}>{text}</bdi>
          </FixedField>
        );
      })}
    </div>
  );
}
