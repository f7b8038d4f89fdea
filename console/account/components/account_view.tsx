// The account of a signed-in user: alerts, open logins, factors, recent logins.

import { useEffect, useMemo } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { Factor } from "../../../radius/flow/context.ts";
import { useAction } from "../../web/app/action.ts";
import { fullTimeText, timeText } from "../../web/app/format.ts";
import { ErrorState, Skeleton } from "../../web/components/alert.tsx";
import { t } from "../../web/i18n/translate.ts";
import type { AccountInfo } from "../../api/account/account_types.ts";
import { InlineIcon } from "../../web/components/inline_icon.tsx";
import { Time } from "../../web/components/time.tsx";
import { Field, SelectField } from "../../web/components/field.tsx";
import { Dialog } from "../../web/components/dialog.tsx";
import { ApiFailure } from "../../web/app/api_client.ts";
import { ConfirmDialog } from "../../web/components/form_dialog.tsx";
import { Icon } from "../../web/components/icons.tsx";
import { type Account, type AccountModels, createAccount, keepCurrent } from "../account_models.ts";
import { Alerts } from "./alerts.tsx";
import { AuthenticatorApps, OwnTokens } from "./authenticator_apps.tsx";
import { type FactorProps, Heading, type PartProps, Section } from "./section.tsx";
import { OpenLogins, RecentLogins } from "./logins.tsx";
import { Phones } from "./phones.tsx";
import { RecoveryCodesSection } from "./recovery_codes.tsx";

export function AccountView({ models, me }: { models: AccountModels; me: AccountInfo }) {
  const account = useMemo(() => createAccount(models), []);
  useEffect(() => keepCurrent(account, { session: models.session, window: globalThis.window }), []);
  const parts = { models, account, me };
  return (
    <>
      <Hero me={me} />
      <Alerts {...parts} />
      <OpenLogins {...parts} />
      <Factors {...parts} />
      <RecentLogins {...parts} />
      {account.isSteppingUp.value && <StepUpDialog account={account} />}
    </>
  );
}

function Hero({ me }: { me: AccountInfo }) {
  const name = me.displayName ?? me.userName;
  return (
    <div class="me-hero">
      <span class="me-monogram" aria-hidden="true">{monogram(name)}</span>
      <div>
        <Heading>{name}</Heading>
        <p class="quiet">
          {me.displayName !== null && (
            <>
              <span class="mono">{me.userName}</span>
              {" · "}
            </>
          )}
          {t(me.via === "link" ? "account.via_link" : "account.via_phone")},{" "}
          <span title={fullTimeText(me.endsMs)}>
            {t("account.until", { time: timeText(me.endsMs).slice(0, 5) })}
          </span>
        </p>
      </div>
    </div>
  );
}

/** The first letters of the first and the last word. */
function monogram(name: string): string {
  const words = name.split(/[\s._-]+/).filter((word) => word !== "");
  const letters = [words[0], words.length > 1 ? words.at(-1) : undefined]
    .map((word) => [...(word ?? "")][0] ?? "");
  return letters.join("").toUpperCase();
}

function Factors(parts: PartProps) {
  const { factors } = parts.account;
  const state = factors.state.value;
  if (state.kind === "failed") {
    return (
      <ErrorState title={t("account.factors_unread")} onRetry={() => void factors.reload()}>
        {state.message}
      </ErrorState>
    );
  }
  if (state.kind !== "ready") return <Skeleton rows={5} />;
  const given = { ...parts, factors: state.value };
  const { enabled, devices, totp } = state.value;
  // Factors that the gateway does not use cannot be added, but existing ones can be removed.
  const uses = (factor: Factor) => enabled.includes(factor);
  return (
    <>
      {(uses("device") || devices.length > 0) && <Phones {...given} />}
      {(uses("totp") || totp.length > 0) && <AuthenticatorApps {...given} />}
      <OwnTokens {...given} />
      <OwnBypassCode {...given} />
      <PhoneNumbers {...given} />
      <RecoveryCodesSection {...given} />
      <PreferredFactor {...given} />
    </>
  );
}

function PhoneNumbers({ models, factors: { numbers } }: FactorProps) {
  if (numbers.length === 0) return null;
  return (
    <Section title={t("common.phone_numbers")} why={t("account.numbers_why")}>
      <ul class="me-rows">
        {numbers.map(({ pairingId, kind, number, createdMs }) => (
          <li class="me-row" key={pairingId}>
            <InlineIcon name={kind === "sms" ? "text" : "call"} size={20} />
            <div class="me-row-text">
              <strong class="mono">{number}</strong>
              <span class="quiet small">
                {t(`account.number_${kind}`)} · {t("common.added_at")}{" "}
                <Time models={models} atMs={createdMs} />
              </span>
            </div>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function PreferredFactor({ account, factors }: FactorProps) {
  const problem = useSignal<string | null>(null);
  const { devices, totp, tokens = [], numbers, enabled, preference } = factors;
  const held = new Set<Factor>(numbers.map(({ kind }) => kind));
  if (devices.length > 0) held.add("device");
  if (totp.length + tokens.length > 0) held.add("totp");
  const names = enabled.filter((factor) => held.has(factor));
  if (names.length < 2) return null;
  const choose = async (value: string) => {
    problem.value = null;
    await account.run({
      call: () => account.calls.prefer(names.find((name) => name === value) ?? null),
      doneText: t("account.first_done"),
      onProblem: (sentence) => problem.value = sentence,
    });
  };
  return (
    <Section title={t("common.default_factor")} why={t("account.first_why")}>
      <div class="me-fields">
        <SelectField
          id="me-first"
          label={t("account.first_label")}
          problem={problem.value}
          value={preference ?? ""}
          options={[
            { value: "", label: t("account.first_auto") },
            ...names.map((name) => ({ value: name, label: t(`account.first_${name}`) })),
          ]}
          onChoose={(value) => void choose(value)}
        />
      </div>
    </Section>
  );
}

function StepUpDialog({ account }: { account: Account }) {
  const code = useSignal("");
  const problem = useSignal<string | null>(null);
  const action = useAction();
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void action.run(async () => problem.value = await account.stepUp(code.value));
  };
  return (
    <Dialog title={t("common.step_up")} onClose={account.cancelStepUp} action={action}>
      <form class="me-form" onSubmit={submit}>
        <p>{t("account.step_up_why")}</p>
        <Field
          id="me-step-up"
          label={t("common.code")}
          hint={t("account.step_up_hint")}
          problem={problem.value}
          input={{
            value: code.value,
            required: true,
            autofocus: true,
            autocomplete: "one-time-code",
            maxLength: 16,
            class: "mono",
            onInput: (event) => code.value = event.currentTarget.value,
          }}
        />
        <button type="submit" class="button button-primary me-wide" disabled={action.busy.value}>
          {action.busy.value ? t("common.working") : t("common.confirm")}
        </button>
      </form>
    </Dialog>
  );
}

// The bypass code that the help desk issued to the user: until when it is valid, and its end. The code itself is not shown.

function OwnBypassCode({ models, account, factors: { bypass = null } }: FactorProps) {
  const asking = useSignal(false);
  const revoke = async () => {
    let problem: string | null = null;
    await account.run({
      call: account.calls.revokeBypass,
      doneText: t("account.bypass_revoked"),
      onProblem: (sentence) => problem = sentence,
    });
    if (problem !== null) throw new ApiFailure("unconfirmed", { message: problem });
  };
  if (bypass === null) return null;
  const { usesLeft, expiresMs, by, createdMs } = bypass;
  return (
    <Section title={t("common.bypass_code")} why={t("account.bypass_why")}>
      <div class="me-row me-any">
        <Icon name="key-round" size={20} />
        <div class="me-row-text">
          <strong>
            {usesLeft === null
              ? t("common.any_number_of_sign_ins")
              : t("common.sign_ins_left", { count: usesLeft })}
          </strong>
          <span class="quiet small">
            {t("common.until")} <Time models={models} atMs={expiresMs} absolute />
          </span>
          <span class="quiet small">
            {t("common.issued_by", { by })} <Time models={models} atMs={createdMs} />
          </span>
        </div>
        <button type="button" class="button button-plain" onClick={() => asking.value = true}>
          <Icon name="x" />
          <span>{t("common.revoke_code")}</span>
        </button>
      </div>
      {asking.value && (
        <ConfirmDialog
          title={t("account.bypass_revoke_title")}
          submitLabel={t("common.revoke_code")}
          onConfirm={revoke}
          onClose={() => asking.value = false}
        >
          <p>{t("account.bypass_revoke_what")}</p>
        </ConfirmDialog>
      )}
    </Section>
  );
}
