// The page of a RADIUS client: its state and usage, its settings, and its shared secret.

import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { usesTls } from "../../../../platform/client_settings.ts";
import type { ClientGateway, OneClient } from "../../../api/clients/client_types.ts";
import { useAction } from "../../app/action.ts";
import { ApiFailure } from "../../app/api_client.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { fullTimeText } from "../../app/format.ts";
import { useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert, ErrorAlert, Fetched } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import type { DiffRow } from "../../components/diff_table.tsx";
import { ReviewDialog, ReviewedForm } from "../../components/review_dialog.tsx";
import { ReadOnlyField } from "../../components/field.tsx";
import { FormFault, FormFields } from "../../components/form_fields.tsx";
import { AuditLink, PageBar, Panel } from "../../components/page_layout.tsx";
import { lazy } from "../../components/lazy.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import {
  changeClient,
  changedSettings,
  CLIENT_FIELDS,
  type ClientDraft,
  clientField,
  EDIT_FIELDS,
  endOverlap,
  fetchClient,
  isVerbatim,
  mergeDrafts,
  settingLabel,
  settingText,
  toClientDraft,
  toClientRequest,
} from "./client_form.ts";
import { ModeSwitch } from "../shadow/mode_switch.tsx";
import { type ClientPart, ClientUsage, RemoveDialog, RotateDialog } from "./client_dialogs.tsx";
import { ClientFields, TransportField } from "./client_fields.tsx";

const SetupGuide = lazy(async () => (await import("./client_guide.tsx")).SetupGuide);

export default function ClientPage({ models, params }: PageProps) {
  const name = params.id ?? "";
  const page = useResource(models, { fetch: () => fetchClient(models, name), inputs: [name] });
  return (
    <main class="page" id="page">
      <PageBar title={name} back={{ href: "/clients", label: t("clients.all_clients") }}>
        <AuditLink object={`client:${name}`} />
      </PageBar>
      <Fetched resource={page}>
        {(one) => <Client models={models} one={one} page={page} />}
      </Fetched>
    </main>
  );
}

function Client({ models, one, page }: ClientPart) {
  const { client } = one;
  const open = useSignal<"rotate" | "remove" | null>(null);
  const inFile = client.from === "settings" ? t("clients.in_settings") : undefined;
  const reason = permissionHint(models, "owner") ?? inFile;
  const close = () => open.value = null;
  return (
    <>
      {inFile !== undefined && <Alert tone="idle">{inFile}</Alert>}
      {client.mode === "shadow" && (
        <Panel title={t("shell.shadow")}>
          <Alert tone="wait" icon="alert">{t("clients.shadow_alert")}</Alert>
          <a href={`/shadow?client=${encodeURIComponent(client.name)}`}>{t("clients.shadow_report")}</a>
          <ModeSwitch
            models={models}
            client={client.name}
            mode="shadow"
            reason={inFile}
            onChanged={() => void page.reload()}
          />
        </Panel>
      )}
      <Facts models={models} one={one} page={page} />
      <Panel title={t("clients.rules")}>
        {reason === undefined
          ? <EditClient key={client.name} models={models} one={one} page={page} />
          : <FixedRules one={one} />}
      </Panel>
      <SetupGuide one={one} />
      <div class="people-actions">
        <Button
          reason={reason ?? (usesTls(client) ? t("clients.tls_no_secret") : undefined)}
          onClick={() => open.value = "rotate"}
        >
          {t("clients.rotate")}
        </Button>
        <Button kind="bad" reason={reason} onClick={() => open.value = "remove"}>
          {t("clients.remove")}
        </Button>
      </div>
      {open.value === "rotate" && <RotateDialog models={models} one={one} page={page} onClose={close} />}
      {open.value === "remove" && <RemoveDialog models={models} one={one} page={page} onClose={close} />}
    </>
  );
}

interface SecretAlertsProps extends Pick<ClientPart, "models" | "page"> {
  readonly client: ClientPart["one"]["client"];
}

/** Two valid secrets, and unsigned requests, with the buttons that end them. */
function SecretAlerts({ models, client, page }: SecretAlertsProps) {
  const { overlapUntilMs } = client;
  const action = useAction();
  const end = () =>
    models.question.value = {
      title: t("clients.overlap_end_title", { name: client.name }),
      submitLabel: t("clients.overlap_end"),
      text: t("clients.overlap_end_what"),
      isBad: true,
      async run() {
        await endOverlap(models, client.name).finally(() => void page.reload());
        models.toasts.show(t("clients.overlap_ended"), { tone: "ok" });
      },
    };
  const requireSigned = () =>
    action.run(async () => {
      const form = toClientRequest({ ...toClientDraft(client), messageAuthenticator: "require" });
      await changeClient(models, client.name, { ...form, version: client.version })
        .finally(() => void page.reload());
      models.toasts.show(t("clients.unsigned_required", { name: client.name }), { tone: "ok" });
    });
  return (
    <>
      {overlapUntilMs !== null && (
        <Alert tone="wait" role="status">
          <strong>{t("clients.overlap_until", { time: fullTimeText(overlapUntilMs) })}</strong>{" "}
          {secretText(client)}{" "}
          <Button small reason={permissionHint(models, "owner")} onClick={end}>
            {t("clients.overlap_end")}
          </Button>
        </Alert>
      )}
      {client.signing.acceptsUnsigned && !client.disabled && (
        <Alert tone="wait" icon="alert">
          {t("clients.unsigned_accepted")}{" "}
          <Button
            small
            reason={permissionHint(models, "owner") ??
              (client.from === "settings" ? t("clients.in_settings") : undefined)}
            onClick={requireSigned}
          >
            {t("clients.unsigned_require")}
          </Button>
        </Alert>
      )}
      <ErrorAlert of={action.fault} />
    </>
  );
}

function Facts({ models, one: { client, blast, tlsConnections }, page }: ClientPart) {
  const { use, secretMs } = client;
  const ended = client.accepted + client.rejected;
  const rate = ended === 0
    ? t("common.no_sign_ins")
    : t("clients.rate", { percent: Math.round(client.rejected / ended * 100), count: ended });
  return (
    <Panel quiet title={t("clients.use")}>
      <SecretAlerts models={models} client={client} page={page} />
      <div class="people-fields">
        {client.signing.required === "learnt" && (
          <ReadOnlyField label={t("clients.signing_addresses")}>
            <bdi class="mono">{addressesText(client.signing) || t("common.none")}</bdi>
          </ReadOnlyField>
        )}
        {use.unsignedMs > 0 && (
          <ReadOnlyField label={t("clients.unsigned_last")}>
            <Time models={models} atMs={use.unsignedMs} />
          </ReadOnlyField>
        )}
        <RuleFacts client={client} />
        <ReadOnlyField label={t("clients.last_packet")}>
          {use.lastMs === 0 ? t("common.never") : <Time models={models} atMs={use.lastMs} />}
        </ReadOnlyField>
        <ReadOnlyField label={t("clients.packets_since")}>{String(use.packets)}</ReadOnlyField>
        <ReadOnlyField label={t("clients.reject_rate")}>{rate}</ReadOnlyField>
        <ReadOnlyField label={t("clients.used_by")}>
          {t("clients.users_24", { count: blast.users.length })}
        </ReadOnlyField>
        <ReadOnlyField label={t("common.sign_ins_in_progress")}>{String(blast.open)}</ReadOnlyField>
        {usesTls(client) && (
          <ReadOnlyField label={t("clients.tls_connections")}>{String(tlsConnections)}</ReadOnlyField>
        )}
        <ReadOnlyField label={t("clients.secret")}>
          {usesTls(client) ? t("clients.tls_no_secret") : secretMs === null ? t("clients.secret_file") : (
            <>
              {t("common.is_set")} <Time models={models} atMs={secretMs} />
            </>
          )}
        </ReadOnlyField>
      </div>
      <a href={`/history?client=${encodeURIComponent(client.name)}`}>{t("clients.to_history")}</a>
    </Panel>
  );
}

/** What the rules amount to, with the global setting. */
function RuleFacts({ client }: Pick<OneClient, "client">) {
  return (
    <>
      <ReadOnlyField label={t("clients.passwords")}>{passwordText(client)}</ReadOnlyField>
      <ReadOnlyField label={t("clients.field_unknownUsers")}>
        {t(
          client.effective.rejectsUnknown
            ? "clients.field_unknownUsers_reject"
            : "clients.field_unknownUsers_allow",
        )}
      </ReadOnlyField>
    </>
  );
}

/** "Not checked", with where that is set. */
function passwordText({ effective, firstFactor }: OneClient["client"]): string {
  const text = t(`clients.field_firstFactor_${effective.firstFactor}`);
  return firstFactor === "settings" ? t("clients.global_value", { value: text }) : text;
}

const MAX_ADDRESSES = 8;

function addressesText({ addresses, count }: OneClient["client"]["signing"]): string {
  const shown = addresses.slice(0, MAX_ADDRESSES).join(", ");
  return count > MAX_ADDRESSES ? `${shown} (+${count - MAX_ADDRESSES})` : shown;
}

/** Which of the two secrets the client used last. */
function secretText({ use, secretMs }: OneClient["client"]): string {
  if (use.lastMs <= (secretMs ?? 0)) return t("clients.secret_unheard");
  return use.previousMs === use.lastMs ? t("clients.secret_old") : t("clients.secret_new");
}

function FixedRules({ one: { client, gateway } }: Pick<ClientPart, "one">) {
  const draft = toClientDraft(client);
  return (
    <div class="people-fields">
      {CLIENT_FIELDS.map((name) => {
        const text = settingText(draft, name, gateway);
        return text !== null && (
          <ReadOnlyField key={name} label={settingLabel(name)}>
            <bdi class={isVerbatim(name) ? "mono" : undefined}>{text}</bdi>
          </ReadOnlyField>
        );
      })}
    </div>
  );
}

export function EditClient({ models, one, page }: ClientPart) {
  /** The client when the input began. A newer version replaces it only while nothing is typed. */
  const began = useSignal(one);
  const draft = useSignal<ClientDraft>(toClientDraft(one.client));
  const reviewing = useSignal(false);
  const refused = useSignal<ApiFailure | null>(null);
  const base = toClientDraft(began.value.client);
  const isUnchanged = (from: ClientDraft, to: ClientDraft) =>
    changedSettings(from, to).length === 0 && to["firstFactorServer.secret"] === "";
  useEffect(() => {
    // Effects run late: this also counts input since the last render.
    if (!isUnchanged(toClientDraft(began.peek().client), draft.peek())) return;
    began.value = one;
    draft.value = toClientDraft(one.client);
  }, [one.client.version]);
  return (
    <>
      <ReviewedForm
        router={models.router}
        isSame={isUnchanged(base, draft.value)}
        onReview={() => {
          refused.value = null;
          reviewing.value = true;
        }}
        onDiscard={() => draft.value = base}
      >
        <FormFault.Provider value={refused.value}>
          <TransportField draft={draft} gateway={one.gateway} saved={began.value.client} />
          <ClientFields
            models={models}
            draft={draft}
            ldap={one.ldap}
            gateway={one.gateway}
            saved={began.value.client}
          />
          <FormFields prefix="client" draft={draft} rows={EDIT_FIELDS.map((name) => clientField(name))} />
        </FormFault.Provider>
      </ReviewedForm>
      {reviewing.value && (
        <ClientReview
          models={models}
          began={began}
          draft={draft}
          onSaved={(now) => page.set(now)}
          onRefused={(fault) => refused.value = fault}
          onClose={() => reviewing.value = false}
        />
      )}
    </>
  );
}

interface ReviewProps {
  readonly models: Models;
  /** The client as it was when the form was opened. */
  readonly began: Signal<OneClient>;
  readonly draft: Signal<ClientDraft>;
  readonly onSaved: (now: OneClient) => void;
  /** A field is not accepted. The form marks it. */
  readonly onRefused: (fault: ApiFailure) => void;
  readonly onClose: () => void;
}

function ClientReview({ models, began, draft, onSaved, onRefused, onClose }: ReviewProps) {
  const { client } = began.value;
  const { name } = client;
  const mine = draft.value;
  const base = toClientDraft(client);
  const begin = (now: OneClient, next: ClientDraft) => {
    began.value = now;
    draft.value = next;
  };
  return (
    <ReviewDialog
      name={name}
      rows={diffRows(base, mine, began.value.gateway)}
      onSave={async () => {
        const json = { ...toClientRequest(mine), version: client.version };
        const now = await changeClient(models, name, json).catch((fault: unknown) => {
          if (!(fault instanceof ApiFailure) || fault.field === null) throw fault;
          onRefused(fault);
          return null;
        });
        if (now === null) return;
        models.toasts.show(t("clients.changed", { name }), { tone: "ok" });
        begin(now, toClientDraft(now.client));
        onSaved(now);
      }}
      onRebase={async () => {
        const current = await fetchClient(models, name);
        const theirs = toClientDraft(current.client);
        begin(current, mergeDrafts({ base, mine, theirs }));
        return { fields: changedSettings(base, theirs).map(settingLabel) };
      }}
      onClose={onClose}
    >
      <ClientUsage one={began.value} />
    </ReviewDialog>
  );
}

function diffRows(base: ClientDraft, mine: ClientDraft, gateway: ClientGateway): DiffRow[] {
  const rows = changedSettings(base, mine).map((name) => ({
    name: settingLabel(name),
    now: settingText(base, name, gateway),
    after: settingText(mine, name, gateway),
  }));
  if (!isNewSecret(mine)) return rows;
  const name = settingLabel("firstFactorServer.secret");
  return [...rows, { name, now: null, after: t("clients.another_secret") }];
}

function isNewSecret(draft: ClientDraft): boolean {
  return draft["firstFactorServer.secret"] !== "" && draft.firstFactor === "radius";
}
