// The form fields of a RADIUS client, new or existing.

import { type Signal, useSignal } from "@preact/signals";
import { clientWait } from "../../../../platform/client_guides.ts";
import {
  CLIENT_SETTINGS,
  type ConsoleSetting,
  type Transport,
  usesTls,
} from "../../../../platform/client_settings.ts";
import type { ClientGateway, ClientRow } from "../../../api/clients/client_types.ts";
import { failureText } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { Alert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { SelectField } from "../../components/field.tsx";
import { choicesOf, type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { t } from "../../i18n/translate.ts";
import {
  CLIENT_FIELDS,
  type ClientDraft,
  clientField,
  EDIT_FIELDS,
  findSignInMethod,
  isFieldUsed,
  runFirstFactorTest,
  SIGN_IN_METHOD_NAMES,
  toClientDraft,
  toClientRequest,
  withSignInMethod,
} from "./client_form.ts";

const IDENTITY: readonly ConsoleSetting[] = [
  ...["tlsSan", "tlsFingerprint", "address", "nasIdentifier"],
] as const;
/** Beside the method, because it decides whether requests wait. */
const WAIT: readonly ConsoleSetting[] = ["holdMs"];
const SIGNATURE: readonly ConsoleSetting[] = ["messageAuthenticator"];
/** At the end, as the port of Disconnect-Requests. */
const LAST: readonly ConsoleSetting[] = ["tlsDisconnect"];
/** The fields after those of the first factor. */
const RULES = [
  ...CLIENT_FIELDS.filter((name) =>
    ![...IDENTITY, ...WAIT, ...SIGNATURE, ...LAST, ...EDIT_FIELDS].includes(name) &&
    !name.startsWith("firstFactor")
  ),
  ...LAST,
];

interface FieldsProps extends FirstFactorContext {
  readonly models: Models;
  readonly draft: Signal<ClientDraft>;
}

export function ClientFields({ models, draft, ldap, gateway, saved }: FieldsProps) {
  const fields = (names: readonly ConsoleSetting[]) => (
    <FormFields
      prefix="client"
      draft={draft}
      rows={names.filter((name) => isFieldUsed(draft.value, name)).map((name) =>
        placed(clientField(name, { draft: draft.value, gateway }), draft.value)
      )}
    />
  );
  return (
    <>
      {fields(IDENTITY)}
      <MethodField draft={draft} />
      {fields(WAIT)}
      <WaitNote draft={draft.value} gateway={gateway} />
      {/* The server of a relayed sign-in is among these fields. */}
      <details class="connect-more" open={saved !== null || draft.value.firstFactor === "radius"}>
        <summary>{t("clients.more_rules")}</summary>
        <div class="form">
          {fields(SIGNATURE)}
          <FirstFactorFields {...{ models, draft, ldap, gateway, saved }} />
          <FormFields
            prefix="client"
            draft={draft}
            rows={ruleRows({ draft: draft.value, gateway }, saved)}
          />
        </div>
      </details>
    </>
  );
}

/** Over TLS, addresses are optional. */
function placed(row: FieldRow<ClientDraft>, { transport }: ClientDraft): FieldRow<ClientDraft> {
  return row.name === "address" && transport === "tls" ? { ...row, hint: "clients.address_hint_tls" } : row;
}

const TRANSPORT_ROWS: readonly FieldRow<ClientDraft>[] = [{
  name: "transport",
  label: "clients.transport",
  hint: "clients.transport_hint",
  choices: ["udp", "tls"],
  choiceLabel: (transport) => t(`clients.transport_${transport}`),
}];

/** Asks how requests of the client come, before the fields that depend on it. */
export function TransportField(
  { draft, gateway, saved }: Pick<FieldsProps, "draft" | "gateway" | "saved">,
) {
  const { transport } = draft.value;
  return (
    <>
      <FormFields prefix="client" draft={draft} rows={TRANSPORT_ROWS} />
      {transport === "tls" && !gateway.acceptsTls && (
        <Alert tone="wait" icon="alert">{t("clients.tls_off")}</Alert>
      )}
      {transport === "udp" && saved !== null && usesTls(saved) && (
        <Alert tone="wait" icon="alert">{t("clients.tls_to_udp")}</Alert>
      )}
    </>
  );
}

/** How long the client must wait for an answer, as the setup guides compute it. */
export function waitText(holdMs: number, transport: Transport): string {
  const { waitS, tryS, tries } = clientWait(Math.ceil(holdMs / 1000));
  return transport === "tls"
    ? t("clients.wait_tls", { wait: waitS })
    : t("clients.wait_udp", { wait: waitS, try: tryS, tries });
}

function WaitNote({ draft, gateway }: { readonly draft: ClientDraft } & Pick<FieldsProps, "gateway">) {
  const { min, max } = CLIENT_SETTINGS.holdMs;
  const { holdMs = 0 } = toClientRequest(draft);
  const isWithin = holdMs === 0 || (holdMs >= min * 1000 && holdMs <= max * 1000);
  return isWithin && (
    <p class="quiet small" role="status">{waitText(holdMs || gateway.holdMs, draft.transport)}</p>
  );
}

/** Asks how users sign in at the client, and sets what follows from it. */
function MethodField({ draft }: Pick<FieldsProps, "draft">) {
  const method = findSignInMethod(draft.value);
  const options = SIGN_IN_METHOD_NAMES.map((value) => ({
    value: value as string,
    label: t(`clients.method_${value}`),
  }));
  return (
    <SelectField
      id="client-method"
      label={t("clients.method")}
      hint={t("clients.method_hint")}
      options={method === null ? [{ value: "", label: t("clients.method_other") }, ...options] : options}
      value={method ?? ""}
      onChoose={(value) => {
        const chosen = SIGN_IN_METHOD_NAMES.find((name) => name === value);
        if (chosen !== undefined) draft.value = withSignInMethod(draft.value, chosen);
      }}
    />
  );
}

/** A typed secret is not a value that the form can show, so an unused one is left out by its port. */
function ruleRows(
  context: { readonly draft: ClientDraft; readonly gateway: ClientGateway },
  saved: ClientRow | null,
): FieldRow<ClientDraft>[] {
  return RULES.filter((name) => isFieldUsed(context.draft, name)).map((name) => {
    const row = clientField(name, context);
    if (row.name !== "disconnectSecret" || saved?.hasDisconnectSecret !== true) return row;
    return { ...row, hint: "clients.field_disconnectSecret_kept" };
  });
}

const ADDRESS = "firstFactorServer.address";
const SERVER_FIELDS = CLIENT_FIELDS.filter((name) => name.startsWith("firstFactorServer."));

type SecretField = Extract<FieldRow<ClientDraft>, { name: "firstFactorServer.secret" }>;

interface FirstFactorContext {
  /** LDAP backends of the target whose users log in. */
  readonly ldap: readonly string[];
  readonly gateway: ClientGateway;
  /** The saved client; `null` for a new one. */
  readonly saved: ClientRow | null;
}

interface FactorProps extends FirstFactorContext {
  readonly models: Models;
  readonly draft: Signal<ClientDraft>;
}

export function FirstFactorFields(props: FactorProps) {
  const { draft, ldap, gateway } = props;
  const { firstFactor, firstFactorBackend } = draft.value;
  const row = clientField("firstFactor", { draft: draft.value, gateway });
  const resolved = firstFactor === "settings" ? gateway.firstFactor : firstFactor;
  /** The connector was removed, or sign-ins use another directory now. */
  const isGone = firstFactorBackend !== "" && !ldap.includes(firstFactorBackend);
  const choose = (chosen: ClientDraft["firstFactor"]) => {
    const backend = chosen === "ldap" && firstFactorBackend === "" ? ldap[0] ?? "" : firstFactorBackend;
    draft.value = { ...draft.value, firstFactor: chosen, firstFactorBackend: backend };
  };
  return (
    <>
      <SelectField
        id="client-firstFactor"
        label={t("clients.field_firstFactor")}
        {...choicesOf(row as FieldRow<Pick<ClientDraft, "firstFactor">>, {
          value: firstFactor,
          onChange: choose,
        })}
      />
      {resolved === "none" && <Alert tone="wait" icon="alert">{t("clients.passwords_unchecked")}</Alert>}
      {firstFactor === "ldap" && (
        <div class="connect-factor" role="group" aria-label={t("clients.field_firstFactor_ldap")}>
          {ldap.length === 0 ? <Alert tone="wait">{t("clients.ldap_none")}</Alert> : (
            <FormFields
              prefix="client"
              draft={draft}
              rows={[{
                name: "firstFactorBackend",
                label: "clients.field_firstFactorBackend",
                choices: isGone ? [firstFactorBackend, ...ldap] : ldap,
                choiceLabel: (name) => ldap.includes(name) ? name : t("common.name_gone", { name }),
              }]}
            />
          )}
          <FactorTest {...props} />
        </div>
      )}
      {firstFactor === "radius" && (
        <div class="connect-factor" role="group" aria-label={t("clients.field_firstFactor_radius")}>
          <ServerFields {...props} />
          <FactorTest {...props} />
        </div>
      )}
    </>
  );
}

/** Whether the stored secret belongs to the servers in the form. */
function isKept({ draft, saved }: Pick<FactorProps, "draft" | "saved">): boolean {
  if (saved === null || saved.firstFactorServer === null) return false;
  const known = toClientDraft(saved)[ADDRESS].split("\n");
  return draft.value[ADDRESS].split(/[\s,]+/).every((one) => one === "" || known.includes(one));
}

function ServerFields(props: FactorProps) {
  const { draft } = props;
  const timeoutMs = draft.value["firstFactorServer.timeoutMs"];
  const rows = SERVER_FIELDS.map((name) => {
    const row = clientField(name);
    if (row.name === "firstFactorServer.secret") return secretField(row, isKept(props));
    if (row.name !== "firstFactorServer.timeoutMs") return row;
    // A client can have a timeout that is not among the choices.
    const choices = [...new Set([...row.choices ?? [], timeoutMs])].sort((a, b) => a - b);
    return { ...row, choices };
  });
  return <FormFields prefix="client" draft={draft} rows={rows} />;
}

function secretField(row: SecretField, isSaved: boolean): SecretField {
  return {
    ...row,
    hint: isSaved
      ? "clients.field_firstFactorServer_secret_kept"
      : "clients.field_firstFactorServer_secret_hint",
    input: { ...row.input, required: !isSaved },
  };
}

/** The request of a first-factor test; `null` while the form is incomplete. */
function toTestRequest({ draft, saved, ldap }: FactorProps) {
  const { firstFactor, firstFactorBackend } = draft.value;
  if (firstFactor === "ldap") return ldap.length === 0 ? null : { backend: firstFactorBackend };
  const { firstFactorServer: server } = toClientRequest(draft.value);
  if (server === null) return null;
  const { address, secret } = server;
  if (secret === undefined) return saved !== null && isKept({ draft, saved }) ? { client: saved.name } : null;
  return address.length === 0 ? null : { ...server, secret };
}

interface TestResult {
  /** The values that were tested. For other values the result is not shown. */
  readonly tested: string;
  readonly tone: "ok" | "bad";
  readonly text: string;
}

function FactorTest(props: FactorProps) {
  const { models, draft } = props;
  const busy = useSignal(false);
  const result = useSignal<TestResult | null>(null);
  const test = toTestRequest(props);
  const { firstFactor, "firstFactorServer.timeoutMs": timeoutMs } = draft.value;
  const tested = JSON.stringify([test, firstFactor, SERVER_FIELDS.map((name) => draft.value[name])]);
  const run = async () => {
    if (test === null || busy.value) return;
    busy.value = true;
    result.value = null;
    try {
      const { answers, detail } = await runFirstFactorTest(models, test);
      const silent = firstFactor === "ldap"
        ? t("clients.backend_silent", { detail })
        : t("clients.server_silent", { seconds: timeoutMs / 1000, servers: detail });
      const good = t(firstFactor === "ldap" ? "clients.backend_answers" : "clients.server_answers");
      result.value = { tested, tone: answers ? "ok" : "bad", text: answers ? good : silent };
    } catch (fault) {
      result.value = { tested, tone: "bad", text: failureText(fault) };
    }
    busy.value = false;
  };
  const reason = test === null
    ? t(firstFactor === "ldap" ? "clients.ldap_none" : "clients.server_incomplete")
    : undefined;
  return (
    <>
      <div>
        <Button small reason={reason} busy={busy.value} onClick={run}>
          {t("clients.factor_test")}
        </Button>
      </div>
      {result.value?.tested === tested && (
        <Alert tone={result.value.tone} role="status">{result.value.text}</Alert>
      )}
    </>
  );
}
