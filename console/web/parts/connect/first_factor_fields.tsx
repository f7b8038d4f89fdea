// Who judges the password of a client's logins: what each choice needs besides, and a test of it.

import { type Signal, useSignal } from "@preact/signals";
import type { ClientRow } from "../../../api/clients/client_types.ts";
import { failureText } from "../../api_client.ts";
import { CLIENT_FIELDS, type ClientDraft, draftOf, toClientRequest } from "../../models/client_form.ts";
import { testFirstFactor } from "../../models/connect_calls.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import { Button } from "../button.tsx";
import { choicesOf, type FieldRow, Fields } from "../fields.tsx";
import { SelectField } from "../inputs.tsx";
import { Note } from "../note.tsx";
import { clientField } from "./client_words.ts";

const ADDRESS = "firstFactorServer.address";
const SERVER_FIELDS = CLIENT_FIELDS.filter((name) => name.startsWith("firstFactorServer."));

type SecretField = Extract<FieldRow<ClientDraft>, { name: "firstFactorServer.secret" }>;

export interface FirstFactorPlace {
  /** LDAP backends of the target whose users log in. */
  readonly ldap: readonly string[];
  /** The client as it is saved; `null` for a new one. */
  readonly saved: ClientRow | null;
}

interface FactorProps extends FirstFactorPlace {
  readonly models: Models;
  readonly draft: Signal<ClientDraft>;
}

export function FirstFactorFields(props: FactorProps) {
  const { draft, ldap } = props;
  const { firstFactor, firstFactorBackend } = draft.value;
  const choose = (chosen: ClientDraft["firstFactor"]) => {
    const backend = chosen === "ldap" && firstFactorBackend === "" ? ldap[0] ?? "" : firstFactorBackend;
    draft.value = { ...draft.value, firstFactor: chosen, firstFactorBackend: backend };
  };
  return (
    <>
      <SelectField
        id="client-firstFactor"
        label={t("connect.firstFactor")}
        {...choicesOf(clientField("firstFactor") as FieldRow<Pick<ClientDraft, "firstFactor">>, {
          value: firstFactor,
          onChange: choose,
        })}
      />
      {firstFactor === "ldap" && (
        <div class="connect-factor" role="group" aria-label={t("connect.firstFactor_ldap")}>
          {ldap.length === 0 ? <Note tone="wait">{t("connect.ldap_none")}</Note> : (
            <Fields
              prefix="client"
              draft={draft}
              rows={[{ name: "firstFactorBackend", label: "connect.factor_backend", choices: ldap }]}
            />
          )}
          <FactorTest {...props} />
        </div>
      )}
      {firstFactor === "radius" && (
        <div class="connect-factor" role="group" aria-label={t("connect.firstFactor_radius")}>
          <ServerFields {...props} />
          <FactorTest {...props} />
        </div>
      )}
    </>
  );
}

/** Whether the secret that is kept is for the server that is typed. */
function isKept({ draft, saved }: Pick<FactorProps, "draft" | "saved">): boolean {
  if (saved === null || saved.firstFactorServer === null) return false;
  return draft.value[ADDRESS].trim() === draftOf(saved)[ADDRESS];
}

function ServerFields(props: FactorProps) {
  const { draft } = props;
  const timeoutMs = draft.value["firstFactorServer.timeoutMs"];
  const rows = SERVER_FIELDS.map((name) => {
    const row = clientField(name);
    if (row.name === "firstFactorServer.secret") return secretField(row, isKept(props));
    if (row.name !== "firstFactorServer.timeoutMs") return row;
    // A client can have another timeout than those that are offered.
    const choices = [...new Set([...row.choices ?? [], timeoutMs])].sort((a, b) => a - b);
    return { ...row, choices };
  });
  return <Fields prefix="client" draft={draft} rows={rows} />;
}

function secretField(row: SecretField, isSaved: boolean): SecretField {
  return {
    ...row,
    hint: isSaved ? "connect.server_secret_kept" : "connect.server_secret_hint",
    input: { ...row.input, required: !isSaved },
  };
}

/** What a test of the first factor that is typed takes; the reason when it cannot be made yet. */
function testOf({ draft, saved, ldap }: FactorProps) {
  const { firstFactor, firstFactorBackend } = draft.value;
  if (firstFactor === "ldap") return ldap.length === 0 ? null : { backend: firstFactorBackend };
  const { firstFactorServer: server } = toClientRequest(draft.value);
  if (server === null) return null;
  const { address, secret } = server;
  if (secret === undefined) return saved !== null && isKept({ draft, saved }) ? { client: saved.name } : null;
  return address === "" ? null : { ...server, secret };
}

interface Told {
  readonly tone: "ok" | "bad";
  readonly text: string;
}

function FactorTest(props: FactorProps) {
  const { models, draft } = props;
  const busy = useSignal(false);
  const told = useSignal<Told | null>(null);
  const test = testOf(props);
  const { firstFactor, "firstFactorServer.timeoutMs": timeoutMs } = draft.value;
  const run = async () => {
    if (test === null || busy.value) return;
    busy.value = true;
    told.value = null;
    try {
      const { answers, detail } = await testFirstFactor(models, test);
      const silent = firstFactor === "ldap"
        ? t("connect.backend_silent", { detail })
        : t("connect.server_silent", { seconds: timeoutMs / 1000 });
      const good = t(firstFactor === "ldap" ? "connect.backend_answers" : "connect.server_answers");
      told.value = { tone: answers ? "ok" : "bad", text: answers ? good : silent };
    } catch (fault) {
      told.value = { tone: "bad", text: failureText(fault) };
    }
    busy.value = false;
  };
  const reason = test === null
    ? t(firstFactor === "ldap" ? "connect.ldap_none" : "connect.server_incomplete")
    : undefined;
  return (
    <>
      <div>
        <Button small reason={reason} busy={busy.value} onClick={run}>
          {t("connect.factor_test")}
        </Button>
      </div>
      {told.value !== null && <Note tone={told.value.tone} role="status">{told.value.text}</Note>}
    </>
  );
}
