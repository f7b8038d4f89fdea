// One RADIUS client: how it does, who uses it, its rules, and another secret for it.

import { useSignal } from "@preact/signals";
import type { OneClient } from "../../api/connect/client_shapes.ts";
import { whyNot } from "../access_words.ts";
import { fullTimeText } from "../format.ts";
import { draftOf } from "../models/client_form.ts";
import { endOverlap, fetchClient } from "../models/connect_calls.ts";
import { sayOrProblem } from "../models/deed.ts";
import { type Resource, useResource } from "../models/resource.ts";
import { Fetched } from "../parts/connect/fetched.tsx";
import { FixedField } from "../parts/inputs.tsx";
import { late } from "../parts/late.tsx";
import { Note } from "../parts/note.tsx";
import { AuditLink } from "../parts/audit_link.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { Time } from "../parts/time.tsx";
import type { PageProps } from "../page_loader.ts";
import { t } from "../words/translate.ts";
import type { WordKey } from "../words/words.ts";

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
      <section class="panel people-panel" aria-label={t("connect.rules")}>
        <h2>{t("connect.rules")}</h2>
        {reason === undefined
          ? <EditClient key={client.name} models={models} one={one} page={page} />
          : <FixedRules one={one} />}
      </section>
      <div class="people-actions">
        <button
          type="button"
          class="button"
          disabled={reason !== undefined}
          title={reason}
          onClick={() => open.value = "rotate"}
        >
          {t("connect.rotate")}
        </button>
        <button
          type="button"
          class="button button-bad"
          disabled={reason !== undefined}
          title={reason}
          onClick={() => open.value = "remove"}
        >
          {t("connect.client_remove")}
        </button>
      </div>
      {open.value === "rotate" && <RotateDialog models={models} one={one} page={page} onClose={close} />}
      {open.value === "remove" && <RemoveDialog models={models} one={one} page={page} onClose={close} />}
    </>
  );
}

function Facts({ models, one: { client, blast }, page }: ClientPart) {
  const { use, overlapUntilMs, secretMs } = client;
  const problem = useSignal<string | null>(null);
  const rate = client.accepted + client.rejected === 0
    ? t("connect.no_logins")
    : `${client.rejected} / ${client.accepted + client.rejected}`;
  const end = async () => {
    problem.value = await sayOrProblem(models, {
      call: () => endOverlap(models, client.name),
      said: () => t("connect.overlap_ended"),
    });
    void page.reload();
  };
  return (
    <section class="panel people-panel" aria-label={t("connect.use")}>
      {overlapUntilMs !== null && (
        <Note tone="wait" role="status">
          <strong>{t("connect.overlap_until", { time: fullTimeText(overlapUntilMs) })}</strong>{" "}
          {secretWord(client)}{" "}
          <button
            type="button"
            class="button button-small"
            disabled={whyNot(models, "owner") !== undefined}
            title={whyNot(models, "owner")}
            onClick={() => void end()}
          >
            {t("connect.overlap_end")}
          </button>
        </Note>
      )}
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      <div class="people-fields">
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
    </section>
  );
}

/** Which secret it was heard with last, since there are two. */
function secretWord({ use, secretMs }: OneClient["client"]): string {
  if (use.lastMs <= (secretMs ?? 0)) return t("connect.secret_unheard");
  return use.previousMs === use.lastMs ? t("connect.secret_old") : t("connect.secret_new");
}

const RULES = ["messageAuthenticator", "firstFactor", "device", "unknownUsers"] as const;

function FixedRules({ one: { client } }: Pick<ClientPart, "one">) {
  return (
    <div class="people-fields">
      <FixedField label={t("connect.addresses")}>
        <bdi class="mono">{client.address.join(", ")}</bdi>
      </FixedField>
      <FixedField label={t("connect.nas_identifier")}>
        <bdi class="mono">{client.nasIdentifier || t("frame.none")}</bdi>
      </FixedField>
      {RULES.map((name) => (
        <FixedField key={name} label={t(`connect.${name}`)}>
          {t(`connect.${name}_${client[name]}` as WordKey)}
        </FixedField>
      ))}
      {client.firstFactorBackend !== "" && (
        <FixedField label={t("connect.factor_backend")}>
          <bdi class="mono">{client.firstFactorBackend}</bdi>
        </FixedField>
      )}
      {client.firstFactorServer !== null && (
        <FixedField label={t("connect.server")}>
          <bdi class="mono">{draftOf(client).serverText}</bdi>
        </FixedField>
      )}
    </div>
  );
}
