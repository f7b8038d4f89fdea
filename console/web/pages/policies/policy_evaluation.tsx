// "What would happen": which policy applies to a user, a client and an address, and why the others do not.

import { useSignal } from "@preact/signals";
import type { EvaluationAnswer, PolicyPage, PolicyVerdict } from "../../../api/policies/policy_types.ts";
import type { Models } from "../../app/app_context.ts";
import { useAction } from "../../app/action.ts";
import { ErrorAlert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { clientText } from "../../components/client_text.ts";
import { SelectField, TextField } from "../../components/field.tsx";
import { Panel } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { t } from "../../i18n/translate.ts";
import type { PolicyCalls } from "./policy_form.ts";
import { effectText } from "./policy_text.ts";

interface EvaluationProps {
  readonly models: Models;
  readonly page: PolicyPage;
  readonly calls: Pick<PolicyCalls, "evaluate">;
}

export function EvaluationPanel({ page, calls }: EvaluationProps) {
  const user = useSignal("");
  const address = useSignal("");
  const time = useSignal("");
  const client = useSignal(page.clients[0] ?? "");
  const answer = useSignal<ShownAnswer | null>(null);
  const { busy, fault, run } = useAction();
  const ask = () =>
    run(async () => {
      const atMs = time.value === "" ? {} : { atMs: new Date(time.value).getTime() };
      const login = { user: user.value, client: client.value, address: address.value, ...atMs };
      answer.value = { ...await calls.evaluate(login), hasAddress: login.address.trim() !== "" };
    });
  const clients = page.clients.map((name) => ({ value: name, label: clientText(name) }));
  return (
    <Panel title={t("policies.try")}>
      <form
        class="policy-try"
        onSubmit={(event) => {
          event.preventDefault();
          void ask();
        }}
      >
        <TextField
          id="try-user"
          label={t("common.user_name")}
          text={user}
          input={{ required: true, spellcheck: false, maxLength: 253 }}
        />
        <SelectField
          id="try-client"
          label={t("common.client")}
          value={client.value}
          options={clients.length === 0 ? [{ value: "", label: t("common.any") }] : clients}
          onChoose={(name) => client.value = name}
        />
        <TextField
          id="try-address"
          label={t("policies.address")}
          text={address}
          input={{
            spellcheck: false,
            maxLength: 253,
            placeholder: t("common.example", { value: "203.0.113.7" }),
          }}
        />
        <TextField
          id="try-time"
          label={t("policies.time")}
          text={time}
          input={{ type: "datetime-local" }}
        />
        <Button type="submit" icon="play" busy={busy.value}>{t("policies.try_submit")}</Button>
      </form>
      <p class="quiet small">{t("policies.try_hint")}</p>
      <ErrorAlert of={fault} />
      <div role="status">{answer.value !== null && <Answer answer={answer.value} />}</div>
    </Panel>
  );
}

/** An answer, and whether the question had an address: the field can change afterwards. */
type ShownAnswer = EvaluationAnswer & { readonly hasAddress: boolean };

const TONES = {
  accept: { tone: "ok", shape: "check" },
  reject: { tone: "bad", shape: "cross" },
  challenge: { tone: "challenge", shape: "key" },
} as const;

function Answer({ answer }: { answer: ShownAnswer }) {
  const { policy, effect, status, groups, isAddress, hasAddress, verdicts } = answer;
  const words = { ...TONES[effect.kind], label: effectText(effect) };
  const by = policy === null ? t("policies.applies_settings") : t("policies.applies", { name: policy });
  const attributes = Object.entries(effect.attributes).map(([name, value]) => `${name} = ${value}`);
  return (
    <div class="policy-answer">
      <p>
        <StateText words={words} /> {by}
      </p>
      {attributes.length > 0 && <p class="mono small">{attributes.join(", ")}</p>}
      {status !== "active" && <p>{t(`policies.user_${status}`)}</p>}
      <p class="quiet small">
        {groups.length === 0
          ? t("policies.no_groups")
          : t("policies.in_groups", { names: groups.join(", ") })}{" "}
        {!isAddress && t(hasAddress ? "policies.no_address" : "policies.no_calling_station")}
      </p>
      {verdicts.length > 0 && (
        <ol class="policy-verdicts">
          {verdicts.map((verdict) => (
            <li key={verdict.id} data-applies={verdict.applies ? "" : undefined}>
              <bdi>{verdict.name}</bdi>: {verdictText(verdict)}
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

function verdictText({ miss, applies }: PolicyVerdict): string {
  if (applies) return t("policies.verdict_applies");
  return miss === null ? t("policies.verdict_later") : t(`policies.miss_${miss}`);
}
