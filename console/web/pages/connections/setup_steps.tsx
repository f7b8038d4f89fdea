// What to do at the identity provider, with the values to copy at the step that needs them, and a test that waits for the first request.

import { useSignal } from "@preact/signals";
import type {
  ConnectionKind,
  ConnectionTest,
  CreatedConnectionSecret,
  SecretKind,
} from "../../../api/connections/connection_types.ts";
import { skipWhilePending } from "../../app/resource.ts";
import { failureText } from "../../app/api_client.ts";
import { Alert, ErrorAlert } from "../../components/alert.tsx";
import { Button, CopyButton } from "../../components/button.tsx";
import { t } from "../../i18n/translate.ts";
import { type ConnectionPart, runConnectionTest } from "./connection_calls.ts";
import { RequestFacts } from "./request_log.tsx";
import { useEffect } from "preact/hooks";

type Value = "url" | "token";

/** The values to copy at each step. The texts are those of the products' documentation. */
const STEPS: Readonly<Record<ConnectionKind, readonly (readonly Value[])[]>> = {
  okta: [[], [], ["url"], [], ["token"], [], []],
  entra: [[], [], [], ["url", "token"], [], [], []],
  other: [["url"], ["token"], [], []],
};

interface StepsProps extends Omit<ConnectionPart, "page"> {
  /** The new secret, while it is shown. */
  readonly secret: CreatedConnectionSecret["secret"];
}

export function SetupSteps({ models, item, tokenUrl, secret }: StepsProps) {
  const { kind, name } = item.settings;
  const secretKind = secret?.kind ?? item.secrets[0]?.kind ?? "token";
  return (
    <div class="guide">
      <ol class="setup-steps">
        {STEPS[kind].map((values, at) => (
          <li key={at}>
            <p>{t(`connections.step_${kind}_${at + 1}` as "connections.step_okta_1")}</p>
            {values.includes("url") && <CopyValue label={t("connections.base_address")} text={item.url} />}
            {values.includes("token") && (
              <SecretValues secretKind={secretKind} text={secret?.text ?? null} {...{ name, tokenUrl }} />
            )}
          </li>
        ))}
      </ol>
      {kind === "entra" && <Alert tone="idle">{t("connections.entra_cycle")}</Alert>}
      <TestConnection models={models} name={name} />
    </div>
  );
}

interface SecretProps {
  readonly secretKind: SecretKind;
  /** `null`: it was shown before. */
  readonly text: string | null;
  readonly name: string;
  readonly tokenUrl: string;
}

function SecretValues({ secretKind, text, name, tokenUrl }: SecretProps) {
  return (
    <>
      {secretKind === "client_secret" && (
        <>
          <CopyValue label={t("connections.token_address")} text={tokenUrl} />
          <CopyValue label={t("connections.client_id")} text={name} />
        </>
      )}
      {text === null
        ? (
          <p class="quiet">
            {t("connections.token_hidden")} <a href="#secrets">{t("connections.secrets")}</a>
          </p>
        )
        : (
          <>
            <Alert tone="wait">{t("common.shown_once")}</Alert>
            <CopyValue label={t(`connections.secret_${secretKind}`)} text={text} />
          </>
        )}
    </>
  );
}

function CopyValue({ label, text }: { label: string; text: string }) {
  return (
    <div>
      <div class="guide-head">
        <h3>{label}</h3>
        <CopyButton text={text} what={t("common.copy", { name: label })} />
      </div>
      <pre class="mono" role="group" tabIndex={0} aria-label={label}>{text}</pre>
    </div>
  );
}

const POLL_INTERVAL_MS = 2000;
const TONES = { works: "ok", refused: "bad", unused: "wait", paused: "wait", no_secret: "bad" } as const;

/** Waits for the first request, and shows the newest one. */
function TestConnection({ models, name }: { models: ConnectionPart["models"]; name: string }) {
  const isWaiting = useSignal(false);
  const result = useSignal<ConnectionTest | null>(null);
  const problem = useSignal<string | null>(null);
  useEffect(() => {
    if (!isWaiting.value) return;
    const ask = skipWhilePending(async () => {
      try {
        result.value = await runConnectionTest(models, name);
        problem.value = null;
        isWaiting.value = result.value.state === "unused" || result.value.state === "refused";
      } catch (fault) {
        problem.value = failureText(fault);
      }
    });
    ask();
    // Also in a hidden tab: the administrator is at the identity provider.
    const timer = setInterval(ask, POLL_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [isWaiting.value]);
  const test = result.value;
  return (
    <section class="connect-heard" aria-label={t("connections.test")}>
      <h3>{t("connections.test")}</h3>
      <p>{t("connections.test_what")}</p>
      <div class="people-actions">
        <Button icon="play" busy={isWaiting.value} onClick={() => isWaiting.value = true}>
          {t("common.test")}
        </Button>
        {isWaiting.value && (
          <Button onClick={() => isWaiting.value = false}>{t("connections.test_stop")}</Button>
        )}
      </div>
      <ErrorAlert of={problem} />
      <div role="status">
        {test !== null && (
          <Alert tone={TONES[test.state]} icon={test.state === "works" ? "check" : "alert"}>
            {t(`connections.test_${test.state}`)}
          </Alert>
        )}
      </div>
      {test !== null && test.lastRequest !== null && <RequestFacts request={test.lastRequest} />}
    </section>
  );
}
