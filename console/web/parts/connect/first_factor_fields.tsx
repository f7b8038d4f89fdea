// Who judges the password of a client's logins: what each choice needs besides, and a test of it.

import { type Signal, useSignal } from "@preact/signals";
import type { ClientRow } from "../../../api/connect/client_shapes.ts";
import { failureText } from "../../api_client.ts";
import { type ClientDraft, draftOf } from "../../models/client_form.ts";
import { testFirstFactor } from "../../models/connect_calls.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import { Button } from "../button.tsx";
import { choicesOf, type FieldRow, Fields } from "../fields.tsx";
import { SelectField } from "../inputs.tsx";
import { Note } from "../note.tsx";

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

const TIMEOUTS_MS = [1000, 2000, 3000, 5000, 10_000];

const CHOICE: FieldRow<Pick<ClientDraft, "firstFactor">> = {
  name: "firstFactor",
  label: "connect.firstFactor",
  choices: ["settings", "none", "directory", "ldap", "radius"],
  sayChoice: (value) => t(`connect.firstFactor_${value}`),
};

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
        {...choicesOf(CHOICE, { value: firstFactor, onChange: choose })}
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
  return draft.value.serverText.trim() === draftOf(saved).serverText;
}

function ServerFields(props: FactorProps) {
  const { draft } = props;
  const isSaved = isKept(props);
  const timeoutsMs = [...new Set([...TIMEOUTS_MS, draft.value.serverTimeoutMs])].sort((a, b) => a - b);
  const rows: readonly FieldRow<ClientDraft>[] = [
    {
      name: "serverText",
      label: "connect.server",
      hint: "connect.server_hint",
      input: { required: true, maxLength: 260, placeholder: "192.0.2.20:1812" },
    },
    {
      name: "serverSecret",
      label: "connect.server_secret",
      hint: isSaved ? "connect.server_secret_kept" : "connect.server_secret_hint",
      input: { type: "password", required: !isSaved, maxLength: 128 },
    },
    {
      name: "serverTimeoutMs",
      label: "connect.server_timeout",
      choices: timeoutsMs,
      sayChoice: (ms) => t("connect.seconds", { count: ms / 1000 }),
    },
    {
      name: "serverSignature",
      label: "connect.serverSignature",
      choices: ["require", "auto"],
      sayChoice: (value) => t(`connect.serverSignature_${value}`),
    },
  ];
  return <Fields prefix="client" draft={draft} rows={rows} />;
}

/** What a test of the first factor that is typed takes; the reason when it cannot be made yet. */
function testOf({ draft, saved, ldap }: FactorProps) {
  const { firstFactor, firstFactorBackend, serverText, serverSecret, serverTimeoutMs } = draft.value;
  const { serverSignature: messageAuthenticator } = draft.value;
  if (firstFactor === "ldap") return ldap.length === 0 ? null : { backend: firstFactorBackend };
  if (serverSecret === "") return saved !== null && isKept({ draft, saved }) ? { client: saved.name } : null;
  if (serverText.trim() === "") return null;
  const secret = serverSecret;
  return { address: serverText.trim(), timeoutMs: serverTimeoutMs, messageAuthenticator, secret };
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
  const { firstFactor, serverTimeoutMs } = draft.value;
  const run = async () => {
    if (test === null || busy.value) return;
    busy.value = true;
    told.value = null;
    try {
      const { answers, detail } = await testFirstFactor(models, test);
      const silent = firstFactor === "ldap"
        ? t("connect.backend_silent", { detail })
        : t("connect.server_silent", { seconds: serverTimeoutMs / 1000 });
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
