// The page of a one-time link: creates an account with a password or a passkey, then sets up a second factor.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ClaimLink } from "../../../api/auth/invitations.ts";
import { canClose, useAction } from "../../app/action.ts";
import { failureText } from "../../app/api_client.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { type AsyncValue, IDLE } from "../../app/resource.ts";
import { Alert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { AuthLayout } from "../../components/page_layout.tsx";
import { Field, ReadOnlyField } from "../../components/field.tsx";
import { t } from "../../i18n/translate.ts";
import { fetchLink, setUpWithPasskey, setUpWithPassword } from "../access/access_calls.ts";
import { CreatedRecoveryCodes, TotpSetUp } from "../access/totp_set_up.tsx";
import { namedAddress, passkeyUnavailableReason, type SignInFailure } from "./sign_in_calls.ts";

type Step = "account" | "factor" | "totp" | { readonly codes: readonly string[] };

export default function SetUpPage({ models }: PageProps) {
  const step = useSignal<Step>("account");
  const link = useSignal<AsyncValue<ClaimLink>>(IDLE);
  const token = useRef("");
  const state = link.value;
  /** The first owner continues with the set-up of the gateway. */
  const totp = useAction();
  const done = () => {
    const isInvited = state.kind === "ready" && state.value.kind === "invitation";
    models.router.go(isInvited ? "/live" : "/first-run");
  };
  useEffect(() => {
    if (token.current === "") token.current = location.hash.slice(1);
    // The link works once, so it is removed from the address bar and the history.
    history.replaceState(history.state, "", "/setup");
    fetchLink(models, token.current).then(
      (value) => link.value = { kind: "ready", value },
      (fault: unknown) => link.value = { kind: "failed", message: failureText(fault) },
    );
  }, []);
  if (typeof step.value === "object") {
    return (
      <AuthLayout title={t("common.recovery_title")} foot={t("signin.step_of", { step: 2, count: 2 })}>
        <CreatedRecoveryCodes codes={step.value.codes} onDone={done} />
      </AuthLayout>
    );
  }
  if (step.value === "factor") return <FactorStep onChoose={() => step.value = "totp"} onLater={done} />;
  if (step.value === "totp") {
    return (
      <AuthLayout title={t("common.totp_add")} foot={t("signin.step_of", { step: 2, count: 2 })}>
        <div class="auth-form">
          <TotpSetUp models={models} action={totp} onCodes={(codes) => step.value = { codes }} />
          <Button kind="plain" disabled={!canClose(totp)} onClick={done}>{t("signin.later")}</Button>
        </div>
      </AuthLayout>
    );
  }
  // The kind of the link decides the height of the panel, so nothing is shown before it is known.
  if (state.kind === "idle") return <main class="auth" aria-busy="true" />;
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
  /** Why the link is not valid. */
  readonly known: string | null;
  readonly onDone: (hasPasskey: boolean) => void;
}

function AccountStep({ models, token, link, known, onDone }: AccountProps) {
  const problem = useSignal<SignInFailure | null>(null);
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
    <AuthLayout
      title={invited ? t("signin.accept") : t("signin.first_owner")}
      foot={t(invited ? "signin.invitation_foot" : "signin.link_foot")}
    >
      <form
        class="auth-form"
        ref={form}
        onSubmit={(event) => {
          event.preventDefault();
          void run("password");
        }}
      >
        <p>
          {invited ? t("signin.accept_why", { role: t(`common.role_${link.role}`) }) : t("common.owner_why")}
        </p>
        {said !== null && <Alert tone="bad" role="alert">{said}</Alert>}
        {invited ? <ReadOnlyField label={t("common.name")}>{link.name}</ReadOnlyField> : <NameField />}
        <Field
          id="set-up-password"
          label={t("signin.password")}
          hint={t("signin.password_hint")}
          input={{
            name: "password",
            type: "password",
            autocomplete: "new-password",
            required: true,
            minLength: 12,
          }}
        />
        <Button type="submit" kind="primary" busy={busy.value}>
          {t(invited ? "signin.accept_verb" : "signin.owner_verb")}
        </Button>
        {passkeyUnavailableReason() === null
          ? (
            <Button disabled={busy.value} onClick={() => run("passkey")}>
              {t("signin.passkey_instead")}
            </Button>
          )
          : <p class="hint">{t("common.passkeys_need_name", { url: namedAddress() })}</p>}
      </form>
    </AuthLayout>
  );
}

function NameField() {
  return (
    <Field
      id="set-up-name"
      label={t("common.name")}
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
    <AuthLayout title={t("signin.second_factor")} foot={t("signin.step_of", { step: 1, count: 2 })}>
      <div class="auth-form">
        <p>{t("signin.second_factor_why")}</p>
        <button type="button" class="button button-primary" autofocus onClick={onChoose}>
          {t("common.totp_add")}
        </button>
        <button type="button" class="button button-plain" onClick={onLater}>{t("signin.later")}</button>
      </div>
    </AuthLayout>
  );
}
