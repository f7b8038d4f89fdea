// What a one-time link opens: an account with a password or a passkey, then a second factor, then where to go on.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ClaimLink } from "../../api/auth/invitations.ts";
import { failureText } from "../api_client.ts";
import { fetchLink, setUpWithPasskey, setUpWithPassword } from "../models/factor_calls.ts";
import type { Models } from "../models/models.ts";
import { type Problem, whyNoPasskey } from "../models/sign_in_calls.ts";
import { Field } from "../parts/field.tsx";
import { Gate } from "../parts/frame/gate.tsx";
import { FixedField } from "../parts/inputs.tsx";
import { Note } from "../parts/note.tsx";
import { RecoveryCodes, TotpSetUp } from "../parts/access/totp_set_up.tsx";
import { IDLE, type Remote } from "../remote.ts";
import type { PageProps } from "../page_loader.ts";
import { t } from "../i18n/translate.ts";

type Step = "account" | "factor" | "totp" | { readonly codes: readonly string[] };

export default function SetUpPage({ models }: PageProps) {
  const step = useSignal<Step>("account");
  const link = useSignal<Remote<ClaimLink>>(IDLE);
  const token = useRef("");
  const state = link.value;
  /** An owner who is the first has a gateway to set up; who was invited has work to do. */
  const done = () => {
    const isInvited = state.kind === "ready" && state.value.kind === "invitation";
    models.router.go(isInvited ? "/live" : "/first-run");
  };
  useEffect(() => {
    if (token.current === "") token.current = location.hash.slice(1);
    // The link works once; it need not stay in the address bar and the history.
    history.replaceState(history.state, "", "/setup");
    fetchLink(models, token.current).then(
      (value) => link.value = { kind: "ready", value },
      (fault: unknown) => link.value = { kind: "failed", message: failureText(fault) },
    );
  }, []);
  if (typeof step.value === "object") {
    return (
      <Gate title={t("access.recovery_title")} foot={t("access.step_of", { step: 2, count: 2 })}>
        <RecoveryCodes codes={step.value.codes} onDone={done} />
      </Gate>
    );
  }
  if (step.value === "factor") return <FactorStep onChoose={() => step.value = "totp"} onLater={done} />;
  if (step.value === "totp") {
    return (
      <Gate title={t("access.totp_add")} foot={t("access.step_of", { step: 2, count: 2 })}>
        <div class="gate-form">
          <TotpSetUp models={models} onCodes={(codes) => step.value = { codes }} />
          <button type="button" class="button button-plain" onClick={done}>{t("access.later")}</button>
        </div>
      </Gate>
    );
  }
  // What it opens decides what the panel says, and so how high it is.
  if (state.kind === "idle") return <main class="gate" aria-busy="true" />;
  return (
    <AccountStep
      models={models}
      token={token}
      link={state.kind === "ready" ? state.value : null}
      known={state.kind === "failed" ? state.message : null}
      onDone={(hasPasskey) => hasPasskey ? done() : step.value = "factor"}
    />
  );
}

interface AccountProps {
  readonly models: Models;
  readonly token: { readonly current: string };
  readonly link: ClaimLink | null;
  /** What is the matter with the link. */
  readonly known: string | null;
  readonly onDone: (hasPasskey: boolean) => void;
}

function AccountStep({ models, token, link, known, onDone }: AccountProps) {
  const problem = useSignal<Problem | null>(null);
  const busy = useSignal(false);
  const form = useRef<HTMLFormElement>(null);
  const invited = link?.kind === "invitation";
  const claim = () => {
    const field = (name: string) => String(new FormData(form.current ?? undefined).get(name) ?? "");
    return { token: token.current, name: link?.name ?? field("name"), password: field("password") };
  };
  const run = async (way: "password" | "passkey") => {
    if (busy.value) return;
    busy.value = true;
    problem.value = way === "password"
      ? await setUpWithPassword(models, claim())
      : await setUpWithPasskey(models, claim());
    busy.value = false;
    if (problem.value === null) onDone(way === "passkey");
  };
  const said = problem.value?.text ?? known;
  return (
    <Gate
      title={invited ? t("access.accept") : t("access.first_owner")}
      foot={t(invited ? "access.invitation_foot" : "access.link_foot")}
    >
      <form
        class="gate-form"
        ref={form}
        onSubmit={(event) => {
          event.preventDefault();
          void run("password");
        }}
      >
        <p>
          {invited ? t("access.accept_why", { role: t(`frame.role_${link.role}`) }) : t("access.owner_why")}
        </p>
        {said !== null && <Note tone="bad" role="alert">{said}</Note>}
        {invited ? <FixedField label={t("access.name")}>{link.name}</FixedField> : <NameField />}
        <Field
          id="set-up-password"
          label={t("access.password")}
          hint={t("access.password_hint")}
          input={{
            name: "password",
            type: "password",
            autocomplete: "new-password",
            required: true,
            minLength: 12,
          }}
        />
        <button class="button button-primary" type="submit" disabled={busy.value}>
          {busy.value ? t("frame.working") : t(invited ? "access.accept_verb" : "access.owner_verb")}
        </button>
        {whyNoPasskey() === null
          ? (
            <button
              type="button"
              class="button"
              disabled={busy.value}
              onClick={() => void run("passkey")}
            >
              {t("access.passkey_instead")}
            </button>
          )
          : <p class="hint">{t("access.passkeys_need_name")}</p>}
      </form>
    </Gate>
  );
}

function NameField() {
  return (
    <Field
      id="set-up-name"
      label={t("access.name")}
      input={{
        name: "name",
        autocomplete: "username",
        autocapitalize: "none",
        spellcheck: false,
        required: true,
        maxLength: 64,
        autofocus: true,
      }}
    />
  );
}

function FactorStep({ onChoose, onLater }: { onChoose: () => void; onLater: () => void }) {
  return (
    <Gate title={t("access.second_factor")} foot={t("access.step_of", { step: 1, count: 2 })}>
      <div class="gate-form">
        <p>{t("access.second_factor_why")}</p>
        <button type="button" class="button button-primary" autofocus onClick={onChoose}>
          {t("access.totp_add")}
        </button>
        <button type="button" class="button button-plain" onClick={onLater}>{t("access.later")}</button>
      </div>
    </Gate>
  );
}
